// Package hostsandbox confines the processes of hosts that have a section [hosts.X.sandbox]
// (spec/08-hosts.md). It determines the files and addresses that a process may access; package
// confine starts the process.
package hostsandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/process/confine"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Sandboxes implements host.Sandboxes.
type Sandboxes struct{}

var _ host.Sandboxes = Sandboxes{}

// Start starts a process in its sandbox; see confine.Start.
func (Sandboxes) Start(run *procgroup.Run, c procgroup.Command, s *sandbox.Confinement, blocked func(address string)) (*procgroup.Process, error) {
	return confine.Start(run, c, s, blocked)
}

// Confine returns the confinement of a process, and the features that it needs and this system
// lacks.
func (Sandboxes) Confine(r *host.SandboxRequest) (*sandbox.Confinement, []string, error) {
	lacks, c := confine.Check(r.Run, required(r.Config))
	if confine.IsProgramMissing(lacks) && r.Config.Access.Sandbox.Missing != sandbox.MissingWarn {
		return nil, nil, errors.New("the path of the concerto program is unknown: set Options.Executable")
	}
	c.PrivateTemp = true
	if c.Files || c.Hidden {
		if err := addFiles(&c, r); err != nil {
			return nil, nil, err
		}
	}
	return &c, lacks, nil
}

// addFiles adds the paths that the process may read and write.
func addFiles(c *sandbox.Confinement, r *host.SandboxRequest) error {
	needed, err := confine.RequiredPaths()
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(r.Config.Dir)
	if err != nil {
		return err
	}
	c.Read = append(needed, filepath.Dir(r.Path), dir)
	c.Write = []string{os.DevNull}
	for _, n := range Needs(r.Config, r.Path, r.Environ) {
		path, ok := n.Absolute(r.Environ)
		if ok && n.Create {
			if err := os.MkdirAll(path, 0o700); err != nil {
				return err
			}
		}
		switch {
		case n.own:
			c.Devices = c.Hidden
		case !n.Exists(r.Environ):
		case n.Write:
			c.Write = append(c.Write, path)
		default:
			c.Read = append(c.Read, path)
		}
	}
	if r.Bridge != "" { // an agent starts the concerto program to reach the program's tools
		c.Read = append(c.Read, r.Run.Executable, filepath.Dir(r.Bridge))
	}
	if r.Layout != nil {
		c.Read = append(c.Read, r.Layout.Common, r.Layout.Top)
	}
	s := r.Config.Access.Sandbox
	read, err := listed(r, "read", s.Read)
	if err != nil {
		return err
	}
	write, err := listed(r, "write", s.Write)
	if err != nil {
		return err
	}
	if err := checkRepository(r.Layout, write); err != nil {
		return err
	}
	c.Read, c.Write = append(c.Read, read...), append(c.Write, write...)
	return nil
}

// listed returns the absolute paths of the list `key` of the section. Relative paths start at the
// manifest. A path in the directory of which the process has a copy, or in the checkout of which it
// has a worktree, means the same path in the copy or worktree. For `read` it also means itself.
func listed(r *host.SandboxRequest, key string, paths []string) ([]string, error) {
	root := r.Config.Root
	if root == "" {
		root = r.Config.Dir
	}
	var named, moved []string
	for _, path := range paths {
		if home, ok := procgroup.LookupEnv(r.Environ, "HOME"); ok && (path == "~" || strings.HasPrefix(path, "~/")) {
			path = filepath.Join(home, path[1:])
		}
		if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		named, moved = append(named, path), append(moved, inCopy(r, path))
	}
	if key == "write" {
		return confine.ListedPaths(root, key, moved)
	}
	all, err := confine.ListedPaths(root, key, named)
	for _, path := range moved {
		if _, err := os.Stat(path); err == nil {
			all = append(all, path)
		}
	}
	return all, err
}

// inCopy returns the path in the copy or worktree in which the process works that corresponds to a
// path, or the path itself if there is none.
func inCopy(r *host.SandboxRequest, path string) string {
	switch l := r.Layout; {
	case l != nil && !isIn(l.Top, path):
		return moveTo(l.Checkout, l.Top, path)
	case l == nil && r.Config.Original != "":
		return moveTo(r.Config.Original, r.Config.Dir, path)
	}
	return path
}

// moveTo returns the path in the directory to that corresponds to a path in the directory from, or
// path itself if it is not in from.
func moveTo(from, to, path string) string {
	from, to = abs(from), abs(to)
	for _, known := range []string{path, realPath(path)} {
		if rel, err := filepath.Rel(from, known); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(to, rel)
		}
	}
	return path
}

func abs(path string) string {
	if found, err := filepath.Abs(path); err == nil {
		return found
	}
	return path
}

// realPath returns a path without links, or the path itself if it cannot be resolved.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// isIn reports whether a path is a directory or in it.
func isIn(dir, path string) bool {
	rel, err := filepath.Rel(realPath(dir), realPath(path))
	return err == nil && filepath.IsLocal(rel)
}

// checkRepository returns an error if a path that may be written contains a part of the repository
// other than the worktree, or is in one.
func checkRepository(l *workspace.Layout, paths []string) error {
	if l == nil {
		return nil
	}
	for _, path := range paths {
		if isIn(l.Top, path) {
			continue
		}
		for _, other := range []string{l.Common, l.Checkout, l.Tasks} {
			if isIn(other, path) || isIn(path, other) {
				return fmt.Errorf("`write` contains %s, but of the repository only the worktree %s may be written", path, l.Top)
			}
		}
	}
	return nil
}

// required returns the confinement that the section of a host requires, without the paths.
func required(c *host.Config) sandbox.Confinement {
	s := c.Access.Sandbox
	w := sandbox.Confinement{
		Files: s.RestrictsFiles(), Hidden: s.RestrictsFiles(), Offline: s.Net != nil, Loopback: s.Net != nil,
		OpenFiles: s.OpenFiles, FileMB: s.FileMB, Limits: s.Limits(),
	}
	if len(s.Net) > 0 {
		w.Proxy = &sandbox.Proxy{Allow: s.Net, Section: "hosts." + c.Connector + ".sandbox"}
	}
	return w
}

// Unconfined returns the features that the sandbox of a host needs and this system lacks, or nil if
// it has no sandbox.
func Unconfined(c *host.Config, run *procgroup.Run) []string {
	if c.Access.Sandbox == nil {
		return nil
	}
	lacks, _ := confine.Check(run, required(c))
	return lacks
}
