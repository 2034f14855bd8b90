package value

import (
	"unsafe"
)

// Map is a map in insertion order. Keys are Strings, Ints or Bools. A map of up to smallMap entries
// is searched linearly. A larger map has an index with linear probing. A deleted entry remains as a
// tombstone until there are too many tombstones.
type Map struct {
	Head
	index   []place // its length is a power of two; nil for a small map
	entries []entry
	live    uint32
	last    uint32 // number of the entry of the last lookup or change, or any other entry
}

// place is an element of the index; 0 means empty. In an index of 2^k places, the lower k bits are
// the number of an entry plus one, and the other bits are the same bits of the entry's hash. They
// show in most cases whether an entry has another key, without reading the entry. With the whole
// hash, a place would need eight bytes instead of four, and large maps are slower with a larger
// index.
type place uint32

func placeOf(hash uint32, i, mask int) place { return place(hash)&^place(mask) | place(i+1) }

// entry returns the number of the place's entry.
func (p place) entry(mask int) int { return int(p)&mask - 1 }

// mayHaveHash reports whether the place's entry may have the hash.
func (p place) mayHaveHash(hash uint32, mask int) bool { return (uint32(p)^hash)&^uint32(mask) == 0 }

// entry is an entry of a map. A deleted entry has a nil key, which is not a valid key.
type entry struct{ key, value Slot }

func (e *entry) dead() bool { return e.key.Ref == nil }

const smallMap = 8

// withEntries is a map with its first entries in the same allocation. Most maps that serve as
// records never get more entries.
type withEntries[T any] struct {
	Map
	room T
}

// NewMap returns an empty map with capacity for n entries.
func NewMap(n int) *Map {
	var m *Map
	switch {
	case n <= 0:
		m = new(Map)
	case n <= 2:
		x := new(withEntries[[2]entry])
		m, x.entries = &x.Map, x.room[:0]
	case n <= 3:
		x := new(withEntries[[3]entry])
		m, x.entries = &x.Map, x.room[:0]
	case n <= 4:
		x := new(withEntries[[4]entry])
		m, x.entries = &x.Map, x.room[:0]
	case n <= 6:
		x := new(withEntries[[6]entry])
		m, x.entries = &x.Map, x.room[:0]
	case n <= 8:
		x := new(withEntries[[8]entry])
		m, x.entries = &x.Map, x.room[:0]
	default:
		m = &Map{entries: make([]entry, 0, n)}
	}
	m.Kind = KindMap
	return m
}

// Slot returns the map as a value.
func (m *Map) Slot() Slot { return Slot{0, unsafe.Pointer(m)} }

// Map returns the map in s, or nil for other values.
func (s Slot) Map() *Map {
	if s.Kind() != KindMap {
		return nil
	}
	return (*Map)(s.Ref)
}

// Hashable reports whether s may be the key of a map.
func Hashable(s Slot) bool {
	k := s.Kind()
	return k == KindString || k == KindInt || k == KindBool
}

// hashKey returns the hash of a key.
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

// Len returns the number of entries.
func (m *Map) Len() int { return int(m.live) }

// find returns the number of the entry with a key, or -1.
func (m *Map) find(key Slot) int {
	if m.index == nil {
		return m.scan(key)
	}
	return m.probe(key, hashKey(key))
}

// scan is find for a map without an index.
func (m *Map) scan(key Slot) int {
	for i := range m.entries {
		if sameKey(m.entries[i].key, key) {
			return i
		}
	}
	return -1
}

// probe is find for a map with an index.
func (m *Map) probe(key Slot, hash uint32) int {
	mask := len(m.index) - 1
	for at := firstPlace(hash, mask); m.index[at] != 0; at = (at + 1) & mask {
		if p := m.index[at]; p.mayHaveHash(hash, mask) {
			if i := p.entry(mask); sameKey(m.entries[i].key, key) {
				return i
			}
		}
	}
	return -1
}

// firstPlace returns the index at which the search for a hash starts. It ignores the lowest bit,
// which is 1 in every hash.
func firstPlace(hash uint32, mask int) int { return int(hash>>1) & mask }

// Get returns the value of key, which must be hashable. ok is false if the key does not exist.
func (m *Map) Get(key Slot) (v Slot, ok bool) {
	if i := m.find(key); i >= 0 {
		return m.entries[i].value, true
	}
	return Nil, false
}

// Lookup returns a pointer to the value of key, which must be hashable, or nil. Only the goroutine
// that may change the map may call it. The pointer is valid until the next change. The map
// remembers the entry, so that another Lookup or Set of the same key is fast.
func (m *Map) Lookup(key Slot) *Slot {
	if v := m.LastLookup(key); v != nil {
		return v
	}
	i := m.find(key)
	if i < 0 {
		return nil
	}
	m.last = uint32(i)
	return &m.entries[i].value
}

// LastLookup returns a pointer to the value of the last lookup or change if key is the same slot as
// its key, otherwise nil. An equal text in another String does not count.
func (m *Map) LastLookup(key Slot) *Slot {
	if i := int(m.last); i < len(m.entries) && m.entries[i].key == key && key.Ref != nil {
		return &m.entries[i].value
	}
	return nil
}

// GetString returns the value of a String key.
func (m *Map) GetString(key string) (v Slot, ok bool) {
	return m.Get(Slot{0, unsafe.Pointer(&Str{Head: Head{Kind: KindString}, S: key})})
}

