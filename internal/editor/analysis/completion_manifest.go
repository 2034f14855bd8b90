package analysis

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// completeManifest completes a manifest: the keys of a section, values with a fixed set, and
// section names after `[`.
func (s *Snapshot) completeManifest(path string, pos source.Pos) Completion {
	t, err := s.text(s.realPath(path))
	if err != nil || !isManifest(path) {
		return Completion{Items: []Item{}}
	}
	f := t.file
	pos = clamp(f, pos)
	c := Completion{Replace: source.Span{Start: pos, End: pos}, Items: []Item{}}
	for c.Replace.Start > 0 && isKeyByte(f.Text[c.Replace.Start-1]) {
		c.Replace.Start--
	}
	for int(c.Replace.End) < len(f.Text) && isKeyByte(f.Text[c.Replace.End]) {
		c.Replace.End++
	}
	n := f.LineOf(pos)
	before := string(f.Text[f.LineStart(n):c.Replace.Start])
	name, value, isValue := strings.Cut(before, "=")
	switch trimmed := strings.TrimSpace(before); {
	case strings.Contains(before, "#"):
	case isValue:
		if k := keyOf(sectionOf(f, n) + "." + strings.TrimSpace(name)); k != nil {
			whole := f
			if strings.TrimSpace(value) == "" { // without a value, the parser reads the following text as the value
				whole = source.NewFile(f.Name, slices.Concat(f.Text[:c.Replace.Start], []byte(`""`), f.Text[c.Replace.End:]))
			}
			c.Items = valueItems(k, namesFor(whole, n, k), strings.Contains(value, `"`))
		}
	case strings.HasPrefix(trimmed, "["):
		c.Items = sectionItems(strings.TrimLeft(trimmed, "["))
	case trimmed == "":
		c.Items = keyItems(f, n)
	}
	return c
}

func isKeyByte(b byte) bool { return isWordByte(b) || b == '-' }

// namesFor returns the names in the manifest that are valid values of a key: other connections, or
// models of the connection.
func namesFor(f *source.File, line int, k *manifest.Key) (out []string) {
	m, _ := manifest.Parse(f)
	if m == nil {
		return nil
	}
	own := strings.TrimPrefix(sectionOf(f, line), "connections.")
	for _, x := range m.Connections {
		switch {
		case k.Path == "connections.*.fallback" && x.Name != own:
			out = append(out, x.Name)
		case k.Path == "connections.*.default_model" && x.Name == own:
			out = append(out, slices.Sorted(maps.Keys(x.Models))...)
		}
	}
	return out
}

func valueItems(k *manifest.Key, names []string, quoted bool) []Item {
	out := []Item{}
	all := slices.Concat(k.Values, names)
	if k.Type == manifest.Bool {
		all = []string{"true", "false"}
	}
	for _, v := range all {
		text := v
		if k.Type != manifest.Bool && !quoted {
			text = `"` + v + `"`
		}
		out = append(out, Item{Label: v, Kind: ReferenceItem, Text: text})
	}
	return out
}

// sectionItems returns the section names that begin with before. The inserted text omits before.
func sectionItems(before string) []Item {
	out := []Item{}
	seen := map[string]bool{}
	for _, x := range manifest.Sections() {
		name, ok := strings.CutPrefix(strings.TrimSuffix(x.Name, ".*"), before)
		if name = strings.TrimSuffix(name, "[]"); ok && name != "" && !strings.Contains(name, "*") && !seen[name] {
			seen[name] = true
			out = append(out, Item{Label: name, Kind: SettingItem, Text: name, doc: func() string { return x.Doc }})
		}
	}
	return out
}

// keyItems returns the keys that the section at a line does not contain yet.
func keyItems(f *source.File, line int) []Item {
	section := strings.Split(sectionOf(f, line), ".")
	present := map[string]bool{}
	for n := line - 1; n > 0 && !strings.HasPrefix(strings.TrimSpace(string(f.Line(n))), "["); n-- {
		name, _, _ := strings.Cut(string(f.Line(n)), "=")
		present[strings.TrimSpace(name)] = true
	}
	for n := line + 1; n <= f.Lines() && !strings.HasPrefix(strings.TrimSpace(string(f.Line(n))), "["); n++ {
		name, _, _ := strings.Cut(string(f.Line(n)), "=")
		present[strings.TrimSpace(name)] = true
	}
	out := []Item{}
	for _, k := range manifest.Keys() {
		row := strings.Split(k.Section(), ".")
		same := len(row) == len(section)
		for i := 0; same && i < len(row); i++ {
			same = row[i] == section[i] || row[i] == "*"
		}
		if same && k.Name() != "*" && !present[k.Name()] {
			out = append(out, Item{Label: k.Name(), Kind: SettingItem, Signature: " = " + k.Type.String(), Text: k.Name() + " = ", doc: func() string { return k.Doc }})
		}
	}
	slices.SortStableFunc(out, func(a, b Item) int { return cmp.Compare(a.Label, b.Label) })
	return out
}
