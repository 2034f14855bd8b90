package suggest

import (
	"slices"
	"strings"
	"unicode"
)

// leastLetters is how many letters a word has at least in which a slip of the fingers is told from
// another word.
const leastLetters = 4

// isSlip reports whether name differs from near by nothing but a slip of typing, which no one writes to
// mean something else: the case of letters, a `_` more or less, or, in one word of near, two neighbours
// swapped, a letter doubled, or one within the word dropped. A replaced letter, a letter more or less at
// the end of a word, and a digit may be another name: `decode` and `encode`, `item` and `items`, `user_a` and `user_b`.
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

// words are the parts of a name between `_`, in lower case.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
}

// plain is a name without `_`, in lower case.
func plain(name string) string { return strings.Join(words(name), "") }

// isWordSlip is isSlip for words, which differ.
func isWordSlip(word, meant []rune) bool {
	if max(len(word), len(meant)) < leastLetters {
		return false
	}
	at := 0 // the first letter that differs
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
