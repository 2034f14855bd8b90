package testproc

import (
	"fmt"
	"os/exec"
	"strings"
)

// Repository makes a directory a git repository with the branch main, and commits its files.
func Repository(dir string) error {
	for _, args := range []string{"init -q -b main", "config user.email a@example.com", "config user.name A", "add -A", "commit -q -m begin"} {
		git := exec.Command("git", strings.Fields(args)...)
		git.Dir = dir
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w\n%s", args, err, out)
		}
	}
	return nil
}