// Set sets the value of key, which must be hashable. A new key is added at the end; an existing key
// stays at its position. The caller must own the map.
func (m *Map) Set(key, value Slot) {
	if v := m.LastLookup(key); v != nil {
		*v = value
		return
	}
	if m.index == nil {
		if i := m.scan(key); i >= 0 {
			m.last = uint32(i)
			m.entries[i].value = value
			return
		}
		m.last = uint32(len(m.entries))
		if m.add(key, value); len(m.entries) > smallMap {
			m.reindex()
		}
		return
	}
	hash := hashKey(key)
	if i := m.probe(key, hash); i >= 0 {
		m.last = uint32(i)
		m.entries[i].value = value
		return
	}
	m.last = uint32(len(m.entries))
	m.add(key, value)
	if n := len(m.entries); n*4 > len(m.index)*3 {
		m.reindex()
	} else {
		m.addToIndex(hash, n-1)
	}
}

// SetString is like Set with a String key.
func (m *Map) SetString(key string, value Slot) { m.Set(String(key), value) }

// add appends an entry whose key is not in the map. It doubles the capacity, because the function
// append would enlarge a long slice only by a quarter, and so copy large maps four times as often.
func (m *Map) add(key, value Slot) {
	if len(m.entries) == cap(m.entries) {
		grown := make([]entry, len(m.entries), roomAfter(cap(m.entries)))
		copy(grown, m.entries)
		m.entries = grown
	}
	m.entries = append(m.entries, entry{key, value})
	m.live++
}

// roomAfter returns the new capacity of a map with n entries.
func roomAfter(n int) int { return max(2*n, 2) }

// addToIndex adds entry i to the index.
func (m *Map) addToIndex(hash uint32, i int) {
	mask := len(m.index) - 1
	at := firstPlace(hash, mask)
	for m.index[at] != 0 {
		at = (at + 1) & mask
	}
	m.index[at] = placeOf(hash, i, mask)
}

// reindex removes tombstones and builds a larger index.
func (m *Map) reindex() {
	if m.Len() < len(m.entries) {
		m.compact()
	}
	m.index = newIndex(len(m.entries))
	if m.index == nil {
		return
	}
	for i := range m.entries {
		m.addToIndex(hashKey(m.entries[i].key), i)
	}
}

// compact removes tombstones.
func (m *Map) compact() {
	live := m.entries[:0]
	for _, e := range m.entries {
		if !e.dead() {
			live = append(live, e)
		}
	}
	clear(m.entries[len(live):])
	m.entries = live
}

// newIndex returns an empty index for n entries, or nil if a map of n entries needs no index.
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

// Delete removes key and returns its value. ok is false if it did not exist. The caller must own
// the map.
func (m *Map) Delete(key Slot) (v Slot, ok bool) {
	i := m.find(key)
	if i < 0 {
		return Nil, false
	}
	v = m.entries[i].value
	m.entries[i] = entry{}
	m.live--
	if dead := len(m.entries) - m.Len(); dead > 8 && dead > m.Len() {
		m.reindex()
	}
	return v, true
}

// Clear removes all entries. The caller must own the map.
func (m *Map) Clear() { m.index, m.entries, m.live = nil, nil, 0 }

// Each calls f with each entry in order until f returns false. f must not change the map.
func (m *Map) Each(f func(key, value Slot) bool) {
	for i := range m.entries {
		if e := &m.entries[i]; !e.dead() && !f(e.key, e.value) {
			return
		}
	}
}

// pairChunk is the number of tuples of Pairs that share one allocation. All of them stay in memory
// while one of them is in use.
const pairChunk = 32

// Pairs returns the entries in order as an array of tuples. It marks containers among the values as
// shared.
func (m *Map) Pairs() Slot {
	a, slots, chunk := roomForPairs(m.Len())
	for i := range m.entries {
		e := &m.entries[i]
		if e.dead() {
			continue
		}
		if len(chunk) == 0 {
			chunk = make([]pair, min(pairChunk, m.Len()-len(slots)))
		}
		Share(e.value)
		p := &chunk[0]
		p.Head, p.entry = Head{Kind: KindTuple, N: 2}, *e
		slots = append(slots, Slot{0, unsafe.Pointer(p)})
		chunk = chunk[1:]
	}
	if len(slots) > 0 {
		a.setSlots(slots)
	}
	return a.Slot()
}

// roomForPairs allocates an array for n pairs. For a small map, the pairs are in the same
// allocation.
func roomForPairs(n int) (*Array, []Slot, []pair) {
	switch {
	case n > smallMap:
		return NewArray(), make([]Slot, 0, n), nil
	case n > 6:
		x := new(filled[[8]Slot, [8]pair])
		x.Kind = KindArray
		return &x.Array, x.slots[:0:n], x.objects[:n]
	case n > 3:
		x := new(filled[[6]Slot, [6]pair])
		x.Kind = KindArray
		return &x.Array, x.slots[:0:n], x.objects[:n]
	case n > 0:
		x := new(filled[[3]Slot, [3]pair])
		x.Kind = KindArray
		return &x.Array, x.slots[:0:n], x.objects[:n]
	}
	return NewArray(), nil, nil
}

// pair is a tuple of two values as a block.
type pair struct {
	block
	entry
}

// Update replaces the value of an existing key with the result of f.
func (m *Map) Update(key Slot, f func(Slot) Slot) bool {
	i := m.find(key)
	if i < 0 {
		return false
	}
	m.entries[i].value = f(m.entries[i].value)
	return true
}

// clone returns a copy of the map that is not shared. It marks containers in the map as shared.
func (m *Map) clone() *Map {
	c := &Map{Head: Head{Kind: KindMap}, live: m.live}
	c.entries = make([]entry, 0, len(m.entries))
	if m.Len() == len(m.entries) {
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
