package stdlib

import (
	"math"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Each native for memories has two implementations: one for a memory that is not stored, and one
// that requests the effect for a memory in a file.
var memoryNatives = native.Table{
	{"memory.append", memoryAppend},
	{"memory.list", memoryList},
	{"memory.len", memoryLen},
	{"memory.clear", memoryClear},
}

func memory(a *vm.Args) *memstore.Memory { return object[*memstore.Memory](a, "a Memory") }

// memoryAppend appends the messages in argument 1, which are tuples (role, content).
func memoryAppend(a *vm.Args) (value.Slot, error) {
	m, added := memory(a), a.Array(1)
	var all []effect.MemoryMessage
	for i := range added.Len {
		a.Step(4)
		role, content := added.At(i).Fields()[0].Str(), added.At(i).Fields()[1].Str()
		if role == nil || content == nil {
			a.WrongKind(1, "Strings")
		}
		all = append(all, effect.MemoryMessage{Role: role.S, Content: content.S})
	}
	if m.Place != nil {
		q := &effect.MemoryAppend{Store: m.Place.Request(), Messages: all, Window: m.Window()}
		if m.Trim() > 1 {
			q.Trim = m.Trim()
		}
		return a.Ask(q, vm.Nothing)
	}
	for _, x := range all {
		m.Append(x.Role, x.Content)
	}
	return value.Nil, nil
}

// memoryList returns the last n messages, or all messages if n is -1. n is argument 1.
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

// messages converts messages to tuples (role, content).
func messages(r effect.Result) (value.Slot, error) {
	all := value.NewArray()
	for _, x := range r.(*effect.MemoryMessages).Messages {
		all.Push(value.Tuple(value.String(x.Role), value.String(x.Content)))
	}
	return all.Slot(), nil
}

// maxKnowledge is the maximum number of entries from one ledger in a request.
const maxKnowledge = 20

// agentKnowledge searches one of an agent's ledgers for the prompt in argument 2. Argument 1 is the
// index of the ledger. The result is a text with one paragraph for each entry found, or "" if there
// are none.
func agentKnowledge(a *vm.Args) (value.Slot, error) {
	of := a.Agent(0).Knowledge
	i := a.Int(1)
	if uint64(i) >= uint64(len(of)) {
		return value.Nil, value.Faultf("the agent has no ledger number %d", i)
	}
	l, ok := a.Store(of[i]).Handle().Object.(*memstore.Ledger)
	if !ok {
		panic(value.Faultf("the knowledge of an agent is not a ledger"))
	}
	if l.Place != nil {
		return a.Ask(&effect.LedgerFind{Store: l.Place.Request(), By: "text", Texts: []string{a.String(2)}}, formatEntries)
	}
	a.Step(l.Len()>>3 + len(a.String(2))>>3)
	var text strings.Builder
	for i, e := range l.FromText(a.String(2)) {
		addEntry(&text, i, e.Identifier, e.Value)
	}
	return value.String(text.String()), nil
}

func formatEntries(r effect.Result) (value.Slot, error) {
	var text strings.Builder
	for i, e := range r.(*effect.LedgerEntries).Entries {
		addEntry(&text, i, e.Identifier, e.Value)
	}
	return value.String(text.String()), nil
}

// addEntry appends entry i to text, unless i exceeds the maximum.
func addEntry(text *strings.Builder, i int, identifier, val string) {
	if i >= maxKnowledge {
		return
	}
	if i > 0 {
		text.WriteString("\n\n")
	}
	text.WriteString(identifier + ": " + val)
}
