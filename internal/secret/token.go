package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// tokens matches what is a secret by its form: keys with the prefixes of their
// issuers, credentials after the name of a scheme, JSON web tokens and private
// keys.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` +
		`sk-[A-Za-z0-9_-]{8,}|[sprk]k_(?:live|test)_[A-Za-z0-9]{8,}|gsk_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}|` +
		`gh[opusr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|glpat-[A-Za-z0-9_-]{16,}|xox[abeoprs]-[A-Za-z0-9-]{8,}|` +
		`AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{20,}|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*|` +
		`(?:Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,})` +
		`|(?s:-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z))`)
})

// beginnings are strings of which every token contains one. A text without any
// of them needs no expression, which takes longer to compile than a manifest
// takes to be read.
var beginnings = []string{"sk-", "k_live_", "k_test_", "gsk_", "hf_", "gh", "glpat-", "xox", "AKIA", "AIza", "eyJ", "Bearer ", "Basic ", "PRIVATE KEY"}

// Tokens gives the byte offsets, start and end, of each part of a text that is a
// secret by its form.
func Tokens(text string) [][]int {
	if !slices.ContainsFunc(beginnings, func(s string) bool { return strings.Contains(text, s) }) {
		return nil
	}
	return tokens().FindAllStringIndex(text, -1)
}

// IsToken says whether something in text is a secret by its form.
func IsToken(text string) bool { return Tokens(text) != nil }
