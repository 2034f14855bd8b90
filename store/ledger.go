package store

import (
	"fmt"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/value"
)

// The limits of an entry (spec/12-stores.md), in characters but for MaxKeys.
const (
	MaxIdentifier = 512
	MaxKeys       = 32
	MaxKey        = 128
	MaxValue      = 65_536
)

// Entry is an entry of a ledger. Its holder must not change it.
type Entry struct {
	Identifier string
	Keys       []string
	Value      string

	number int // entries are in the order of their numbers
}

// Ledger is a store of texts under identifiers that are found by their words,
// and under keys. Entries keep the order in which they were first inserted. It
// is a reference, and not safe for concurrent use.
type Ledger struct {
	scopes[*Ledger]
	entries map[string]*Entry // by identifier
	order   []*Entry          // by number; nil where one was deleted
	words   index             // of identifiers
	keys    index
}

// NewLedger makes an empty ledger of that name.
func NewLedger(name string) *Ledger {
	l := &Ledger{entries: map[string]*Entry{}, words: index{}, keys: index{}}
	l.scopes = scopes[*Ledger]{name: name, self: value.NewHandle("Ledger", name, l), make: NewLedger}
	return l
}

// Insert stores an entry, in place of the one with its identifier if there is
// one. The ledger keeps keys. The error says which limit the entry is beyond;
// then nothing has changed.
func (l *Ledger) Insert(identifier string, keys []string, val string) error {
	if n := utf8.RuneCountInString(identifier); n > MaxIdentifier {
		return fmt.Errorf("a ledger's identifier has at most %d characters, this one %d", MaxIdentifier, n)
	}
	if err := checkKeys(keys); err != nil {
		return err
	}
	if err := checkValue(val); err != nil {
		return err
	}
	e := &Entry{Identifier: identifier, Keys: keys, Value: val}
	if old := l.entries[identifier]; old != nil {
		l.replace(old, e)
		return nil
	}
	e.number = len(l.order)
	l.order = append(l.order, e)
	l.entries[identifier] = e
	l.enter(e)
	return nil
}

func checkKeys(keys []string) error {
	if len(keys) > MaxKeys {
		return fmt.Errorf("a ledger's entry has at most %d keys, this one %d", MaxKeys, len(keys))
	}
	for _, k := range keys {
		if n := utf8.RuneCountInString(k); n > MaxKey {
			return fmt.Errorf("a ledger's key has at most %d characters, this one %d", MaxKey, n)
		}
	}
	return nil
}

func checkValue(val string) error {
	if len(val) <= MaxValue {
		return nil
	}
	if n := utf8.RuneCountInString(val); n > MaxValue {
		return fmt.Errorf("a ledger's value has at most %d characters, this one %d", MaxValue, n)
	}
	return nil
}

// Update gives the entry a new value; found is false when there is none. The
// error says that the value is beyond the limit.
func (l *Ledger) Update(identifier, val string) (found bool, err error) {
	e := l.entries[identifier]
	if e == nil {
		return false, nil
	}
	if err := checkValue(val); err != nil {
		return true, err
	}
	l.replace(e, &Entry{Identifier: identifier, Keys: e.Keys, Value: val})
	return true, nil
}

// UpdateKeys gives the entry new keys, which the ledger keeps; found is false
// when there is none. The error says which limit they are beyond.
func (l *Ledger) UpdateKeys(identifier string, keys []string) (found bool, err error) {
	e := l.entries[identifier]
	if e == nil {
		return false, nil
	}
	if err := checkKeys(keys); err != nil {
		return true, err
	}
	l.replace(e, &Entry{Identifier: identifier, Keys: keys, Value: e.Value})
	return true, nil
}

// replace puts e where old, of the same identifier, was.
func (l *Ledger) replace(old, e *Entry) {
	l.leave(old)
	e.number = old.number
	l.order[e.number] = e
	l.entries[e.Identifier] = e
	l.enter(e)
}

// Delete removes the entry of an identifier and says whether there was one.
func (l *Ledger) Delete(identifier string) bool {
	e := l.entries[identifier]
	if e == nil {
		return false
	}
	l.leave(e)
	delete(l.entries, identifier)
	l.order[e.number] = nil
	if len(l.order) > 16 && len(l.order) > 2*len(l.entries) {
		l.renumber()
	}
	return true
}

// renumber closes the gaps that deleted entries have left.
func (l *Ledger) renumber() {
	kept := l.order[:0]
	for _, e := range l.order {
		if e != nil {
			e.number = len(kept)
			kept = append(kept, e)
		}
	}
	clear(l.order[len(kept):])
	l.order = kept
}

// enter puts an entry into the indexes, leave takes it out again.
func (l *Ledger) enter(e *Entry) {
	for _, w := range words(e.Identifier) {
		l.words.add(w, e)
	}
	for _, k := range e.Keys {
		l.keys.add(fold(k), e)
	}
}

func (l *Ledger) leave(e *Entry) {
	for _, w := range words(e.Identifier) {
		l.words.remove(w, e)
	}
	for _, k := range e.Keys {
		l.keys.remove(fold(k), e)
	}
}

// Len counts entries.
func (l *Ledger) Len() int { return len(l.entries) }

// Clear removes all entries.
func (l *Ledger) Clear() {
	l.entries, l.order, l.words, l.keys = map[string]*Entry{}, nil, index{}, index{}
}

// Entries gives all entries, in order.
func (l *Ledger) Entries() []*Entry {
	out := make([]*Entry, 0, len(l.entries))
	for _, e := range l.order {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}
