package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/toolname"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// MaxToolFile is the maximum length of a file of tools, in bytes.
const MaxToolFile = 1 << 20

// Tool is a tool of the application, from a section [tools.X] or from a file of tools. Config is a
// JSON object in the full form: it contains `name`, the other keys that are set, and exactly one of
// the objects `command`, `http`, `mcp` and `concerto`. Paths in Config are relative to the
// directory of File.
type Tool struct {
	Name    string
	Version int64 // 1 if it is not set
	Session bool  // the tool has the scope "session"
	Handler string
	Config  json.RawMessage
	File    *source.File
	Place   source.Span // start of the tool in the file
	At      Places      // positions of its keys, including the keys of its handler, such as "command.run"
}

// ToolFile is a file of tools. MCP contains the servers that the file declares.
type ToolFile struct {
	File  *source.File
	Tools []*Tool
	MCP   []*MCP
}

// ParseTools reads a file of tools. It always returns a ToolFile, which contains the valid parts.
// If the list contains errors, the ToolFile must not be used. The diagnostics have the code E0911
// or a later one.
func ParseTools(file *source.File) (*ToolFile, diag.List) {
	r := &reader{file: file, m: &Manifest{File: file}, kinds: &toolKinds, form: inYAML, read: true}
	if size := len(file.Text); size > MaxToolFile {
		r.add(diag.ToolSyntax.At(source.Span{}, "%s", tooLong(size)).Hint("write separate files, and pass each with `--host-tools`"))
		return &ToolFile{File: file}, r.list
	}
	if n, values, ok := r.document(); ok {
		r.toolFile(n, values)
	}
	found := r.finish()
	f := &ToolFile{File: r.m.File, Tools: r.m.Tools, MCP: r.m.MCP}
	for _, t := range f.Tools {
		t.File = f.File
	}
	found.Append(reportClashes(f.Tools, func(a, b *Tool) bool { return true }))
	return f, found
}

// document decodes the text. It uses the JSON decoder if possible, because the YAML decoder does
// not support surrogates.
func (r *reader) document() (*node, map[string]any, bool) {
	text := strings.TrimSpace(strings.TrimPrefix(r.file.String(), bom))
	if strings.HasPrefix(text, "{") && utf8cut.Invalid(r.file.Text) < 0 {
		if n, v, _, err := r.jsonValue(); err == nil {
			values, ok := v.(map[string]any)
			return n, values, ok
		}
		r.list = diag.List{} // the YAML decoder reports the errors
	}
	return r.yaml()
}

func (r *reader) toolFile(root *node, values map[string]any) {
	for _, n := range root.children {
		switch n.name {
		case "tools":
			r.toolList(n, values[n.name])
		case "mcp":
			r.each(n, values[n.name], r.mcp)
		default:
			r.reportUnknown(n, "a file of tools", []string{"tools", "mcp"})
		}
	}
	if root.child("tools") == nil && r.unknown == 0 {
		r.add(diag.ToolMissing.At(source.Span{Start: root.value.Start, End: root.value.Start}, "the file has no `tools`").Hint("start with `tools:`, and write a list below it"))
	}
}

func (r *reader) toolList(n *node, v any) {
	list, ok := v.([]any)
	if !ok {
		r.reportWrongType(n, v, "tools", "an array of tables").Hint("start each tool with `- `")
		return
	}
	for i, x := range list {
		c := n.children[i]
		values, ok := x.(map[string]any)
		if !ok {
			r.reportWrongType(c, x, fmt.Sprintf("tools[%d]", i), "a table").Hint("write `- name: …`, and its other keys below `name`")
			continue
		}
		at := firstLine(r.file, c.value)
		name, isText := values["name"].(string)
		shown := name
		if c.child("name") == nil {
			shown = fmt.Sprintf("tools[%d]", i)
		} else if !isText || name == "" {
			shown = fmt.Sprintf("tools[%d]", i)
		}
		if isText {
			if err := toolname.Check(name); err != nil {
				r.add(diag.ToolValue.At(c.child("name").value, "%v", err).Hint("use only letters, digits, `_` and `-`"))
			}
		}
		before := r.unknown
		r.tool(&Tool{Name: name, Place: at}, c, values, shown)
		if c.child("name") == nil && r.unknown == before {
			r.add(diag.ToolMissing.At(at, "this tool has no `name`").Hint("add `name: query`, or another name for models to call"))
		}
	}
}

// firstLine returns the part of a span on its first line.
func firstLine(f *source.File, s source.Span) source.Span {
	if i := strings.IndexAny(f.Slice(s), "\r\n"); i >= 0 {
		s.End = s.Start + source.Pos(i)
	}
	return s
}

// toolSection reads the section [tools.X].
func (r *reader) toolSection(n *node, v any) {
	values, _ := v.(map[string]any)
	if err := toolname.Check(n.name); err != nil {
		r.add(diag.ToolValue.At(n.key, "%v", err).Hint("use only letters, digits, `_` and `-`"))
	}
	r.tool(&Tool{Name: n.name, Place: n.key}, n, values, "tools."+n.name)
}

