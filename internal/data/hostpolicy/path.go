package hostpolicy

import (
	"path/filepath"
	"slices"
	"strings"
)

// pathMeanings holds all possible meanings of a path, because the program that opens it may
// interpret it differently.
type pathMeanings struct {
	named []string // absolute, cleaned, no link followed
	to    []string // where they lead, every link followed
	clear bool     // that is all
}

// isWithin reports whether all meanings of the path are in one of the roots.
func (l *pathMeanings) isWithin(roots []string) bool {
	return l.clear && !slices.ContainsFunc(l.to, func(path string) bool {
		return !slices.ContainsFunc(roots, func(root string) bool { return isBelow(root, path) })
	})
}

func (p *Policy) readPaths(q *Request) []pathMeanings {
	var out []pathMeanings
	for _, path := range q.Paths {
		out = append(out, p.place.readPath(path, q.Dir))
	}
	return out
}

// readPath reads a path that starts at dir, which starts at the place's directory.
func (p *Place) readPath(path, dir string) pathMeanings {
	base, _, _ := p.makeAbsolute(dir, p.Dir)
	l := pathMeanings{clear: path != "" && !strings.ContainsRune(path, 0)}
	for _, text := range interpretations(path) {
		abs, expanded, ok := p.makeAbsolute(text, base)
		l.clear = l.clear && ok
		p.addMeanings(&l, abs)
		if expanded != "" {
			p.addMeanings(&l, expanded)
		}
	}
	return l
}

// interpretations returns the possible interpretations of a path: some programs trim blanks, some
// accept file URLs.
func interpretations(path string) []string {
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

// makeAbsolute makes a path absolute, relative to base. A path that begins with ~ is also expanded;
// ok is false if it may mean an unknown home.
func (p *Place) makeAbsolute(path, base string) (abs, expanded string, ok bool) {
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

// addMeanings adds the meanings of an absolute path: a `..` after a link leads up from the link's
// target, or removes the link's name, depending on the program.
func (p *Place) addMeanings(l *pathMeanings, abs string) {
	clean := filepath.Clean(abs)
	l.named = append(l.named, clean)
	for _, path := range []string{abs, clean} {
		to, ok := p.followLinks(path)
		l.clear = l.clear && ok
		if ok && !slices.Contains(l.to, to) {
			l.to = append(l.to, to)
		}
	}
}

// maxLinks bounds the links that are followed in a path. A path with more links is regarded as a
// cycle, which cannot be opened.
const maxLinks = 40

// followLinks resolves all links of an absolute path, and `..` from their targets; what does not
// exist is unchanged. It returns false for a cycle of links.
func (p *Place) followLinks(path string) (string, bool) {
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
