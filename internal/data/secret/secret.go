// Package secret holds the secrets that a run knows, mostly keys, and removes them from whatever is
// shown, logged or stored: providers, proxies and subprocesses may repeat them in their responses.
//
// It finds a secret as it is, in the encodings of JSON, URLs and base64, and also when it is split
// over several pieces of text, and replaces it by a mark with its name. It does not find texts
// derived from a secret, such as a hash.
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
	mu      sync.Mutex // guards secrets and records
	secrets []knownSecret
	records []*Record              // records that receive each added secret
	find    atomic.Pointer[finder] // nil while none is known
}

// knownSecret is a secret with the name of its variable; part names the part of the variable's
// value, "" for the whole.
type knownSecret struct{ name, value, part string }

// Mark returns the text that replaces the secret in the variable name.
func Mark(name string) string { return "***" + name + "***" }

// marks matches the replacements of secrets: in displayed text, in arguments that a schema marks as
// secret, and in tapes and ledgers.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\*\*\*[A-Za-z0-9_]+\*\*\*|\[redacted:|«(?:redacted|secret:)`)
})

// HasMark reports whether a mark replaces a secret somewhere in text.
func HasMark(text string) bool { return marks().MatchString(text) }

// words are the parts of variable names that suggest a secret value.
var words = []string{"KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH"}

// IsSecretName reports whether the name of an environment variable suggests that its value is
// secret.
func IsSecretName(name string) bool {
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
	if slices.ContainsFunc(s.secrets, func(k knownSecret) bool { return k.value == value }) {
		return
	}
	s.secrets = append(s.secrets, knownSecret{name, value, part})
	s.find.Store(newFinder(s.secrets))
	for _, r := range s.records {
		r.add(knownSecret{name, value, part})
	}
}

// Each calls f with every secret that is known now, and the variable that holds it.
func (s *Set) Each(f func(name, value string)) {
	s.mu.Lock()
	all := slices.Clone(s.secrets)
	s.mu.Unlock()
	for _, k := range all {
		f(k.name, k.value)
	}
}

// AddFromEnviron adds the values of the variables of an environment ("NAME=value") whose
// names suggest that they are secret.
func (s *Set) AddFromEnviron(environ []string) {
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && IsSecretName(name) {
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

// Empty reports whether no secret is known.
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
