package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/memstore"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/stdlib/times"
	"github.com/concerto-lang/concerto/vm"
)

// Queue is a queue of a program in its file, outside of a run. Errors about an item, and about the
// file, are an *effect.Error with the field code.
type Queue struct {
	queue  *memstore.Queue
	stores *sqlitestore.Stores
}

// QueueItem is an item of a queue in the form of a QueueItem of the language.
type QueueItem struct {
	ID         string          `json:"id"`
	Value      json.RawMessage `json:"value"`
	State      string          `json:"state"`
	Priority   int64           `json:"priority"`
	Attempts   int64           `json:"attempts"`
	After      []string        `json:"after"`
	Worker     *string         `json:"worker"`
	LeaseUntil *string         `json:"lease_until"`
	Error      *string         `json:"error"`
	Result     json.RawMessage `json:"result"`
	Created    string          `json:"created"`
}

// NoQueueError means that a program has no queue with the name, or that the queue is in memory.
type NoQueueError struct {
	Name     string
	InMemory bool
	Names    []string // names of the program's queues in files
}

func (e *NoQueueError) Error() string {
	if e.InMemory {
		return fmt.Sprintf("queue '%s' is in memory; add .with_persistence(\"FILE\") to its declaration", e.Name)
	}
	return fmt.Sprintf("the program has no queue '%s'", e.Name)
}

// OpenQueue opens the queue that the program declares with this name. The error is a *NoQueueError
// if it does not. The paths of a compiled program are relative to dir. The caller must close the
// queue.
func (p *Program) OpenQueue(name, dir string) (*Queue, error) {
	machine, err := vm.New(vm.Config{Program: p.ir, Natives: stdlib.Native})
	if err != nil {
		return nil, fmt.Errorf("could not load the program: %w", err)
	}
	q := vm.QueueNamed(machine, name)
	if q == nil || q.Place == nil {
		missing := &NoQueueError{Name: name, InMemory: q != nil}
		for _, s := range p.ir.Stores {
			if s.Kind == "queue" && s.File != "" {
				missing.Names = append(missing.Names, s.Name)
			}
		}
		return nil, missing
	}
	root, err := p.base(&Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	return &Queue{q, sqlitestore.New(sqlitestore.Options{Dir: root})}, nil
}

// Close closes the file of the queue.
func (q *Queue) Close() error { return q.stores.Close() }

// Items returns the items in a state, or all items if state is "", oldest first.
func (q *Queue) Items(ctx context.Context, state string) ([]QueueItem, error) {
	return q.items(ctx, &effect.QueueGet{Queue: q.queue.Request(), State: state})
}

// Item returns an item.
func (q *Queue) Item(ctx context.Context, id string) (*QueueItem, error) {
	all, err := q.items(ctx, &effect.QueueGet{Queue: q.queue.Request(), ID: &id})
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, effect.Errorf("QueueError", "queue %s in %s has no item %q", q.queue.Name(), q.queue.Place.File, id).With("code", "unknown").With("id", id)
	}
	return &all[0], nil
}

func (q *Queue) items(ctx context.Context, r *effect.QueueGet) ([]QueueItem, error) {
	result, err := q.stores.Perform(ctx, r)
	if err != nil {
		return nil, err
	}
	out := []QueueItem{}
	for _, x := range result.(*effect.QueueItems).Items {
		item := QueueItem{ID: x.ID, Value: x.Value, State: x.State, Priority: x.Priority, Attempts: x.Attempts, After: append([]string{}, x.After...),
			Worker: textOrNil(x.Worker), Error: textOrNil(x.Error), Result: json.RawMessage("null"), Created: times.FormatInstant(x.Created)}
		if v, errs := schema.DecodeStored(x.Value, q.queue.Item); len(errs) == 0 { // otherwise the type has changed since
			item.Value = value.AppendJSON(nil, v)
		}
		if v, errs := schema.DecodeStored(x.Result, &value.Type{Kind: value.TypeAny}); x.Result != nil && len(errs) == 0 {
			item.Result = value.AppendJSON(nil, v)
		}
		if x.LeaseUntil != 0 {
			item.LeaseUntil = textOrNil(times.FormatInstant(x.LeaseUntil))
		}
		out = append(out, item)
	}
	return out, nil
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Add adds an item whose value is JSON of the queue's type, and returns its id. r contains the
// other properties of the item.
func (q *Queue) Add(ctx context.Context, text []byte, r effect.QueueAdd) (string, error) {
	v, errs := schema.Decode(text, q.queue.Item)
	if len(errs) > 0 {
		return "", effect.Errorf("QueueError", "the value is no %s: %s", q.queue.Item, schema.Join(errs)).With("code", "invalid")
	}
	raw, err := schema.EncodeStored(v, q.queue.Item)
	if err != nil {
		return "", effect.Errorf("QueueError", "the value cannot be stored: %v", err).With("code", "invalid")
	}
	r.Queue, r.Value = q.queue.Request(), raw
	result, err := q.stores.Perform(ctx, &r)
	if err != nil {
		return "", err
	}
	return result.(*effect.QueueAdded).ID, nil
}

// Update retries or removes an item; op is effect.QueueRetry or effect.QueueRemove.
func (q *Queue) Update(ctx context.Context, op, id string) error {
	_, err := q.stores.Perform(ctx, &effect.QueueUpdate{Queue: q.queue.Request(), Op: op, ID: id})
	return err
}
