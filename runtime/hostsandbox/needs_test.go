package hostsandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/runtime/host"
)

// manualRows returns the rows of the table in the manual.
func manualRows() []string {
	var rows []string
	for at := 0; at < len(needs); {
		n, paths := needs[at], []string{}
		for ; at < len(needs) && needs[at].Doc == n.Doc && needs[at].Write == n.Write && slices.Equal(needs[at].Transports, n.Transports); at++ {
			paths = append(paths, "`"+needs[at].Path+"`")
		}
		transport, access := "all of vendors", "read"
		if n.Transports != nil {
			transport = "`" + strings.Join(n.Transports, "`, `") + "`"
		}
		if n.Write {
			access = "write"
		}
		rows = append(rows, "| "+strings.Join([]string{transport, strings.Join(paths, " "), access, n.Doc}, " | ")+" |")
	}
	return rows
}

// TestManualListsNeeds compares the table of needs with the manual.
func TestManualListsNeeds(t *testing.T) {
	text, err := os.ReadFile("../../spec/08-hosts.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(manualRows(), "\n") + "\n\n"; !strings.Contains(string(text), want) {
		t.Errorf("spec/08-hosts.md does not contain these rows:\n%s", want)
	}
}

// TestProgramDirs checks which directories a program needs.
func TestProgramDirs(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"prefix/lib/node_modules/@v/agent/cli.js": "#!/usr/bin/env -S node\n",
		"node/bin/node": "x",
		"node/lib/x":    "x",
		"plain/agent":   "\x7fELF",
	} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"prefix/bin/agent": "../lib/node_modules/@v/agent/cli.js", "bin/node": "../node/bin/node"} {
		if err := os.MkdirAll(filepath.Dir(in(link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	environ := []string{"PATH=" + in("bin")}
	for path, want := range map[string]string{
		"prefix/bin/agent": "bin node/bin node/lib prefix/bin prefix/lib/node_modules",
		"plain/agent":      "plain",
	} {
		var got []string
		for _, dir := range programDirs(in(path), environ) {
			rel, err := filepath.Rel(in(""), dir)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, rel)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("programDirs(%s) = %s, want %s", path, text, want)
		}
	}
	if got := Needs(&host.Config{Transport: "stdio"}, in("plain/agent"), environ); got != nil {
		t.Errorf("Needs of a host without a vendor's transport = %v, want none", got)
	}
}
