package hosttrace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Comparison determines how an input line is compared with a recorded line. Strict compares all
// members. Otherwise members that differ between machines, versions and models are ignored.
type Comparison struct{ Strict bool }

// Differs returns the difference between a line and a recorded line as "expected …, got …", or ""
// if they are equal. Lines of JSON are compared as values. A placeholder like ***API_KEY*** in the
// recorded line matches any text.
func (c Comparison) Differs(recorded, got string) string {
	a, isA := parse(recorded)
	b, isB := parse(got)
	if !isA || !isB {
		if matches(recorded, got) {
			return ""
		}
		return formatDifference("", recorded, got)
	}
	d := comparer{strict: c.Strict, prompt: isPrompt(a)}
	if d.isSame(place{}, a, b) {
		return ""
	}
	if len(recorded) <= maxShown && len(got) <= maxShown {
		return formatDifference("", recorded, got)
	}
	return formatDifference(d.at, d.want, d.got)
}

// maxShown limits the displayed part of a line, in bytes.
const maxShown = 300

func formatDifference(at, want, got string) string {
	if at != "" {
		at += " "
	}
	return fmt.Sprintf("expected %s%s, got %s", at, utf8cut.Short(want, maxShown), utf8cut.Short(got, maxShown))
}

// parse parses a line as JSON. Numbers retain their spelling.
func parse(line string) (any, bool) {
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	_, err := d.Token()
	return v, err == io.EOF
}

func isPrompt(v any) bool {
	o, _ := v.(map[string]any)
	return o["type"] == "prompt"
}

// place is the path to a value: names of members and indexes of elements.
type place []string

func (p place) member(name string) place { return append(p[:len(p):len(p)], "."+name) }
func (p place) element(i int) place      { return append(p[:len(p):len(p)], fmt.Sprintf("[%d]", i)) }
func (p place) String() string           { return strings.TrimPrefix(strings.Join(p, ""), ".") }

// comparer finds the first difference between two JSON values.
type comparer struct {
	strict, prompt bool

	at, want, got string
}

// mayVary reports whether the value of a member may differ between runs: the position in a trace,
// the UUID of a message, and unless the comparison is strict also the working directory, the
// client, its version and its capabilities, the model of a session, or the key of a prompt.
func (c *comparer) mayVary(p place) bool {
	if len(p) == 1 && (p[0] == ".trace" || p[0] == ".uuid") || len(p) == 2 && p[0] == ".params" && p[1] == "._meta" {
		return true
	}
	if c.strict {
		return false
	}
	switch p[len(p)-1] {
	case ".cwd", ".version", ".clientInfo", ".clientCapabilities":
		return true
	case ".key":
		return c.prompt && len(p) == 1
	case ".model":
		return len(p) == 2 && p[0] == ".params"
	}
	return false
}

func (c *comparer) isSame(p place, want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			return c.sameObject(p, w, g)
		}
	case []any:
		if g, ok := got.([]any); ok {
			return c.sameArray(p, w, g)
		}
	case string:
		g, ok := got.(string)
		if ok && matches(w, g) || !ok && isScalar(got) && mark().FindString(w) == w && w != "" {
			return true
		}
	case json.Number:
		if g, ok := got.(json.Number); ok && isEqual(w, g) {
			return true
		}
	default:
		if want == got {
			return true
		}
	}
	return c.differs(p, formatValue(want), formatValue(got))
}

func (c *comparer) differs(p place, want, got string) bool {
	c.at, c.want, c.got = p.String(), want, got
	return false
}

func (c *comparer) sameObject(p place, want, got map[string]any) bool {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		at := p.member(name)
		if c.mayVary(at) {
			continue
		}
		v, there := got[name]
		if !there {
			return c.differs(at, formatValue(want[name]), "nothing")
		}
		if !c.isSame(at, want[name], v) {
			return false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, there := want[name]; !there && !c.mayVary(p.member(name)) {
			return c.differs(p.member(name), "nothing", formatValue(got[name]))
		}
	}
	return true
}

func (c *comparer) sameArray(p place, want, got []any) bool {
	for i := range min(len(want), len(got)) {
		if !c.isSame(p.element(i), want[i], got[i]) {
			return false
		}
	}
	switch n := min(len(want), len(got)); {
	case n < len(want):
		return c.differs(p.element(n), formatValue(want[n]), "nothing")
	case n < len(got):
		return c.differs(p.element(n), "nothing", formatValue(got[n]))
	}
	return true
}

func formatValue(v any) string {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		panic("wire: what was read as JSON cannot be written: " + err.Error())
	}
	return string(bytes.TrimSpace(text))
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// isEqual compares two numbers by value, or by spelling if they are too large for that.
func isEqual(a, b json.Number) bool {
	if a == b {
		return true
	}
	if len(a) > 64 || len(b) > 64 || strings.ContainsAny(string(a+b), "eE") {
		x, errA := a.Float64()
		y, errB := b.Float64()
		return errA == nil && errB == nil && x == y
	}
	x, okA := new(big.Rat).SetString(string(a))
	y, okB := new(big.Rat).SetString(string(b))
	return okA && okB && x.Cmp(y) == 0
}

// mark matches the placeholder of a secret.
var mark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\*\*\*[A-Za-z_][A-Za-z0-9_]*\*\*\*`) })

// matches reports whether a text equals the recorded text, in which placeholders match any text.
func matches(recorded, got string) bool {
	if recorded == got {
		return true
	}
	parts := mark().Split(recorded, -1)
	last := len(parts) - 1
	if last == 0 {
		return false
	}
	rest, ok := strings.CutPrefix(got, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}
