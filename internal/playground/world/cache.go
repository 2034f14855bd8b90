package world

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// caches performs the requests for the entries of @cache with a file, in memory. Other stores of a
// page are part of the run.
type caches struct {
	mu     sync.Mutex
	stores map[effect.Store]*entries
}

// entries are the entries of a cache, by key, and their order.
type entries struct {
	values map[string][]byte
	order  []string
}

func newCaches() *caches { return &caches{stores: map[effect.Store]*entries{}} }

// Perform performs one request.
func (c *caches) Perform(ctx context.Context, r effect.Request) (effect.Result, error) {
	if q, ok := r.(*effect.QueueWait); ok {
		return waitUntil(ctx, q.Until)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch q := r.(type) {
	case *effect.StoreRead:
		out := &effect.StoreEntries{}
		for _, k := range q.Keys {
			out.Entries = append(out.Entries, effect.StoreEntry{Value: c.of(q.Store).values[string(k)]})
		}
		return out, nil
	case *effect.StoreWrite:
		return c.of(q.Store).write(q), nil
	case *effect.StoreDelete:
		return &effect.StoreFound{Found: c.of(q.Store).drop(string(q.Key))}, nil
	case *effect.StoreLen:
		return &effect.StoreCount{Count: int64(len(c.of(q.Store).order))}, nil
	case *effect.StoreClear:
		delete(c.stores, q.Store)
		return nil, nil
	case *effect.StoreExpire:
		until := fmt.Sprintf("[%013d", q.Date)
		e := c.of(q.Store)
		for _, k := range slices.Clone(e.order) {
			if string(e.values[k]) < until {
				e.drop(k)
			}
		}
		return nil, nil
	}
	return nil, &effect.UnperformedError{Who: "the playground", Kind: r.Kind()}
}

func (c *caches) of(at effect.Store) *entries {
	if c.stores[at] == nil {
		c.stores[at] = &entries{values: map[string][]byte{}}
	}
	return c.stores[at]
}

// write sets entries and returns the previous values, if the request has Before set.
func (e *entries) write(q *effect.StoreWrite) effect.Result {
	before := &effect.StoreEntries{}
	for _, x := range q.Entries {
		k := string(x.Key)
		old, had := e.values[k]
		before.Entries = append(before.Entries, effect.StoreEntry{Value: old})
		if !had {
			e.order = append(e.order, k)
		}
		e.values[k] = x.Value
	}
	if !q.Before {
		return nil
	}
	return before
}

// drop removes an entry and reports whether it existed.
func (e *entries) drop(k string) bool {
	_, found := e.values[k]
	delete(e.values, k)
	e.order = slices.DeleteFunc(e.order, func(x string) bool { return x == k })
	return found
}
