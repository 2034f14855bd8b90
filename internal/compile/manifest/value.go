package manifest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// value reads the value of a key according to the key's type. If the value is invalid, it reports
// the error and returns false.
func (r *reader) value(k *Key, n *node, v any, shown string) (*setting, bool) {
	if r.secrets(k, n, v, shown) {
		return nil, false
	}
	s := &setting{}
	fits := true
	switch k.Type {
	case String, Enum:
		s.text, fits = v.(string)
	case Strings:
		s.texts, fits = r.strings(n, v, shown)
	case Commands:
		fits = isCommands(v)
	case Efforts:
		fits = r.isEfforts(n, v, shown)
	case Network:
		if _, fits = v.(bool); !fits {
			s.texts, fits = r.strings(n, v, shown)
		}
	case Warnings:
		if s.texts, fits = r.strings(n, v, shown); fits {
			return s, r.checkAllowable(n, s.texts)
		}
	case Table:
		s.table, fits = r.table(n, v, shown)
	case Integer:
		s.integer, fits = integer(v)
	case Number:
		s.number, fits = number(v)
	case Bool:
		s.yes, fits = v.(bool)
	case Schema:
		if s.json, fits = r.schema(n, v, shown); fits && s.json == nil {
			return nil, false
		}
	case Params:
		if _, fits = v.(map[string]any); fits {
			var ok bool
			if s.json, ok = r.encode(n, v); !ok || string(s.json) == "{}" {
				return nil, false
			}
		}
	case Any:
		_, ok := r.encode(n, v)
		return nil, ok
	case Replies:
		s.json = r.replies(n, v, shown)
		return s, s.json != nil
	case ToolCalls:
		return nil, r.elements(n, v, shown, "connections.*.replies[].tool_calls[]", []string{"name"})
	case Failure:
		r.section("connections.*.replies[].error", n, v, &target{}, shown)
		return nil, true
	}
	if !fits {
		d := r.reportWrongType(n, v, shown, typeText(k))
		hint := r.writing(k)
		if fixes := r.unquoteFixes(k, n, v); len(fixes) > 0 && fixes[0].Edits[0].Span == n.value {
			d.WithFixes(fixes...)
			hint = r.inForm("write `" + k.Name() + " = " + fixes[0].Edits[0].Text + "`")
		}
		d.Hint("%s", hint)
		return nil, false
	}
	checked := r.checkTexts(k, n, s, shown)
	return s, r.checkBounds(k, n, s, shown) && checked
}

// isCommands reports whether a value is an array of commands.
func isCommands(v any) bool {
	all, ok := v.([]any)
	for _, c := range all {
		words, isList := c.([]any)
		ok = ok && isList && len(words) > 0 && words[0] != "" && !slices.ContainsFunc(words, func(w any) bool { _, isText := w.(string); return !isText })
	}
	return ok
}

// isEfforts reports whether a value contains reasoning efforts.
func (r *reader) isEfforts(n *node, v any, shown string) bool {
	budgets, isTable := v.(map[string]any)
	for _, c := range n.children {
		budget, isInteger := budgets[c.name].(int64)
		if isTable && (!isInteger || budget < 0) {
			return false
		}
	}
	_, ok := r.strings(n, v, shown)
	return ok || isTable
}

// checkTexts reports a text, or the texts of a list, for which the key's check returns an error.
func (r *reader) checkTexts(k *Key, n *node, s *setting, shown string) bool {
	ok := true
	if k.Type == String && k.check != nil {
		if err := k.check(s.text); err != nil {
			r.add(r.kinds.value.At(n.value, "%q in `%s`: %v", s.text, shown, err).Hint("%s", r.writing(k)))
			ok = false
		}
	}
	for i, text := range s.texts {
		if k.check == nil || i >= len(n.children) {
			break
		}
		if err := k.check(text); err != nil {
			r.add(r.kinds.value.At(n.children[i].value, "%q in `%s`: %v", text, shown, err).Hint("%s", r.writing(k)))
			ok = false
		}
	}
	return ok
}

// checkAllowable reports codes that are not codes of warnings.
func (r *reader) checkAllowable(n *node, codes []string) bool {
	ok := true
	for i, code := range codes {
		if problem, hint, near := diag.Allowable(code); problem != "" && i < len(n.children) {
			d := diag.ManifestValue.At(n.children[i].value, "%s", problem).Hint("%s", hint)
			if near != "" {
				d.WithFixes(diag.Change(n.children[i].value, near, strconv.Quote(near), false))
			}
			r.add(d)
			ok = false
		}
	}
	return ok
}

// variable matches the name of an environment variable, in which a * matches any characters.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_*][A-Za-z0-9_*]*$`) })

// checkVariableNames reports texts that are not names of environment variables.
func (r *reader) checkVariableNames(n *node, names []string) bool {
	ok := true
	for i, text := range names {
		if variable().MatchString(text) || i >= len(n.children) {
			continue
		}
		c := n.children[i]
		if name, value, set := strings.Cut(text, "="); set {
			if isValue(value) { // the text may be a secret
				r.hideValue(c, value)
			}
			r.add(r.kinds.value.At(c.value, "`pass_env` contains names of variables, not a value for `%s`", name).
				Hint("%s", r.inForm(fmt.Sprintf("write `pass_env = [%q]` to pass the variable unchanged, or set its value in `env`", name))))
		} else {
			r.add(r.kinds.value.At(c.value, "%q is not a valid name of an environment variable", text).
				Hint("%s", r.inForm("write the name without `$` and spaces; `*` matches any characters: `pass_env = [\"AWS_*\"]`")))
		}
		ok = false
	}
	return ok
}

