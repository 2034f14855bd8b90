package workdirfs

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// maxLinks limits the number of links in one path.
const mostLinks = 40

// descend opens the directory to write in step by step. This way it sees the names of all
// directories, with links resolved, and can refuse .git. shown is the requested path.
func (s *Scope) descend(shown, path string) (*os.Root, error) {
	d := descent{shown: shown, rest: parts(path)}
	here, err := s.root.OpenRoot(".")
	if err != nil {
		return nil, s.failed(shown, err)
	}
	d.way = []*os.Root{here}
	for len(d.rest) > 0 {
		part := d.rest[0]
		d.rest = d.rest[1:]
		if err := d.step(part); err != nil {
			d.close()
			return nil, s.failed(shown, err)
		}
	}
	last := len(d.way) - 1
	here, d.way = d.way[last], d.way[:last]
	d.close()
	return here, nil
}

// makeDirs creates missing directories, except through links: what a link leads to was not
// approved.
func (s *Scope) mkdirs(shown, path string) error {
	for i, all := 0, parts(path); i < len(all); i++ {
		if isGit(all[i]) {
			return ofGit(shown)
		}
		above, err := s.descend(shown, filepath.Join(all[:i]...))
		if err != nil {
			return err
		}
		err = above.Mkdir(all[i], 0o777)
		above.Close()
		if err != nil && !os.IsExist(err) {
			return s.failed(shown, err)
		}
	}
	return nil
}

func parts(path string) (all []string) {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if part != "" && part != "." {
			all = append(all, part)
		}
	}
	return all
}

// descent is a walk down a path.
type descent struct {
	shown string
	way   []*os.Root // open directories, from the scope's directory on
	rest  []string
	links int
}

func (d *descent) close() {
	for _, r := range d.way {
		r.Close()
	}
}

func (d *descent) here() *os.Root { return d.way[len(d.way)-1] }

func (d *descent) step(part string) error {
	if part == ".." {
		if len(d.way) == 1 {
			return refused(protocol.OutOfScope, "%s leads out of the run's directory", d.shown)
		}
		d.here().Close()
		d.way = d.way[:len(d.way)-1]
		return nil
	}
	if isGit(part) {
		return ofGit(d.shown)
	}
	info, err := d.here().Lstat(part)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return d.follow(part)
	case !info.IsDir():
		return refused(protocol.NotFound, "%s is no directory", part)
	}
	next, err := d.here().OpenRoot(part)
	if err != nil {
		return err
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(info, opened) { // it was replaced before it was opened
		next.Close()
		return refused(protocol.Changed, "%s has changed meanwhile", d.shown)
	}
	d.way = append(d.way, next)
	return nil
}

// follow follows a link.
func (d *descent) follow(part string) error {
	if d.links++; d.links > mostLinks {
		return refused(protocol.OutOfScope, "%s has too many links on its way", d.shown)
	}
	to, err := d.here().Readlink(part)
	if err != nil {
		return err
	}
	if filepath.IsAbs(to) {
		return refused(protocol.OutOfScope, "%s leads out of the run's directory", d.shown)
	}
	d.rest = append(parts(to), d.rest...)
	return nil
}
