package stdlib

import (
	"math"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Each native of a memory has two forms: one for a memory that is not kept, and
// one for a memory in a file, which asks for the effect.
var memoryNatives = native.Table{
	{"memory.append", memoryAppend},
	{"memory.list", memoryList},
	{"memory.len", memoryLen},
	{"memory.clear", memoryClear},
}

func memory(a *vm.Args) *memstore.Memory { return object[*memstore.Memory](a, "a Memory") }

// memoryAppend adds argument 1: tuples of role and content.
func memoryAppend(a *vm.Args) (value.Slot, error) {
	m, added := memory(a), a.Array(1)
	var all []effect.MemoryMessage
	for i := range added.Len {
		a.Step(4)
		role, content := added.At(i).Fields()[0].Str(), added.At(i).Fields()[1].Str()
		if role == nil || content == nil {
			a.Wrong(1, "Strings")
		}
		all = append(all, effect.MemoryMessage{Role: role.S, Content: content.S})
	}
	if m.Place != nil {
		return a.Ask(&effect.MemoryAppend{Store: m.Place.Request(), Messages: all, Window: m.Window()}, vm.Nothing)
	}
	for _, x := range all {
		m.Append(x.Role, x.Content)
	}
	return value.Nil, nil
}

// memoryList gives the last n messages, -1 for all.
func memoryList(a *vm.Args) (value.Slot, error) {
	m := memory(a)
	n := int(min(a.Int(1), math.MaxInt32))
	if m.Place != nil {
		return a.Ask(&effect.MemoryList{Store: m.Place.Request(), Last: n, Window: m.Window()}, messages)
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

func memoryLen(a *vm.Args) (value.Slot, error) {
	m := memory(a)
	if m.Place != nil {
		return a.Ask(&effect.StoreLen{Store: m.Place.Request(), Window: m.Window()}, memstore.Count)
	}
	return value.Int(int64(m.Len())), nil
}

func memoryClear(a *vm.Args) (value.Slot, error) {
	m := memory(a)
	if m.Place != nil {
		return a.Ask(&effect.StoreClear{Store: m.Place.Request()}, vm.Nothing)
	}
	m.Clear()
	return value.Nil, nil
}

// messages gives messages as tuples of role and content.
func messages(r effect.Result) (value.Slot, error) {
	all := value.NewArray()
	for _, x := range r.(*effect.MemoryMessages).Messages {
		all.Push(value.Tuple(value.String(x.Role), value.String(x.Content)))
	}
	return all.Slot(), nil
}