// typeText describes the type of a key with its unit.
func typeText(k *Key) string {
	if k.Unit == "" {
		return k.Type.String()
	}
	return k.Type.String() + " (" + k.Unit + ")"
}

// checkBounds reports a value that is not within the bounds of the key.
func (r *reader) checkBounds(k *Key, n *node, s *setting, shown string) bool {
	switch {
	case k.Type == Enum && !slices.Contains(k.Values, s.text):
		d := r.kinds.value.At(n.value, "unknown %s %q", k.Name(), s.text)
		if near := suggest.Nearest(s.text, k.Values); near != "" {
			r.suggestWord(d, n, s.text, near, k.Values)
		} else {
			d.Hint("`%s` must be %s", k.Name(), list(k.Values))
		}
		r.add(d)
	case k.Type == Integer && s.integer < k.Min:
		r.add(r.kinds.value.At(n.value, "`%s` is %d, which is less than %d", shown, s.integer, k.Min).Hint("%s", r.writing(k)))
	case k.Type == Integer && k.Most > 0 && float64(s.integer) > k.Most:
		r.add(r.kinds.value.At(n.value, "`%s` is %d, which is more than %.0f", shown, s.integer, k.Most).Hint("%s", r.writing(k)))
	case k.Type == Number && k.Most > 0 && !(s.number >= k.Least && s.number <= k.Most):
		r.add(r.kinds.value.At(n.value, "`%s` must be %v to %v %s, not %v", shown, k.Least, k.Most, k.Unit, s.number).Hint("%s", r.inForm("write `"+k.Name()+" = "+k.Example+"`, or remove the key")))
	case k.Type == Number && !finite(s.number) && !(k.Zero && s.number == 0):
		least := "more than 0"
		if k.Zero {
			least = "at least 0"
		}
		r.add(r.kinds.value.At(n.value, "`%s` must be %s and at most 1000000000", shown, least).
			Hint("%s", r.inForm("write `"+k.Name()+" = "+k.Example+"`, or remove the key")))
	case k.Path == "connections.*.replies[].match":
		if _, err := regexp.Compile(s.text); err != nil {
			r.add(diag.ManifestValue.At(n.value, "`match` is not a valid regular expression: %v", err).
				Hint("escape special characters, such as 'a\\.b'"))
			return false
		}
		return true
	case (k.Name() == "base_url" || k.Path == "tools.*.http.url") && !strings.HasPrefix(s.text, "http://") && !strings.HasPrefix(s.text, "https://"):
		r.add(r.kinds.value.At(n.value, "`%s` is not an http or https URL", shown).Hint("%s", r.writing(k)))
	case k.nonempty && k.Type == Strings && (len(s.texts) == 0 || s.texts[0] == ""):
		r.add(r.kinds.value.At(n.value, "`%s` contains no command", shown).Hint("%s", r.writing(k)))
	case k.Name() == "pass_env":
		return r.checkVariableNames(n, s.texts)
	case s.text == "" && (k.nonempty && k.Type == String || k.Name() == "command" || k.Name() == "api_key_env"):
		r.add(r.kinds.value.At(n.value, "`%s` is empty", shown).Hint("%s", r.writing(k)))
	default:
		return true
	}
	return false
}

// strings reads an array of strings.
func (r *reader) strings(n *node, v any, shown string) ([]string, bool) {
	elements, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]string, 0, len(elements))
	for i, e := range elements {
		s, ok := e.(string)
		if !ok {
			r.reportWrongType(n.children[i], e, shown, "strings").Hint("put the element in quotes")
			continue
		}
		out = append(out, s)
	}
	return out, true
}

// table reads a table of strings, in file order.
func (r *reader) table(n *node, v any, shown string) ([]Variable, bool) {
	values, ok := v.(map[string]any)
	if !ok {
		return nil, false
	}
	out := make([]Variable, 0, len(n.children))
	for _, c := range n.children {
		s, ok := values[c.name].(string)
		if !ok {
			r.reportWrongType(c, values[c.name], shown+"."+c.name, "a string").Hint("put the value in quotes")
			continue
		}
		out = append(out, Variable{Name: c.name, Value: s})
	}
	return out, true
}

// integer reads an integer of TOML or JSON.
func integer(v any) (int64, bool) {
	i, ok := v.(int64)
	return i, ok
}

// number reads an integer or a float.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// replies reads an array of replies and returns it as JSON. It returns nil if there are errors.
func (r *reader) replies(n *node, v any, shown string) []byte {
	before := r.list.Errors()
	r.elements(n, v, shown, "connections.*.replies[]", nil)
	if r.list.Errors() > before {
		return nil
	}
	out, _ := r.encode(n, v)
	return out
}

// elements reads an array of tables. path contains the keys of an element, and need those that an
// element requires.
func (r *reader) elements(n *node, v any, shown, path string, need []string) bool {
	elements, ok := tables(v)
	if !ok {
		r.reportWrongType(n, v, shown, "an array of tables")
		return false
	}
	for i, e := range elements {
		c := n.children[i]
		r.section(path, c, e, &target{}, shown)
		for _, k := range need {
			if c.kind == table && c.child(k) == nil {
				r.add(diag.ManifestMissing.At(c.value, "this element of `%s` has no `%s`", shown, k).
					Hint("add `%s = %s`", k, row(path+"."+k).Example))
			}
		}
	}
	return true
}

// tables returns the elements of an array of tables in any of its forms.
func tables(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []map[string]any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = e
		}
		return out, true
	}
	return nil, false
}
