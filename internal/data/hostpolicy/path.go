package hostpolicy

import (
	"path/filepath"
	"slices"
	"strings"
)

// lead holds all possible meanings of a path, because the program that opens it may interpret it
// differently.
type lead struct {
	named []string // absolute, cleaned, no link followed
	to    []string // where they lead, every link followed
	clear bool     // that is all
}

// within reports whether all meanings of the path are in one of the roots.
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

// readings returns the possible interpretations of a path: some programs trim blanks, some accept
// file URLs.
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

// absolute makes a path absolute, relative to base. A path that begins with ~ is also expanded; ok
// is false if it may mean an unknown home.
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

// add adds the meanings of an absolute path: a `..` after a link leads up from the link's target,
// or removes the link's name, depending on the program.
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

// follow resolves all links of an absolute path, and `..` from their targets; what does not exist
// is unchanged. It returns false for a cycle of links.
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
