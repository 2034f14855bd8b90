// Package redact takes out of what a host tells what is secret by its form, spec/relay.md (its
// API promises nothing). What Concerto knows as well is internal/secret's; here is what a
// terminal shows besides: values of telling names, and what looks like chance.
package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/secret"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Mark stands in the place of what was taken out.
const Mark = protocol.Redacted

// names are parts of names whose values are secret.
const names = `(?:api[_-]?key|token|password|passwd|secret|authorization)`

// value is a value after its name.
const value = `(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',;&|]+)`

var (
	keyed  = regexp.MustCompile(`(?i)[A-Za-z0-9_.-]*` + names + `[A-Za-z0-9_-]*["']?\s*[:=]\s*((?:(?:bearer|basic|token)\s+)?` + value + `)`)
	flag   = regexp.MustCompile(`(?i)(?:^|\s)-{1,2}[A-Za-z0-9_.-]*` + names + `[A-Za-z0-9_-]*\s+(` + value + `)`)
	form   = regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{6,}|(?:ghp_|gho_|github_pat_)[A-Za-z0-9_]{4,}|AKIA[0-9A-Z]{4,}|xox[a-z]-[A-Za-z0-9-]{4,}|Bearer +[^\s"',;]+)|(?s:-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z))`)
	name   = regexp.MustCompile(`(?i)` + names)
	chance = regexp.MustCompile(`[A-Za-z0-9+/=_-]{32,}`)
)

// Redactor takes secrets out. Safe for concurrent use.
type Redactor struct{ extra *regexp.Regexp }

// New makes a Redactor that also takes out what an expression matches; "" is none.
func New(extra string) (*Redactor, error) {
	if extra == "" {
		return &Redactor{}, nil
	}
	re, err := regexp.Compile(extra)
	if err != nil {
		return nil, fmt.Errorf("REDACTION_EXTRA_REGEX: %w", err)
	}
	return &Redactor{re}, nil
}

// Text is a text without what is secret by its form.
func (r *Redactor) Text(text string) string {
	text = cut(text, secret.Tokens(text))
	text = cut(text, form.FindAllStringIndex(text, -1)) // what a person shortens, too
	for _, named := range []*regexp.Regexp{keyed, flag} {
		text = cut(text, values(named, text))
	}
	text = cut(text, slices.DeleteFunc(chance.FindAllStringIndex(text, -1), func(at []int) bool { return entropy(text[at[0]:at[1]]) <= 3.5 }))
	if r.extra != nil {
		text = cut(text, r.extra.FindAllStringIndex(text, -1))
	}
	return text
}

// values are where values of telling names stand.
func values(named *regexp.Regexp, text string) [][]int {
	var all [][]int
	for _, m := range named.FindAllStringSubmatchIndex(text, -1) {
		all = append(all, m[2:4])
	}
	return all
}

// cut puts the mark in the place of parts, which are in order.
func cut(text string, parts [][]int) string {
	if len(parts) == 0 {
		return text
	}
	var b strings.Builder
	last := 0
	for _, at := range parts {
		if at[0] < last || at[0] == at[1] {
			continue
		}
		b.WriteString(text[last:at[0]])
		b.WriteString(Mark)
		last = at[1]
	}
	b.WriteString(text[last:])
	return b.String()
}

// entropy is the bits that each character says.
func entropy(text string) float64 {
	var count [256]float64
	for i := range len(text) {
		count[text[i]]++
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			bits -= n / float64(len(text)) * math.Log2(n/float64(len(text)))
		}
	}
	return bits
}

// JSON is a JSON value whose strings are redacted, whole where the name of a member tells.
// What is no JSON becomes the mark.
func (r *Redactor) JSON(v json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return json.RawMessage(`"` + Mark + `"`)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(r.value(value)) != nil {
		return json.RawMessage(`"` + Mark + `"`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

func (r *Redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.Text(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	case map[string]any:
		for k := range v {
			if text, is := v[k].(string); is && text != "" && name.MatchString(k) {
				v[k] = Mark
				continue
			}
			v[k] = r.value(v[k])
		}
	}
	return v
}
