package vm

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Stores are handles of a *memstore.HashMap, *memstore.Ledger or *memstore.Memory. The library
// contains their natives.

// newStore returns the value of a store declaration: an empty store, or a store that refers to its
// file.
func (i *image) newStore(s ir.Store) value.Slot {
	var place *memstore.Place
	if s.File != "" {
		place = &memstore.Place{File: s.File, Kind: s.Kind, Name: s.Name}
	}
	switch s.Kind {
	case "hashmap":
		h := memstore.NewHashMap(s.Name)
		if h.Place = place; place != nil {
			place.Key, place.Value = i.types[s.Key], i.types[s.Value]
		}
		return h.Value()
	case "ledger":
		l := memstore.NewLedger(s.Name)
		l.Place = place
		return l.Value()
	}
	x := memstore.NewMemory(s.Window)
	x.Place = place
	return value.NewHandle("Memory", s.Name, x)
}

// iterateFileMap copies the entries of a hashmap in a file into a register, as an array of tuples.
func (t *task) iterateFileMap(h *memstore.HashMap, window uint8) status {
	stored := h.StoredEntries(&t.m.pace)
	convert := func(r effect.Result) (value.Slot, error) {
		all, err := stored.DecodeMap(r)
		if err != nil {
			return value.Nil, err
		}
		return all.Pairs(), nil
	}
	return t.ask(&effect.StoreList{Store: stored.Request(), Keys: true, Values: true}, &wait{kind: waitPerform, window: window, convert: convert})
}

// hashMapOf returns the hashmap in s, or nil if s is no hashmap.
func hashMapOf(s value.Slot) *memstore.HashMap {
	if h := s.Handle(); h != nil {
		m, _ := h.Object.(*memstore.HashMap)
		return m
	}
	return nil
}
