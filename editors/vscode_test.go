package editors_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

// TestExtension runs the extension's code in Node with a stub of the editor's API.
func TestExtension(t *testing.T) {
	if _, err := exec.LookPath("node"); errors.Is(err, exec.ErrNotFound) {
		t.Skip("node is not installed")
	}
	command, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command("node", "--test", "test/extension.test.cjs")
	c.Dir, c.Env = "vscode", append(os.Environ(), "CONCERTO="+command)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// installed reports whether the extension's packages are installed.
func installed() bool {
	_, err := os.Stat("vscode/node_modules/vscode-textmate")
	return !errors.Is(err, fs.ErrNotExist)
}
