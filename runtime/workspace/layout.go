package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// Layout describes where a worktree and its repository are. The sandbox of a host that works there
// needs it.
type Layout struct {
	Top      string `json:"top"`      // top directory of the worktree
	Admin    string `json:"admin"`    // directory of the worktree in the repository
	Common   string `json:"common"`   // directory that all worktrees of the repository share
	Checkout string `json:"checkout"` // top directory of the user's checkout
	Tasks    string `json:"tasks"`    // directory that contains all worktrees of Concerto
}

// Layout returns the layout of a worktree, or nil for a copy.
func (d *Dir) Layout(ctx context.Context) (*Layout, error) {
	if d.Branch == "" {
		return nil, nil
	}
	s := d.store
	if err := s.repository(ctx); err != nil {
		return nil, err
	}
	top, err := filepath.EvalSymlinks(s.place.taskPath(d.Name))
	if err != nil {
		return nil, err
	}
	admin, err := s.adminDir(top)
	if err != nil {
		return nil, err
	}
	if admin == "" {
		return nil, fmt.Errorf("the repository does not list the worktree %s", top)
	}
	return &Layout{Top: top, Admin: admin, Common: s.common, Checkout: s.top, Tasks: s.place.Tasks()}, nil
}

// Link returns the path of the file by which git finds the repository of the worktree.
func (r *Layout) Link() string { return filepath.Join(r.Top, ".git") }

// linkPrefix begins the content of the file. maxLink is its maximum size in bytes: a host may have
// written it.
const (
	linkPrefix = "gitdir: "
	maxLink    = 8 << 10
)

// RestoreLink writes the file .git of the worktree again if it is missing or leads elsewhere. It
// reports whether that was necessary, also if it fails.
func (r *Layout) RestoreLink() (restored bool, err error) {
	if r.linkIsWhole() {
		return false, nil
	}
	if _, err := os.Lstat(r.Top); errors.Is(err, fs.ErrNotExist) {
		return false, nil // the worktree was removed
	}
	if err := userfile.RemoveAll(r.Link()); err != nil {
		return true, err
	}
	f, err := os.OpenFile(r.Link(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return true, err
	}
	_, err = f.WriteString(linkPrefix + r.Admin + "\n")
	return true, errors.Join(err, f.Close())
}

// linkIsWhole reports whether the file .git leads to the directory of the worktree.
func (r *Layout) linkIsWhole() bool {
	if info, err := os.Lstat(r.Link()); err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := userfile.Read(r.Link(), maxLink)
	to, ok := strings.CutPrefix(strings.TrimSuffix(string(text), "\n"), linkPrefix)
	if err != nil || !ok {
		return false
	}
	if !filepath.IsAbs(to) { // as with the setting worktree.useRelativePaths
		to = filepath.Join(r.Top, to)
	}
	return filepath.Clean(to) == filepath.Clean(r.Admin)
}
