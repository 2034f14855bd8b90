package vm

import (
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/store"
	"github.com/concerto-lang/concerto/value"
)

// Stores are handles of a *store.HashMap, *store.Ledger or *store.Memory. The
// natives of memories are here, those of the others in stdlib.

// newStore makes the value of a store's declaration, empty.
func newStore(s ir.Store) value.Slot {
	switch s.Kind {
	case "hashmap":
		return store.NewHashMap(s.Name).Value()
	case "ledger":
		return store.NewLedger(s.Name).Value()
	}
	return value.NewHandle("Memory", s.Name, store.NewMemory(s.Window))
}

// hashMapOf gives the hashmap in s, or nil when s is none.
func hashMapOf(s value.Slot) *store.HashMap {
	if h := s.Handle(); h != nil {
		m, _ := h.Object.(*store.HashMap)
		return m
	}
	return nil
}

func init() {
	ownNatives["memory.append"] = func(a *Args) (value.Slot, error) {
		a.memory(0).Append(a.String(1), a.String(2))
		return value.Nil, nil
	}
	ownNatives["memory.list"] = func(a *Args) (value.Slot, error) {
		m := a.memory(0)
		n := a.Int(1)
		if n < 0 || n > int64(m.Len()) {
			n = int64(m.Len())
		}
		all := value.NewArray()
		for _, x := range m.Last(int(n)) {
			all.Push(value.Tuple(value.String(x.Role), value.String(x.Content)))
		}
		return all.Slot(), nil
	}
	ownNatives["memory.len"] = func(a *Args) (value.Slot, error) { return value.Int(int64(a.memory(0).Len())), nil }
	ownNatives["memory.clear"] = func(a *Args) (value.Slot, error) {
		a.memory(0).Clear()
		return value.Nil, nil
	}
}

// memory gives argument i, a memory.
func (a *Args) memory(i int) *store.Memory {
	if h := a.slot(i).Handle(); h != nil {
		if m, ok := h.Object.(*store.Memory); ok {
			return m
		}
	}
	a.wrong(i, "a Memory")
	return nil
}
