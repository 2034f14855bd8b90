package memstore

import "github.com/concerto-lang/concerto/internal/data/value"

// Entry is an entry of a ledger. Callers must not change it.
type Entry struct {
	Identifier string
	Keys       []string
	Value      string

	number int // position in the order of the entries
}

// Ledger is a store of texts. Each entry has an identifier, whose words can be searched, and keys.
// Entries are in the order of their first insertion. A Ledger is a reference, and is not safe for
// concurrent use.
type Ledger struct {
	scopes[*Ledger]
	// Place is the location of the entries in a file, or nil if they are in memory.
	Place *Place

	entries map[string]*Entry // by identifier
	order   []*Entry          // by number; nil for a deleted entry
	words   index             // index of the words in identifiers
	keys    index
}

// NewLedger returns an empty ledger with a name.
func NewLedger(name string) *Ledger {
	l := &Ledger{entries: map[string]*Entry{}, words: index{}, keys: index{}}
	l.scopes = scopes[*Ledger]{name: name, self: value.NewHandle("Ledger", name, l), make: NewLedger}
	return l
}

// Insert stores an entry. It replaces the entry with the same identifier. The ledger retains the
// slice keys. The error names a limit that the entry exceeds; nothing is stored then.
func (l *Ledger) Insert(identifier string, keys []string, val string) error {
	if err := CheckEntry(identifier, keys, val); err != nil {
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
	l.addToIndex(e)
	return nil
}

// Update sets the value of an entry. found is false if there is no entry. The error names the
// exceeded limit.
func (l *Ledger) Update(identifier, val string) (found bool, err error) {
	if err := CheckValue(val); err != nil {
		return false, err
	}
	e := l.entries[identifier]
	if e == nil {
		return false, nil
	}
	l.replace(e, &Entry{Identifier: identifier, Keys: e.Keys, Value: val})
	return true, nil
}

// UpdateKeys sets the keys of an entry. found is false if there is no entry. The ledger retains the
// slice keys. The error names the exceeded limit.
func (l *Ledger) UpdateKeys(identifier string, keys []string) (found bool, err error) {
	if err := CheckKeys(keys); err != nil {
		return false, err
	}
	e := l.entries[identifier]
	if e == nil {
		return false, nil
	}
	l.replace(e, &Entry{Identifier: identifier, Keys: keys, Value: e.Value})
	return true, nil
}

// replace stores e at the position of old, which has the same identifier.
func (l *Ledger) replace(old, e *Entry) {
	l.removeFromIndex(old)
	e.number = old.number
	l.order[e.number] = e
	l.entries[e.Identifier] = e
	l.addToIndex(e)
}

// Delete removes the entry with an identifier and reports whether it existed.
func (l *Ledger) Delete(identifier string) bool {
	e := l.entries[identifier]
	if e == nil {
		return false
	}
	l.removeFromIndex(e)
	delete(l.entries, identifier)
	l.order[e.number] = nil
	if len(l.order) > 16 && len(l.order) > 2*len(l.entries) {
		l.renumber()
	}
	return true
}

// renumber removes the gaps of deleted entries.
func (l *Ledger) renumber() {
	remaining := l.order[:0]
	for _, e := range l.order {
		if e != nil {
			e.number = len(remaining)
			remaining = append(remaining, e)
		}
	}
	clear(l.order[len(remaining):])
	l.order = remaining
}

// addToIndex adds an entry to the indexes.
func (l *Ledger) addToIndex(e *Entry) {
	for _, w := range Words(e.Identifier) {
		l.words.add(w, e)
	}
	for _, k := range e.Keys {
		l.keys.add(Fold(k), e)
	}
}

func (l *Ledger) removeFromIndex(e *Entry) {
	for _, w := range Words(e.Identifier) {
		l.words.remove(w, e)
	}
	for _, k := range e.Keys {
		l.keys.remove(Fold(k), e)
	}
}

// Len returns the number of entries.
func (l *Ledger) Len() int { return len(l.entries) }

// Clear removes all entries.
func (l *Ledger) Clear() {
	l.entries, l.order, l.words, l.keys = map[string]*Entry{}, nil, index{}, index{}
}

// Entries returns all entries, in order.
func (l *Ledger) Entries() []*Entry {
	out := make([]*Entry, 0, len(l.entries))
	for _, e := range l.order {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// Scope returns the ledger with this name inside this one.
func (l *Ledger) Scope(name string) *Ledger {
	in := l.scopes.Scope(name)
	if l.Place != nil && in.Place == nil {
		in.Place = l.Place.In(name)
	}
	return in
}
