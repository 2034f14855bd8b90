package value

import (
	"unsafe"
)

// Map is a map in insertion order. Keys are Strings, Ints or Bools. Up to
// smallMap entries are searched in a row, more through an index with linear
// probing. Deleted entries stay as tombstones until there are too many.
type Map struct {
	Head
	index   []place // length a power of two
	entries []entry
	live    int
}

// A place of the index is an entry's hash and, in its lower half, its number
// plus one; 0 is empty. With the hash at hand, probing looks at no entry but,
// as a rule, the one that is sought.
type place uint64

func placeOf(hash uint32, i int) place { return place(hash)<<32 | place(i+1) }

func (p place) hash() uint32 { return uint32(p >> 32) }
func (p place) entry() int   { return int(uint32(p)) - 1 }

// An entry whose key is nil, which no key can be, has been deleted.
type entry struct{ key, value Slot }

func (e *entry) dead() bool { return e.key.Ref == nil }

const smallMap = 8

// NewMap makes an empty map with room for n entries.
func NewMap(n int) *Map {
	m := &Map{Head: Head{Kind: KindMap}}
	if n > 0 {
		m.entries = make([]entry, 0, n)
	}
	return m
}

// Slot gives the map as a value.
func (m *Map) Slot() Slot { return Slot{0, unsafe.Pointer(m)} }

// Map gives the map in s, or nil when s is none.
func (s Slot) Map() *Map {
	if s.Kind() != KindMap {
		return nil
	}
	return (*Map)(s.Ref)
}

// Hashable says whether s can be a key of a map.
func Hashable(s Slot) bool {
	k := s.Kind()
	return k == KindString || k == KindInt || k == KindBool
}

// hashKey gives the hash of a key.
func hashKey(s Slot) uint32 {
	if s.Kind() == KindString {
		return (*Str)(s.Ref).Hash()
	}
	x := s.Bits + uint64(s.Kind())<<56
	x ^= x >> 32
	x *= 0xd6e8feb86659fd93
	x ^= x >> 32
	return uint32(x) | 1
}

// sameKey compares two keys.
func sameKey(a, b Slot) bool {
	if a.Ref == b.Ref {
		return a.Bits == b.Bits || a.Kind() == KindString
	}
	return a.Kind() == KindString && b.Kind() == KindString && a.AsString() == b.AsString()
}

// Len counts entries.
func (m *Map) Len() int { return m.live }

// find gives the number of key's entry, or -1.
func (m *Map) find(key Slot) int {
	if m.index == nil {
		return m.scan(key)
	}
	return m.probe(key, hashKey(key))
}

// scan is find in a map without index.
func (m *Map) scan(key Slot) int {
	for i := range m.entries {
		if sameKey(m.entries[i].key, key) {
			return i
		}
	}
	return -1
}

// probe is find in a map with an index.
func (m *Map) probe(key Slot, hash uint32) int {
	mask := len(m.index) - 1
	for at := home(hash, mask); m.index[at] != 0; at = (at + 1) & mask {
		if p := m.index[at]; p.hash() == hash && sameKey(m.entries[p.entry()].key, key) {
			return p.entry()
		}
	}
	return -1
}

// home is where a hash is first looked for. Hashes are odd: their lowest bit
// says nothing.
func home(hash uint32, mask int) int { return int(hash>>1) & mask }

// Get gives the value of key, which must be hashable; ok is false when there
// is none.
func (m *Map) Get(key Slot) (v Slot, ok bool) {
	if i := m.find(key); i >= 0 {
		return m.entries[i].value, true
	}
	return Nil, false
}

// GetString gives the value of a String key.
func (m *Map) GetString(key string) (v Slot, ok bool) {
	return m.Get(Slot{0, unsafe.Pointer(&Str{Head: Head{Kind: KindString}, S: key})})
}

