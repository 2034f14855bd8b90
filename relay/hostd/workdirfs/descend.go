package workdirfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// maxLinks is the maximum number of links in a path.
const maxLinks = 40

// descend opens the directory for a write step by step, and resolves links itself. It can therefore
// refuse each directory with the name .git. shown is the requested path, for errors.
func (s *Scope) descend(shown, path string) (*os.Root, error) {
	d := descent{shown: shown, rest: splitPath(path)}
	here, err := s.root.OpenRoot(".")
	if err != nil {
		return nil, s.pathError(shown, err)
	}
	d.dirs = []*os.Root{here}
	for len(d.rest) > 0 {
		part := d.rest[0]
		d.rest = d.rest[1:]
		if err := d.step(part); err != nil {
			d.close()
			return nil, s.pathError(shown, err)
		}
	}
	last := len(d.dirs) - 1
	here, d.dirs = d.dirs[last], d.dirs[:last]
	d.close()
	return here, nil
}

// makeDirs creates missing directories. It does not create any in the target of a link, because
// that directory was not approved.
func (s *Scope) makeDirs(shown, path string) error {
	for i, all := 0, splitPath(path); i < len(all); i++ {
		if isGit(all[i]) {
			return gitPathError(shown)
		}
		above, err := s.descend(shown, filepath.Join(all[:i]...))
		if err != nil {
			return err
		}
		err = above.Mkdir(all[i], 0o777)
		above.Close()
		if err != nil && !os.IsExist(err) {
			return s.pathError(shown, err)
		}
	}
	return nil
}

func splitPath(path string) (all []string) {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part != "" && part != "." {
			all = append(all, part)
		}
	}
	return all
}

// descent is the state of walking down a path.
type descent struct {
	shown string
	dirs  []*os.Root // open directories, beginning with the scope's directory
	rest  []string
	links int
}

func (d *descent) close() {
	for _, r := range d.dirs {
		r.Close()
	}
}

func (d *descent) here() *os.Root { return d.dirs[len(d.dirs)-1] }

func (d *descent) step(part string) error {
	if part == ".." {
		if len(d.dirs) == 1 {
			return errorf(protocol.OutOfScope, "%s is outside the run's directory", d.shown)
		}
		d.here().Close()
		d.dirs = d.dirs[:len(d.dirs)-1]
		return nil
	}
	if isGit(part) {
		return gitPathError(d.shown)
	}
	info, err := d.here().Lstat(part)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return d.follow(part)
	case !info.IsDir():
		return errorf(protocol.NotFound, "%s is not a directory", part)
	}
	next, err := d.here().OpenRoot(part)
	if err != nil {
		return err
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(info, opened) { // the directory was replaced between Lstat and Open
		next.Close()
		return errorf(protocol.Changed, "%s changed while it was opened: try again", d.shown)
	}
	d.dirs = append(d.dirs, next)
	return nil
}

// follow adds the target of a link to the path.
func (d *descent) follow(part string) error {
	if d.links++; d.links > maxLinks {
		return errorf(protocol.OutOfScope, "%s follows too many links", d.shown)
	}
	to, err := d.here().Readlink(part)
	if err != nil {
		return err
	}
	if filepath.IsAbs(to) {
		return errorf(protocol.OutOfScope, "%s is outside the run's directory", d.shown)
	}
	d.rest = append(splitPath(to), d.rest...)
	return nil
}
