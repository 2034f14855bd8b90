package files

import (
	"context"
	"errors"
	"os"
	"path"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// maxMatches is the maximum number of results of a pattern.
const maxMatches = 1_000_000

// glob finds the paths that match a pattern of segments separated by slashes. `*` matches any
// characters, `?` one character, `[a-z]` one character of a set, and the segment `**` any number of
// directories. A name that begins with a dot matches only a segment that begins with a dot.
func (f *Files) glob(ctx context.Context, q *effect.Glob) (effect.Result, error) {
	if _, err := path.Match(strings.ReplaceAll(q.Pattern, "/", "_"), ""); err != nil {
		return nil, pathError("match", q.Pattern, errors.New("the pattern ends inside `[` or after a backslash"))
	}
	m := &matcher{f: f, ctx: ctx}
	segments := strings.Split(strings.TrimSuffix(q.Pattern, "/"), "/")
	base := ""
	if strings.HasPrefix(q.Pattern, "/") {
		base, segments = "/", segments[1:]
	}
	if q.Pattern != "" {
		m.matchSegments(base, segments)
	}
	if m.err != nil {
		return nil, pathError("match", q.Pattern, m.err)
	}
	return sorted(m.found), nil
}

// matcher collects the paths that match a pattern. It treats an unreadable directory as empty. A
// directory that is not permitted is an error.
type matcher struct {
	f     *Files
	ctx   context.Context
	found []string
	err   error
}

// matchSegments finds the matches of the segments below base, which is "" or a path that ends in
// "/".
func (m *matcher) matchSegments(base string, segments []string) {
	if m.err != nil {
		return
	}
	if m.ctx.Err() != nil {
		m.err = context.Cause(m.ctx)
		return
	}
	segment, rest := segments[0], segments[1:]
	switch {
	case segment == "**":
		if len(rest) == 0 {
			rest = []string{"*"}
		}
		m.matchSegments(base, rest)
		for _, e := range m.entries(base) {
			if e.dir && !e.link && e.name[0] != '.' {
				m.matchSegments(base+e.name+"/", segments)
			}
		}
	case !strings.ContainsAny(segment, `*?[\`):
		if len(rest) > 0 {
			m.matchSegments(base+segment+"/", rest)
		} else if status, err := m.f.info(&effect.FileInfo{Path: base + segment}); err != nil {
			m.err = err
		} else if status.(*effect.FileStatus).Exists {
			m.addMatch(base + segment)
		}
	default:
		for _, e := range m.entries(base) {
			if ok, _ := path.Match(segment, e.name); !ok || e.name[0] == '.' && segment[0] != '.' {
				continue
			}
			if len(rest) == 0 {
				m.addMatch(base + e.name)
			} else if e.dir {
				m.matchSegments(base+e.name+"/", rest)
			}
		}
	}
}

func (m *matcher) addMatch(p string) {
	if len(m.found) == maxMatches {
		m.err = errors.New("it matches more than a million paths")
		return
	}
	m.found = append(m.found, p)
}

// entry is an entry of a directory. dir is also true for a link to a directory.
type entry struct {
	name      string
	dir, link bool
}

func (m *matcher) entries(base string) []entry {
	name := base
	if name == "" {
		name = "."
	}
	dir, err := m.f.openFile(name, os.O_RDONLY)
	if err != nil {
		var failure *effect.Error
		if errors.As(err, &failure) {
			m.err = failure
		}
		return nil
	}
	defer dir.Close()
	all, err := dir.ReadDir(-1)
	if err != nil {
		return nil
	}
	out := make([]entry, 0, len(all))
	for _, e := range all {
		x := entry{name: e.Name(), dir: e.IsDir(), link: e.Type()&os.ModeSymlink != 0}
		if x.link {
			if s, err := m.f.info(&effect.FileInfo{Path: base + x.name}); err == nil {
				x.dir = s.(*effect.FileStatus).IsDir
			}
		}
		out = append(out, x)
	}
	return out
}
