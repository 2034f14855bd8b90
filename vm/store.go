package vm

import (
	"context"
	"errors"
	"math"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Stores are handles of a *memstore.HashMap, *memstore.Ledger, *memstore.Memory or *memstore.Queue.
// The library contains their natives.

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
	case "queue":
		q := memstore.NewQueue(s.Name)
		q.Place, q.Item = place, i.types[s.Value]
		q.MaxAttempts, q.RetryMS = s.MaxAttempts, int64(math.Round(s.RetrySeconds*1000))
		return q.Value()
	}
	x := memstore.NewMemory(s.Window, s.Trim)
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

// QueueNamed returns the queue that the program of m declares with this name, or nil.
func QueueNamed(m *VM, name string) *memstore.Queue {
	for _, s := range m.declared.stores {
		if q, ok := s.Handle().Object.(*memstore.Queue); ok && q.Name() == name {
			return q
		}
	}
	return nil
}

// WakeQueue ends the waits for items of a queue that the native has changed, so that the waiting
// tasks try again. The performer notices a change of a file by itself, except in a test, in which
// requests are performed one at a time.
func (a *Args) WakeQueue(q effect.Queue) {
	m := a.vm
	if q.File != "" && m.config.Choose == nil {
		return
	}
	for _, p := range m.requests.pending {
		if r := p.awaitedQueue(); r != nil && r.Store == q.Store {
			for _, seq := range m.requests.underWay() {
				p := m.requests.pending[seq]
				if r := p.awaitedQueue(); r != nil && r.Store == q.Store {
					p.cancel()
				}
			}
			return
		}
	}
}

// awaitedQueue returns the request if it waits for an item of a queue, or nil.
func (f *pendingRequest) awaitedQueue() *effect.QueueWait {
	if f.wait == nil || f.cancelled {
		return nil
	}
	r, _ := f.wait.request.(*effect.QueueWait)
	return r
}

// isWokenByQueue reports whether r is a wait for an item that has ended because the queue has
// changed, or because its task was cancelled, which the caller must exclude.
func isWokenByQueue(r effect.Request, err error) bool {
	_, ok := r.(*effect.QueueWait)
	return ok && errors.Is(err, context.Canceled)
}
