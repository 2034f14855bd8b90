package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// lab is a temporary directory with the binaries to measure.
type lab struct{ dir, root string }

func (l *lab) bin(name string) string { return filepath.Join(l.dir, name) }

// newLab builds the binaries in a temporary directory. If peers is set, it also builds the programs
// with which the workloads are compared.
func newLab(peers bool) (*lab, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/concerto-lang/concerto").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	if peers {
		if err := installed(); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "concerto-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{dir: dir, root: strings.TrimSpace(string(out))}
	if err := l.build(peers); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return l, nil
}

func (l *lab) build(peers bool) error {
	packages := []string{"./cmd/concerto", "./bench/empty", "./bench/peer", "./bench/caller", "./bench/once", "./bench/sqlite", "./bench/inside"}
	if err := l.goBuild(l.root, packages...); err != nil {
		return err
	}
	if !peers {
		return nil
	}
	return l.goBuild(filepath.Join(l.root, "bench", "govms"), ".")
}

// goBuild builds commands of the module in dir. The name of each binary is that of its package.
func (l *lab) goBuild(dir string, packages ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", l.dir + string(filepath.Separator)}, packages...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", // as `make build` does: no C library is loaded at start
		"GOWORK=off") // govms is not in the workspace
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s in %s: %w\n%s", strings.Join(packages, " "), dir, err, text)
	}
	return nil
}
