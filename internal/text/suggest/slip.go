package suggest

import (
	"slices"
	"strings"
	"unicode"
)

// leastLetters is the minimum length of a word in which isSlip recognizes a typing error. In a
// shorter word, any change may mean another word.
const leastLetters = 4

// isSlip reports whether name differs from near only by a typing error that cannot be intended.
// Such errors are letter case, an extra or missing `_`, and, in one word of near, two swapped
// neighbours, a doubled letter, or a missing letter inside the word. A replaced letter, an extra or
// missing letter at the end of a word, or a digit may mean another name: `decode` and `encode`,
// `item` and `items`, `user_a` and `user_b`.
func isSlip(name, near string) bool {
	if len(name) < 2 {
		return false
	}
	if plain(name) == plain(near) {
		return true
	}
	a, b := words(name), words(near)
	if len(a) != len(b) {
		return false
	}
	slips := 0
	for i, word := range a {
		if word == b[i] {
			continue
		}
		if slips++; !isWordSlip([]rune(word), []rune(b[i])) {
			return false
		}
	}
	return slips == 1
}

// words returns the parts of a name that `_` separates, in lower case.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
}

// plain returns a name without `_`, in lower case.
func plain(name string) string { return strings.Join(words(name), "") }

// isWordSlip is isSlip for two different words.
func isWordSlip(word, meant []rune) bool {
	if max(len(word), len(meant)) < leastLetters {
		return false
	}
	at := 0 // index of the first difference
	for at < min(len(word), len(meant)) && word[at] == meant[at] {
		at++
	}
	switch len(word) - len(meant) {
	case 0:
		return at+1 < len(word) && word[at] == meant[at+1] && word[at+1] == meant[at] && unicode.IsLetter(word[at]) && unicode.IsLetter(word[at+1]) &&
			slices.Equal(word[at+2:], meant[at+2:])
	case 1:
		return at > 0 && word[at] == word[at-1] && unicode.IsLetter(word[at]) && slices.Equal(word[at+1:], meant[at:])
	case -1:
		inside := at > 0 && at+1 < len(meant) || at > 0 && meant[at] == meant[at-1]
		return inside && unicode.IsLetter(meant[at]) && slices.Equal(word[at:], meant[at+1:])
	}
	return false
}
