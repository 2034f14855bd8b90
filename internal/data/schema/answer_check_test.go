package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// FuzzCheckAnswer checks that an accepted answer can be decoded by the program, can be recorded in
// canonical form, and is still valid inside a record.
func FuzzCheckAnswer(f *testing.F) {
	for _, text := range []string{`{"n":1e400}`, `"\ud83d"`, `{"a":1,"a":2}`, strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990), `true`, `{"a":[1,2.5,null,"x"]}`, "\"\xff\"", "1 2", "", "-0", "1e-400", "123456789012345678901234567890"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if CheckAnswer(text, nil) != nil {
			return
		}
		if _, err := value.Parse(text); err != nil {
			t.Errorf("accepted, but the program cannot decode it: %v", err)
		}
		record, err := json.Marshal(map[string]any{"v": map[string]json.RawMessage{"value": text}})
		if err != nil {
			t.Fatalf("accepted, but it cannot be stored: %v", err)
		}
		if _, err := jcs.Canonical(record); err != nil {
			t.Errorf("accepted, but a record of it has no canonical form: %v", err)
		}
	})
}

// TestCheckAnswer checks which texts are refused as answers.
func TestCheckAnswer(t *testing.T) {
	for _, c := range []struct{ text, of, want string }{
		{`{"n":1e400}`, "", "not valid JSON: number is out of range at offset 5"},
		{`"\ud83d"`, "", "not valid JSON: lone surrogate in a string at offset 1"},
		{`{"a":1,"a":2}`, "", "a: given twice"},
		{strings.Repeat("[", 9_990) + strings.Repeat("]", 9_990), "", "nested too deeply"},
		{`yes`, `{"type":"boolean"}`, "not valid JSON: expected a value at offset 0"},
		{`"yes"`, `{"type":"boolean"}`, `expected boolean, got "yes"`},
		{`true`, `{"type":"boolean"}`, ""},
		{`{"n":1e300}`, "", ""},
	} {
		got := ""
		if err := CheckAnswer([]byte(c.text), schemaOf(c.of)); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("CheckAnswer(%.40s, %s) = %q, want %q", c.text, c.of, got, c.want)
		}
	}
}

// schemaOf returns the bytes of a schema; nil for "".
func schemaOf(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
