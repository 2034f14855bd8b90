package stdlib

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Each native for hashmaps has two implementations: one for a hashmap in memory, and one that
// requests the effect for a hashmap in a file.
var hashMapNatives = native.Table{
	{"HashMap.get", memoryOrFile(hashMapGet, fileGet)},
	{"HashMap.get_or", memoryOrFile(hashMapGetOr, fileGetOr)},
	{"HashMap.get_many", memoryOrFile(hashMapGetMany, fileGetMany)},
	{"HashMap.has", memoryOrFile(hashMapHas, fileHas)},
	{"HashMap.keys", memoryOrFile(ofEntries(keysOf), fileKeys)},
	{"HashMap.values", memoryOrFile(ofEntries(valuesOf), fileValues)},
	{"HashMap.entries", memoryOrFile(ofEntries(pairsOf), fileEntries(pairsOf))},
	{"HashMap.to_map", memoryOrFile(func(a *vm.Args) (value.Slot, error) {
		a.Step(hashMap(a).Len())
		return hashMap(a).Entries().Slot(), nil
	}, fileEntries(itself))},
	{"HashMap.len", memoryOrFile(func(a *vm.Args) (value.Slot, error) { return value.Int(int64(hashMap(a).Len())), nil }, fileLen)},
	{"HashMap.scope", func(a *vm.Args) (value.Slot, error) { return hashMap(a).Scope(a.String(1)).Value(), nil }},
	{"HashMap.on_change", hashMapOnChange},
	{"HashMap.on_any_change", func(a *vm.Args) (value.Slot, error) { hashMap(a).WatchAny(a.Slot(1)); return value.Nil, nil }},
	{"HashMap.__put", memoryOrFile(hashMapPut, filePut)},
	{"HashMap.__put_many", memoryOrFile(hashMapPutMany, filePutMany)},
	{"HashMap.__add", memoryOrFile(hashMapAdd, fileAdd)},
	{"HashMap.__removal", memoryOrFile(hashMapRemoval, fileRemoval)},
	{"HashMap.__removed", hashMapRemoved},
	{"HashMap.__delete", memoryOrFile(hashMapDelete, fileDelete)},
	{"HashMap.__clear", memoryOrFile(hashMapClear, fileClear)},
}

// object returns the Go object of argument 0, which must be a store of type T. want describes the
// type in the fault.
func object[T any](a *vm.Args, want string) T {
	if h := a.Slot(0).Handle(); h != nil {
		if x, ok := h.Object.(T); ok {
			return x
		}
	}
	panic(value.Faultf("expected %s, got %s", want, value.TypeName(a.Slot(0))))
}

func hashMap(a *vm.Args) *memstore.HashMap { return object[*memstore.HashMap](a, "a HashMap") }

func hashMapGet(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	if v, ok := hashMap(a).Get(k); ok {
		return value.Some(v), nil
	}
	return value.Nil, nil
}

func hashMapGetOr(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	if v, ok := hashMap(a).Get(k); ok {
		return v, nil
	}
	return native.MarkShared(a.Slot(2)), nil
}

func hashMapGetMany(a *vm.Args) (value.Slot, error) {
	h, keys, out := hashMap(a), a.Array(1), value.NewArray()
	for i := range keys.Len {
		a.Step(4)
		k := keys.At(i)
		if err := hashable(k); err != nil {
			return value.Nil, err
		}
		if v, ok := h.Get(k); ok {
			out.Push(value.Some(v))
		} else {
			out.Push(value.Nil)
		}
	}
	return out.Slot(), nil
}

func hashMapHas(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	_, ok := hashMap(a).Get(k)
	return value.Bool(ok), nil
}

func ofEntries(f func(*value.Pace, entries) (value.Slot, error)) vm.Native {
	return func(a *vm.Args) (value.Slot, error) { return f(a.Pace(), hashMap(a)) }
}

func hashMapPut(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	h, v := hashMap(a), a.Slot(2)
	before, had := h.Set(k, v)
	return change(h, k, before, had, v, true), nil
}

