package memstore

import (
	"cmp"
	"slices"
)

// WordSet is the set of a text's words, which Score compares with entries of a ledger.
type WordSet map[string]struct{}

// NewWordSet returns the words of a text.
func NewWordSet(text string) WordSet {
	set := WordSet{}
	for _, w := range Words(text) {
		set[w] = struct{}{}
	}
	return set
}

// Score returns how well a text with these words matches an entry. It adds the number of different
// words in the identifier, if the text contains all of them, and the same for each key. 0 means no
// match.
func (s WordSet) Score(identifier string, keys []string) int {
	n := s.countAll(identifier)
	for _, k := range keys {
		n += s.countAll(k)
	}
	return n
}

// countAll returns the number of different words of a text if the set contains all of them,
// otherwise 0.
func (s WordSet) countAll(text string) int {
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

// ContainsKey reports whether the set contains all words of a key, and the key has at least one
// word.
func (s WordSet) ContainsKey(key string) bool { return s.countAll(key) > 0 }

// FromText returns the entries that a text mentions. It must contain all words of the identifier or
// of a key, ignoring case. Entries with the highest Score are first.
func (l *Ledger) FromText(text string) []*Entry {
	mentioned := NewWordSet(text)
	score := map[*Entry]int{}
	for w := range mentioned {
		for e := range l.words[w] {
			score[e] = 0
		}
	}
	for k, entries := range l.keys {
		if mentioned.ContainsKey(k) {
			for e := range entries {
				score[e] = 0
			}
		}
	}
	var found []*Entry
	for e := range score {
		if score[e] = mentioned.Score(e.Identifier, e.Keys); score[e] > 0 {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a.number, b.number))
	})
	return found
}
