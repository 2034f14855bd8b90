package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var mapNatives = native.Table{
	{"Map.len", func(a *vm.Args) (value.Slot, error) { return value.Int(int64(a.Map(0).Len())), nil }},
	{"Map.is_empty", func(a *vm.Args) (value.Slot, error) { return value.Bool(a.Map(0).Len() == 0), nil }},
	{"Map.get", mapGet},
	{"Map.get_or", mapGetOr},
	{"Map.has", mapHas},
	{"Map.set", mapSet},
	{"Map.insert", mapSet},
	{"Map.delete", mapDelete},
	{"Map.remove", mapRemove},
	{"Map.clear", mapClear},
	{"Map.merge", mapMerge},
	{"Map.keys", mapKeys},
	{"Map.values", mapValues},
	{"Map.entries", mapEntries},
	{"Map.to_array", mapEntries},
	{"Map.to_string", textOfValue},
}

// mapKey returns argument 1, which must be a key.
func mapKey(a *vm.Args) (value.Slot, error) {
	k := a.Slot(1)
	return k, hashable(k)
}

// hashable returns a fault unless k can be a key of a map.
func hashable(k value.Slot) error {
	if !value.Hashable(k) {
		return value.Faultf("a map's key must be a String, an Int or a Bool, not %s", value.TypeName(k))
	}
	return nil
}

func mapGet(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	if v, ok := a.Map(0).Get(k); ok {
		return value.Some(native.MarkShared(v)), nil
	}
	return value.Nil, nil
}

func mapGetOr(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	if v, ok := a.Map(0).Get(k); ok {
		return native.MarkShared(v), nil
	}
	return native.MarkShared(a.Slot(2)), nil
}

func mapHas(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	_, ok := a.Map(0).Get(k)
	return value.Bool(ok), nil
}

func mapSet(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err == nil {
		a.Map(0).Set(k, native.MarkShared(a.Slot(2)))
	}
	return value.Nil, err
}

func mapDelete(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	_, ok := a.Map(0).Delete(k)
	return value.Bool(ok), nil
}

func mapRemove(a *vm.Args) (value.Slot, error) {
	k, err := mapKey(a)
	if err != nil {
		return value.Nil, err
	}
	if v, ok := a.Map(0).Delete(k); ok {
		return value.Some(v), nil
	}
	return value.Nil, nil
}

func mapClear(a *vm.Args) (value.Slot, error) {
	a.Map(0).Clear()
	return value.Nil, nil
}

func mapMerge(a *vm.Args) (value.Slot, error) {
	m, other := a.Map(0), a.Map(1)
	if m == other {
		return value.Nil, nil
	}
	a.Step(4 * other.Len())
	other.Each(func(k, v value.Slot) bool {
		m.Set(k, native.MarkShared(v))
		return true
	})
	return value.Nil, nil
}

// entries is a source of keys, values and pairs.
type entries interface {
	Each(func(k, v value.Slot) bool)
}

func mapKeys(a *vm.Args) (value.Slot, error) { return keysOf(a.Pace(), a.Map(0)) }

func mapValues(a *vm.Args) (value.Slot, error) { return valuesOf(a.Pace(), a.Map(0)) }

func mapEntries(a *vm.Args) (value.Slot, error) { return pairsOf(a.Pace(), a.Map(0)) }

func keysOf(p *value.Pace, m entries) (value.Slot, error) {
	return gather(p, m, func(k, _ value.Slot) value.Slot { return k })
}

func valuesOf(p *value.Pace, m entries) (value.Slot, error) {
	return gather(p, m, func(_, v value.Slot) value.Slot { return native.MarkShared(v) })
}

func pairsOf(p *value.Pace, m entries) (value.Slot, error) {
	return gather(p, m, func(k, v value.Slot) value.Slot { return value.Tuple(k, native.MarkShared(v)) })
}

// gather returns an array with the result of f for each entry.
func gather(p *value.Pace, m entries, f func(k, v value.Slot) value.Slot) (value.Slot, error) {
	out := value.NewArray()
	m.Each(func(k, v value.Slot) bool {
		p.Step(2)
		out.Push(f(k, v))
		return true
	})
	return out.Slot(), nil
}
