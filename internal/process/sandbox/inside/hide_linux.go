package inside

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/concerto-lang/concerto/internal/process/sandbox"
)

// hide replaces the root of this process's mount namespace by a directory in which only the paths
// of the plan exist. Landlock alone does not prevent a process from connecting to a socket in the
// file system.
func hide(p *sandbox.Plan) error {
	if slices.Contains(p.Read, "/") || slices.Contains(p.Write, "/") {
		return nil // the plan hides nothing
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	const base = "/tmp"
	if err := unix.Mount("tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return fmt.Errorf("mount a file system: %w", err)
	}
	for _, name := range []string{oldRoot, newRoot} {
		if err := os.Mkdir(base+name, 0o755); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot(base, base+oldRoot); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	// The new root must be a mount, so that it can become the root.
	if err := unix.Mount(newRoot, newRoot, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount the new root: %w", err)
	}
	v := view{}
	all := slices.Concat(p.Read, p.Write)
	slices.Sort(all)
	for _, path := range slices.Compact(all) {
		if err := v.show(path); err != nil {
			return err
		}
	}
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change to the new root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("remove the old root: %w", err)
	}
	return os.Chdir(dir)
}

// Directories of the roots before and after the change.
const (
	oldRoot = "/old"
	newRoot = "/new"
)

// view is the new root while it is being built.
type view struct {
	shown []string // paths that exist with all their contents
}

// maxLinks is the maximum number of symbolic links in a path.
const maxLinks = 40

// show makes a path of the old root exist in the new one. The links in the path are created again,
// because other files may name the same file by its real path.
func (v *view) show(path string) error {
	rest := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		full := filepath.Join(at, name)
		info, err := os.Lstat(oldRoot + full)
		if err != nil {
			return errors.New(strings.ReplaceAll(err.Error(), oldRoot+"/", "/"))
		}
		if info.Mode()&os.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return fmt.Errorf("%s has too many links", path)
			}
			to, err := os.Readlink(oldRoot + full)
			if err != nil {
				return err
			}
			if !v.isShown(full) {
				if err := os.Symlink(to, newRoot+full); err != nil && !errors.Is(err, os.ErrExist) {
					return err
				}
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(at, to)
			}
			if to = strings.Trim(filepath.Clean(to), "/"); to != "" {
				rest = append(strings.Split(to, "/"), rest...)
			}
			at = "/"
			continue
		}
		at = full
		if v.isShown(at) {
			continue
		}
		if len(rest) > 0 || info.IsDir() {
			if err := os.Mkdir(newRoot+at, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
				return err
			}
		} else if f, err := os.OpenFile(newRoot+at, os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
			f.Close()
		} else {
			return err
		}
	}
	if v.isShown(at) {
		return nil
	}
	if err := unix.Mount(oldRoot+at, newRoot+at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s: %w", at, err)
	}
	v.shown = append(v.shown, at)
	return nil
}

// isShown reports whether a path exists because it is, or is in, a path that is shown.
func (v *view) isShown(path string) bool {
	return slices.ContainsFunc(v.shown, func(dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") })
}
