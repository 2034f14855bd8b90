package tape

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/secret"
)

// Cleaner removes secrets from JSON. What is a mark by accident is told from one.
func Cleaner(known *secret.Set) func(text []byte) []byte {
	return func(text []byte) []byte {
		if bytes.Contains(text, []byte("«")) {
			text = []byte(secret.Escape(string(text)))
		}
		return known.JSON(text)
	}
}

// Restored is the tape with the secrets in what effects gave; value gives that of a variable.
func (t *Tape) Restored(value func(name string) (string, bool)) *Tape {
	out := &Tape{Header: t.Header, Entries: slices.Clone(t.Entries), Ended: t.Ended}
	// Each stands within a text of JSON.
	escaped := func(name string) (string, bool) {
		v, ok := value(name)
		text, _ := json.Marshal(v) // a text always has JSON
		return string(text[1 : len(text)-1]), ok
	}
	for i := range out.Entries {
		e := &out.Entries[i]
		if bytes.Contains(e.V, []byte("«")) {
			e.V = json.RawMessage(secret.Restore(string(e.V), escaped))
		}
		for n, line := range e.Lines {
			if now := secret.Restore(line, escaped); now != line {
				e.Lines = slices.Clone(e.Lines)
				e.Lines[n] = now
			}
		}
		if f := e.Err; f != nil && f.Message != secret.Restore(f.Message, value) {
			restored := *f
			restored.Message = secret.Restore(f.Message, value)
			e.Err = &restored
		}
	}
	return out
}
