package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// shape contains the keywords of a JSON Schema that are compared.
type shape struct {
	Type       any               `json:"type"`
	Properties map[string]*shape `json:"properties"`
	Required   []string          `json:"required"`
	Items      *shape            `json:"items"`
	Enum       []any             `json:"enum"`
	AnyOf      []*shape          `json:"anyOf"`
	AllOf      []*shape          `json:"allOf"`
	// Description is used only in generated declarations.
	Description string `json:"description"`
}

// check compares the declarations of the program with the server's tools.
func (s *server) check(ctx context.Context, l *link, declared []effect.MCPTool) error {
	l.names, l.repeatable, l.nulls = map[string]string{}, map[string]bool{}, map[string][]string{}
	if len(declared) == 0 {
		return nil
	}
	has := map[string]*sdk.Tool{}
	var names []string
	for tool, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			return s.unreachable(err)
		}
		has[tool.Name] = tool
		l.recordHints(tool)
		names = append(names, tool.Name)
	}
	sort.Strings(names)
	var wrong []string
	for _, d := range declared {
		is := "declared"
		if d.Undeclared {
			is = "called"
		}
		own := ownNames(s.config.Name, names, d.Name)
		if len(own) > 1 {
			wrong = append(wrong, fmt.Sprintf("`%s` is %s, but it may mean each of the server's tools %s", d.Signature, is, strings.Join(own, ", ")))
			continue
		}
		if len(own) == 1 {
			l.names[d.Name] = own[0]
		}
		tool := has[l.names[d.Name]]
		if tool == nil {
			near := ""
			words := make([]string, len(names))
			for i, n := range names {
				words[i] = word(n)
			}
			if n := suggest.Nearest(d.Name, words); n != "" {
				near = fmt.Sprintf(" (did you mean `%s`?)", n)
			}
			wrong = append(wrong, fmt.Sprintf("`%s` is %s, but the server has no tool %s%s; its tools are %s", d.Signature, is, d.Name, near, strings.Join(names, ", ")))
			continue
		}
		theirs, ours := readShape(tool.InputSchema), readShape(d.Parameters)
		for _, name := range theirs.Required {
			if p := theirs.Properties[name]; p != nil && p.isNullable() {
				l.nulls[tool.Name] = append(l.nulls[tool.Name], name)
			}
		}
		if why := misfit(ours, theirs); why != "" {
			wrong = append(wrong, fmt.Sprintf("`%s` is %s, but the server has `%s`: %s", d.Signature, is, signature(tool.Name, theirs), why))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return effect.Errorf("ToolError", "mcp server '%s' does not match its declaration: %s", s.config.Name, strings.Join(wrong, "; ")).With("tool", s.config.Name)
}

// ownNames returns the server's tools that a declared name may mean. The tool with exactly that
// name takes precedence, then tools whose names become it, and then those that begin with the
// server's name. names is sorted.
func ownNames(server string, names []string, declared string) []string {
	if slices.Contains(names, declared) {
		return []string{declared}
	}
	for _, form := range []func(string) string{word, func(n string) string { return word(withoutServer(server, n)) }} {
		var own []string
		for _, n := range slices.Compact(slices.Clone(names)) {
			if form(n) == declared {
				own = append(own, n)
			}
		}
		if own != nil {
			return own
		}
	}
	return nil
}

// withoutServer returns the name of a tool without the server's name before it, which some servers
// add: find for Notes_find of the server Notes.
func withoutServer(server, tool string) string {
	if n := len(server); len(tool) > n+1 && strings.EqualFold(tool[:n], server) && strings.ContainsRune("_-./", rune(tool[n])) {
		return tool[n+1:]
	}
	return tool
}

func readShape(schema any) *shape {
	x := &shape{}
	b, ok := schema.(json.RawMessage)
	if !ok {
		b, _ = json.Marshal(schema) // the schema was decoded from JSON
	}
	_ = json.Unmarshal(b, x) // if the schema has another form, x has no properties
	x.mergeParts()
	return x
}

// mergeParts adds the members that the parts of an `allOf` describe.
func (s *shape) mergeParts() {
	for _, part := range s.AllOf {
		if part == nil {
			continue
		}
		part.mergeParts()
		for name, p := range part.Properties {
			if s.Properties == nil {
				s.Properties = map[string]*shape{}
			}
			if s.Properties[name] == nil {
				s.Properties[name] = p
			}
		}
		s.Required = append(s.Required, part.Required...)
		if s.Type == nil {
			s.Type = part.Type
		}
	}
	for _, p := range s.Properties {
		if p != nil {
			p.mergeParts()
		}
	}
}

// isNullable reports whether null is one of several values that a schema allows.
func (s *shape) isNullable() bool {
	if k := kinds(s); len(k) > 1 && slices.Contains(k, "null") {
		return true
	}
	return len(s.AnyOf) > 1 && slices.ContainsFunc(s.AnyOf, func(t *shape) bool { return t != nil && slices.Equal(kinds(t), []string{"null"}) })
}

// withoutNull returns the schema of the values other than null, if there is one.
func (s *shape) withoutNull() *shape {
	rest := slices.DeleteFunc(slices.Clone(s.AnyOf), func(t *shape) bool { return t == nil || slices.Equal(kinds(t), []string{"null"}) })
	if len(kinds(s)) == 0 && len(rest) == 1 && len(rest) < len(s.AnyOf) {
		return rest[0]
	}
	return s
}

// misfit returns the reason why the arguments of the declared tool (ours) are invalid for the
// server (theirs), or "".
func misfit(ours, theirs *shape) string {
	for _, name := range sortedNames(ours.Properties) {
		p := theirs.Properties[name]
		if p == nil {
			return fmt.Sprintf("it has no parameter `%s`", name)
		}
		if !isAssignable(ours.Properties[name], p) {
			return fmt.Sprintf("`%s` is %s there", name, typeName(p))
		}
		if slices.Contains(theirs.Required, name) && !slices.Contains(ours.Required, name) && !p.isNullable() {
			return fmt.Sprintf("`%s` is required there", name)
		}
	}
	for _, name := range theirs.Required {
		if ours.Properties[name] == nil {
			return fmt.Sprintf("it requires `%s`", name)
		}
	}
	return ""
}

func sortedNames(m map[string]*shape) []string {
	var out []string
	for n := range m {
		out = append(out, n)
	}
	sort.Strings(out)
	return out
}

// isAssignable reports whether a value of the declared type (ours) is valid for the server's schema
// (theirs).
func isAssignable(ours, theirs *shape) bool {
	if len(theirs.AnyOf) > 0 {
		return slices.ContainsFunc(theirs.AnyOf, func(t *shape) bool { return isAssignable(ours, t) })
	}
	have, want := kinds(ours), kinds(theirs)
	if len(have) == 0 || len(want) == 0 {
		return true
	}
	if !slices.ContainsFunc(have, func(k string) bool {
		return slices.Contains(want, k) || k == "integer" && slices.Contains(want, "number")
	}) {
		return false
	}
	for _, v := range ours.Enum {
		if len(theirs.Enum) > 0 && !slices.Contains(theirs.Enum, v) {
			return false
		}
	}
	return ours.Items == nil || theirs.Items == nil || isAssignable(ours.Items, theirs.Items)
}

// kinds returns the JSON types that a schema allows.
func kinds(s *shape) []string {
	switch t := s.Type.(type) {
	case string:
		return []string{t}
	case []string:
		return t
	case []any:
		var out []string
		for _, x := range t {
			if k, ok := x.(string); ok {
				out = append(out, k)
			}
		}
		return out
	}
	return nil
}

// signature returns the tool of a server in the form of a declaration, for error texts.
func signature(name string, s *shape) string {
	var params []string
	for _, p := range sortedNames(s.Properties) {
		t := typeName(s.Properties[p])
		if !slices.Contains(s.Required, p) {
			t += "?"
		}
		params = append(params, p+": "+t)
	}
	return "fn " + name + "(" + strings.Join(params, ", ") + ")"
}

var typeNames = map[string]string{"string": "String", "integer": "Int", "number": "Float", "boolean": "Bool", "object": "Map<String, Any>", "null": "Nil"}

// typeName returns the Concerto type for a schema, for error texts.
func typeName(s *shape) string {
	k := slices.DeleteFunc(kinds(s), func(k string) bool { return k == "null" })
	if len(s.Enum) > 0 && len(k) == 1 && k[0] == "string" {
		var values []string
		for _, v := range s.Enum {
			values = append(values, stringLiteral(fmt.Sprint(v)))
		}
		return strings.Join(values, " | ")
	}
	if len(k) != 1 {
		return "Any"
	}
	if k[0] == "array" {
		elem := "Any"
		if s.Items != nil {
			elem = typeName(s.Items)
		}
		return "Array<" + elem + ">"
	}
	if name := typeNames[k[0]]; name != "" {
		return name
	}
	return "Any"
}
