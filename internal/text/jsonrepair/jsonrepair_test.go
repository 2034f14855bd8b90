package jsonrepair

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/complexity"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

func TestExtract(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", ` {"a": [1, 2.50]} `, `{"a": [1, 2.50]}`},
		{"scalar", "42\n", `42`},
		{"byte order mark", "\ufeff[]", `[]`},
		{"fence", "Here you are:\n```json\n{\"a\": 1}\n```\nAnything else?", `{"a": 1}`},
		{"fence without language", "```\n[1]\n```", `[1]`},
		{"fenced scalar", "```json\ntrue\n```", `true`},
		{"fence on one line", "```{\"a\":1}```", `{"a":1}`},
		{"open fence", "```json\n{\"a\": 1}", `{"a": 1}`},
		{"prose around", `Sure! {"a": {"b": "}"}} is [what] you {want}.`, `{"a": {"b": "}"}}`},
		{"the longest", `As in [1], the answer is {"label": "good"}.`, `{"label": "good"}`},
		{"a remark in brackets", `[note: see below] {"a": 1}`, `{"a": 1}`},
		{"trailing commas", `{"a": [1, 2,], }`, `{"a":[1,2]}`},
		{"missing commas", "{\"a\": 1\n\"b\": [1 2]}", `{"a":1,"b":[1,2]}`},
		{"comments", "{ // one\n \"a\": 1, /* two */ # three\n \"b\": 2 }", `{"a":1,"b":2}`},
		{"single quotes", `{'a': 'it\'s "x"'}`, `{"a":"it's \"x\""}`},
		{"curly quotes", `{“a”: “b”}`, `{"a":"b"}`},
		{"bare keys and words", `{label: good, n: 1}`, `{"label":"good","n":1}`},
		{"Python", `{'a': True, 'b': None, 'c': False}`, `{"a":true,"b":null,"c":false}`},
		{"JavaScript", `{a: undefined, b: NaN, c: -Infinity}`, `{"a":null,"b":null,"c":null}`},
		{"arrows", `{"a" => 1, "b" = 2}`, `{"a":1,"b":2}`},
		{"cut off in a string", `{"a": [1, 2], "b": "x`, `{"a":[1,2],"b":"x"}`},
		{"cut off after a key", `{"a": 1, "b`, `{"a":1}`},
		{"cut off after a colon", `{"a": {"x": 1}, "b":`, `{"a":{"x":1}}`},
		{"cut off after a comma", `[1, 2,`, `[1,2]`},
		{"cut off after a backslash", `["a\`, `["a"]`},
		{"missing closer", `{"a": [1, 2}`, `{"a":[1,2]}`},
		{"raw control characters", "{\"a\": \"x\n\ty\"}", `{"a":"x\u000a\u0009y"}`},
		{"unknown escapes", `{"re": "\d+\.", "u": "\u00zz"}`, `{"re":"\\d+\\.","u":"\\u00zz"}`},
		{"numbers", `[+1, .5, 5., 007, 1_000, 0x10, -0, 1.e3]`, `[1,0.5,5.0,7,1000,16,-0,1.0e3]`},
		{"and so on", `[1, 2, ...]`, `[1,2]`},
		{"unescaped quotes", `{"text": "say "hi" now", "n": 1}`, ``},
		{"a number's unit", `{"when": 2024-01-01T00:00}`, ``},
		{"an unescaped apostrophe", `['it's', 'b']`, ``},
		{"prose behind missing closers", "[\"a\", \"b\"\n\nIt's what you wanted.", ``},
		{"half a number", `[1, 2e`, ``},
		{"a remark with JSON in it", `{see {"a": 1} there}`, ``},
		{"only prose", "I would rather not.", ``},
		{"a remark", "Well [sic], {no}", ``},
		{"nothing", "", ``},
		{"a string", "'yes'", ``},
		{"deep", strings.Repeat("[", 600), ``},
		{"deep but whole", strings.Repeat("[", 600) + strings.Repeat("]", 600), strings.Repeat("[", 600) + strings.Repeat("]", 600)},
	} {
		got, err := extract(c.text)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: Extract returns %s, error %v; want %s", c.name, got, err, c.want)
		}
	}
}

// TestLinear checks that the running time is linear for texts on which a backtracking parser would
// be slow.
func TestLinear(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, part := range []string{`"`, `'`, "`", `{"a":1,}`, `["a\n, `, `say "hi" `, `a `, `1,,`, `\u12`, `/* `, `a:`, `1e `, `{`, `[`, `{"a":`, "```", "```{", `}]`, `[{]`, `#`, `...`, "[true b, “]", "{'a}", "[`]", `[“]`, "{a:'}", "```[", `{"a":1 "b"`} {
		for _, open := range []string{"", "{", `["`} {
			t.Run(open+part, func(t *testing.T) {
				complexity.Linear(t, 40_000, func(n int) time.Duration {
					text := open + strings.Repeat(part, n/len(part))
					return complexity.CPUTime(func() { _, _ = extract(text) })
				})
			})
		}
	}
}

func FuzzExtract(f *testing.F) {
	for _, s := range []string{"{\"a\": [1, 2,], }", "```json\n{a: 'b'}\n```", `{"a": "x`, `[+1, .5, 007, 0x1]`, `{“a”: true, b => None`, "\\", `{"text": "say "hi" now"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := extract(text)
		switch {
		case err != nil && got != nil:
			t.Errorf("Extract returns both the value %s and the error %v", got, err)
		case err == nil && !json.Valid(got):
			t.Errorf("extract(%q) = %q, which is not valid JSON", text, got)
		case err == nil:
			second, err := extract(string(got))
			if err != nil || strings.TrimSpace(string(second)) != strings.TrimSpace(string(got)) {
				t.Errorf("extract(%q) = %q, but Extract of the result is %q (error %v)", text, got, second, err)
			}
		}
	})
}

var errNone = errors.New("the text holds no JSON")

// extract returns the JSON value that a text represents. If the text is JSON, it is the whole text.
// Otherwise it is the longest object, array or content of a fence that is JSON, or else the longest
// of these that can be corrected. If there is none, the error is errNone.
func extract(text string) (json.RawMessage, error) {
	best := Candidate{start: 0, end: -1}
	for _, c := range FindIn(text, nil) {
		if c.JSON == nil {
			continue
		}
		if c.valid && !best.valid || c.valid == best.valid && c.end-c.start > best.end-best.start {
			best = c
		}
	}
	if best.JSON == nil {
		return nil, errNone
	}
	return best.JSON, nil
}
