// Package toolname defines the names of application tools: their syntax, versions, and the filters
// with which declarations and permissions select tools (spec/21-application-tools.md). The compiler
// and the runtime share it.
package toolname

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// MaxLength is the maximum length of a tool name. Every model provider accepts names of this
// length.
const MaxLength = 64

// Check returns an error if a text is not a valid tool name. A name is a letter or `_`, followed by
// letters, digits, `_` and `-`.
func Check(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("a tool's name is empty")
	case len(name) > MaxLength:
		return fmt.Errorf("the name %.16q… has %d characters, and a tool's name has at most %d", name, len(name), MaxLength)
	}
	for i := range len(name) {
		c := name[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c != '-' && (c < '0' || c > '9')) {
			return fmt.Errorf("%q is not a valid tool name: it must match [A-Za-z_][A-Za-z0-9_-]{0,%d}", name, MaxLength-1)
		}
	}
	return nil
}

// ForModel returns the name of a function for models and hosts: the name itself if every provider
// accepts it, or else Hashed.
func ForModel(name string) string {
	for i := range len(name) {
		if !inModelName(rune(name[i])) {
			return Hashed(name, name)
		}
	}
	if name == "" || len(name) > MaxLength {
		return Hashed(name, name)
	}
	return name
}

// Hashed returns a readable name for models that is different for each identity.
func Hashed(name, identity string) string {
	hash := "_" + hexsum.SHA256(identity)[:8]
	readable := strings.Map(func(r rune) rune {
		if inModelName(r) {
			return r
		}
		return '_'
	}, name[:min(len(name), MaxLength*utf8.UTFMax)])
	return readable[:min(len(readable), MaxLength-len(hash))] + hash
}

func inModelName(r rune) bool {
	return r == '_' || r == '-' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// Ref identifies a tool or one of its versions.
type Ref struct {
	Name    string
	Version int // version number; 0 means the highest version
}

// ParseRef parses "x" or "x@2".
func ParseRef(text string) (Ref, error) {
	name, version, exact := strings.Cut(text, "@")
	if err := Check(name); err != nil || !exact {
		return Ref{Name: name}, err
	}
	n, err := strconv.Atoi(version)
	if err != nil || n < 1 || strconv.Itoa(n) != version {
		return Ref{Name: name}, fmt.Errorf("%q: a version is a whole number from 1, as in %s@2", text, name)
	}
	return Ref{name, n}, nil
}

// String formats a Ref for ParseRef.
func (r Ref) String() string {
	if r.Version == 0 {
		return r.Name
	}
	return r.Name + "@" + strconv.Itoa(r.Version)
}

// category is the prefix of a filter that selects tools by category.
const category = "category:"

// CheckFilter returns an error unless a text is a filter: "x", "x@2" or "category:c".
func CheckFilter(text string) error {
	if c, ok := strings.CutPrefix(text, category); ok {
		if c == "" {
			return fmt.Errorf("%q names no category", text)
		}
		return nil
	}
	_, err := ParseRef(text)
	return err
}
