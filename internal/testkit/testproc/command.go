package testproc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
)

// Command builds the concerto command once and returns its path. A test that may call it must call
// RemoveCommand at the end.
var Command = sync.OnceValues(func() (string, error) { return build("concerto") })

// Relay builds the concerto-relay command once and returns its path.
var Relay = sync.OnceValues(func() (string, error) { return build("concerto-relay") })

// built lists the directories of the built commands.
var built struct {
	sync.Mutex
	dirs []string
}

func build(name string) (string, error) {
	return buildIn("", name, "github.com/concerto-lang/concerto/cmd/"+name)
}

// Module builds the command of a separate module, in its directory, and returns the command's path.
// RemoveCommand removes it.
func Module(dir string) (string, error) { return buildIn(dir, filepath.Base(dir), ".") }

// buildIn builds a package in the directory of its module.
func buildIn(module, name, pkg string) (string, error) {
	dir, err := os.MkdirTemp("", "concerto-command")
	if err != nil {
		return "", err
	}
	built.Lock()
	built.dirs = append(built.dirs, dir)
	built.Unlock()
	path := filepath.Join(dir, name)
	c := exec.Command("go", "build", "-o", path, pkg)
	c.Dir, c.Env = module, append(os.Environ(), "CGO_ENABLED=0") // as the released programs
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the command %s: %w\n%s", name, err, out)
	}
	return path, nil
}

// RemoveCommand removes the built commands, if any.
func RemoveCommand() {
	built.Lock()
	defer built.Unlock()
	for _, dir := range built.dirs {
		os.RemoveAll(dir)
	}
	built.dirs = nil
}
