package memstore

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// index leads from a word or key, folded, to the entries that have it.
type index map[string]map[*Entry]struct{}

func (x index) add(word string, e *Entry) {
	if x[word] == nil {
		x[word] = map[*Entry]struct{}{}
	}
	x[word][e] = struct{}{}
}

func (x index) remove(word string, e *Entry) {
	delete(x[word], e)
	if len(x[word]) == 0 {
		delete(x, word)
	}
}

// findAll returns the entries that contain all words, in order. It checks only the entries with the
// rarest word.
func (x index) findAll(words []string) []*Entry {
	rarest := x[words[0]]
	for _, w := range words[1:] {
		if len(x[w]) < len(rarest) {
			rarest = x[w]
		}
	}
	var found []*Entry
next:
	for e := range rarest {
		for _, w := range words {
			if _, ok := x[w][e]; !ok {
				continue next
			}
		}
		found = append(found, e)
	}
	return sortEntries(found)
}

func sortEntries(found []*Entry) []*Entry {
	slices.SortFunc(found, func(a, b *Entry) int { return cmp.Compare(a.number, b.number) })
	return found
}

// FromIdentifier returns the entries whose identifier contains every word of text, ignoring case,
// or all entries if text has no word.
func (l *Ledger) FromIdentifier(text string) []*Entry {
	all := Words(text)
	if len(all) == 0 {
		return l.Entries()
	}
	return l.words.findAll(all)
}

// FromAllKeys returns the entries that have every one of the keys, in any letter case; all entries
// when there is no key.
func (l *Ledger) FromAllKeys(keys []string) []*Entry {
	if len(keys) == 0 {
		return l.Entries()
	}
	return l.keys.findAll(FoldAll(keys))
}

// FromAnyKeys returns the entries that have at least one of the keys, in any letter case.
func (l *Ledger) FromAnyKeys(keys []string) []*Entry {
	union := map[*Entry]struct{}{}
	for _, k := range FoldAll(keys) {
		maps.Copy(union, l.keys[k])
	}
	return sortEntries(slices.Collect(maps.Keys(union)))
}

// Words returns the words of a text, folded (see Fold): sequences of letters, digits and combining
// marks.
func Words(text string) []string {
	all := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	return FoldAll(all)
}

// FoldAll folds each text.
func FoldAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = Fold(s)
	}
	return out
}

// Fold returns the same text for all texts that differ only in letter case, character by character.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII {
			return unicode.ToLower(r)
		}
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return unicode.ToLower(least)
	}, s)
}
