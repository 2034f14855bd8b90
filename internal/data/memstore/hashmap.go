package memstore

import "github.com/concerto-lang/concerto/internal/data/value"

// HashMap is a store of values by key, in the order in which keys were first set
// (spec/12-stores.md). It is a reference: all references to it see the same entries. It is not safe
// for concurrent use.
//
// A scope is a separate HashMap of the same declaration, with its own entries and watchers.
type HashMap struct {
	scopes[*HashMap]
	// Place is the location of the entries in a file, or nil if they are in memory.
	Place *Place

	data     *value.Map
	watchers *value.Map   // arrays of functions, by key
	any      *value.Array // functions that watch every key
}

// NewHashMap returns an empty hashmap with a name.
func NewHashMap(name string) *HashMap {
	h := &HashMap{data: value.NewMap(0), watchers: value.NewMap(0), any: value.NewArray()}
	h.scopes = scopes[*HashMap]{name: name, self: value.NewHandle("HashMap", name, h), make: NewHashMap}
	return h
}

// Get returns the value of key, which must be hashable, and marks it as shared. ok is false if the
// key does not exist.
func (h *HashMap) Get(key value.Slot) (v value.Slot, ok bool) {
	v, ok = h.data.Get(key)
	value.Share(v)
	return v, ok
}

// Set sets the value of key and marks it as shared. It returns the previous value; had is false if
// there was none.
func (h *HashMap) Set(key, v value.Slot) (before value.Slot, had bool) {
	before, had = h.data.Get(key)
	value.Share(v)
	h.data.Set(key, v)
	return before, had
}

// Delete removes key and returns its value.
func (h *HashMap) Delete(key value.Slot) (before value.Slot, had bool) { return h.data.Delete(key) }

// Len returns the number of entries.
func (h *HashMap) Len() int { return h.data.Len() }

// Clear removes all entries, but no watchers.
func (h *HashMap) Clear() { h.data.Clear() }

// Entries returns a copy of the entries.
func (h *HashMap) Entries() *value.Map { return value.Copy(h.data.Slot()).Map() }

// Each calls f with every entry in order until f returns false. f must not change the hashmap.
func (h *HashMap) Each(f func(key, v value.Slot) bool) { h.data.Each(f) }

// Watch adds a watcher of key, which is a function. The standard library calls watchers after a
// change.
func (h *HashMap) Watch(key, f value.Slot) {
	all := value.NewArray()
	if old, ok := h.watchers.Get(key); ok {
		all.Extend(old.Array())
	}
	all.Push(f)
	h.watchers.Set(key, all.Slot())
}

// WatchAny adds a watcher of every key.
func (h *HashMap) WatchAny(f value.Slot) {
	all := value.NewArray()
	all.Extend(h.any)
	all.Push(f)
	h.any = all
}

// Watchers returns the functions to call after a change of key, in the order in which they were
// added: the watchers of the key, and the watchers of every key. The arrays are never changed.
func (h *HashMap) Watchers(key value.Slot) (ofKey, ofAny value.Slot) {
	ofKey, ok := h.watchers.Get(key)
	if !ok {
		ofKey = value.NewArray().Slot()
	}
	ofAny = h.any.Slot()
	value.Share(ofKey)
	value.Share(ofAny)
	return ofKey, ofAny
}

// HasWatchers reports whether any key has a watcher.
func (h *HashMap) HasWatchers() bool { return h.any.Len > 0 || h.watchers.Len() > 0 }

// IsWatched reports whether key has a watcher.
func (h *HashMap) IsWatched(key value.Slot) bool {
	if h.any.Len > 0 {
		return true
	}
	if h.watchers.Len() == 0 {
		return false
	}
	_, ok := h.watchers.Get(key)
	return ok
}

// Scope returns this hashmap's scope of that name, and creates it on first use.
func (h *HashMap) Scope(name string) *HashMap {
	in := h.scopes.Scope(name)
	if h.Place != nil && in.Place == nil {
		in.Place = h.Place.In(name)
	}
	return in
}

// Parts contains the parts of a hashmap in memory: its entries, the arrays of watchers by key, and
// the array of watchers of every key.
type Parts struct{ Data, Watchers, Any value.Slot }

// Parts returns the parts of the hashmap, without its scopes.
func (h *HashMap) Parts() Parts {
	return Parts{h.data.Slot(), h.watchers.Slot(), h.any.Slot()}
}

// SetParts replaces the parts of the hashmap.
func (h *HashMap) SetParts(p Parts) {
	h.data, h.watchers, h.any = p.Data.Map(), p.Watchers.Map(), p.Any.Array()
}
