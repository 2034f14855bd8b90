package value

import (
	"unsafe"
)

// Map is a map in insertion order. Keys are Strings, Ints or Bools. Up to
// smallMap entries are searched in a row, more through an index with linear
// probing. Deleted entries stay as tombstones until there are too many.
type Map struct {
	Head
	index   []int32 // entry number plus one, 0 for empty; length a power of two
	entries []entry
	live    int
}

type entry struct {
	key, value Slot
	hash       uint32
	dead       bool
}

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
func (m *Map) find(key Slot, hash uint32) int {
	if m.index == nil {
		for i := range m.entries {
			if e := &m.entries[i]; e.hash == hash && !e.dead && sameKey(e.key, key) {
				return i
			}
		}
		return -1
	}
	mask := uint32(len(m.index) - 1)
	for p := hash & mask; m.index[p] != 0; p = (p + 1) & mask {
		i := int(m.index[p] - 1)
		if e := &m.entries[i]; e.hash == hash && !e.dead && sameKey(e.key, key) {
			return i
		}
	}
	return -1
}

// Get gives the value of key, which must be hashable; ok is false when there
// is none.
func (m *Map) Get(key Slot) (v Slot, ok bool) {
	if i := m.find(key, hashKey(key)); i >= 0 {
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
	hash := hashKey(key)
	if i := m.find(key, hash); i >= 0 {
		m.entries[i].value = value
		return
	}
	m.insert(entry{key: key, value: value, hash: hash})
}

// SetString is Set with a String key.
func (m *Map) SetString(key string, value Slot) { m.Set(String(key), value) }

// insert appends an entry whose key is not there.
func (m *Map) insert(e entry) {
	m.entries = append(m.entries, e)
	m.live++
	n := len(m.entries)
	if m.index == nil {
		if n > smallMap {
			m.reindex()
		}
		return
	}
	if n*4 > len(m.index)*3 {
		m.reindex()
		return
	}
	m.link(n - 1)
}

// link enters entry i into the index.
func (m *Map) link(i int) {
	mask := uint32(len(m.index) - 1)
	p := m.entries[i].hash & mask
	for m.index[p] != 0 {
		p = (p + 1) & mask
	}
	m.index[p] = int32(i + 1)
}

// reindex drops tombstones and builds the index anew, with room to grow.
func (m *Map) reindex() {
	if m.live < len(m.entries) {
		kept := m.entries[:0]
		for _, e := range m.entries {
			if !e.dead {
				kept = append(kept, e)
			}
		}
		clear(m.entries[len(kept):])
		m.entries = kept
	}
	if len(m.entries) <= smallMap {
		m.index = nil
		return
	}
	size := 16
	for size < 2*len(m.entries) {
		size *= 2
	}
	m.index = make([]int32, size)
	for i := range m.entries {
		m.link(i)
	}
}

// Delete removes key and gives its value; ok is false when it was not there.
// The map is owned.
func (m *Map) Delete(key Slot) (v Slot, ok bool) {
	i := m.find(key, hashKey(key))
	if i < 0 {
		return Nil, false
	}
	v = m.entries[i].value
	m.entries[i] = entry{key: m.entries[i].key, hash: m.entries[i].hash, dead: true}
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
		if e := &m.entries[i]; !e.dead && !f(e.key, e.value) {
			return
		}
	}
}

// Update sets the value of key, which must be there, to f of it.
func (m *Map) Update(key Slot, f func(Slot) Slot) bool {
	i := m.find(key, hashKey(key))
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
		c.index = append([]int32(nil), m.index...)
		return c
	}
	for _, e := range m.entries {
		if !e.dead {
			Share(e.value)
			c.entries = append(c.entries, e)
		}
	}
	c.reindex()
	return c
}
