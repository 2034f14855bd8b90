package hostpolicy

import (
	"path/filepath"
	"slices"
	"strings"
)

// pathMeanings contains all meanings that a path may have, because programs interpret paths
// differently.
type pathMeanings struct {
	named []string // absolute and cleaned paths, without resolving links
	to    []string // the same paths with all links resolved
	clear bool     // no other meanings are possible
}

// isWithin reports whether all meanings of the path are below one of the roots.
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

// readPath returns the meanings of a path relative to dir, which is relative to the place's
// directory.
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

// interpretations returns variants of a path, because some programs trim spaces and some accept
// file URLs.
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

// makeAbsolute makes a path absolute, relative to base. expanded is the path with the home
// directory if it begins with ~. ok is false if it begins with ~ and the home directory is unknown.
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

// addMeanings adds the meanings of an absolute path. After a link, `..` may mean the parent of the
// link's target or the parent of the link, depending on the program.
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

// maxLinks limits the number of links in a path. A path with more links counts as a cycle, which
// cannot be opened.
const maxLinks = 40

// followLinks resolves all links in an absolute path, and `..` relative to their targets. Parts
// that do not exist are unchanged. ok is false for a cycle of links.
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
