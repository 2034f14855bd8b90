package jsonschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// mostQuoted is the maximum number of bytes of a value that a message quotes.
const mostQuoted = 60

// FormatProblems joins problems to one line. If there are more than most, it appends the number of
// the remaining ones.
func FormatProblems(problems []Problem, most int) string {
	var b strings.Builder
	for i, p := range problems {
		if i > 0 {
			b.WriteString("; ")
		}
		if i == most {
			fmt.Fprintf(&b, "and %d more", len(problems)-most)
			break
		}
		b.WriteString(p.String())
	}
	return b.String()
}

// quote returns the text that represents a value in messages. If the value is secret, it returns a
// placeholder.
func (x *checking) quote(v any, path string) string {
	for secret := range x.secrets {
		if rest, within := strings.CutPrefix(path, secret); within && (rest == "" || secret == "" || rest[0] == '.' || rest[0] == '[') {
			return "a secret"
		}
	}
	return show(v)
}

// show returns the text that represents a value in messages. An object or array is described by its
// type; any other value is JSON, truncated if it is long.
func show(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case json.Number:
		return short(v)
	}
	text := string(jsonwrite.MustEncode(v))
	if len(text) <= mostQuoted {
		return text
	}
	return text[:utf8cut.Before(text, mostQuoted)] + `…"`
}

func short(n json.Number) string {
	if len(n) > mostQuoted {
		return string(n[:mostQuoted]) + "…"
	}
	return string(n)
}

// either joins alternatives in the form "a, b or c".
func either(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func nearest(name string, names []string) string {
	if near := suggest.Nearest(name, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ""
}

// comparePaths compares paths as texts. Indexes of items are compared as numbers.
func comparePaths(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, _ := strconv.Atoi(a[:x])
			n, _ := strconv.Atoi(b[:y])
			if m != n {
				return m - n
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	if i := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		return i
	}
	return len(s)
}

// equal reports whether two values are equal. Numbers are equal if they have the same value, such
// as 1 and 1.0.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		return ok && (a == n || number(a).Cmp(number(n)) == 0)
	case []any:
		l, ok := b.([]any)
		return ok && slices.EqualFunc(a, l, equal)
	case map[string]any:
		o, ok := b.(map[string]any)
		if !ok || len(a) != len(o) {
			return false
		}
		for name, v := range a {
			if w, ok := o[name]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

// findEqual returns the indexes of two equal items. found is false if all items differ.
func findEqual(list []any) (i, j int, found bool) {
	first := map[string]int{}
	for j, v := range list {
		key := string(jsonwrite.MustEncode(plainNumbers(v)))
		if i, ok := first[key]; ok {
			return i, j, true
		}
		first[key] = j
	}
	return 0, 0, false
}

// plainNumbers returns a copy of v in which equal numbers have the same form, so that the JSON
// texts of equal values are equal.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return map[string]any{"": number(v).RatString()}
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plainNumbers(x)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v)+1)
		for name, x := range v {
			out["."+name] = plainNumbers(x)
		}
		return out
	}
	return v
}
