// Package secret keeps the secrets that a run knows, mostly keys, and removes
// them from whatever is shown, logged or stored: providers, proxies and
// subprocesses quote them in their answers.
//
// A secret is found as it is, in the forms in which JSON, URLs and base64 write
// it, and when it comes in several pieces. A mark with its name replaces it.
// Anything else derived from it, such as a hash, is not found.
package secret

import (
	"encoding/base64"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// MinLength is the least length of a secret, in bytes. Shorter ones would be
// found in ordinary words.
const MinLength = 6

// Set is the secrets of a run. A nil Set knows none. Safe for concurrent use.
type Set struct {
	mu    sync.Mutex // held while one is added
	known []known
	heirs []*Set                   // that know the same; see Recorded
	mark  func(name string) string // nil: Mark
	token string                   // stands in the place of what is a secret by its form; "" leaves that
	find  atomic.Pointer[finder]   // nil while none is known
}

// known is a secret with the name of the variable that holds it.
type known struct{ name, value string }

// Mark is what stands in the place of the secret in the variable name.
func Mark(name string) string { return "***" + name + "***" }

// words are those by which the name of a variable says that its value is secret.
var words = []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"}

// Named says whether the name of an environment variable suggests that its value
// is secret.
func Named(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// Add adds the value of a variable, without the white space around it. A value
// shorter than MinLength is ignored.
func (s *Set) Add(name, value string) {
	value = strings.TrimSpace(value)
	if s == nil || len(value) < MinLength {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.known, func(k known) bool { return k.value == value }) {
		return
	}
	s.known = append(s.known, known{name, value})
	s.find.Store(newFinder(s.known, s.marks()))
	for _, heir := range s.heirs {
		heir.Add(name, value)
	}
}

func (s *Set) marks() func(string) string {
	if s.mark == nil {
		return Mark
	}
	return s.mark
}

// Recorded is a set for what is kept of a run and read again: it knows the same secrets, those
// added to s later too, puts a mark in their place from which they can be put back, and removes
// what is a secret by its form (see Tokens).
func (s *Set) Recorded() *Set {
	heir := &Set{mark: RecordedMark, token: Redacted}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.known {
		heir.Add(k.name, k.value)
	}
	s.heirs = append(s.heirs, heir)
	return heir
}

// AddNamed adds the values of the variables of an environment ("NAME=value") whose
// names suggest that they are secret.
func (s *Set) AddNamed(environ []string) {
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && Named(name) {
			s.Add(name, value)
		}
	}
}

// AddHeader adds the value of a header and, when the value begins with a scheme,
// the credentials after it: the token of "Bearer …", the password of "Basic …".
func (s *Set) AddHeader(name, value string) {
	s.Add(name, value)
	scheme, credentials, ok := strings.Cut(strings.TrimSpace(value), " ")
	if !ok {
		return
	}
	s.Add(name, credentials)
	if !strings.EqualFold(scheme, "Basic") {
		return
	}
	if pair, err := base64.StdEncoding.DecodeString(strings.TrimSpace(credentials)); err == nil {
		_, password, _ := strings.Cut(string(pair), ":")
		s.Add(name, password)
	}
}

// Empty says that no secret is known.
func (s *Set) Empty() bool { return s == nil || s.find.Load() == nil && s.token == "" }

// Text gives text with a mark in the place of each secret.
func (s *Set) Text(text string) string {
	if s.Empty() {
		return text
	}
	if f := s.find.Load(); f != nil {
		text, _ = f.clean(text, true)
	}
	if s.token != "" {
		text = s.withoutTokens(text)
	}
	return text
}

// Holds says whether a secret stands in text.
func (s *Set) Holds(text string) bool { return s.Text(text) != text }
