// Package secret contains the secrets of a run, mostly API keys, and removes them from everything
// that is displayed, logged or stored. Providers, proxies and subprocesses may repeat secrets in
// their responses.
//
// A secret is found in plain text, in JSON, URL and base64 encoding, and if it is split over
// several pieces of text. It is replaced by a mark with its name. Texts derived from a secret, such
// as a hash, are not found.
package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// MinLength is the minimum length of a secret in bytes. Shorter texts would occur in ordinary
// words.
const MinLength = 6

// Set contains the secrets of a run. A nil Set is empty. It is safe for concurrent use.
type Set struct {
	mu      sync.Mutex // guards secrets and records
	secrets []knownSecret
	records []*Record              // receive each secret that is added
	find    atomic.Pointer[finder] // nil if there are no secrets
}

// knownSecret is a secret with the name of its variable. part is the name of a part of the
// variable's value; "" means the whole value.
type knownSecret struct{ name, value, part string }

// Mark returns the text that replaces the secret in a variable.
func Mark(name string) string { return "***" + name + "***" }

// marks matches the texts that replace secrets: in displayed text, in arguments that a schema
// declares as secret, and on tapes and in ledgers.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\*\*\*[A-Za-z0-9_]+\*\*\*|\[redacted:|«(?:redacted|secret:)`)
})

// HasMark reports whether a text contains a mark.
func HasMark(text string) bool { return marks().MatchString(text) }

// words contains the parts of variable names that suggest a secret value.
var words = []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"}

// IsSecretName reports whether the name of an environment variable suggests that its value is
// secret.
func IsSecretName(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// Add adds the value of a variable, without surrounding white space. It ignores a value shorter
// than MinLength.
func (s *Set) Add(name, value string) { s.add(name, value, "") }

func (s *Set) add(name, value, part string) {
	value = strings.TrimSpace(value)
	if s == nil || len(value) < MinLength {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(s.secrets, func(k knownSecret) bool { return k.value == value }) {
		return
	}
	s.secrets = append(s.secrets, knownSecret{name, value, part})
	s.find.Store(newFinder(s.secrets))
	for _, r := range s.records {
		r.add(knownSecret{name, value, part})
	}
}

// Each calls f with each secret and the name of its variable.
func (s *Set) Each(f func(name, value string)) {
	s.mu.Lock()
	all := slices.Clone(s.secrets)
	s.mu.Unlock()
	for _, k := range all {
		f(k.name, k.value)
	}
}

// AddFromEnviron adds the values of the environment variables ("NAME=value") whose names suggest
// that they are secret.
func (s *Set) AddFromEnviron(environ []string) {
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && IsSecretName(name) {
			s.Add(name, value)
		}
	}
}

// AddHeader adds the value of a header field. If the value begins with a scheme, it also adds the
// credentials after it: the token of "Bearer …", or the password of "Basic …".
func (s *Set) AddHeader(name, value string) {
	s.Add(name, value)
	for _, p := range parts {
		s.add(name, p.write(value), p.name)
	}
}

// Empty reports whether the set contains no secrets.
func (s *Set) Empty() bool { return s == nil || s.find.Load() == nil }

// Text returns text with each secret replaced by a mark.
func (s *Set) Text(text string) string {
	if s.Empty() {
		return text
	}
	text, _ = s.find.Load().clean(text, true)
	return text
}

// Contains reports whether text contains a secret.
func (s *Set) Contains(text string) bool { return s.Text(text) != text }