// tool reads the keys of a tool.
func (r *reader) tool(t *Tool, n *node, values map[string]any, shown string) {
	r.m.Tools = append(r.m.Tools, t)
	t.File, t.Version, t.Config = r.file, 1, json.RawMessage("{}")
	if r.form == inTOML {
		named := &node{name: "name"}
		r.member(&t.Config, row("tools.*.name"), named, t.Name, nil)
	}
	python, before := r.pythonHandler(n, values), r.unknown
	others := slices.DeleteFunc(slices.Clone(n.children), func(c *node) bool { return python && pythonKey(c.name) })
	section := *n
	section.children = others
	t.At = r.section("tools.*", &section, values, &target{config: &t.Config}, shown)
	for _, c := range n.children {
		for _, inner := range c.children {
			if c.kind == table {
				t.At[c.name+"."+inner.name] = Place{inner.key, inner.value}
			}
		}
	}
	if v, ok := integer(values["version"]); ok && v > 0 && v <= math.MaxInt32 {
		t.Version = v
	}
	t.Session = values["scope"] == "session"
	if r.unknown > before {
		return
	}
	if !python {
		r.handler(t, n, values, shown)
	}
	if n.child("description") == nil && !slices.ContainsFunc(selfDescribed, func(key string) bool { return n.child(key) != nil }) {
		r.add(diag.ToolMissing.At(t.Place, "tool `%s` has no `description`", shown).Hint("%s", r.inForm("add `description = \"…\"`: models use it to decide when to call the tool")))
	}
}

// handler finds the one key that defines the handler of a tool.
func (r *reader) handler(t *Tool, n *node, values map[string]any, shown string) {
	var found []*node
	for _, c := range n.children {
		if slices.Contains(handlers, c.name) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 0:
		r.add(diag.ToolHandler.At(t.Place, "tool `%s` has no handler", shown).Hint("%s", r.inForm("add `command = [\"python3\", \"query.py\"]`, or one of `http`, `mcp` and `concerto`")))
		return
	case len(found) > 1:
		r.add(diag.ToolHandler.At(found[1].key, "tool `%s` has both `%s` and `%s`, but only one can handle its calls", shown, found[0].name, found[1].name).
			Label(found[0].key, "the other one").Hint("keep one of them, or declare two tools"))
		return
	}
	t.Handler = found[0].name
	r.needs(found[0], values[t.Handler], shown)
	if !slices.Contains(selfDescribed, t.Handler) {
		return
	}
	if p := n.child("parameters"); p != nil {
		whose := map[string]string{handledByMCP: "the server's tool", handledByConcerto: "the function"}[t.Handler]
		r.add(diag.ToolValue.At(p.key, "tool `%s` must not declare the parameters of %s", shown, whose).Hint("remove `parameters`"))
	}
}

// needs reports missing keys that a handler requires.
func (r *reader) needs(n *node, v any, shown string) {
	if _, ok := v.(map[string]any); !ok {
		return // the handler has its short form, or has been reported
	}
	path := "tools.*." + n.name
	for _, need := range map[string][]string{handledByCommand: {"run"}, handledByHTTP: {"url"}, handledByMCP: {"server", "tool"}, handledByConcerto: {"file", "function"}}[n.name] {
		if n.child(need) == nil {
			r.add(diag.ToolMissing.At(n.key, "`%s.%s` has no `%s`", shown, n.name, need).Hint("%s", r.inForm(fmt.Sprintf("add `%s = %s`", need, row(path+"."+need).Example))))
		}
	}
}

func pythonKey(name string) bool { return name == "module" || name == "function" }

// pythonHandler reports a tool whose handler is a function in a Python module, and shows how to
// call it instead.
func (r *reader) pythonHandler(n *node, values map[string]any) bool {
	module := n.child("module")
	if module == nil {
		return false
	}
	part := func(key, other string) string {
		if text, ok := values[key].(string); ok && text != "" {
			return text
		}
		return other
	}
	d := diag.ToolUnknown.At(module.key, "`module` is not a handler: use one of `command`, `http`, `mcp` and `concerto`")
	if r.form == inYAML {
		d.Hint("command: [python3, concerto.py, tool, \"%s:%s\"]", part("module", "MODULE"), part("function", "FUNCTION"))
	} else {
		d.Hint("command = [\"python3\", \"concerto.py\", \"tool\", \"%s:%s\"]", part("module", "MODULE"), part("function", "FUNCTION"))
	}
	r.add(d)
	return true
}

// Clashes reports tools with the same name and version. Tools with the scope "session" may be
// declared once in each file.
func Clashes(files ...[]*Tool) diag.List {
	return reportClashes(slices.Concat(files...), func(a, b *Tool) bool { return a.File != b.File && !a.Session })
}

// reportClashes reports each tool that has the name and version of an earlier tool, unless may
// returns true for the two.
func reportClashes(tools []*Tool, may func(a, b *Tool) bool) diag.List {
	type key struct {
		name    string
		version int64
		session bool
	}
	var l diag.List
	first := map[key][]*Tool{}
	for _, t := range tools {
		k := key{t.Name, t.Version, t.Session}
		for _, other := range first[k] {
			if t.Name != "" && may(other, t) {
				l.Add(diag.ToolTwice.At(t.named(), "duplicate tool `%s@%d`", t.Name, t.Version).In(t.File).LabelIn(other.File, other.named(), "the first one").
					Hint("use another name or another `version` for one of them"))
				break
			}
		}
		first[k] = append(first[k], t)
	}
	return l
}

// named returns the span of the tool's name in its file.
func (t *Tool) named() source.Span {
	if p, ok := t.At["name"]; ok {
		return p.Value
	}
	return t.Place
}
