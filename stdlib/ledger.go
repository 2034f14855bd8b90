package stdlib

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

// Each native for ledgers has two implementations: one for a ledger in memory, and one that
// requests the effect for a ledger in a file.
var ledgerNatives = native.Table{
	{"Ledger.insert", ledgerInsert},
	{"Ledger.delete", ledgerDelete},
	{"Ledger.update", ledgerUpdate},
	{"Ledger.update_keys", ledgerUpdateKeys},
	{"Ledger.len", ledgerLen},
	{"Ledger.clear", ledgerClear},
	{"Ledger.identifiers", ledgerIdentifiers},
	{"Ledger.scope", func(a *vm.Args) (value.Slot, error) { return ledger(a).Scope(a.String(1)).Value(), nil }},
	{"__ledger_find", ledgerFind},
}

func ledger(a *vm.Args) *memstore.Ledger { return object[*memstore.Ledger](a, "a Ledger") }

// stringsOf returns the elements of an array of Strings.
func stringsOf(x *value.Array) []string {
	out := make([]string, x.Len)
	for i := range out {
		s := x.At(i).Str()
		if s == nil {
			panic(value.Faultf("expected a String, got %s", value.TypeName(x.At(i))))
		}
		out[i] = s.S
	}
	return out
}

func ledgerInsert(a *vm.Args) (value.Slot, error) {
	l, e := ledger(a), effect.LedgerEntry{Identifier: a.String(1), Keys: stringsOf(a.Array(2)), Value: a.String(3)}
	if l.Place != nil {
		return fileInsert(a, l.Place, e)
	}
	if err := l.Insert(e.Identifier, e.Keys, e.Value); err != nil {
		return value.Nil, value.Faultf("%s", err)
	}
	return value.Nil, nil
}

func ledgerDelete(a *vm.Args) (value.Slot, error) {
	l := ledger(a)
	if l.Place != nil {
		return a.Ask(&effect.LedgerDelete{Store: l.Place.Request(), Identifier: a.String(1)}, found)
	}
	return value.Bool(l.Delete(a.String(1))), nil
}

func ledgerUpdate(a *vm.Args) (value.Slot, error) {
	l := ledger(a)
	if l.Place != nil {
		return fileUpdate(a, l.Place, effect.LedgerEntry{Identifier: a.String(1), Value: a.String(2)}, "value", memstore.CheckValue(a.String(2)))
	}
	return updateResult(l.Update(a.String(1), a.String(2)))
}

func ledgerUpdateKeys(a *vm.Args) (value.Slot, error) {
	l, keys := ledger(a), stringsOf(a.Array(2))
	if l.Place != nil {
		return fileUpdate(a, l.Place, effect.LedgerEntry{Identifier: a.String(1), Keys: keys}, "keys", memstore.CheckKeys(keys))
	}
	return updateResult(l.UpdateKeys(a.String(1), keys))
}

func ledgerLen(a *vm.Args) (value.Slot, error) {
	l := ledger(a)
	if l.Place != nil {
		return a.Ask(&effect.StoreLen{Store: l.Place.Request()}, memstore.Count)
	}
	return value.Int(int64(l.Len())), nil
}

func ledgerClear(a *vm.Args) (value.Slot, error) {
	l := ledger(a)
	if l.Place != nil {
		return a.Ask(&effect.StoreClear{Store: l.Place.Request()}, vm.Nothing)
	}
	l.Clear()
	return value.Nil, nil
}

// updateResult returns the result of the update of an entry: whether the entry exists, or a fault.
func updateResult(found bool, err error) (value.Slot, error) {
	if err != nil {
		return value.Nil, value.Faultf("%s", err)
	}
	return value.Bool(found), nil
}

func ledgerIdentifiers(a *vm.Args) (value.Slot, error) {
	l := ledger(a)
	if l.Place != nil {
		return fileIdentifiers(a, l.Place)
	}
	var out []string
	a.Step(l.Len())
	for _, e := range l.Entries() {
		out = append(out, e.Identifier)
	}
	return value.StringArray(out), nil
}

// ledgerFind searches a ledger. Argument 1 names the kind of search, argument 2 contains the texts
// to find, and argument 3 is the type LedgerEntry of the results.
func ledgerFind(a *vm.Args) (value.Slot, error) {
	l, words, entry := ledger(a), stringsOf(a.Array(2)), a.Type(3)
	if l.Place != nil {
		return fileFind(a, l.Place, a.String(1), words, entry)
	}
	var found []*memstore.Entry
	a.Step(l.Len() >> 3)
	switch a.String(1) {
	case "identifier":
		found = l.FromIdentifier(words[0])
	case "any":
		found = l.FromAnyKeys(words)
	case "all":
		found = l.FromAllKeys(words)
	case "text":
		found = l.FromText(words[0])
	default:
		found = l.Entries()
	}
	out := value.NewArray()
	out.Reserve(len(found))
	for _, e := range found {
		a.Step(4 + len(e.Keys))
		out.Push(entry.Struct(value.String(e.Identifier), value.StringArray(e.Keys), value.String(e.Value)))
	}
	return out.Slot(), nil
}

// The natives for a ledger in a file check the limits before they request the effect. The value of
// such a ledger contains only the path of the file.

func fileInsert(a *vm.Args, p *memstore.Place, e effect.LedgerEntry) (value.Slot, error) {
	if err := memstore.CheckEntry(e.Identifier, e.Keys, e.Value); err != nil {
		return value.Nil, value.Faultf("%s", err)
	}
	return a.Ask(&effect.LedgerPut{Store: p.Request(), Entry: e}, vm.Nothing)
}

// fileUpdate replaces one part of an entry. problem is the error if the new part exceeds a limit,
// and otherwise nil.
func fileUpdate(a *vm.Args, p *memstore.Place, e effect.LedgerEntry, part string, problem error) (value.Slot, error) {
	if problem != nil {
		return value.Nil, value.Faultf("%s", problem)
	}
	return a.Ask(&effect.LedgerPut{Store: p.Request(), Entry: e, Update: part}, found)
}

func fileIdentifiers(a *vm.Args, p *memstore.Place) (value.Slot, error) {
	return a.Ask(&effect.LedgerFind{Store: p.Request()}, func(r effect.Result) (value.Slot, error) {
		var out []string
		for _, e := range r.(*effect.LedgerEntries).Entries {
			out = append(out, e.Identifier)
		}
		return value.StringArray(out), nil
	})
}

// fileFind searches a ledger in a file, like ledgerFind, and returns values of the type entry.
func fileFind(a *vm.Args, p *memstore.Place, how string, texts []string, entry *value.Type) (value.Slot, error) {
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
