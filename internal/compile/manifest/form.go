package manifest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// form is the format of a text.
type form uint8

const (
	inTOML form = iota
	inYAML
)

// kinds contains the diagnostics for a kind of file.
type kinds struct{ unknown, typ, value, missing, param *diag.Info }

var (
	manifestKinds = kinds{diag.ManifestSyntax, diag.ManifestType, diag.ManifestValue, diag.ManifestMissing, diag.ManifestParam}
	toolKinds     = kinds{diag.ToolUnknown, diag.ToolType, diag.ToolValue, diag.ToolMissing, diag.ToolValue}
)

// inForm replaces TOML terms in the text of a message with those of the file's format.
func (r *reader) inForm(text string) string {
	if r.form == inTOML {
		return text
	}
	return strings.NewReplacer(" = ", ": ", "an array", "a list", "tables", "mappings", "a table", "a mapping", "strings", "texts", "a string", "a text").Replace(text)
}

// writing returns the hint that shows how to write a key.
func (r *reader) writing(k *Key) string {
	return r.inForm("write `" + k.Name() + " = " + k.Example + "`")
}

// typeOf returns the name of a value's type in the terms of the file's format.
func (r *reader) typeOf(v any) string { return r.inForm(typeOf(v)) }

// place returns the name of a section for messages.
func (r *reader) place(section string) string {
	if r.form == inTOML {
		return "[" + section + "]"
	}
	return "`" + section + "`"
}

// fullForm returns a section as a table. A section that is written as the value of one of its keys,
// such as command = ["c"], becomes a table with that key.
func fullForm(path string, n *node, v any) (*node, any) {
	if _, is := v.(map[string]any); is {
		return n, v
	}
	for _, name := range namesIn(path) {
		if k := row(path + "." + name); k != nil && k.short {
			inner := *n
			inner.name = name
			outer := &node{name: n.name, key: n.key, value: n.value, kind: table}
			outer.add(&inner)
			return outer, map[string]any{name: v}
		}
	}
	return n, v
}

// schema reads a JSON Schema and returns it. It reports an invalid schema, and returns nil and true
// for it. It returns false if v is not a table.
func (r *reader) schema(n *node, v any, shown string) (json.RawMessage, bool) {
	values, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	text, ok := r.encode(n, v)
	if !ok {
		return nil, true
	}
	before := r.list.Errors()
	_, errs := jsonschema.Compile(text)
	for _, m := range errs {
		r.add(diag.ToolSchema.At(n.find(m.Pointer), "`%s` is not a valid JSON Schema: /%s%s: %s", shown, n.name, m.Pointer, m.Why).
			Hint("%s", r.inForm("write a schema such as `{ type = \"object\", properties = { sql = { type = \"string\" } } }`")))
	}
	if n.name == "parameters" && len(errs) == 0 && values["type"] != "object" {
		at := n.value
		if c := n.child("type"); c != nil {
			at = c.value
		} else {
			at = firstLine(r.file, at)
		}
		r.add(diag.ToolSchema.At(at, "`%s` must be the schema of an object: /%s/type: must be \"object\"", shown, n.name).Hint("%s", r.inForm("add `type = \"object\"`, and put the arguments into `properties`")))
	}
	if r.list.Errors() > before {
		return nil, true
	}
	return text, true
}

// find returns the span of the value to which a JSON pointer refers. If the value does not exist,
// it returns the span of the innermost value on the way that exists.
func (n *node) find(pointer string) source.Span {
	at := n
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		next := at.child(part)
		if i, err := strconv.Atoi(part); err == nil && at.kind == array && i >= 0 && i < len(at.children) {
			next = at.children[i]
		}
		if next == nil {
			break
		}
		at = next
	}
	return at.value
}
