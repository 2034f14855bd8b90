package stdlib

import (
	"github.com/concerto-lang/concerto/store"
	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var hashMapNatives = []native{
	{"HashMap.get", hashMapGet},
	{"HashMap.get_or", hashMapGetOr},
	{"HashMap.get_many", hashMapGetMany},
	{"HashMap.has", hashMapHas},
	{"HashMap.keys", ofEntries(keysOf)},
	{"HashMap.values", ofEntries(valuesOf)},
	{"HashMap.entries", ofEntries(pairsOf)},
	{"HashMap.to_map", func(a *vm.Args) (value.Slot, error) { return hashMap(a).Entries().Slot(), nil }},
	{"HashMap.len", func(a *vm.Args) (value.Slot, error) { return value.Int(int64(hashMap(a).Len())), nil }},
	{"HashMap.scope", func(a *vm.Args) (value.Slot, error) { return hashMap(a).Scope(a.String(1)).Value(), nil }},
	{"HashMap.on_change", hashMapOnChange},
	{"HashMap.on_any_change", func(a *vm.Args) (value.Slot, error) { hashMap(a).WatchAny(a.Slot(1)); return value.Nil, nil }},
	{"HashMap.__put", hashMapPut},
	{"HashMap.__removal", hashMapRemoval},
	{"HashMap.__removed", hashMapRemoved},
	{"HashMap.__delete", hashMapDelete},
	{"HashMap.__clear", func(a *vm.Args) (value.Slot, error) { hashMap(a).Clear(); return value.Nil, nil }},
}

// object gives the Go object of argument 0, a store of type T.
func object[T any](a *vm.Args, want string) T {
	if h := a.Slot(0).Handle(); h != nil {
		if x, ok := h.Object.(T); ok {
			return x
		}
	}
	panic(value.Faultf("expected %s, got %s", want, value.TypeName(a.Slot(0))))
}

func hashMap(a *vm.Args) *store.HashMap { return object[*store.HashMap](a, "a HashMap") }

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
	return lend(a.Slot(2)), nil
}

func hashMapGetMany(a *vm.Args) (value.Slot, error) {
	h, keys, out := hashMap(a), a.Array(1), value.NewArray()
	for i := range keys.Len {
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

func ofEntries(f func(entries) (value.Slot, error)) vm.Native {
	return func(a *vm.Args) (value.Slot, error) { return f(hashMap(a)) }
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
	return change(hashMap(a), a.Slot(1), lend(a.Slot(2)), true, value.Nil, false), nil
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

// change gives what is to be told of a change to a key, for hashmap.conc's
// __tell: nil when nobody watches it or nothing has changed.
func change(h *store.HashMap, k, before value.Slot, had bool, after value.Slot, has bool) value.Slot {
	if !h.Watched(k) || had == has && (!had || value.Equal(before, after)) {
		return value.Nil
	}
	option := func(v value.Slot, ok bool) value.Slot {
		if !ok {
			return value.Nil
		}
		return value.Some(lend(v))
	}
	ofKey, ofAny := h.Watchers(k)
	return value.Some(value.Tuple(option(before, had), option(after, has), ofKey, ofAny))
}
