package tape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/secret"
)

// Restore returns a copy of the tape in which placeholders are replaced by the secrets. value
// returns the value of a secret.
func (t *Tape) Restore(value func(name string) (string, bool)) (*Tape, error) {
	out := &Tape{Entries: slices.Clone(t.Entries), Ended: t.Ended}
	header, err := json.Marshal(t.Header)
	if err == nil {
		err = json.Unmarshal(secret.RestoreJSON(header, value), &out.Header)
	}
	if err != nil {
		return nil, fmt.Errorf("restore the tape's first line: %w", err)
	}
	for i := range out.Entries {
		out.Entries[i] = out.Entries[i].Restore(value)
	}
	return out, nil
}

// Clean applies clean, which replaces secrets in JSON, to the requests on the tape. This also
// covers requests that were edited by hand.
func (t *Tape) Clean(clean func([]byte) []byte) {
	for i := range t.Entries {
		if e := &t.Entries[i]; len(e.R) > 0 {
			e.R = clean(e.R)
		}
	}
}

// restore returns a copy of the failure in which placeholders are replaced by the secrets.
func (f *Failure) restore(value func(name string) (string, bool)) *Failure {
	out := *f
	out.Message, out.Fields = secret.Restore(f.Message, value), maps.Clone(f.Fields)
	for name, v := range out.Fields {
		switch v := v.(type) {
		case string:
			out.Fields[name] = secret.Restore(v, value)
		case []string:
			texts := make([]string, len(v))
			for i, text := range v {
				texts[i] = secret.Restore(text, value)
			}
			out.Fields[name] = texts
		}
	}
	return &out
}

// Secrets contains the secrets that a tape names, with their values in an environment.
type Secrets struct {
	environ []string
	found   map[string]string
	missing map[string]bool
}

// NewSecrets returns the Secrets of an environment ("NAME=value").
func NewSecrets(environ []string) *Secrets {
	return &Secrets{environ, map[string]string{}, map[string]bool{}}
}

// Value returns the value of a secret by the name on the tape.
func (s *Secrets) Value(name string) (string, bool) {
	v := strings.TrimSpace(variable(s.environ, name))
	if len(v) < secret.MinLength {
		s.missing[name] = true
		return "", false
	}
	s.found[name] = v
	return v, true
}

// IsMissing reports whether the environment lacks a secret that the tape names.
func (s *Secrets) IsMissing() bool { return len(s.missing) > 0 }

// AddTo adds the secrets to the secrets of a run, and the names without a value to its record.
func (s *Secrets) AddTo(secrets *secret.Set, record *secret.Record) {
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		secrets.Add(name, s.found[name])
	}
	for name := range s.missing {
		record.Missing(name)
	}
}

// variable returns the last value of a variable in an environment, or "".
func variable(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}
