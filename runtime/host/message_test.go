package host

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/internal/ndjson"
	"github.com/concerto-lang/concerto/value"
)

func TestCutOff(t *testing.T) {
	for _, c := range []struct {
		text string
		half bool
		want bool
	}{
		{`{"type":"result"`, true, true},
		{` {"a`, true, true},
		{`{"type":"result"`, false, false},
		{`{"type":"result"}`, true, false},
		{`{"no":"type"}`, true, false},
		{`plain {`, true, false},
		{`[1`, true, false},
		{`{} trailing`, true, true},
	} {
		if got := cutOff(ndjson.Line{Text: []byte(c.text), Half: c.half}); got != c.want {
			t.Errorf("%q, half %v: %v", c.text, c.half, got)
		}
	}
}

func TestWithdrawInBatches(t *testing.T) {
	lines := func(all ...string) batch {
		var b batch
		for _, l := range all {
			b.add([]byte(l))
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
			in.put(b)
		}
		msgs, _ := in.take()
		var got []string
		for _, m := range msgs {
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

// FuzzDecode: any line is a message: its own, when it is an object with a
// string type, else the result with the line as text.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		`{"type":"progress","percent":10}`, `{"type":5}`, `plain`, `{"type":"a","id":"x","b":{"type":"c"}}`, `{"type":"a"`, `"type"`, "\u2028{}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if !utf8.ValidString(line) {
			t.Skip()
		}
		var m effect.HostMessage
		decode(&m, []byte(line))
		var payload map[string]any
		if err := json.Unmarshal(value.AppendJSON(nil, m.Payload), &payload); err != nil {
			t.Fatalf("payload of %q: %v", line, err)
		}
		var o struct {
			Type any `json:"type"`
		}
		typ, _ := o.Type.(string)
		if json.Unmarshal([]byte(line), &o) == nil {
			typ, _ = o.Type.(string)
		}
		if m.Type != typ && payload["text"] != line {
			t.Fatalf("%q is %s %v", line, m.Type, payload)
		}
	})
}
