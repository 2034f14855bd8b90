package examples_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// TestEngine runs the commands of engine's README with a PostgreSQL server.
func TestEngine(t *testing.T) {
	concerto, err := command()
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.Make(t, pgtest.Start(t), "example")
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(read(t, "engine", "README.md"))
	if block == nil {
		t.Fatal("the README has no commands")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("engine")); err != nil {
		t.Fatal(err)
	}
	commands := strings.Split(strings.TrimSpace(block[1]), "\n")
	for i, want := range []string{
		`^created the schema`, `^acme\n$`, `^globex\n$`, `^$`,
		`(?m)^globex +waiting .* waiting for answer q\d+ \(channel approve\)(.*\n)acme +waiting `,
		`^$`, `^$`, `^$`,
		`^preparing the invoice of acme\n\[approve\] send the invoice of acme\?\nsent to acme\n$`,
	} {
		words := strings.Fields(commands[i])
		c := exec.Command(concerto, words[1:]...)
		c.Dir = dir
		c.Env = append(os.Environ(), "CONCERTO_ENGINE="+url, "XDG_STATE_HOME="+dir)
		var errs strings.Builder
		c.Stderr = &errs
		out, err := c.Output()
		if err != nil || !regexp.MustCompile(want).Match(out) {
			t.Fatalf("%s: %v\n%s%s", commands[i], err, out, errs.String())
		}
	}
	if len(commands) != 9 {
		t.Errorf("the README has %d commands, want 9", len(commands))
	}
}
