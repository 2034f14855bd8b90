package jsonrepair

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/complexity"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// writer is a Builder that writes JSON.
type writer struct {
	out     strings.Builder
	closers []string
	first   bool // the current object or array is empty
	keyed   bool // a key was written, but not its value
	inText  bool
	text    strings.Builder
}

func (w *writer) begin() {
	if !w.first && !w.keyed && len(w.closers) > 0 {
		w.out.WriteString(",")
	}
	w.first, w.keyed = false, false
}

func (w *writer) Open(array bool) bool {
	w.begin()
	bracket, closer := "{", "}"
	if array {
		bracket, closer = "[", "]"
	}
	w.out.WriteString(bracket)
	w.closers, w.first = append(w.closers, closer), true
	return true
}

func (w *writer) Close() {
	n := len(w.closers) - 1
	w.out.WriteString(w.closers[n])
	w.closers, w.first = w.closers[:n], false
}

func (w *writer) Key(name string) {
	w.begin()
	key, _ := json.Marshal(name)
	fmt.Fprintf(&w.out, "%s:", key)
	w.keyed = true
}

func (w *writer) Text(more string, done bool) {
	if !w.inText {
		w.begin()
		w.text.Reset()
	}
	w.text.WriteString(more)
	if w.inText = !done; done {
		text, _ := json.Marshal(w.text.String())
		w.out.Write(text)
	}
}

func (w *writer) Scalar(raw string) {
	w.begin()
	w.out.WriteString(raw)
}

// soFar returns the JSON written so far, with all levels closed.
func (w *writer) soFar() string {
	s := w.out.String()
	if w.inText {
		text, _ := json.Marshal(w.text.String())
		s += string(text)
	} else if w.keyed {
		s += "null"
	}
	for i := len(w.closers) - 1; i >= 0; i-- {
		s += w.closers[i]
	}
	return s
}

// inPieces passes a text to a Partial in pieces of n bytes.
func inPieces(text string, n int) (*Partial, *writer) {
	w := &writer{}
	p := NewPartial(w)
	for i := 0; i < len(text); i += n {
		p.Write(text[i:min(i+n, len(text))])
	}
	return p, w
}

// TestPartial checks that a Partial reads the same value from a complete text as Extract, whatever
// the size of the pieces is.
func TestPartial(t *testing.T) {
	for _, text := range []string{
		` {"a": [1, 2.50]} `, "\ufeff[]", "Here you are:\n```json\n{\"a\": 1}\n```\nAnything else?", `{}`, `[[], {}, [{}]]`,
		`[note: see below] {"a": 1}`, `Well {so "}" it is} {"a": 1}`, `{"a": [1, 2,], }`, "{\"a\": 1\n\"b\": [1 2]}",
		"{ // one\n \"a\": 1, /* two */ # three\n \"b\": 2 }", `{'a': 'it\'s "x"'}`, `{“a”: “b‘”}`, `{label: good, n: 1}`, `{'a': True, 'b': None, 'c': False}`,
		`{a: undefined, b: NaN, c: -Infinity}`, `{"a" => 1, "b" = 2}`, `{"a": [1, 2}`, "{\"a\": \"x\n\ty\"}", `{"re": "\d+\.", "u": "\u00zz"}`,
		`[+1, .5, 5., 007, 1_000, 0x10, -0, 1.e3]`, `[1, 2, ...]`, `{"t": "\u00e9\ud83d\ude00\ud83d x\n\/\\", "é": "日本"}`, "[{\"a\":`x`, b: «y», c: yes}]",
		`{"a": {"b": {"c": [true, false, null]}}, "d": "` + strings.Repeat("long ", 3000) + `"}`, `{"a": "x"  , "a": "y"}`,
	} {
		wanted, err := extract(text)
		if err != nil {
			t.Fatalf("extract(%s): %v", text, err)
		}
		var want any
		if err := json.Unmarshal(wanted, &want); err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{1, 2, 3, 5, len(text)} {
			p, w := inPieces(text, n)
			var got any
			if err := json.Unmarshal([]byte(w.out.String()), &got); err != nil || !p.Done() || !reflect.DeepEqual(got, want) {
				t.Errorf("%q in pieces of %d bytes: got %s, error %v, done %v; want %s", text, n, w.out.String(), err, p.Done(), wanted)
			}
		}
	}
}

// TestPartialSoFar checks that a Partial reports a part of the text as soon as no continuation can
// change the meaning of that part.
func TestPartialSoFar(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, c := range []struct{ text, want string }{
		{``, ``},
		{`Sure: {`, ``}, // the bracket may begin a remark
		{`Sure: {"`, `{}`},
		{`{"a`, `{}`},
		{`{"a":`, `{"a":null}`},
		{`{"a": "x\`, `{"a":"x"}`},
		{`{"a": "x\u00e`, `{"a":"x"}`},
		{`{"a": "x\ud83d\ude0`, `{"a":"x"}`},
		{`{"a": "日` + "\xe6\x9c", `{"a":"日"}`},
		{`{"a": 12`, `{"a":null}`},
		{`{"a": 12,`, `{"a":12}`},
		{`{"a": tru`, `{"a":null}`},
		{`{"a": [1, {"b": "y`, `{"a":[1,{"b":"y"}]}`},
		{`{"a": 1 // on`, `{"a":1}`},
		{`{"text": "say "hi" now"`, `{"text":"say "}`}, // given up: it can be read in two ways
		{`{"a": ]`, `{"a":null}`},
		{`[1 2, it's`, `[1,2]`},
	} {
		for _, n := range []int{1, 4, len(c.text) + 1} {
			_, w := inPieces(c.text, n)
			if got := w.soFar(); got != c.want {
				t.Errorf("%q in pieces of %d bytes: got %s, want %s", c.text, n, got, c.want)
			}
		}
	}
}

func TestPartialLinear(t *testing.T) {
	randtest.InOneGoroutine(t)
	for _, part := range []string{`"`, `{"a":1,}`, `["a\n, `, `a `, `\u12`, `/* `, `a:`, `{`, `[`, `{"a":`, "```", `}]`, `#`, `...`, `[{`, `{x `, `"\ud83d`, "é"} {
		for _, open := range []string{"", "{", `["`, `{"a":`} {
			t.Run(open+part, func(t *testing.T) {
				complexity.Linear(t, 40_000, func(n int) time.Duration {
					text := open + strings.Repeat(part, n/len(part))
					return complexity.CPUTime(func() { inPieces(text, 3) })
				})
			})
		}
	}
}

// FuzzPartial checks that the result does not depend on the size of the pieces, and that it is
// valid JSON.
func FuzzPartial(f *testing.F) {
	for _, s := range []string{"{\"a\": [1, 2,], }", "```json\n{a: 'b'}\n```", `{"a": "x`, `[+1, .5, 007, 0x1]`, `{“a”: true, b => None`, `{"t": "\ud83d\ude00\u12`, `[x] {"say": "a "b" c"}`, "{A:0,0A", "[\x00" + strings.Repeat("0", 300)} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		_, whole := inPieces(text, len(text)+1)
		_, pieces := inPieces(text, int(n)+1)
		a, b := whole.soFar(), pieces.soFar()
		if a != b {
			t.Errorf("%q as a whole: got %s; in pieces of %d bytes: got %s", text, a, int(n)+1, b)
		}
		if a != "" && !json.Valid([]byte(a)) {
			t.Errorf("%q: got %s, which is not valid JSON", text, a)
		}
	})
}
