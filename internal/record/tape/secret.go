package tape

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/secret"
)

// Restore returns the tape with the secrets in it; value returns the value of a variable.
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

// Clean removes secrets from the requests by applying clean to their JSON. Requests are compared
// without secrets, even if the tape was edited.
func (t *Tape) Clean(clean func([]byte) []byte) {
	for i := range t.Entries {
		if e := &t.Entries[i]; len(e.R) > 0 {
			e.R = clean(e.R)
		}
	}
}

// restore returns the failure with the secrets in it.
func (f *Failure) restore(value func(name string) (string, bool)) *Failure {
	out := *f
	out.Message, out.Fields = secret.Restore(f.Message, value), maps.Clone(f.Fields)
	for name, v := range out.Fields {
		if text, ok := v.(string); ok {
			out.Fields[name] = secret.Restore(text, value)
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

// NewSecrets returns Secrets for an environment ("NAME=value").
func NewSecrets(environ []string) *Secrets {
	return &Secrets{environ, map[string]string{}, map[string]bool{}}
}

// Value returns the value of a secret under its recorded name.
func (s *Secrets) Value(name string) (string, bool) {
	v := strings.TrimSpace(variable(s.environ, name))
	if len(v) < secret.MinLength {
		s.missing[name] = true
		return "", false
	}
	s.found[name] = v
	return v, true
}

// AddTo adds the secrets to a run's known secrets, and the missing ones to its record.
func (s *Secrets) AddTo(secrets *secret.Set, record *secret.Record) {
	for _, name := range slices.Sorted(maps.Keys(s.found)) {
		secrets.Add(name, s.found[name])
	}
	for name := range s.missing {
		record.Missing(name)
	}
}

// variable returns a variable of an environment, or ""; the last one counts.
func variable(environ []string, name string) string {
	for _, v := range slices.Backward(environ) {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}
