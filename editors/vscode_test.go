package editors_test

import (
	"bytes"
	"errors"
	"image/png"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
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

// TestPackageHasLicence checks the files that the extension's page in an editor shows, among them
// an icon of 128 by 128 pixels, and that quotes are closed.
func TestPackageHasLicence(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if !bytes.Equal(read("vscode/LICENSE"), read("../LICENSE")) {
		t.Error("vscode/LICENSE differs from the project's LICENSE: copy it")
	}
	version := regexp.MustCompile(`"version": "([^"]+)"`).FindSubmatch(read("vscode/package.json"))[1]
	if !bytes.Contains(read("vscode/CHANGELOG.md"), append([]byte("\n## "), version...)) {
		t.Errorf("vscode/CHANGELOG.md has no section for version %s", version)
	}
	icon, err := png.DecodeConfig(bytes.NewReader(read("vscode/images/icon.png")))
	if err != nil || icon.Width != 128 || icon.Height != 128 || !bytes.Contains(read("vscode/package.json"), []byte(`"icon": "images/icon.png"`)) {
		t.Errorf("the icon has %d by %d pixels (error %v)", icon.Width, icon.Height, err)
	}
	if !bytes.Contains(read("vscode/language-configuration.json"), []byte(`"open": "'", "close": "'"`)) {
		t.Error("an opening ' is not closed")
	}
}

// installed reports whether the extension's packages are installed.
func installed() bool {
	_, err := os.Stat("vscode/node_modules/vscode-textmate")
	return !errors.Is(err, fs.ErrNotExist)
}