// hashMapPutMany sets several entries. It returns a tuple (key, change) for each change about which
// watchers must be notified.
func hashMapPutMany(a *vm.Args) (value.Slot, error) {
	h, changes := hashMap(a), value.NewArray()
	a.Step(8 * a.Map(1).Len())
	a.Map(1).Each(func(k, v value.Slot) bool {
		before, had := h.Set(k, v)
		addChange(changes, k, change(h, k, before, had, v, true))
		return true
	})
	return changes.Slot(), nil
}

// addChange appends the tuple (key, change) unless change is nil.
func addChange(changes *value.Array, k, change value.Slot) {
	if !change.IsNil() {
		changes.Push(value.Tuple(k, value.Unwrap(change)))
	}
}

// hashMapAdd adds a number to an entry and returns (sum, change).
func hashMapAdd(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	h, by := hashMap(a), a.Slot(2)
	before, had := h.Get(k)
	sum := by
	if had {
		if sum, err = addNumbers(before, by); err != nil {
			return value.Nil, err
		}
	}
	h.Set(k, sum)
	return value.Tuple(sum, change(h, k, before, had, sum, true)), nil
}

// addNumbers adds two Ints or two Floats.
func addNumbers(x, y value.Slot) (value.Slot, error) {
	if x.Kind() == value.KindFloat {
		return value.Float(x.AsFloat() + y.AsFloat()), nil
	}
	n, ok := intmath.Add(x.AsInt(), y.AsInt())
	if !ok {
		return value.Nil, value.Faultf("integer overflow")
	}
	return value.Int(n), nil
}

// hashMapClear removes all entries. It returns the removed entries if the hashmap has watchers, and
// otherwise an empty map.
func hashMapClear(a *vm.Args) (value.Slot, error) {
	h, removed := hashMap(a), value.NewMap(0)
	if h.HasWatchers() {
		a.Step(h.Len())
		removed = h.Entries()
	}
	h.Clear()
	return removed.Slot(), nil
}

func hashMapRemoval(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	h := hashMap(a)
	before, had := h.Get(k)
	return change(h, k, before, had, value.Nil, false), nil
}

func hashMapRemoved(a *vm.Args) (value.Slot, error) {
	return change(hashMap(a), a.Slot(1), native.MarkShared(a.Slot(2)), true, value.Nil, false), nil
}

func hashMapDelete(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	_, had := hashMap(a).Delete(k)
	return value.Bool(had), nil
}

func hashMapOnChange(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err == nil {
		hashMap(a).Watch(k, a.Slot(2))
	}
	return value.Nil, err
}

// change returns the data of a change that __call_watchers in hashmap.conc needs. It returns nil if
// the key has no watchers or if the value is unchanged.
func change(h *memstore.HashMap, k, before value.Slot, had bool, after value.Slot, has bool) value.Slot {
	if !h.IsWatched(k) || had == has && (!had || value.Equal(before, after)) {
		return value.Nil
	}
	option := func(v value.Slot, ok bool) value.Slot {
		if !ok {
			return value.Nil
		}
		return value.Some(native.MarkShared(v))
	}
	ofKey, ofAny := h.Watchers(k)
	return value.Some(value.Tuple(option(before, had), option(after, has), ofKey, ofAny))
}

// The natives for a hashmap in a file request the effects and convert their results. The value of
// such a hashmap contains only the path of the file.

// fileMap contains the arguments of a call for a hashmap in a file.
type fileMap struct {
	*vm.Args
	memstore.StoredEntries
	h *memstore.HashMap
}

// memoryOrFile returns a native that calls file if argument 0 is a hashmap in a file, and memory
// otherwise.
func memoryOrFile(memory vm.Native, file func(m fileMap) (value.Slot, error)) vm.Native {
	return func(a *vm.Args) (value.Slot, error) {
		h := hashMap(a)
		if h.Place == nil {
			return memory(a)
		}
		return file(fileMap{a, h.StoredEntries(a.Pace()), h})
	}
}

func found(r effect.Result) (value.Slot, error) { return value.Bool(r.(*effect.StoreFound).Found), nil }

// key returns argument 1, which is a key, and the form in which the file stores it.
func (m fileMap) key() (k value.Slot, raw []byte, err error) {
	if k, err = mapKey(m.Args); err == nil {
		raw, err = m.EncodeKey(k)
	}
	return k, raw, err
}

