package mcp

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// Function is a tool of a server in the form of a Concerto declaration: the schemas that it needs,
// the lines of its description and decorators, and its signature. Signature is "" if the name of
// the tool or of a parameter is not valid in Concerto; keywords are not checked here. Of the
// server's texts, only valid names become code. All other texts are in comments and string
// literals, with control characters escaped.
type Function struct {
	Name      string
	Schemas   []string
	Head      []string
	Signature string
}

// Inspect connects to a server and returns its tools as the functions of an mcp block, in the
// server's order. The error is that of connecting.
func Inspect(ctx context.Context, c mcpport.Config, o mcpport.Options) ([]Function, error) {
	s := &server{config: c, options: o}
	limited, cancel := o.Clock.Within(ctx, c.Limit(), errTimeout)
	defer cancel()
	l, err := s.ensureLink(limited, nil)
	if err != nil {
		return nil, err
	}
	defer s.closePermanently(context.Background())
	var tools []*sdk.Tool
	var names []string
	for tool, err := range l.session.Tools(limited, nil) {
		if err != nil {
			return nil, s.unreachable(err)
		}
		tools, names = append(tools, tool), append(names, tool.Name)
	}
	slices.Sort(names)
	var out []Function
	w := &declarer{used: map[string]bool{}}
	for _, tool := range tools {
		name := tool.Name
		if short := word(withoutServer(c.Name, name)); short != word(name) && slices.Equal(ownNames(c.Name, names, short), []string{name}) {
			name = short
		}
		if own := ownNames(c.Name, names, word(name)); len(own) > 1 || own[0] != tool.Name {
			return nil, &SameNameError{Name: word(name), Tools: append([]string{tool.Name}, own...)}
		}
		out = append(out, w.function(tool, name))
	}
	return out, nil
}

// SameNameError is the error for tools that have the same name in Concerto.
type SameNameError struct {
	Name  string
	Tools []string
}

func (e *SameNameError) Error() string {
	slices.Sort(e.Tools)
	return fmt.Sprintf("the tools %s of the server have the same name in Concerto, %s", strings.Join(slices.Compact(e.Tools), " and "), e.Name)
}

// declarer writes declarations and records the names of schemas that are used.
type declarer struct {
	used    map[string]bool
	schemas []string // names of the schemas of the current function
}

// function returns the declaration of a tool by a name. Required parameters come first.
func (w *declarer) function(tool *sdk.Tool, name string) Function {
	in := readShape(tool.InputSchema)
	w.schemas = nil
	f := Function{Name: escaped(tool.Name)}
	params := sortedNames(in.Properties)
	if !isWord(word(name)) || slices.ContainsFunc(params, func(p string) bool { return !isWord(p) }) {
		return f
	}
	f.Head = doc(tool.Description)
	slices.SortStableFunc(params, func(a, b string) int { return required(in, b) - required(in, a) })
	var list []string
	for _, p := range params {
		x := in.Properties[p]
		t := w.typeOf(x, camel(name)+camel(p))
		if required(in, p) == 0 {
			t = optional(t)
		}
		if x.Description != "" {
			f.Head = append(f.Head, fmt.Sprintf("@param(%s, %s)", stringLiteral(p), stringLiteral(strings.Join(strings.Fields(x.Description), " "))))
		}
		list = append(list, p+": "+t)
	}
	f.Signature = "fn " + word(name) + "(" + strings.Join(list, ", ") + ") -> " + w.resultType(tool, name) + ";"
	f.Schemas = w.schemas
	return f
}

// doc returns a description as the lines of a doc comment.
func doc(description string) []string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(description)) {
		lines = append(lines, strings.TrimRight("/// "+escaped(strings.TrimSpace(line)), " "))
	}
	return lines
}

// typeOf returns the Concerto type for a JSON Schema. For an object schema that lists its members,
// it declares a schema with the given name or a similar one.
func (w *declarer) typeOf(s *shape, name string) string {
	if s.isNullable() {
		rest := *s.withoutNull()
		rest.Type = slices.DeleteFunc(kinds(&rest), func(k string) bool { return k == "null" })
		if len(rest.Type.([]string)) == 0 {
			return "Any"
		}
		return optional(w.typeOf(&rest, name))
	}
	k := kinds(s)
	switch {
	case len(k) == 1 && k[0] == "array" && s.Items != nil:
		return "Array<" + w.typeOf(s.Items, name) + ">"
	case len(k) != 1 || k[0] != "object" || len(s.Properties) == 0:
		return typeName(s)
	}
	for p := range s.Properties {
		if !isWord(p) {
			return typeName(s)
		}
	}
	if name == "" || name[0] < 'A' || name[0] > 'Z' {
		name = "Tool" + name
	}
	free := name
	for n := 2; w.used[free]; n++ {
		free = fmt.Sprintf("%s%d", name, n)
	}
	w.used[free] = true
	lines := append(doc(s.Description), "pub schema "+free+" {")
	for _, p := range sortedNames(s.Properties) {
		x := s.Properties[p]
		mark := ""
		if required(s, p) == 0 {
			mark = "?"
		}
		lines = append(lines, doc(x.Description)...)
		lines = append(lines, p+mark+": "+w.typeOf(x, free+camel(p))+",")
	}
	w.schemas = append(w.schemas, strings.Join(append(lines, "}"), "\n"))
	return free
}

// isWord reports whether a member's name may be the name of a schema's field.
func isWord(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// camel converts a name for use in a type name: get-sum becomes GetSum.
func camel(s string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return !isWord("a"+string(r)) || r == '_' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// word converts the name of a tool to a Concerto name: `-`, `.` and `/` become `_`.
func word(name string) string { return strings.NewReplacer("-", "_", ".", "_", "/", "_").Replace(name) }

func required(s *shape, name string) int {
	if slices.Contains(s.Required, name) {
		return 1
	}
	return 0
}

func optional(t string) string {
	switch {
	case strings.HasSuffix(t, "?"), strings.HasPrefix(t, "Option<"):
		return t // nil is among its values
	case strings.Contains(t, " | "):
		return "Option<" + t + ">"
	}
	return t + "?"
}

// resultType returns the result type of a tool. It is String, unless the tool describes a
// structured result. If the structured result is not an object, the type is that of its member
// `result`.
func (w *declarer) resultType(tool *sdk.Tool, name string) string {
	if tool.OutputSchema == nil {
		return "String"
	}
	out := readShape(tool.OutputSchema)
	if inner := out.Properties["result"]; inner != nil && len(out.Properties) == 1 {
		out = inner
	}
	return w.typeOf(out, camel(name)+"Result")
}

// stringLiteral returns a Concerto string literal for a text.
func stringLiteral(s string) string {
	return `"` + escaped(strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`).Replace(s)) + `"`
}

// escaped returns a text in which non-printable characters are escaped as in a string literal.
// These are control characters and characters that change the direction of writing.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strconv.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}
