package analysis

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/editor/doc"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/sema"
)

// setting is a setting of an agent or a host with its value and the place where it is set.
type setting struct{ name, value, from string }

// settings returns a Markdown table of the effective settings of an agent or a host.
func (f *checkedFile) settings(d *sema.Def) string {
	var all []setting
	switch n := d.Node.(type) {
	case *ast.AgentDecl:
		all = f.resolveAliases(d, append(writtenSettings(d, n.Fields), f.connectionSettings(d)...))
	case *ast.HostDecl:
		all = append(writtenSettings(d, n.Fields), f.sectionSettings(d)...)
	}
	var b strings.Builder
	seen := map[string]bool{}
	for _, x := range all {
		if seen[x.name] {
			continue
		}
		if len(seen) == 0 {
			b.WriteString("| setting | value | from |\n| --- | --- | --- |\n")
		}
		seen[x.name] = true
		b.WriteString("| " + x.name + " | `" + strings.ReplaceAll(x.value, "|", "\\|") + "` | " + x.from + " |\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// writtenSettings returns the settings that a declaration contains.
func writtenSettings(d *sema.Def, fields []*ast.ConfigField) []setting {
	var all []setting
	for _, c := range fields {
		if c.Name == nil || c.Name.Missing() || c.Value == nil {
			continue
		}
		value := utf8cut.Short(oneLine(d.Info.File.Source.Slice(c.Value.Span())), 60)
		all = append(all, setting{c.Name.Name, value, "source"})
	}
	return all
}

// connectionSettings returns the settings that an agent takes from its connection, followed by the
// default timeout.
func (f *checkedFile) connectionSettings(d *sema.Def) []setting {
	a, ok := d.Object.(*sema.Agent)
	if !ok {
		return nil
	}
	var all []setting
	if c := f.connectionOf(a); c != nil {
		section := "[connections." + c.Name + "]"
		if c.Provider != "" {
			all = append(all, setting{"provider", c.Provider, section})
		}
		if c.DefaultModel != "" {
			all = append(all, setting{"model", c.DefaultModel, section})
		}
		if c.Timeout > 0 {
			all = append(all, setting{"timeout", strconv.FormatFloat(c.Timeout, 'f', -1, 64), section})
		}
	}
	if k := manifestKey("connections.*.timeout"); k != nil {
		all = append(all, setting{"timeout", k.Default, "default"})
	}
	return all
}

// connectionOf returns the manifest section of an agent's connection, or nil.
func (f *checkedFile) connectionOf(a *sema.Agent) *manifest.Connection {
	if f.res.input == nil || f.res.input.Manifest == nil {
		return nil
	}
	return f.res.input.Manifest.Connection(a.Connection)
}

// resolveAliases replaces an alias in the model setting with the full name of the model, if the
// agent's connection defines the alias. It changes all and returns it.
func (f *checkedFile) resolveAliases(d *sema.Def, all []setting) []setting {
	a, ok := d.Object.(*sema.Agent)
	if !ok {
		return all
	}
	c := f.connectionOf(a)
	for i, x := range all {
		if x.name != "model" || c == nil {
			continue
		}
		alias := strings.Trim(x.value, `"`)
		if model, ok := c.Models[alias]; ok {
			all[i].value, all[i].from = model, x.from+", by `"+alias+"` of [connections."+c.Name+".models]"
		}
	}
	return all
}

// sectionSettings returns the settings that a host takes from its manifest section, followed by the
// default values of the keys of that section.
func (f *checkedFile) sectionSettings(d *sema.Def) []setting {
	h, ok := d.Object.(*sema.Host)
	if !ok {
		return nil
	}
	all := f.writtenSectionSettings(h)
	for _, k := range manifest.Keys() {
		if k.Section() == "hosts.*" && k.Default != "" && slices.Contains(sema.HostFields(), k.Name()) {
			all = append(all, setting{k.Name(), k.Default, "default"})
		}
	}
	return all
}

// writtenSectionSettings returns the settings in a host's section of the manifest.
func (f *checkedFile) writtenSectionSettings(h *sema.Host) []setting {
	var all []setting
	if f.res.input != nil && f.res.input.Manifest != nil {
		for _, x := range f.res.input.Manifest.Hosts {
			if x.Name != h.Connector {
				continue
			}
			var config map[string]json.RawMessage
			if json.Unmarshal(x.Config, &config) == nil {
				for _, k := range manifest.Keys() {
					if v, ok := config[k.Name()]; ok && k.Section() == "hosts.*" {
						all = append(all, setting{k.Name(), string(v), "[hosts." + x.Name + "]"})
					}
				}
			}
		}
	}
	return all
}

// manifestKey returns the entry of a key in the table of manifest keys.
func manifestKey(path string) *manifest.Key {
	keys := manifest.Keys()
	for i := range keys {
		if keys[i].Path == path {
			return &keys[i]
		}
	}
	return nil
}

// hoverSetting returns the hover of a setting's name in a declaration.
func (f *checkedFile) hoverSetting(nodes []ast.Node, pos source.Pos) *Hover {
	for i, n := range nodes {
		c, ok := n.(*ast.ConfigField)
		if !ok || c.Name == nil || pos < c.Name.Sp.Start || pos > c.Name.Sp.End || i == 0 {
			continue
		}
		section := ""
		switch nodes[i-1].(type) {
		case *ast.AgentDecl:
			section = "agent"
		case *ast.HostDecl:
			section = "hosts.*"
		}
		text := fence(c.Name.Name + ": " + sema.FieldText(strings.TrimSuffix(section, "s.*"), c.Name.Name))
		if k := manifestKey(section + "." + c.Name.Name); k != nil {
			text += "\n\n" + k.Doc
		}
		return &Hover{c.Name.Sp, text}
	}
	return nil
}

// describeSection returns the Markdown description of a manifest section.
func (f *checkedFile) describeSection(d *sema.Def) string {
	table := map[sema.DefKind]string{sema.DefConnection: "connections", sema.DefConnector: "hosts"}[d.Kind]
	l, ok := f.res.manifestLocation(d)
	if !ok {
		return ""
	}
	lines := []string{"[" + table + "." + d.Name + "]"}
	for n := l.File.LineOf(l.Span.Start) + 1; n <= l.File.Lines(); n++ {
		line := string(l.File.Line(n))
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			break
		}
		if strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	return "```toml\n" + strings.Join(lines, "\n") + "\n```"
}

// hoverKey returns the hover of a key of the manifest.
func (s *Snapshot) hoverKey(path string, pos source.Pos) *Hover {
	t, err := s.text(s.realPath(path))
	if err != nil {
		return nil
	}
	f := t.file
	n := f.LineOf(clamp(f, pos))
	line := string(f.Line(n))
	word, _, isKey := strings.Cut(line, "=")
	name := strings.TrimSpace(word)
	start := f.LineStart(n) + source.Pos(strings.Index(line, name))
	if !isKey || name == "" || pos < start || pos > start+source.Pos(len(name)) {
		return nil
	}
	k := keyOf(sectionOf(f, n) + "." + name)
	if k == nil {
		return nil
	}
	topics, _ := doc.Find(k.Path)
	if len(topics) == 0 {
		return nil
	}
	return &Hover{source.Span{Start: start, End: start + source.Pos(len(name))}, "```toml\n" + topics[0].Signature + "\n```\n\n" + topics[0].Doc}
}

// sectionOf returns the name of the section that contains a line of a manifest.
func sectionOf(f *source.File, line int) string {
	for ; line > 0; line-- {
		text := strings.TrimSpace(string(f.Line(line)))
		if strings.HasPrefix(text, "[") {
			return strings.TrimSpace(strings.Trim(text[:strings.IndexByte(text+"]", ']')], "[ "))
		}
	}
	return ""
}

// keyOf returns the entry of a key in the table of manifest keys. In the table, user-defined names
// are wildcards.
func keyOf(name string) *manifest.Key {
	parts := strings.Split(name, ".")
	keys := manifest.Keys()
	for i := range keys {
		row := strings.Split(strings.ReplaceAll(keys[i].Path, "[]", ""), ".")
		if len(row) != len(parts) {
			continue
		}
		same := true
		for j := range row {
			same = same && (row[j] == parts[j] || row[j] == "*")
		}
		if same {
			return &keys[i]
		}
	}
	return nil
}