// lookUp requests the value for the key in argument 1. convert receives the key and the value; ok
// is false if there is no value.
func (m fileMap) lookUp(convert func(k, v value.Slot, ok bool) (value.Slot, error)) (value.Slot, error) {
	k, raw, err := m.key()
	if err != nil {
		return value.Nil, err
	}
	kept := m.StoredEntries
	return m.Ask(&effect.StoreRead{Store: m.Request(), Keys: []json.RawMessage{raw}}, func(r effect.Result) (value.Slot, error) {
		v, ok, err := kept.DecodeValue(k, r.(*effect.StoreEntries).Entries[0].Value)
		if err != nil {
			return value.Nil, err
		}
		return convert(k, v, ok)
	})
}

func fileGet(m fileMap) (value.Slot, error) {
	return m.lookUp(func(_, v value.Slot, ok bool) (value.Slot, error) {
		if !ok {
			return value.Nil, nil
		}
		return value.Some(v), nil
	})
}

func fileGetOr(m fileMap) (value.Slot, error) {
	other := native.MarkShared(m.Slot(2))
	return m.lookUp(func(_, v value.Slot, ok bool) (value.Slot, error) {
		if !ok {
			return other, nil
		}
		return v, nil
	})
}

// fileHas does not read the value, so that the value need not fit the type of the hashmap.
func fileHas(m fileMap) (value.Slot, error) {
	_, raw, err := m.key()
	if err != nil {
		return value.Nil, err
	}
	return m.Ask(&effect.StoreRead{Store: m.Request(), Keys: []json.RawMessage{raw}}, func(r effect.Result) (value.Slot, error) {
		return value.Bool(r.(*effect.StoreEntries).Entries[0].Value != nil), nil
	})
}

func fileGetMany(m fileMap) (value.Slot, error) {
	keys, kept := m.Array(1), m.StoredEntries
	q := &effect.StoreRead{Store: m.Request()}
	var all []value.Slot
	for i := range keys.Len {
		m.Step(16)
		k := keys.At(i)
		if err := hashable(k); err != nil {
			return value.Nil, err
		}
		raw, err := m.EncodeKey(k)
		if err != nil {
			return value.Nil, err
		}
		all, q.Keys = append(all, k), append(q.Keys, raw)
	}
	return m.Ask(q, func(r effect.Result) (value.Slot, error) {
		out := value.NewArray()
		for i, e := range r.(*effect.StoreEntries).Entries {
			v, ok, err := kept.DecodeValue(all[i], e.Value)
			if err != nil {
				return value.Nil, err
			}
			if ok {
				v = value.Some(v)
			}
			out.Push(v)
		}
		return out.Slot(), nil
	})
}

func fileKeys(m fileMap) (value.Slot, error) {
	kept := m.StoredEntries
	return m.Ask(&effect.StoreList{Store: m.Request(), Keys: true}, func(r effect.Result) (value.Slot, error) {
		out := value.NewArray()
		for _, e := range r.(*effect.StoreEntries).Entries {
			k, err := kept.DecodeKey(e.Key)
			if err != nil {
				return value.Nil, err
			}
			out.Push(k)
		}
		return out.Slot(), nil
	})
}

func fileValues(m fileMap) (value.Slot, error) { return fileEntries(valuesOf)(m) }

// fileEntries returns a function that requests all entries and passes them to f.
func fileEntries(f func(*value.Pace, entries) (value.Slot, error)) func(m fileMap) (value.Slot, error) {
	return func(m fileMap) (value.Slot, error) {
		kept, pace := m.StoredEntries, m.Pace()
		return m.Ask(&effect.StoreList{Store: m.Request(), Keys: true, Values: true}, func(r effect.Result) (value.Slot, error) {
			all, err := kept.DecodeMap(r)
			if err != nil {
				return value.Nil, err
			}
			return f(pace, all)
		})
	}
}

func itself(_ *value.Pace, all entries) (value.Slot, error) { return all.(*value.Map).Slot(), nil }

