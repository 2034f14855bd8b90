package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

var waitsFor = regexp.MustCompile(`concerto runs answer job (q\d+) <value>\n`)

// TestDurable runs the commands of durable's README. A host requests an approval, and the run
// parks. A person answers, and the run resumes with the host process that waited for the answer.
func TestDurable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("hosts continue after their run only on Unix")
	}
	t.Parallel()
	needs(t, "durable")
	concerto, err := command()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "durable", "README.md")
	block := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(text)
	if block == nil {
		t.Fatal("the README has no commands")
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("durable")); err != nil {
		t.Fatal(err)
	}
	commands := strings.Split(strings.TrimSpace(block[1]), "\n")
	wants := []struct {
		code    int
		failure string
	}{
		{75, "[progress] looked at old-idea\n[approve] delete the branch old-idea\n"},
		{0, "concerto runs answer job q"},
		{0, ""},
		{0, "[done] {\"value\":\"old-idea is deleted\"}\n"},
		{0, ", unchanged"},
	}
	if len(commands) != len(wants) {
		t.Fatalf("the README has %d commands, want %d", len(commands), len(wants))
	}
	id := "q7" // unless the host's messages arrived in another order
	for i, line := range commands {
		words := strings.Fields(strings.Replace(line, " q7 ", " "+id+" ", 1))
		if words[0] != "concerto" {
			t.Fatalf("command %d of the README is %q, want a concerto command", i, line)
		}
		c := exec.Command(concerto, words[1:]...)
		c.Dir = dir
		var errs strings.Builder
		c.Stderr = &errs
		out, err := c.Output()
		if c.ProcessState == nil {
			t.Fatal(err)
		}
		if code := c.ProcessState.ExitCode(); code != wants[i].code || !strings.Contains(string(out), wants[i].failure) {
			t.Fatalf("%s: exit code %d\n%s\n%s", line, code, out, errs.String())
		}
		if asked := waitsFor.FindStringSubmatch(string(out)); i == 1 && asked != nil {
			id = asked[1]
		}
		if i == 3 && strings.Contains(string(out), "looked at") {
			t.Errorf("the resumed run prints earlier output again:\n%s", out)
		}
	}
	if found, err := filepath.Glob(filepath.Join(dir, "job", "keeper.json")); err != nil || len(found) > 0 {
		t.Errorf("keeper files after the end of the run: %v, error %v; want none", found, err)
	}
}
