package inside

import (
	"errors"
	"fmt"
	"maps"
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
		p.Devices = false // their paths are those of the system, which the plan may not write
		return nil        // the plan hides nothing
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
	if err := show(p); err != nil {
		return err
	}
	if p.Devices {
		if err := mountDevices(); err != nil {
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
	if err = os.Chdir(dir); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("its working directory %s is not in the sandbox: add it to `read` or `write`", dir)
	}
	return err
}

// Directories of the roots before and after the change.
const (
	oldRoot = "/old"
	newRoot = "/new"
)

// maxLinks is the maximum number of symbolic links in a path.
const maxLinks = 40

// show makes the paths of the plan exist in the new root. Paths that the process may only read are
// mounted read-only, because Landlock does not prevent changes of permissions and times.
func show(p *sandbox.Plan) error {
	writable := map[string]bool{}
	for _, list := range []struct {
		paths    []string
		writable bool
	}{{p.Read, false}, {p.Write, true}} {
		for _, path := range list.paths {
			real, err := resolve(path)
			if err != nil {
				return err
			}
			writable[real] = writable[real] || list.writable
		}
	}
	var shown []string // directories that are mounted, each after those that contain it
	for _, path := range slices.Sorted(maps.Keys(writable)) {
		covered := slices.ContainsFunc(shown, func(dir string) bool {
			return strings.HasPrefix(path, dir+"/") && (writable[dir] || !writable[path])
		})
		if covered {
			continue
		}
		if err := mountPath(path, writable[path]); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
		shown = append(shown, path)
	}
	return nil
}

// resolve returns the real path of a path in the old root. It creates the links in the path also in
// the new root, because other files may name the same file in either way.
func resolve(path string) (real string, err error) {
	rest := strings.Split(strings.Trim(filepath.Clean(path), "/"), "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		full := filepath.Join(at, rest[0])
		rest = rest[1:]
		info, err := os.Lstat(oldRoot + full)
		if err != nil {
			return "", errors.New(strings.ReplaceAll(err.Error(), oldRoot+"/", "/"))
		}
		if info.Mode()&os.ModeSymlink == 0 {
			at = full
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s has too many links", path)
		}
		to, err := os.Readlink(oldRoot + full)
		if err == nil {
			err = os.MkdirAll(newRoot+at, 0o755)
		}
		if err == nil {
			err = os.Symlink(to, newRoot+full)
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(at, to)
		}
		if to = strings.Trim(filepath.Clean(to), "/"); to != "" {
			rest = append(strings.Split(to, "/"), rest...)
		}
		at = "/"
	}
	return at, nil
}

// mountDevices mounts new instances of devices in the new root. With the terminals of the system, a
// process could read and control those of other processes.
func mountDevices() error {
	for _, m := range []struct{ kind, path, options string }{
		{"devpts", sandbox.OwnDevices[0], "newinstance,ptmxmode=0666,mode=0620"},
		{"tmpfs", sandbox.OwnDevices[1], "mode=1777"},
	} {
		if err := os.MkdirAll(newRoot+m.path, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, newRoot+m.path, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.options); err != nil {
			return fmt.Errorf("mount %s: %w", m.path, err)
		}
	}
	return os.Symlink("pts/ptmx", newRoot+"/dev/ptmx")
}

// mountPath mounts a path of the old root, which contains no links, in the new root.
func mountPath(path string, writable bool) error {
	info, err := os.Lstat(oldRoot + path)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(newRoot + path); errors.Is(err, os.ErrNotExist) {
		dir := path
		if !info.IsDir() {
			dir = filepath.Dir(path)
		}
		if err := os.MkdirAll(newRoot+dir, 0o755); err != nil {
			return err
		}
		if !info.IsDir() {
			if err := os.WriteFile(newRoot+path, nil, 0o600); err != nil {
				return err
			}
		}
	}
	if err := unix.Mount(oldRoot+path, newRoot+path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || writable {
		return err
	}
	return unix.MountSetattr(unix.AT_FDCWD, newRoot+path, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}