func fileLen(m fileMap) (value.Slot, error) {
	return m.Ask(&effect.StoreLen{Store: m.Request()}, memstore.Count)
}

func filePut(m fileMap) (value.Slot, error) {
	k, raw, err := m.key()
	if err != nil {
		return value.Nil, err
	}
	v := native.MarkShared(m.Slot(2))
	text, err := m.EncodeValue(k, v)
	if err != nil {
		return value.Nil, err
	}
	h, kept := m.h, m.StoredEntries
	q := &effect.StoreWrite{Store: m.Request(), Entries: []effect.StoreEntry{{Key: raw, Value: text}}, Before: h.IsWatched(k)}
	return m.Ask(q, func(r effect.Result) (value.Slot, error) {
		if r == nil {
			return value.Nil, nil
		}
		before, had, err := kept.DecodeValue(k, r.(*effect.StoreEntries).Entries[0].Value)
		if err != nil {
			return value.Nil, err
		}
		return change(h, k, before, had, v, true), nil
	})
}

func filePutMany(m fileMap) (value.Slot, error) {
	h, kept := m.h, m.StoredEntries
	q := &effect.StoreWrite{Store: m.Request(), Before: h.HasWatchers()}
	var keys, values []value.Slot
	var err error
	m.Map(1).Each(func(k, v value.Slot) bool {
		m.Step(16)
		var e effect.StoreEntry
		if e.Key, err = m.EncodeKey(k); err == nil {
			e.Value, err = m.EncodeValue(k, v)
		}
		q.Entries, keys, values = append(q.Entries, e), append(keys, k), append(values, native.MarkShared(v))
		return err == nil
	})
	if err != nil {
		return value.Nil, err
	}
	return m.Ask(q, func(r effect.Result) (value.Slot, error) {
		changes := value.NewArray()
		if r == nil {
			return changes.Slot(), nil
		}
		for i, e := range r.(*effect.StoreEntries).Entries {
			before, had, err := kept.DecodeValue(keys[i], e.Value)
			if err != nil {
				return value.Nil, err
			}
			addChange(changes, keys[i], change(h, keys[i], before, had, values[i], true))
		}
		return changes.Slot(), nil
	})
}

func fileAdd(m fileMap) (value.Slot, error) {
	k, raw, err := m.key()
	if err != nil {
		return value.Nil, err
	}
	by, err := m.EncodeValue(k, m.Slot(2))
	if err != nil {
		return value.Nil, err
	}
	h, kept := m.h, m.StoredEntries
	return m.Ask(&effect.StoreAdd{Store: m.Request(), Key: raw, By: by}, func(r effect.Result) (value.Slot, error) {
		both := r.(*effect.StoreEntries).Entries
		before, had, err := kept.DecodeValue(k, both[0].Value)
		if err != nil {
			return value.Nil, err
		}
		sum, _, err := kept.DecodeValue(k, both[1].Value)
		if err != nil {
			return value.Nil, err
		}
		return value.Tuple(sum, change(h, k, before, had, sum, true)), nil
	})
}

// fileRemoval returns the change that a removal of the key causes. It reads the entry only if the
// key has watchers.
func fileRemoval(m fileMap) (value.Slot, error) {
	h := m.h
	k, err := mapKey(m.Args)
	if err != nil || !h.IsWatched(k) {
		return value.Nil, err
	}
	return m.lookUp(func(k, v value.Slot, ok bool) (value.Slot, error) { return change(h, k, v, ok, value.Nil, false), nil })
}

func fileDelete(m fileMap) (value.Slot, error) {
	_, raw, err := m.key()
	if err != nil {
		return value.Nil, err
	}
	return m.Ask(&effect.StoreDelete{Store: m.Request(), Key: raw}, found)
}

func fileClear(m fileMap) (value.Slot, error) {
	kept := m.StoredEntries
	return m.Ask(&effect.StoreClear{Store: m.Request(), List: m.h.HasWatchers()}, func(r effect.Result) (value.Slot, error) {
		if r == nil {
			return value.NewMap(0).Slot(), nil
		}
		all, err := kept.DecodeMap(r)
		if err != nil {
			return value.Nil, err
		}
		return all.Slot(), nil
	})
}
