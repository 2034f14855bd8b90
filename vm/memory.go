package vm

import (
	"github.com/concerto-lang/concerto/store"
	"github.com/concerto-lang/concerto/value"
)

// The natives of memories, which are handles of a *store.Memory.

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
