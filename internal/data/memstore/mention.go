package memstore

import (
	"cmp"
	"slices"
)

// Said are the words of a text that entries of a ledger are held against.
type Said map[string]struct{}

// WordsSaid returns the words of a text.
func WordsSaid(text string) Said {
	said := Said{}
	for _, w := range Words(text) {
		said[w] = struct{}{}
	}
	return said
}

// Score returns how much of an entry the text mentions: the number of different words of the
// identifier if the text contains them all, and likewise of each key; 0 means that the text does
// not mention the entry.
func (s Said) Score(identifier string, keys []string) int {
	n := s.all(identifier)
	for _, k := range keys {
		n += s.all(k)
	}
	return n
}

// all counts the different words of a text when all were said, else 0.
func (s Said) all(text string) int {
	words := Words(text)
	slices.Sort(words)
	words = slices.Compact(words)
	for _, w := range words {
		if _, ok := s[w]; !ok {
			return 0
		}
	}
	return len(words)
}

// Key reports whether all words of a key, one at least, were said.
func (s Said) Key(key string) bool { return s.all(key) > 0 }

// FromText returns the entries that a text mentions: it contains every word of the identifier or of
// a key, ignoring case. Entries with the most words in the text come first.
func (l *Ledger) FromText(text string) []*Entry {
	said := WordsSaid(text)
	score := map[*Entry]int{}
	for w := range said {
		for e := range l.words[w] {
			score[e] = 0
		}
	}
	for k, entries := range l.keys {
		if said.Key(k) {
			for e := range entries {
				score[e] = 0
			}
		}
	}
	var found []*Entry
	for e := range score {
		if score[e] = said.Score(e.Identifier, e.Keys); score[e] > 0 {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a.number, b.number))
	})
	return found
}
