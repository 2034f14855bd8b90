package testproc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Command builds the command concerto, once, and gives its file. Who may have called it
// calls RemoveCommand at the end.
var Command = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "concerto-command")
	if err != nil {
		return "", err
	}
	built = dir
	path := filepath.Join(dir, "concerto")
	out, err := exec.Command("go", "build", "-o", path, "github.com/concerto-lang/concerto/cmd/concerto").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return path, nil
})

// built is the directory of the command, "" when it was not built.
var built string

// RemoveCommand removes what Command has built, when it has.
func RemoveCommand() {
	if built != "" {
		os.RemoveAll(built)
	}
}