// Set puts value under key, which must be hashable, in its present place or at
// the end; the map is owned.
func (m *Map) Set(key, value Slot) {
	if m.index == nil {
		if i := m.scan(key); i >= 0 {
			m.entries[i].value = value
		} else if m.add(key, value); len(m.entries) > smallMap {
			m.reindex()
		}
		return
	}
	hash := hashKey(key)
	if i := m.probe(key, hash); i >= 0 {
		m.entries[i].value = value
		return
	}
	m.add(key, value)
	if n := len(m.entries); n*4 > len(m.index)*3 {
		m.reindex()
	} else {
		m.link(placeOf(hash, n-1))
	}
}

// SetString is Set with a String key.
func (m *Map) SetString(key string, value Slot) { m.Set(String(key), value) }

// add appends an entry whose key is not there. Room doubles: append's quarter
// more copies large maps four times as often.
func (m *Map) add(key, value Slot) {
	if len(m.entries) == cap(m.entries) {
		grown := make([]entry, len(m.entries), roomAfter(cap(m.entries)))
		copy(grown, m.entries)
		m.entries = grown
	}
	m.entries = append(m.entries, entry{key, value})
	m.live++
}

// roomAfter is for how many entries a map has room that has grown out of n.
func roomAfter(n int) int { return max(2*n, 2) }

// link enters a place into the index.
func (m *Map) link(p place) {
	mask := len(m.index) - 1
	at := home(p.hash(), mask)
	for m.index[at] != 0 {
		at = (at + 1) & mask
	}
	m.index[at] = p
}

// reindex drops tombstones and builds the index anew, with room to grow.
func (m *Map) reindex() {
	old := m.index
	if m.live < len(m.entries) {
		m.compact()
		old = nil // it has other numbers
	}
	m.index = newIndex(len(m.entries))
	if m.index == nil {
		return
	}
	for _, p := range old {
		if p != 0 {
			m.link(p)
		}
	}
	// What the old index does not have: at most the entry added last.
	from := 0
	if old != nil {
		from = len(m.entries) - 1
	}
	for i := from; i < len(m.entries); i++ {
		m.link(placeOf(hashKey(m.entries[i].key), i))
	}
}

// compact drops tombstones.
func (m *Map) compact() {
	kept := m.entries[:0]
	for _, e := range m.entries {
		if !e.dead() {
			kept = append(kept, e)
		}
	}
	clear(m.entries[len(kept):])
	m.entries = kept
}

// newIndex makes an empty index for n entries, nil for so few that they need
// none.
func newIndex(n int) []place {
	if n <= smallMap {
		return nil
	}
	size := 16
	for size < 2*n {
		size *= 2
	}
	return make([]place, size)
}

// Delete removes key and gives its value; ok is false when it was not there.
// The map is owned.
func (m *Map) Delete(key Slot) (v Slot, ok bool) {
	i := m.find(key)
	if i < 0 {
		return Nil, false
	}
	v = m.entries[i].value
	m.entries[i] = entry{}
	m.live--
	if dead := len(m.entries) - m.live; dead > 8 && dead > m.live {
		m.reindex()
	}
	return v, true
}

// Clear removes every entry; the map is owned.
func (m *Map) Clear() { m.index, m.entries, m.live = nil, nil, 0 }

// Each calls f with every entry in order until f gives false. f must not
// change the map.
func (m *Map) Each(f func(key, value Slot) bool) {
	for i := range m.entries {
		if e := &m.entries[i]; !e.dead() && !f(e.key, e.value) {
			return
		}
	}
}

// Update sets the value of key, which must be there, to f of it.
func (m *Map) Update(key Slot, f func(Slot) Slot) bool {
	i := m.find(key)
	if i < 0 {
		return false
	}
	m.entries[i].value = f(m.entries[i].value)
	return true
}

// clone makes a copy without the shared mark; containers in it are marked.
func (m *Map) clone() *Map {
	c := &Map{Head: Head{Kind: KindMap}, live: m.live}
	c.entries = make([]entry, 0, max(m.live, len(m.entries)))
	if m.live == len(m.entries) {
		c.entries = append(c.entries, m.entries...)
		for i := range c.entries {
			Share(c.entries[i].value)
		}
		c.index = append([]place(nil), m.index...)
		return c
	}
	for _, e := range m.entries {
		if !e.dead() {
			Share(e.value)
			c.entries = append(c.entries, e)
		}
	}
	c.reindex()
	return c
}
