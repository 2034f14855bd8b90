package stdlib

import (
	"github.com/concerto-lang/concerto/store"
	"github.com/concerto-lang/concerto/value"
	"github.com/concerto-lang/concerto/vm"
)

var ledgerNatives = []native{
	{"Ledger.insert", ledgerInsert},
	{"Ledger.delete", func(a *vm.Args) (value.Slot, error) { return value.Bool(ledger(a).Delete(a.String(1))), nil }},
	{"Ledger.update", func(a *vm.Args) (value.Slot, error) { return updated(ledger(a).Update(a.String(1), a.String(2))) }},
	{"Ledger.update_keys", func(a *vm.Args) (value.Slot, error) {
		return updated(ledger(a).UpdateKeys(a.String(1), stringsOf(a.Array(2))))
	}},
	{"Ledger.len", func(a *vm.Args) (value.Slot, error) { return value.Int(int64(ledger(a).Len())), nil }},
	{"Ledger.clear", func(a *vm.Args) (value.Slot, error) { ledger(a).Clear(); return value.Nil, nil }},
	{"Ledger.identifiers", ledgerIdentifiers},
	{"Ledger.scope", func(a *vm.Args) (value.Slot, error) { return ledger(a).Scope(a.String(1)).Value(), nil }},
	{"__ledger_find", ledgerFind},
}

func ledger(a *vm.Args) *store.Ledger { return object[*store.Ledger](a, "a Ledger") }

// stringsOf gives the elements of an array of Strings.
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
	if err := ledger(a).Insert(a.String(1), stringsOf(a.Array(2)), a.String(3)); err != nil {
		return value.Nil, value.Faultf("%s", err)
	}
	return value.Nil, nil
}

// updated gives what an update of an entry says.
func updated(found bool, err error) (value.Slot, error) {
	if err != nil {
		return value.Nil, value.Faultf("%s", err)
	}
	return value.Bool(found), nil
}

func ledgerIdentifiers(a *vm.Args) (value.Slot, error) {
	var out []string
	for _, e := range ledger(a).Entries() {
		out = append(out, e.Identifier)
	}
	return value.StringArray(out), nil
}

// ledgerFind searches as argument 1 says with the texts of argument 2, and
// gives values of the type in argument 3, LedgerEntry.
func ledgerFind(a *vm.Args) (value.Slot, error) {
	l, words, entry := ledger(a), stringsOf(a.Array(2)), a.Type(3)
	var found []*store.Entry
	switch a.String(1) {
	case "identifier":
		found = l.FromIdentifier(words[0])
	case "any":
		found = l.FromAnyKeys(words)
	case "all":
		found = l.FromAllKeys(words)
	default:
		found = l.Entries()
	}
	out := value.NewArray()
	out.Reserve(len(found))
	for _, e := range found {
		out.Push(entry.Struct(value.String(e.Identifier), value.StringArray(e.Keys), value.String(e.Value)))
	}
	return out.Slot(), nil
}
