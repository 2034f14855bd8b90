package host

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"type":"a"}`, ""},
		{` {"type":"a","id":1}`, ""},
		{`{"type":"a"`, "unexpected end of the text at offset 11"},
		{"\v {\"a", "expected a value at offset 0"},
		{`{"no":"type"}`, errNotMessage.Error()},
		{`plain {`, errNotMessage.Error()},
		{`[1`, errNotMessage.Error()},
		{`{} trailing`, "unexpected text after the value at offset 3"},
	} {
		got := ""
		if err := decodeMessage(new(effect.HostMessage), []byte(c.text), nil); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("decoding %q: error %q, want %q", c.text, got, c.want)
		}
	}
}

func TestWithdrawInBatches(t *testing.T) {
	lines := func(all ...string) batch {
		var b batch
		for _, l := range all {
			if err := decodeMessage(b.nextMessage(), []byte(l), nil); err != nil {
				t.Fatal(err)
			}
			b.commitMessage()
		}
		return b
	}
	q := func(id string) string { return `{"type":"question","id":` + id + `}` }
	w := func(id string) string { return `{"type":"withdraw","id":` + id + `}` }
	for _, c := range []struct {
		name    string
		batches []batch
		want    []string
	}{
		{"in one batch", []batch{lines(q("1"), q("2"), w("1"))}, []string{q("2")}},
		{"in a later one", []batch{lines(q("1"), q("2")), lines(w("2"))}, []string{q("1")}},
		{"all", []batch{lines(q("1"), w("1"), q("2"), w("2"))}, nil},
		{"nothing to take back", []batch{lines(w("1"), q("1"))}, []string{w("1"), q("1")}},
		{"one of two with the same id", []batch{lines(q("1"), q("1"), w("1"))}, []string{q("1")}},
		{"not a request", []batch{lines(`{"type":"progress","id":1}`, w("1"))}, []string{`{"type":"progress","id":1}`, w("1")}},
		{"without id", []batch{lines(`{"type":"question"}`, `{"type":"withdraw"}`)}, []string{`{"type":"question"}`, `{"type":"withdraw"}`}},
	} {
		in := newInbox()
		for _, b := range c.batches {
			in.addBatch(b, true)
		}
		b, _ := in.takeBatch()
		var got []string
		for _, m := range b.msgs {
			got = append(got, string(m.Text))
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
		}
	}
}

// FuzzDecode checks that each line is classified as a message, as text, or as unreadable, and that
// package json agrees.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"type":"progress","percent":10}`, `{"type":5}`, `plain`, `{"type":"a","id":"x","b":{"type":"c"}}`, `{"type":"a"`, `"type"`, "\u2028{}",
		`{"type":"a","n":NaN}`, `{"n":1e400}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if !utf8.ValidString(line) {
			t.Skip()
		}
		var o struct {
			Type any `json:"type"`
		}
		var m effect.HostMessage
		err := decodeMessage(&m, []byte(line), nil)
		switch {
		case err == nil:
			if json.Unmarshal([]byte(line), &o) != nil || o.Type != m.Type {
				t.Fatalf("%q was decoded as a message of type %s", line, m.Type)
			}
		case errors.Is(err, errNotMessage):
			if jsonobject.Begins([]byte(line)) && !json.Valid([]byte(line)) {
				t.Fatalf("%q is an invalid object and counts as text", line)
			}
			setPlainResult(&m, []byte(line))
			if got := value.AppendJSON(nil, m.Payload); m.Type != "result" || string(got) != `{"text":`+string(value.AppendString(nil, line))+`}` {
				t.Fatalf("%q was decoded as %s %s, want a result with the text", line, m.Type, got)
			}
		case !jsonobject.Begins([]byte(line)):
			t.Fatalf("%q does not begin as an object, but decoding fails: %v", line, err)
		}
	})
}

// TestWithoutEscapes checks that the object of a line is found after a byte order mark and the
// escape sequences of a terminal, and that other lines remain as they are.
func TestWithoutEscapes(t *testing.T) {
	const object = `{"type":"result","text":"\u001b[1m"}`
	for _, before := range []string{"", "\x1b[?25h", "\ufeff", "\ufeff\x1b[0m", "\x1b[1;31m\x1b[K ", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\", "\x1b=\x1b(B\x1b7", "\x1b[38:5:1m\t"} {
		if got := string(withoutEscapes([]byte(before + object))); strings.TrimLeft(got, " \t") != object {
			t.Errorf("%q before an object: got %q", before, got)
		}
	}
	for _, line := range []string{"", "\x1b", "\x1b[", "\x1b[1mbold\x1b[0m", "\ufeffwords", "\x1b[?25h[1]", "\x1b]0;{}", "\xef{}", "words \x1b[0m" + object} {
		if got := string(withoutEscapes([]byte(line))); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}
