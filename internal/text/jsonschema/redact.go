package jsonschema

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Redact returns a copy of v in which each part that the schema marks as secret is replaced by
// "[redacted:TAG]". The function tag computes TAG from the part's JSON. A mark in an alternative of
// the schema is used even if the value does not match the alternative. Redact does not modify v.
func (s *Schema) Redact(v any, tag func(text []byte) string) any {
	if !s.secretive {
		return v
	}
	return mapped(v, "", s.secrets(v), func(path string, x any) any { return mark(x, tag) })
}

func mark(v any, tag func([]byte) string) string {
	return "[redacted:" + tag(jsonwrite.MustEncode(v)) + "]"
}

// Restore replaces the marks of Redact in an edited value by the corresponding values of the
// original. It considers only marks at places that the schema marks as secret. A mark that
// corresponds to no value of the original is reported as a Problem.
func (s *Schema) Restore(edited, original any, tag func(text []byte) string) (any, []Problem) {
	if !s.secretive {
		return edited, nil
	}
	secrets := map[string]any{}
	mapped(original, "", s.secrets(original), func(path string, x any) any {
		secrets[mark(x, tag)] = x
		return nil
	})
	var problems []Problem
	out := mapped(edited, "", s.secrets(edited), func(path string, x any) any {
		text, ok := x.(string)
		if !ok || !strings.HasPrefix(text, "[redacted:") {
			return x
		}
		value, ok := secrets[text]
		if !ok {
			problems = append(problems, Problem{path, fmt.Sprintf("%s matches no value of the original arguments", text)})
		}
		return value
	})
	return out, problems
}

// mapped returns a copy of v. The parts whose paths are in at are replaced by the results of f.
func mapped(v any, path string, at map[string]bool, f func(path string, x any) any) any {
	if at[path] {
		return f(path, v)
	}
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = mapped(x, item(path, i), at, f)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = mapped(x, member(path, name), at, f)
		}
		return out
	}
	return v
}

// secrets returns the paths of the parts of v that the schema marks as secret.
func (s *Schema) secrets(v any) map[string]bool {
	m := &marking{found: map[string]bool{}, seen: map[seenAt]bool{}}
	m.mark(s.root, v, "")
	return m.found
}

type marking struct {
	found map[string]bool
	seen  map[seenAt]bool
}

type seenAt struct {
	n    *node
	path string
}

// mark visits every schema that may apply to v and records the paths of secrets.
func (m *marking) mark(n *node, v any, path string) {
	if n == nil || m.seen[seenAt{n, path}] {
		return
	}
	m.seen[seenAt{n, path}] = true
	if n.secret {
		m.found[path] = true
	}
	n.inPlace(func(x *node) { m.mark(x, v, path) })
	if n.dynamic != nil && n.dynamic.anchor != "" {
		m.mark(n.resource.dynamic[n.dynamic.anchor], v, path)
	}
	switch v := v.(type) {
	case []any:
		if n.arrays == nil {
			return
		}
		for i, x := range v {
			if r := n.arrays; i < len(r.prefix) {
				m.mark(r.prefix[i], x, item(path, i))
			} else {
				m.mark(r.items, x, item(path, i))
			}
			m.mark(n.arrays.contains, x, item(path, i))
			m.mark(n.arrays.unevaluated, x, item(path, i))
		}
	case map[string]any:
		if n.objects == nil {
			return
		}
		for name, x := range v {
			m.member(n.objects, name, x, member(path, name))
		}
	}
}

func (m *marking) member(r *objectRules, name string, v any, path string) {
	n, declared := r.properties[name]
	m.mark(n, v, path)
	for _, p := range r.patterns {
		if p.pattern.MatchString(name) {
			declared = true
			m.mark(p.node, v, path)
		}
	}
	if !declared {
		m.mark(r.additional, v, path)
		m.mark(r.unevaluated, v, path)
	}
}
