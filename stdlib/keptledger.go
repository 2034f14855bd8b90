package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/vm"
)

// A ledger in a file is known here only by its path; its limits are checked
// before the effect is asked for.

func keptInsert(a *vm.Args, p *memstore.Place, e effect.LedgerEntry) (value.Slot, error) {
	if err := memstore.CheckEntry(e.Identifier, e.Keys, e.Value); err != nil {
		return value.Nil, value.Faultf("%s", err)
	}
	return a.Ask(&effect.LedgerPut{Store: p.Request(), Entry: e}, vm.Nothing)
}

// keptUpdate replaces one part of an entry; problem says which limit the new
// part exceeds.
func keptUpdate(a *vm.Args, p *memstore.Place, e effect.LedgerEntry, part string, problem error) (value.Slot, error) {
	if problem != nil {
		return value.Nil, value.Faultf("%s", problem)
	}
	return a.Ask(&effect.LedgerPut{Store: p.Request(), Entry: e, Update: part}, found)
}

func keptIdentifiers(a *vm.Args, p *memstore.Place) (value.Slot, error) {
	return a.Ask(&effect.LedgerFind{Store: p.Request()}, func(r effect.Result) (value.Slot, error) {
		var out []string
		for _, e := range r.(*effect.LedgerEntries).Entries {
			out = append(out, e.Identifier)
		}
		return value.StringArray(out), nil
	})
}

// keptFind searches as ledgerFind does and gives values of the type entry.
func keptFind(a *vm.Args, p *memstore.Place, how string, texts []string, entry *value.Type) (value.Slot, error) {
	if how == "entries" {
		how, texts = "", nil
	}
	return a.Ask(&effect.LedgerFind{Store: p.Request(), By: how, Texts: texts}, func(r effect.Result) (value.Slot, error) {
		found := r.(*effect.LedgerEntries).Entries
		out := value.NewArray()
		out.Reserve(len(found))
		for _, e := range found {
			out.Push(entry.Struct(value.String(e.Identifier), value.StringArray(e.Keys), value.String(e.Value)))
		}
		return out.Slot(), nil
	})
}
