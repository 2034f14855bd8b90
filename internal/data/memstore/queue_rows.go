package memstore

import (
	"cmp"
	"container/heap"
	"maps"
	"math"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Queue is a queue of tasks (spec/12-stores.md). It is not safe for concurrent use.
type Queue struct {
	// Place is the location of the items in a file, or nil if they are in memory.
	Place *Place
	// Item is the type of the items' values.
	Item *value.Type
	// MaxAttempts and RetryMS are the settings of the declaration.
	MaxAttempts, RetryMS int64

	name string
	self value.Slot
	rows rows
}

// NewQueue returns an empty queue with a name.
func NewQueue(name string) *Queue {
	q := &Queue{name: name, rows: newRows()}
	q.self = value.NewHandle("Queue", name, q)
	return q
}

// Name returns the declared name of the queue.
func (q *Queue) Name() string { return q.name }

// Value returns the queue as a value.
func (q *Queue) Value() value.Slot { return q.self }

// Request returns the queue in the form for requests.
func (q *Queue) Request() effect.Queue {
	out := effect.Queue{Store: effect.Store{Kind: "queue", Name: q.name}, MaxAttempts: q.MaxAttempts, RetryMS: q.RetryMS}
	if q.Place != nil {
		out.Store = q.Place.Request()
	}
	return out
}

// Perform performs a request to a queue in memory, at a time.
func (q *Queue) Perform(now int64, r effect.Request) (effect.Result, error) {
	return QueueOn{Rows: q.Rows(), Now: now}.Perform(r)
}

// Rows returns the engine of the items in memory.
func (q *Queue) Rows() QueueRows { return &q.rows }

// Len returns the number of items in memory.
func (q *Queue) Len() int { return len(q.rows.byID) }

// Content returns the items in memory, oldest first, and the number of the last default id.
func (q *Queue) Content() ([]*QueueRow, int64) {
	all, _ := q.rows.List("")
	return all, q.rows.number
}

// SetContent replaces the items in memory.
func (q *Queue) SetContent(all []*QueueRow, number int64) {
	q.rows = newRows()
	q.rows.number = number
	for _, r := range all {
		q.rows.last = max(q.rows.last, r.Seq)
		q.rows.store(r)
	}
}

// rows is the engine of a queue in memory. The heaps may contain rows that have changed since;
// these are dropped when they are found.
type rows struct {
	byID       map[string]*QueueRow
	dependents map[string]map[string]*QueueRow // rows by an item in Waits, and their own id
	last       int64                           // last Seq
	number     int64
	now        int64 // latest time of Due
	counts     map[string]int64
	ready      byRank
	until      byUntil
}

func newRows() rows {
	return rows{byID: map[string]*QueueRow{}, dependents: map[string]map[string]*QueueRow{}, counts: map[string]int64{}}
}

func (x *rows) Get(id string) (*QueueRow, error) { return copyRow(x.byID[id]), nil }

func copyRow(r *QueueRow) *QueueRow {
	if r == nil {
		return nil
	}
	c := *r
	return &c
}

func (x *rows) Put(r *QueueRow) error {
	if r.Seq == 0 {
		x.last++
		r.Seq = x.last
	}
	x.store(copyRow(r))
	return nil
}

// store stores a row in place of the previous one.
func (x *rows) store(r *QueueRow) {
	x.drop(r.ID)
	x.byID[r.ID] = r
	x.counts[r.State]++
	for _, id := range r.Waits {
		if x.dependents[id] == nil {
			x.dependents[id] = map[string]*QueueRow{}
		}
		x.dependents[id][r.ID] = r
	}
	if r.State == ItemReady {
		heap.Push(&x.ready, r)
	}
	if r.Until != 0 {
		heap.Push(&x.until, r)
	}
}

// drop removes the row of an item, if there is one.
func (x *rows) drop(id string) {
	old := x.byID[id]
	if old == nil {
		return
	}
	x.counts[old.State]--
	for _, needed := range old.Waits {
		if delete(x.dependents[needed], id); len(x.dependents[needed]) == 0 {
			delete(x.dependents, needed)
		}
	}
	delete(x.byID, id)
}

func (x *rows) Delete(r *QueueRow) error {
	x.drop(r.ID)
	return nil
}

func (x *rows) NextNumber() (int64, error) {
	x.number++
	return x.number, nil
}

func (x *rows) Best() (*QueueRow, error) {
	for len(x.ready) > 0 {
		if r := x.ready[0]; x.byID[r.ID] == r {
			return copyRow(r), nil
		}
		heap.Pop(&x.ready)
	}
	return nil, nil
}

func (x *rows) Due(now int64) ([]*QueueRow, error) {
	if now < x.now { // the clock was set back
		var all []*QueueRow
		for _, r := range x.byID {
			if r.Since > now {
				all = append(all, copyRow(r))
			}
		}
		slices.SortFunc(all, bySeq)
		if x.now = now; len(all) > 0 {
			return all, nil
		}
	}
	x.now = now
	if r := x.first(); r != nil && r.Until <= now {
		return []*QueueRow{copyRow(r)}, nil
	}
	return nil, nil
}

// first returns the row with the earliest Until, or nil.
func (x *rows) first() *QueueRow {
	for len(x.until) > 0 {
		if r := x.until[0]; x.byID[r.ID] == r {
			return r
		}
		heap.Pop(&x.until)
	}
	return nil
}

func (x *rows) NextUntil() (int64, error) {
	first := x.first()
	if first == nil {
		return 0, nil
	}
	if first.State != ItemBlocked {
		return first.Until, nil
	}
	next := int64(math.MaxInt64)
	for _, r := range x.until {
		if x.byID[r.ID] == r && r.State != ItemBlocked {
			next = min(next, r.Until)
		}
	}
	if next == math.MaxInt64 {
		return 0, nil
	}
	return next, nil
}

func (x *rows) Dependents(id string) ([]*QueueRow, error) {
	var all []*QueueRow
	for _, r := range x.dependents[id] {
		all = append(all, copyRow(r))
	}
	slices.SortFunc(all, bySeq)
	return all, nil
}

func (x *rows) List(state string) ([]*QueueRow, error) {
	var all []*QueueRow
	for _, r := range x.byID {
		if state == "" || r.State == state {
			all = append(all, copyRow(r))
		}
	}
	slices.SortFunc(all, bySeq)
	return all, nil
}

func (x *rows) Count() (map[string]int64, error) { return maps.Clone(x.counts), nil }

func bySeq(a, b *QueueRow) int { return cmp.Compare(a.Seq, b.Seq) }

// byRank orders ready rows: the highest priority first, then the oldest.
type byRank []*QueueRow

func (h byRank) Len() int { return len(h) }
func (h byRank) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[j].Priority, h[i].Priority), bySeq(h[i], h[j])) < 0
}
func (h byRank) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a row.
func (h *byRank) Push(r any) { *h = append(*h, r.(*QueueRow)) }

// Pop removes the last row.
func (h *byRank) Pop() any { return popRow((*[]*QueueRow)(h)) }

// byUntil orders rows by the end of their periods.
type byUntil []*QueueRow

func (h byUntil) Len() int { return len(h) }
func (h byUntil) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].Until, h[j].Until), bySeq(h[i], h[j])) < 0
}
func (h byUntil) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a row.
func (h *byUntil) Push(r any) { *h = append(*h, r.(*QueueRow)) }

// Pop removes the last row.
func (h *byUntil) Pop() any { return popRow((*[]*QueueRow)(h)) }

func popRow(all *[]*QueueRow) *QueueRow {
	n := len(*all) - 1
	r := (*all)[n]
	(*all)[n] = nil
	*all = (*all)[:n]
	return r
}
