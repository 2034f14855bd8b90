package hostpolicy

import (
	"path/filepath"
	"slices"
	"strings"
)

// lead is all that a path may mean, since who opens it may read it otherwise than we
// do.
type lead struct {
	named []string // absolute, cleaned, no link followed
	to    []string // where they lead, every link followed
	clear bool     // that is all
}

// within says that whatever the path means is in one of the roots.
func (l *lead) within(roots []string) bool {
	return l.clear && !slices.ContainsFunc(l.to, func(path string) bool {
		return !slices.ContainsFunc(roots, func(root string) bool { return below(root, path) })
	})
}

func (p *Policy) leads(q *Request) []lead {
	var out []lead
	for _, path := range q.Paths {
		out = append(out, p.place.lead(path, q.Dir))
	}
	return out
}

// lead reads a path that starts at dir, which starts at the place's directory.
func (p *Place) lead(path, dir string) lead {
	base, _, _ := p.absolute(dir, p.Dir)
	l := lead{clear: path != "" && !strings.ContainsRune(path, 0)}
	for _, text := range readings(path) {
		abs, expanded, ok := p.absolute(text, base)
		l.clear = l.clear && ok
		p.add(&l, abs)
		if expanded != "" {
			p.add(&l, expanded)
		}
	}
	return l
}

// readings returns the texts that a path may be taken for: some cut blanks off, some take addresses
// of files.
func readings(path string) []string {
	out := []string{path}
	if trimmed := strings.TrimSpace(path); trimmed != path && trimmed != "" {
		out = append(out, trimmed)
	}
	for _, text := range out {
		if at := strings.Index(text, "://"); at >= 0 {
			out = append(out, text[at+len("://"):])
		}
	}
	return out
}

// absolute starts a path at base. What begins with ~ is also expanded, as its reader
// may do; ok is false when it may mean a home that is not known.
func (p *Place) absolute(path, base string) (abs, expanded string, ok bool) {
	path = filepath.FromSlash(path)
	name, rest, _ := strings.Cut(path, string(filepath.Separator))
	ok = true
	switch {
	case !strings.HasPrefix(name, "~"):
	case name == "~" && p.Home != "":
		expanded = p.Home + string(filepath.Separator) + rest
	default:
		ok = false
	}
	if filepath.IsAbs(path) {
		return path, expanded, ok
	}
	if path == "" {
		return base, expanded, ok
	}
	return base + string(filepath.Separator) + path, expanded, ok
}

// add adds what an absolute path means: a `..` leads up from where a link leads, or
// takes the link's name off, as its reader has it.
func (p *Place) add(l *lead, abs string) {
	clean := filepath.Clean(abs)
	l.named = append(l.named, clean)
	for _, path := range []string{abs, clean} {
		to, ok := p.follow(path)
		l.clear = l.clear && ok
		if ok && !slices.Contains(l.to, to) {
			l.to = append(l.to, to)
		}
	}
}

// maxLinks bounds how many links are followed on the way along a path. More of them
// are taken for a circle, which cannot be opened.
const maxLinks = 40

// follow returns where an absolute path leads: every link on the way is followed, `..` goes up from
// where they lead, and what does not exist stands as it is. It is false for a circle of links.
func (p *Place) follow(path string) (string, bool) {
	const sep = string(filepath.Separator)
	volume := filepath.VolumeName(path)
	at := volume + sep
	todo := strings.Split(path[len(volume):], sep)
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, is := p.Link(next)
		if !is {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if filepath.IsAbs(target) {
			volume = filepath.VolumeName(target)
			at, target = volume+sep, target[len(volume):]
		}
		todo = append(strings.Split(target, sep), todo...)
	}
	return at, true
}
