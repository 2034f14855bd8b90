// Package secret keeps the secrets that a run knows, mostly keys, and removes
// them from whatever is shown, logged or stored: providers, proxies and
// subprocesses quote them in their answers.
//
// A secret is found as it is, in the forms in which JSON, URLs and base64 write
// it, and when it comes in several pieces. A mark with its name replaces it.
// Anything else derived from it, such as a hash, is not found.
package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// MinLength is the least length of a secret, in bytes. Shorter ones would be
// found in ordinary words.
const MinLength = 6

// Set is the secrets of a run. A nil Set knows none. It is safe for concurrent use.
type Set struct {
	mu      sync.Mutex // held while one is added
	known   []known
	records []*Record              // that know the same
	find    atomic.Pointer[finder] // nil while none is known
}

// known is a secret with the name of the variable that holds it; part says which of the table of
// parts it is of that variable's value, "" for all of it.
type known struct{ name, value, part string }

// Mark returns what stands in the place of the secret in the variable name.
func Mark(name string) string { return "***" + name + "***" }

// marks matches what replaces a secret: in what is shown, in arguments that a schema marks as
// secret, and in tapes and ledgers.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\*\*\*[A-Za-z0-9_]+\*\*\*|\[redacted:|«(?:redacted|secret:)`)
})

// Marked reports whether a mark replaces a secret somewhere in text.
func Marked(text string) bool { return marks().MatchString(text) }

// words are those by which the name of a variable says that its value is secret.
var words = []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"}

// Named reports whether the name of an environment variable suggests that its value is secret.
func Named(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// Add adds the value of a variable, without the white space around it. A value
// shorter than MinLength is ignored.
func (s *Set) Add(name, value string) { s.add(name, value, "") }

func (s *Set) add(name, value, part string) {
	value = strings.TrimSpace(value)
	if s == nil || len(value) < MinLength {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.known, func(k known) bool { return k.value == value }) {
		return
	}
	s.known = append(s.known, known{name, value, part})
	s.find.Store(newFinder(s.known))
	for _, r := range s.records {
		r.add(known{name, value, part})
	}
}

// Each calls f with every secret that is known now, and the variable that holds it.
func (s *Set) Each(f func(name, value string)) {
	s.mu.Lock()
	all := slices.Clone(s.known)
	s.mu.Unlock()
	for _, k := range all {
		f(k.name, k.value)
	}
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
	for _, p := range parts {
		s.add(name, p.write(value), p.name)
	}
}

// Empty says that no secret is known.
func (s *Set) Empty() bool { return s == nil || s.find.Load() == nil }

// Text gives text with a mark in the place of each secret.
func (s *Set) Text(text string) string {
	if s.Empty() {
		return text
	}
	text, _ = s.find.Load().clean(text, true)
	return text
}

// Holds reports whether a secret stands in text.
func (s *Set) Holds(text string) bool { return s.Text(text) != text }
