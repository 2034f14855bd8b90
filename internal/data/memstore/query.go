package memstore

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// index maps a folded word or key to the entries that contain it.
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

// findAll returns the entries that contain all words, in order. To be fast, it only checks the
// entries with the rarest word.
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

// FromAllKeys returns the entries that have all of the keys, ignoring case, or all entries if there
// are no keys.
func (l *Ledger) FromAllKeys(keys []string) []*Entry {
	if len(keys) == 0 {
		return l.Entries()
	}
	return l.keys.findAll(FoldAll(keys))
}

// FromAnyKeys returns the entries that have at least one of the keys, ignoring case.
func (l *Ledger) FromAnyKeys(keys []string) []*Entry {
	union := map[*Entry]struct{}{}
	for _, k := range FoldAll(keys) {
		maps.Copy(union, l.keys[k])
	}
	return sortEntries(slices.Collect(maps.Keys(union)))
}

// Words returns the folded words of a text, which are sequences of letters, digits and combining
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

// Fold converts a text to a form that is the same for all texts which differ only in letter case.
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
