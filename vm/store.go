package vm

import (
	"math"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/store"
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/ir"
)

// Stores are handles of a *store.HashMap, *store.Ledger or *store.Memory. The
// natives of memories are here, those of the others in stdlib.

// newStore makes the value of a store's declaration: empty, or with its place
// when it is in a file.
func (m *VM) newStore(s ir.Store) value.Slot {
	var place *store.Place
	if s.File != "" {
		place = &store.Place{File: s.File, Kind: s.Kind, Name: s.Name}
	}
	switch s.Kind {
	case "hashmap":
		h := store.NewHashMap(s.Name)
		if h.Place = place; place != nil {
			place.Key, place.Value = m.types[s.Key], m.types[s.Value]
		}
		return h.Value()
	case "ledger":
		l := store.NewLedger(s.Name)
		l.Place = place
		return l.Value()
	}
	x := store.NewMemory(s.Window)
	x.Place = place
	return value.NewHandle("Memory", s.Name, x)
}

// iterateKept puts the entries of a hashmap in a file, as an array of tuples,
// into a register.
func (t *task) iterateKept(h *store.HashMap, window uint8) status {
	kept := KeptMap{h.Place, h.Name()}
	give := func(r effect.Result) (value.Slot, error) {
		all, err := kept.ReadMap(r)
		if err != nil {
			return value.Nil, err
		}
		return all.Pairs(), nil
	}
	return t.ask(&effect.StoreList{Store: StoreOf(h.Place), Keys: true, Values: true}, &wait{kind: waitPerform, window: window, perform: &performing{value: give}})
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
	// memory.append(memory, messages): messages are tuples of role and content.
	ownNatives["memory.append"] = func(a *Args) (value.Slot, error) {
		m, added := a.memory(0), a.Array(1)
		var all []effect.MemoryMessage
		for i := range added.Len {
			a.Step(4)
			role, content := added.At(i).Fields()[0].Str(), added.At(i).Fields()[1].Str()
			if role == nil || content == nil {
				a.wrong(1, "Strings")
			}
			all = append(all, effect.MemoryMessage{Role: role.S, Content: content.S})
		}
		if m.Place != nil {
			return value.Nil, &Asks{&effect.MemoryAppend{Store: StoreOf(m.Place), Messages: all, Window: m.Window()}, nothing}
		}
		for _, x := range all {
			m.Append(x.Role, x.Content)
		}
		return value.Nil, nil
	}
	// memory.list(memory, n): the last n messages, -1 for all.
	ownNatives["memory.list"] = func(a *Args) (value.Slot, error) {
		m := a.memory(0)
		n := int(min(a.Int(1), math.MaxInt32))
		if m.Place != nil {
			return value.Nil, &Asks{&effect.MemoryList{Store: StoreOf(m.Place), Last: n, Window: m.Window()}, messages}
		}
		if n < 0 {
			n = m.Len()
		}
		var all []effect.MemoryMessage
		a.Step(4 * min(n, m.Len()))
		for _, x := range m.Last(n) {
			all = append(all, effect.MemoryMessage{Role: x.Role, Content: x.Content})
		}
		return messages(&effect.MemoryMessages{Messages: all})
	}
	ownNatives["memory.len"] = func(a *Args) (value.Slot, error) {
		m := a.memory(0)
		if m.Place != nil {
			return value.Nil, &Asks{&effect.StoreLen{Store: StoreOf(m.Place), Window: m.Window()}, Count}
		}
		return value.Int(int64(m.Len())), nil
	}
	ownNatives["memory.clear"] = func(a *Args) (value.Slot, error) {
		m := a.memory(0)
		if m.Place != nil {
			return value.Nil, &Asks{&effect.StoreClear{Store: StoreOf(m.Place)}, nothing}
		}
		m.Clear()
		return value.Nil, nil
	}
}

// messages gives messages as tuples of role and content.
func messages(r effect.Result) (value.Slot, error) {
	all := value.NewArray()
	for _, x := range r.(*effect.MemoryMessages).Messages {
		all.Push(value.Tuple(value.String(x.Role), value.String(x.Content)))
	}
	return all.Slot(), nil
}

// Count gives a *effect.StoreCount as an Int.
func Count(r effect.Result) (value.Slot, error) { return value.Int(r.(*effect.StoreCount).Count), nil }

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
