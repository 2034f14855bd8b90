package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestEveryCommandIsListed checks that each function that creates a command is called: by the table
// of commands, or by the command to which it belongs.
func TestEveryCommandIsListed(t *testing.T) {
	create := regexp.MustCompile(`(?m)^func ([Nn]ew\w*)\(.*\) \*cobra\.Command \{`)
	created, all := map[string]string{}, ""
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range create.FindAllStringSubmatch(string(text), -1) {
			created[m[1]] = path
		}
		all += create.ReplaceAllString(string(text), "")
		return err
	})
	if err != nil || len(created) < 50 {
		t.Fatalf("number of functions that create commands = %d, want at least 50; error %v", len(created), err)
	}
	for name, path := range created {
		if !regexp.MustCompile(`\b` + name + `\b[^\w ]`).MatchString(all) {
			t.Errorf("%s: no command uses %s: add it to the table in root.go, or to its command", path, name)
		}
	}
}
