package hostpolicy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// glob is a pattern of paths, split into names. It is compared without regard to letter case,
// because a file system may ignore it too.
type glob struct {
	names    []string
	absolute bool // the pattern starts at the root directory
	anywhere bool // the pattern is a single name, which matches at any depth
}

// CheckGlob returns an error if a glob of files is invalid.
func CheckGlob(pattern string) error {
	if strings.Trim(pattern, "/ ") == "" {
		return fmt.Errorf("it names nothing")
	}
	for _, name := range strings.Split(pattern, "/") {
		switch {
		case name == "..":
			return fmt.Errorf("`..` in a glob matches nothing")
		case strings.HasPrefix(name, "~") && name != "~":
			return fmt.Errorf("`%s` is not a home directory: only `~` is supported", name)
		}
		if _, err := path.Match(name, ""); err != nil {
			return fmt.Errorf("`%s` is no glob", name)
		}
	}
	return nil
}

// parseGlobs parses a pattern. A pattern with a slash starts at the place's directory; a single
// name matches at any depth. For an absolute pattern, the result also contains the pattern with the
// links in its directories resolved.
func (p *Place) parseGlobs(pattern string) []glob {
	g := p.parseGlob(pattern)
	if !g.absolute {
		return []glob{g}
	}
	plain := slices.IndexFunc(g.names, func(name string) bool { return strings.ContainsAny(name, `*?[\`) })
	if plain < 0 {
		plain = len(g.names)
	}
	exact := strings.FieldsFunc(p.expandHome(pattern), isSlash)
	to, ok := p.followLinks("/" + strings.Join(exact[:plain], "/"))
	if !ok {
		return []glob{g}
	}
	return []glob{g, {names: slices.Concat(namesOf(to), g.names[plain:]), absolute: true}}
}

// expandHome replaces `~` at the start of a pattern by the home directory.
func (p *Place) expandHome(pattern string) string {
	if rest, ok := strings.CutPrefix(pattern, "~/"); ok && p.Home != "" {
		return strings.TrimSuffix(filepath.ToSlash(p.Home), "/") + "/" + rest
	}
	return strings.TrimPrefix(pattern, "./")
}

func (p *Place) parseGlob(pattern string) glob {
	pattern = p.expandHome(pattern)
	g := glob{absolute: strings.HasPrefix(pattern, "/") || filepath.VolumeName(pattern) != ""}
	bare := strings.Trim(pattern, "/")
	g.anywhere = !g.absolute && !strings.Contains(bare, "/")
	g.names = strings.FieldsFunc(foldCase(bare), isSlash)
	return g
}

func isSlash(r rune) bool { return r == '/' }

func foldCase(s string) string { return strings.Map(unicode.ToLower, strings.ToUpper(s)) }

// isDenied reports whether a deny rule matches a path: by its name, by the target of its links, or
// by a directory that contains it.
func (p *Policy) isDenied(leads []pathMeanings) bool {
	for i := range leads {
		for _, path := range slices.Concat(leads[i].named, leads[i].to) {
			if slices.ContainsFunc(p.deny, func(g glob) bool { return p.place.matches(&g, path) }) {
				return true
			}
		}
	}
	return false
}

// matches reports whether a glob matches a path or a directory that contains it.
func (p *Place) matches(g *glob, path string) bool {
	all := namesOf(path)
	if g.absolute {
		return matchesPrefix(g.names, all)
	}
	for _, dir := range p.dirs() {
		if rest, ok := cutNames(all, namesOf(dir)); ok {
			if !g.anywhere {
				return matchesPrefix(g.names, rest)
			}
			all = rest
			break
		}
	}
	return g.anywhere && slices.ContainsFunc(all, func(name string) bool { return matchName(g.names[0], name) })
}

// dirs returns the place's directory, with its links resolved and as it is written.
func (p *Place) dirs() []string {
	if to, ok := p.followLinks(p.Dir); ok {
		return []string{to, p.Dir}
	}
	return []string{p.Dir}
}

func namesOf(path string) []string {
	return strings.FieldsFunc(foldCase(filepath.ToSlash(path)), isSlash)
}

func cutNames(all, front []string) ([]string, bool) {
	if len(all) < len(front) || !slices.Equal(all[:len(front)], front) {
		return nil, false
	}
	return all[len(front):], true
}

// matchesPrefix reports whether a pattern matches all names of a path, or the names of a directory
// that contains it. `**` matches any number of names.
func matchesPrefix(pattern, names []string) bool {
	// open[i] means that the first i parts of the pattern match the names so far.
	open := make([]bool, len(pattern)+1)
	open[0] = true
	for i := 0; ; i++ {
		for at := range pattern { // `**` also matches no name
			if open[at] && pattern[at] == "**" {
				open[at+1] = true
			}
		}
		if open[len(pattern)] && (i > 0 || len(names) == 0) {
			return true
		}
		if i == len(names) {
			return false
		}
		next := make([]bool, len(pattern)+1)
		for at, is := range pattern {
			switch {
			case !open[at]:
			case is == "**":
				next[at] = true
			case matchName(is, names[i]):
				next[at+1] = true
			}
		}
		open = next
	}
}

// matchName reports whether a pattern matches a name. An invalid pattern, which a manifest cannot
// contain, matches every name, because patterns are only used to deny.
func matchName(pattern, name string) bool {
	if pattern == "**" {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}

// CheckRoot returns an error if a root of files is invalid.
func CheckRoot(root string) error {
	switch name, _, _ := strings.Cut(root, "/"); {
	case strings.TrimSpace(root) == "":
		return fmt.Errorf("it names nothing: `.` is the manifest's directory")
	case strings.HasPrefix(name, "~") && name != "~":
		return fmt.Errorf("`%s` is not a home directory: only `~` is supported", name)
	}
	return nil
}

// CheckCommand returns an error if a glob of commands is invalid.
func CheckCommand(pattern string) error {
	if strings.TrimSpace(pattern) == "" {
		return fmt.Errorf("it names nothing")
	}
	return nil
}
