package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Form is a format by which secrets are recognised.
type Form struct {
	Name   string   // name in the manual
	Begins []string // each token of the form contains one of these texts
	expr   string
	random bool // the part after the prefix contains a digit or an upper-case letter, unlike ordinary words
}

// Forms contains the formats by which secrets are recognised.
var Forms = []Form{
	{"`sk-…`", []string{"sk-"}, `sk-[A-Za-z0-9_-]{8,}`, true},
	{"`sk_live_…`, `pk_test_…`", []string{"k_live_", "k_test_"}, `[sprk]k_(?:live|test)_[A-Za-z0-9]{8,}`, false},
	{"`gsk_…`", []string{"gsk_"}, `gsk_[A-Za-z0-9]{16,}`, false},
	{"`hf_…`", []string{"hf_"}, `hf_[A-Za-z0-9]{16,}`, false},
	{"`ghp_…`, `gho_…`", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, `gh[opusr]_[A-Za-z0-9]{16,}`, false},
	{"`github_pat_…`", []string{"github_pat_"}, `github_pat_[A-Za-z0-9_]{16,}`, false},
	{"`glpat-…`", []string{"glpat-"}, `glpat-[A-Za-z0-9_-]{16,}`, false},
	{"`xoxb-…`", []string{"xox"}, `xox[abeoprs]-[A-Za-z0-9-]{8,}`, false},
	{"`AKIA…`", []string{"AKIA"}, `AKIA[0-9A-Z]{16}`, false},
	{"`AIza…`", []string{"AIza"}, `AIza[A-Za-z0-9_-]{20,}`, false},
	{"JSON web tokens", []string{"eyJ"}, `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*`, false},
	{"`Bearer …`, `Basic …`", []string{"Bearer ", "Basic "}, `(?:Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,}`, true},
	{"private keys (PEM)", []string{"PRIVATE KEY"}, `-----BEGIN [A-Z ]*PRIVATE KEY-----` + pemBody + `(?:-----END [A-Z ]*PRIVATE KEY-----)?`, false},
}

// pemBody matches lines of base64 and the two header fields of a key. It stops at other text, so
// that such text does not count as part of a key whose end is missing.
const pemBody = `(?:\\[nrt]|[\r\n][ \t]*|[A-Za-z0-9+/=]|Proc-Type: [0-9]+,[A-Z]+|DEK-Info: [A-Za-z0-9,-]+)*`

// tokens matches all forms. Each form is a group.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	var all []string
	for _, f := range Forms {
		expr := f.expr
		if !strings.HasPrefix(expr, "-") {
			expr = `\b` + expr
		}
		all = append(all, "("+expr+")")
	}
	return regexp.MustCompile(strings.Join(all, "|"))
})

// Tokens returns the start and end offsets of the parts of a text that have the form of a secret. A
// text that contains the start of no form is not matched with the expression, because compiling the
// expression takes longer than reading a manifest.
func Tokens(text string) [][]int {
	if !beginsToken(text) {
		return nil
	}
	var found [][]int
	for _, at := range tokens().FindAllStringSubmatchIndex(text, -1) {
		for i, f := range Forms {
			if at[2+2*i] >= 0 && (!f.random || isRandom(text[at[0]:at[1]])) {
				found = append(found, at[:2:2])
			}
		}
	}
	return found
}

// beginsToken reports whether a text contains the start of a form.
func beginsToken(text string) bool {
	return slices.ContainsFunc(Forms, func(f Form) bool {
		return slices.ContainsFunc(f.Begins, func(s string) bool { return strings.Contains(text, s) })
	})
}

// isRandom reports whether a token contains a digit or an upper-case letter after its prefix.
func isRandom(token string) bool {
	_, rest, _ := strings.Cut(token, "-")
	if _, after, ok := strings.Cut(token, " "); ok {
		rest = after
	}
	return strings.ContainsFunc(rest, func(c rune) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' })
}

// WithoutTokens replaces each part of a text that has the form of a secret by mark.
func WithoutTokens(text, mark string) string {
	all := Tokens(text)
	if all == nil {
		return text
	}
	var b strings.Builder
	from := 0
	for _, at := range all {
		b.WriteString(text[from:at[0]] + mark)
		from = at[1]
	}
	return b.String() + text[from:]
}

// IsToken reports whether a text contains a part that has the form of a secret.
func IsToken(text string) bool { return Tokens(text) != nil }
