package manifest

import (
	"bytes"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// EditError means that a manifest has a form that cannot be edited without changing more than a
// line.
type EditError struct{ Name string }

func (e *EditError) Error() string {
	return fmt.Sprintf("cannot edit the entry `%s` of [dependencies]: change %s yourself, and run `concerto update --lock`", e.Name, FileName)
}

// Line returns the entry of [dependencies] as a line of TOML without a line break.
func (d *Dependency) Line() string {
	var parts []string
	for _, f := range []struct{ key, value string }{{"git", d.Git}, {"dir", d.Dir}, {"tag", d.Tag}, {"commit", d.Commit}, {"path", d.Path}} {
		if f.value != "" {
			parts = append(parts, f.key+" = "+pkg.QuoteTOML(f.value))
		}
	}
	return d.Name + " = { " + strings.Join(parts, ", ") + " }"
}

var dependenciesHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t]*\[[ \t]*dependencies[ \t]*\][ \t]*(#.*)?$`)
})

// AddDependency returns a manifest with a further entry of [dependencies], after the existing ones.
// All other lines stay as they are. The error is an *EditError.
func AddDependency(text []byte, d *Dependency) ([]byte, error) {
	eol := "\n"
	if bytes.Contains(text, []byte("\r\n")) {
		eol = "\r\n"
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	at := -1
	for i, line := range lines {
		if dependenciesHeader().Match(bytes.TrimRight(line, "\r\n")) {
			at = i + 1
			break
		}
	}
	if at < 0 {
		out := slices.Clone(text)
		if len(out) > 0 && !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, eol...)
		}
		if len(bytes.TrimSpace(out)) > 0 {
			out = append(out, eol...)
		}
		out = append(out, "[dependencies]"+eol+d.Line()+eol...)
		return out, checkEdit(text, out, d.Name, d)
	}
	last := at // after the last line of the section that is neither empty nor a comment
	for i := at; i < len(lines); i++ {
		line := bytes.TrimSpace(lines[i])
		if bytes.HasPrefix(line, []byte("[")) {
			break
		}
		if len(line) > 0 && line[0] != '#' {
			last = i + 1
		}
	}
	entry := []byte(d.Line() + eol)
	if !bytes.HasSuffix(lines[last-1], []byte("\n")) {
		entry = append([]byte(eol), entry...)
	}
	out := bytes.Join(slices.Insert(lines, last, entry), nil)
	return out, checkEdit(text, out, d.Name, d)
}

// RemoveDependency returns a manifest without an entry of [dependencies]. The error is an
// *EditError.
func RemoveDependency(text []byte, d *Dependency) ([]byte, error) {
	start, end := int(d.At[""].Key.Start), int(d.At[""].Value.End)
	for _, at := range d.At {
		end = max(end, int(at.Value.End))
	}
	if line := bytes.LastIndexByte(text[:start], '\n') + 1; len(bytes.Trim(text[line:start], " \t[")) == 0 || bytes.Contains(text[line:start], []byte("dependencies")) {
		start = line
	}
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		end += i + 1
	} else {
		end = len(text)
	}
	out := append(slices.Clone(text[:start]), text[end:]...)
	return out, checkEdit(text, out, d.Name, nil)
}

// SetVersion returns a manifest in which an entry of [dependencies] requires another tag or commit.
// The error is an *EditError.
func SetVersion(text []byte, d *Dependency, key, value string) ([]byte, error) {
	changed := *d
	changed.Tag, changed.Commit = "", ""
	if key == "tag" {
		changed.Tag = value
	} else {
		changed.Commit = value
	}
	at, found := d.At[key]
	before := text[:at.Value.Start]
	if !found {
		if at, found = d.At[map[string]string{"tag": "commit", "commit": "tag"}[key]]; !found {
			return nil, &EditError{d.Name}
		}
		before = slices.Concat(text[:at.Key.Start], []byte(key), text[at.Key.End:at.Value.Start])
	}
	out := slices.Concat(before, []byte(pkg.QuoteTOML(value)), text[at.Value.End:])
	return out, checkEdit(text, out, d.Name, &changed)
}

// checkEdit reads a manifest before and after an edit. It returns an *EditError unless they differ
// exactly in the entry name, which is now want, or missing if want is nil.
func checkEdit(before, after []byte, name string, want *Dependency) error {
	was, _ := Parse(source.NewFile(FileName, before))
	is, found := Parse(source.NewFile(FileName, after))
	if want == nil || !found.HasErrors() {
		withoutPlaces := func(all []*Dependency, skip string) map[string]Dependency {
			out := map[string]Dependency{}
			for _, d := range all {
				if c := *d; d.Name != skip {
					c.At = nil
					out[d.Name] = c
				}
			}
			return out
		}
		rest := reflect.DeepEqual(withoutPlaces(was.Dependencies, name), withoutPlaces(is.Dependencies, name))
		got := slices.IndexFunc(is.Dependencies, func(d *Dependency) bool { return d.Name == name })
		switch {
		case !rest || is.Project.Name != was.Project.Name || len(is.Connections) != len(was.Connections) || len(is.Hosts) != len(was.Hosts):
		case want == nil && got < 0:
			return nil
		case want != nil && got >= 0 && is.Dependencies[got].Line() == want.Line():
			return nil
		}
	}
	return &EditError{name}
}
