package memstore

import (
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// Place is the location of a store in a file. A HashMap, Ledger or Memory with a Place has no
// entries itself: they are in the file, and every operation on them is an effect. The watchers of a
// hashmap belong to this run.
type Place struct {
	File string // as the program wrote it
	Kind string // "hashmap", "ledger" or "memory"
	Name string // the declared store's
	// Scope is the path of a scope as the JSON text of its names; "" outside of
	// every scope.
	Scope string
	// Key and Value are a hashmap's types.
	Key, Value *value.Type

	names []string // of the scopes
}

// In returns the place of the scope of that name within p.
func (p *Place) In(name string) *Place {
	in := *p
	in.names = append(slices.Clone(p.names), name)
	text, err := json.Marshal(in.names)
	if err != nil {
		panic(err) // strings are always JSON
	}
	in.Scope = string(text)
	return &in
}
