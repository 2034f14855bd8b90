package protocol_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// vector is a test case: a frame, and the text of the expected refusal, or "".
type vector struct{ Name, Frame, Refusal string }

func vectors(t testing.TB, name string) (all []vector) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) == 0 {
		t.Fatalf("read vectors from %s: got %d, error %v", name, len(all), err)
	}
	return all
}

// read parses and checks a frame in the same way as servers and machines do.
func read(frame string) (protocol.Envelope, *protocol.Refusal) {
	e, r := protocol.Parse([]byte(frame))
	if r == nil && e.Enc == nil {
		r = protocol.Check(&e)
	}
	return e, r
}

// TestParseAndAppend checks that the frames in seed.json and new.json are accepted. Append must
// preserve everything, including unknown fields and types.
func TestParseAndAppend(t *testing.T) {
	seen := map[string]bool{}
	for _, file := range []string{"seed.json", "new.json"} {
		for _, v := range vectors(t, file) {
			e, refusal := read(v.Frame)
			if refusal != nil {
				t.Errorf("vector %s: refused: %v", v.Name, refusal)
				continue
			}
			seen[e.Type] = true
			if m := protocol.Find(e.Type); m != nil && file == "seed.json" && m.Since != 1 && e.Type != protocol.Heartbeat {
				t.Errorf("vector %s: Since of %s must be 1", v.Name, e.Type)
			}
			parsed, refusal := protocol.Parse(e.Append(nil))
			if diff := cmp.Diff(e, parsed); refusal != nil || diff != "" {
				t.Errorf("vector %s: parsing the result of Append: refusal %v, difference %s", v.Name, refusal, diff)
			}
			if got, want := canonical(t, string(e.Append(nil))), canonical(t, v.Frame); got != want {
				t.Errorf("vector %s: Append returns %s, want %s", v.Name, got, want)
			}
		}
	}
	for _, m := range protocol.Messages {
		if !seen[m.Type] {
			t.Errorf("no vector has type %s: add one to testdata", m.Type)
		}
	}
}

// canonical returns a frame in canonical JSON, without null members and empty data.
func canonical(t testing.TB, frame string) string {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(frame), &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"host_id", "run_id", "seq", "id", "re", "enc", "data"} {
		if v := string(all[name]); v == "null" || v == "{}" {
			delete(all, name)
		}
	}
	text, err := json.Marshal(all)
	if err == nil {
		text, err = jcs.Canonical(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRefused checks that invalid messages are refused with the expected reason.
func TestRefused(t *testing.T) {
	for _, v := range vectors(t, "refused.json") {
		_, refusal := read(v.Frame)
		if refusal == nil || refusal.Error() != v.Refusal || refusal.Close != 0 {
			t.Errorf("vector %s: refusal = %v, want %s", v.Name, refusal, v.Refusal)
		}
	}
}

// TestCloseCodes checks the close codes for frames that close the connection.
func TestCloseCodes(t *testing.T) {
	for frame, want := range map[string]int{
		"{\"type\":\"x\xff\"}": protocol.CloseInvalidUTF8,
		`{"type":"x","ts":"2025-01-01T00:00:00Z","data":{"a":"` + strings.Repeat("x", protocol.MaxFrame) + `"}}`: protocol.CloseTooBig,
	} {
		if _, r := protocol.Parse([]byte(frame)); r == nil || r.Close != want {
			t.Errorf("frame %.20q: refusal = %+v, want close code %d", frame, r, want)
		}
	}
	longest := `{"type":"x","ts":"2025-01-01T00:00:00Z","data":{"a":"` + strings.Repeat("x", protocol.MaxFrame-56) + `"}}`
	if _, r := protocol.Parse([]byte(longest)); r != nil || len(longest) != protocol.MaxFrame {
		t.Errorf("a frame of %d bytes was refused: %v", len(longest), r)
	}
}

// TestSameEvent checks that SameEvent compares type, enc and data by value.
func TestSameEvent(t *testing.T) {
	of := func(typ, data string) *protocol.Envelope {
		return &protocol.Envelope{Type: typ, Data: json.RawMessage(data)}
	}
	sealed := func(enc string) *protocol.Envelope {
		return &protocol.Envelope{Type: "x", Enc: json.RawMessage(enc), Data: json.RawMessage(`{}`)}
	}
	for _, c := range []struct {
		a, b *protocol.Envelope
		want bool
	}{
		{sealed(`{"v":1,"epoch":7}`), sealed(`{"epoch":7,"v":1}`), true},
		{sealed(`{"v":1,"epoch":7}`), sealed(`{"v":1,"epoch":8}`), false},
		{sealed(`{"v":1,"epoch":7}`), of("x", `{}`), false},
		{of("x", `{}`), sealed(`{"v":1,"epoch":7}`), false},
		{of("x", `{"a":1,"b":2.0}`), of("x", `{ "b":2, "a":1 }`), true},
		{of("x", `{"a":1}`), of("y", `{"a":1}`), false},
		{of("x", `{"a":1}`), of("x", `{"a":2}`), false},
		{of("x", `{"a":9007199254740993}`), of("x", `{"a":9007199254740992}`), false},
		{of("x", `{"a":[1,2]}`), of("x", `{"a":[2,1]}`), false},
	} {
		if got := protocol.SameEvent(c.a, c.b); got != c.want {
			t.Errorf("SameEvent for data %s and %s = %v", c.a.Data, c.b.Data, got)
		}
	}
}

// FuzzParse checks that a frame is either refused with a reason, or unchanged after Append and
// Parse.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"seed.json", "new.json", "refused.json"} {
		for _, v := range vectors(f, file) {
			f.Add([]byte(v.Frame))
		}
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		e, refusal := protocol.Parse(frame)
		if refusal != nil {
			if refusal.Why == "" || refusal.Code == "" {
				t.Fatalf("the refusal has no reason or no code: %+v", refusal)
			}
			return
		}
		if !json.Valid(frame) {
			t.Fatal("Parse accepted invalid JSON")
		}
		_ = protocol.Check(&e)
		parsed, refusal := protocol.Parse(e.Append(nil))
		if diff := cmp.Diff(e, parsed); refusal != nil || diff != "" {
			t.Fatalf("parsing the result of Append: refusal %v, difference %s", refusal, diff)
		}
	})
}
