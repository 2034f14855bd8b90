package simgit

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/git"
)

// A worktree is a directory with a file .git, and a directory in the repository with the files
// gitdir, HEAD and index; the last one lists the names of its files. A power cut does not change
// them, because merges build a worktree again if it is damaged.

func (x *call) common() string { return filepath.Join(x.top, ".git") }

// head returns the commit of a worktree, or of the user's checkout.
func (x *call) head(admin string) (string, error) {
	if admin == "" {
		return x.now.refs["refs/heads/work"], nil
	}
	text, err := os.ReadFile(filepath.Join(admin, "HEAD"))
	return strings.TrimSpace(string(text)), err
}

func (x *call) worktree(o *arguments) error {
	if o.rest[0] == "list" {
		return x.listWorktrees()
	}
	top, id := o.rest[1], o.rest[2]
	if entries, err := os.ReadDir(top); err == nil && len(entries) > 0 {
		return fatal("'%s' already exists", top)
	}
	if _, err := x.read("commit", id); err != nil {
		return err
	}
	admin := x.newAdmin(top)
	return errors.Join(os.MkdirAll(top, 0o755), os.MkdirAll(admin, 0o755), os.WriteFile(filepath.Join(admin, "gitdir"), []byte(filepath.Join(top, ".git")+"\n"), 0o644),
		os.WriteFile(filepath.Join(admin, "HEAD"), []byte(id+"\n"), 0o644), os.WriteFile(filepath.Join(top, ".git"), []byte("gitdir: "+admin+"\n"), 0o644))
}

// newAdmin returns the path of a new directory of a worktree in the repository.
func (x *call) newAdmin(top string) string {
	for n := 0; ; n++ {
		admin := filepath.Join(x.common(), "worktrees", filepath.Base(top)) + strings.TrimPrefix(fmt.Sprint(n), "0")
		if !fileExists(admin) {
			return admin
		}
	}
}

// Interrupt does a part of a call that changes a worktree, as a git that is killed does.
func (r *Repository) Interrupt(c *git.Call) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, args := r.call(c)
	switch o := options(args[1:]); args[0] {
	case "reset", "checkout":
		files, _ := filepath.Glob(filepath.Join(c.At.Dir, "*")) // the pattern is valid
		if len(files) > 0 {
			if err := os.Remove(files[0]); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(c.At.GitDir, "index.lock"), nil, 0o644)
	case "worktree":
		if o.rest[0] == "add" {
			return os.MkdirAll(x.newAdmin(o.rest[1]), 0o755)
		}
	}
	return nil
}

func (x *call) listWorktrees() error {
	fmt.Fprintf(&x.out, "worktree %s\x00HEAD %s\x00branch refs/heads/work\x00\x00", x.top, x.now.refs["refs/heads/work"])
	all, _ := filepath.Glob(filepath.Join(x.common(), "worktrees", "*")) // the pattern is valid
	for _, admin := range all {
		link, err := os.ReadFile(filepath.Join(admin, "gitdir"))
		if err != nil {
			continue
		}
		id, _ := x.head(admin)
		top := strings.TrimSpace(string(link))
		fmt.Fprintf(&x.out, "worktree %s\x00HEAD %s\x00detached\x00", filepath.Dir(top), id)
		if !fileExists(top) {
			x.out.WriteString("prunable gitdir file points to non-existent location\x00")
		}
		x.out.WriteString("\x00")
	}
	return nil
}

// writeFiles makes a worktree contain the files of a commit.
func (x *call) writeFiles(id string) error {
	files, err := x.files(id)
	if err != nil {
		return err
	}
	if lock := filepath.Join(x.At.GitDir, "index.lock"); fileExists(lock) {
		return fatal("Unable to create '%s': File exists.", lock)
	}
	index := filepath.Join(x.At.GitDir, "index")
	old, _ := os.ReadFile(index) // missing in a new worktree
	for name := range strings.FieldsSeq(string(old)) {
		if files[name] == "" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(x.At.Dir, name)))
		}
	}
	for name, blob := range files {
		text, readErr := x.read("blob", blob)
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(x.At.Dir, name), []byte(text), 0o644))
	}
	names := strings.Join(slices.Sorted(maps.Keys(files)), "\n")
	return errors.Join(err, os.WriteFile(index, []byte(names), 0o644), os.WriteFile(filepath.Join(x.At.GitDir, "HEAD"), []byte(id+"\n"), 0o644))
}

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (x *call) reset(*arguments) error {
	id, err := x.head(x.At.GitDir)
	if err != nil {
		return err
	}
	return x.writeFiles(id)
}

func (x *call) checkOut(o *arguments) error {
	id, err := x.find(o.rest[0])
	if err != nil {
		return err
	}
	return x.writeFiles(id)
}

// clean removes the files that are not in the index.
func (x *call) clean(*arguments) error {
	index, err := os.ReadFile(filepath.Join(x.At.GitDir, "index"))
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(x.At.Dir)
	for _, e := range entries {
		if name := e.Name(); name != ".git" && !slices.Contains(strings.Fields(string(index)), name) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(x.At.Dir, name)))
		}
	}
	return err
}
