package memstore

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// The states of an item in a queue.
const (
	ItemWaiting = "waiting" // for other items, or for a time
	ItemReady   = "ready"
	ItemClaimed = "claimed"
	ItemDone    = "done"
	ItemDead    = "dead"
	ItemBlocked = "blocked" // an item on which it depends is dead or was removed
)

// ItemStates contains the states of items in the order in which they are listed.
var ItemStates = []string{ItemWaiting, ItemReady, ItemClaimed, ItemDone, ItemDead, ItemBlocked}

// CheckItemState returns an error if there is no such state.
func CheckItemState(state string) error {
	if slices.Contains(ItemStates, state) {
		return nil
	}
	return fmt.Errorf("no state %q of items: the states are %s", state, strings.Join(ItemStates, ", "))
}

// LeaseExpired is the error of an attempt whose lease has expired.
const LeaseExpired = "the lease expired"

// maxRetry is the maximum time between two attempts, in milliseconds.
const maxRetry = 300_000

// QueueRow is an item in the form in which an engine stores it. Times are in milliseconds since the
// epoch.
type QueueRow struct {
	effect.QueueItem
	// Seq orders the items by age. The engine assigns it when it adds the row.
	Seq int64
	// Until is the time to which an item waits, or at which its lease ends; 0 if there is none.
	// Since is the time at which that period began.
	Until, Since int64
	// Waits contains the items of After that are not done. Gone is the first one that was removed
	// before it was done.
	Waits []string
	Gone  string
	// Claim is LeaseUntil at the time of the last claim, and identifies it, also after the lease
	// has expired. It is negative if the claim has ended, and 0 if there was none.
	Claim int64
}

// QueueRows is what a queue requires of the engine that stores its items. All calls of one
// operation are one transaction. The rows that an engine returns belong to the caller.
type QueueRows interface {
	// Get returns the row of an item, or nil if there is none.
	Get(id string) (*QueueRow, error)
	// Put adds a row whose Seq is 0, and otherwise replaces the row.
	Put(r *QueueRow) error
	// Delete removes a row.
	Delete(r *QueueRow) error
	// NextNumber returns a number that it has not returned before.
	NextNumber() (int64, error)
	// Best returns the ready row of the highest priority, the oldest of these, or nil.
	Best() (*QueueRow, error)
	// Due returns some rows whose Until is not later than now, or whose Since is later. It returns
	// none only if there are none.
	Due(now int64) ([]*QueueRow, error)
	// NextUntil returns the earliest Until of a waiting or claimed row; 0 if there is none.
	NextUntil() (int64, error)
	// Dependents returns the rows that have id in Waits.
	Dependents(id string) ([]*QueueRow, error)
	// List returns the rows in a state, or all rows if state is "", in the order of Seq.
	List(state string) ([]*QueueRow, error)
	// Count returns the number of rows in each state.
	Count() (map[string]int64, error)
}

// QueueOn performs requests to a queue on the rows of an engine, at a time.
type QueueOn struct {
	Rows QueueRows
	Now  int64
}

// IsSettled reports whether no period has ended, so that reading needs no change of the rows.
func (q QueueOn) IsSettled() (bool, error) {
	due, err := q.Rows.Due(q.Now)
	return len(due) == 0, err
}

// MayClaim reports whether a claim can change the rows: an item is ready, or a period has ended. If
// not, next is the time at which the next one ends, or 0 if no item is waiting or claimed.
func (q QueueOn) MayClaim() (may bool, next int64, err error) {
	if settled, err := q.IsSettled(); !settled || err != nil {
		return true, 0, err
	}
	if best, err := q.Rows.Best(); best != nil || err != nil {
		return true, 0, err
	}
	next, err = q.Rows.NextUntil()
	return false, next, err
}

// Perform performs a request of any kind except QueueWait.
func (q QueueOn) Perform(r effect.Request) (effect.Result, error) {
	switch r := r.(type) {
	case *effect.QueueAdd:
		return q.add(r)
	case *effect.QueueClaim:
		return q.claim(r)
	case *effect.QueueUpdate:
		return nil, q.update(r)
	case *effect.QueueGet:
		return q.get(r)
	}
	return nil, &effect.UnperformedError{Who: "a queue", Kind: r.Kind()}
}

// settle applies what has happened by the passing of time: leases have expired, and waits have
// ended. If the clock was set back, a period that began later begins now, so that it is not
// extended beyond its length.
func (q QueueOn) settle(of *effect.Queue) error {
	for {
		due, err := q.Rows.Due(q.Now)
		if len(due) == 0 || err != nil {
			return err
		}
		for _, r := range due {
			switch {
			case r.Since > q.Now:
				r.Until -= r.Since - q.Now
				if r.LeaseUntil != 0 {
					r.LeaseUntil = r.Until
				}
				r.Since = q.Now
				err = q.Rows.Put(r)
			case r.State == ItemClaimed:
				err = q.failAttempt(of, r, LeaseExpired, r.Until, false)
			default:
				r.Until, r.Since = 0, 0
				err = q.putState(r)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (q QueueOn) add(r *effect.QueueAdd) (effect.Result, error) {
	if err := q.settle(&r.Queue); err != nil {
		return nil, err
	}
	id := r.ID
	if id != "" {
		old, err := q.Rows.Get(id)
		if err != nil {
			return nil, err
		}
		if old != nil {
			if !sameJSON(old.Value, r.Value) {
				return nil, queueError("exists", id, "queue %s already has an item %q, with another value", shownQueue(&r.Queue), id)
			}
			return &effect.QueueAdded{ID: id}, nil
		}
	}
	row := &QueueRow{}
	row.Value, row.Priority, row.After, row.Created = r.Value, r.Priority, r.After, q.Now
	for _, needed := range r.After {
		other, err := q.Rows.Get(needed)
		if err != nil {
			return nil, err
		}
		if other == nil {
			return nil, queueError("unknown", needed, "queue %s has no item %q, after which the new item should be done", shownQueue(&r.Queue), needed)
		}
		if other.State != ItemDone && !slices.Contains(row.Waits, needed) {
			row.Waits = append(row.Waits, needed)
		}
	}
	for id == "" {
		n, err := q.Rows.NextNumber()
		if err != nil {
			return nil, err
		}
		id = "t" + strconv.FormatInt(n, 10)
		if other, err := q.Rows.Get(id); err != nil {
			return nil, err
		} else if other != nil {
			id = ""
		}
	}
	row.ID = id
	if r.DelayMS > 0 {
		row.Since, row.Until = q.Now, addTime(q.Now, r.DelayMS)
	}
	if _, err := q.findState(row); err != nil {
		return nil, err
	}
	return &effect.QueueAdded{ID: id}, q.Rows.Put(row)
}

func (q QueueOn) claim(r *effect.QueueClaim) (effect.Result, error) {
	if err := q.settle(&r.Queue); err != nil {
		return nil, err
	}
	row, err := q.Rows.Best()
	if err != nil {
		return nil, err
	}
	if row == nil {
		next, err := q.Rows.NextUntil()
		return &effect.QueueClaimed{Until: next}, err
	}
	until := addTime(q.Now, r.LeaseMS)
	if until == -row.Claim || until == row.Claim {
		until++ // so that it differs from the previous claim
	}
	row.State, row.Worker, row.Since, row.Until, row.LeaseUntil, row.Claim = ItemClaimed, r.Worker, q.Now, until, until, until
	row.Attempts++
	return &effect.QueueClaimed{Item: row.shown()}, q.Rows.Put(row)
}

func (q QueueOn) update(r *effect.QueueUpdate) error {
	if err := q.settle(&r.Queue); err != nil {
		return err
	}
	row, err := q.Rows.Get(r.ID)
	if err != nil {
		return err
	}
	if row == nil {
		return queueError("unknown", r.ID, "queue %s has no item %q", shownQueue(&r.Queue), r.ID)
	}
	switch r.Op {
	case effect.QueueRetry:
		if row.State != ItemDead {
			return queueError("not_dead", r.ID, "item %q of queue %s is %s: only a dead item can be tried again", r.ID, shownQueue(&r.Queue), row.State)
		}
		row.Attempts, row.Error = 0, ""
		row.endClaim()
		return q.putReady(row)
	case effect.QueueRemove:
		if row.State == ItemClaimed {
			return queueError("claimed", r.ID, "item %q of queue %s is claimed by run %s", r.ID, shownQueue(&r.Queue), row.Worker)
		}
		return q.remove(row)
	}
	if row.Claim <= 0 || row.Worker != r.Worker || row.Attempts != r.Attempts || r.LeaseUntil != row.Claim && r.LeaseUntil != row.LeaseUntil {
		return lost(r, row)
	}
	switch r.Op {
	case effect.QueueComplete:
		row.Result, row.Error = r.Result, ""
		worker := row.Worker
		row.endClaim()
		row.State, row.Worker = ItemDone, worker
		return q.putChanged(row)
	case effect.QueueFail:
		if err := q.failAttempt(&r.Queue, row, r.Reason, q.Now, r.Final); err != nil {
			return err
		}
		row.Claim = -row.Claim
		return q.Rows.Put(row)
	case effect.QueueRelease:
		row.Attempts--
		row.endClaim()
		if row.Error == LeaseExpired {
			row.Error = ""
		}
		return q.putReady(row)
	case effect.QueueExtend:
		wasDead := row.State == ItemDead
		if row.State != ItemClaimed && row.Error == LeaseExpired {
			row.Error = ""
		}
		row.State, row.Since, row.Until = ItemClaimed, q.Now, addTime(q.Now, r.LeaseMS)
		row.LeaseUntil = row.Until
		if wasDead {
			return q.putChanged(row)
		}
		return q.Rows.Put(row)
	}
	return fmt.Errorf("a queue has no operation %q", r.Op)
}

// lost returns the error of a worker that has lost its claim of an item.
func lost(r *effect.QueueUpdate, row *QueueRow) error {
	why := "no worker has claimed it"
	switch {
	case row.State == ItemDone || row.State == ItemDead && row.Claim <= 0:
		why = "it is " + row.State
	case row.Claim > 0 && row.Worker != r.Worker:
		why = "run " + row.Worker + " has claimed it"
	case row.Claim > 0:
		why = "it was claimed again"
	}
	return queueError("lost", r.ID, "the claim of item %q of queue %s is lost: %s", r.ID, shownQueue(&r.Queue), why)
}

func (q QueueOn) get(r *effect.QueueGet) (effect.Result, error) {
	if err := q.settle(&r.Queue); err != nil {
		return nil, err
	}
	out := &effect.QueueItems{}
	if r.Count {
		counts, err := q.Rows.Count()
		for _, state := range ItemStates {
			out.Counts = append(out.Counts, effect.QueueCount{State: state, Count: counts[state]})
		}
		return out, err
	}
	if r.ID != nil {
		row, err := q.Rows.Get(*r.ID)
		if row != nil {
			out.Items = append(out.Items, *row.shown())
		}
		return out, err
	}
	rows, err := q.Rows.List(r.State)
	for _, row := range rows {
		out.Items = append(out.Items, *row.shown())
	}
	return out, err
}

// endClaim ends the claim of an item.
func (r *QueueRow) endClaim() {
	r.Claim = min(r.Claim, -r.Claim)
	r.Since, r.Until, r.LeaseUntil, r.Worker = 0, 0, 0, ""
}

// shown returns the item as programs see it. The worker and the lease of a claim that has expired
// are not shown, although the claim may not be lost yet.
func (r *QueueRow) shown() *effect.QueueItem {
	out := r.QueueItem
	if r.State == ItemWaiting || r.State == ItemReady {
		out.Worker = ""
	}
	if r.State != ItemClaimed {
		out.LeaseUntil = 0
	}
	return &out
}

// failAttempt counts a failed attempt at a claimed item. Its claim remains, because it may only
// have expired.
func (q QueueOn) failAttempt(of *effect.Queue, r *QueueRow, reason string, at int64, final bool) error {
	r.Error, r.LeaseUntil = reason, 0
	if final || r.Attempts >= of.MaxAttempts {
		r.State, r.Since, r.Until = ItemDead, 0, 0
		return q.putChanged(r)
	}
	pause := min(float64(of.RetryMS)*math.Pow(2, float64(r.Attempts-1)), maxRetry)
	r.Since, r.Until = at, addTime(at, int64(pause))
	return q.putReady(r)
}

// putReady stores an item that was claimed or dead and is tried again, now or at Until.
func (q QueueOn) putReady(r *QueueRow) error {
	wasDead := r.State == ItemDead
	r.State = ItemWaiting
	if _, err := q.findState(r); err != nil {
		return err
	}
	if wasDead {
		return q.putChanged(r)
	}
	return q.Rows.Put(r)
}

// findState finds the state of an item that is neither claimed nor finished, and reports whether it
// became blocked, is blocked by another item, or is blocked no more.
func (q QueueOn) findState(r *QueueRow) (changed bool, err error) {
	before, state, blocked := r.State, ItemWaiting, ""
	if r.Gone != "" {
		state, blocked = ItemBlocked, fmt.Sprintf("%s was removed", r.Gone)
	}
	for _, id := range r.Waits {
		if state == ItemBlocked {
			break
		}
		other, err := q.Rows.Get(id)
		switch {
		case err != nil:
			return false, err
		case other == nil:
			return false, fmt.Errorf("the item %q is missing", id)
		case other.State == ItemDead:
			state, blocked = ItemBlocked, fmt.Sprintf("%s is dead", id)
		case other.State == ItemBlocked:
			state, blocked = ItemBlocked, other.Error
		}
	}
	if state == ItemWaiting && len(r.Waits) == 0 {
		if r.Until <= q.Now {
			r.Until, r.Since = 0, 0
		}
		if r.Until == 0 {
			state = ItemReady
		}
	}
	r.State = state
	if changed = (before == ItemBlocked) != (state == ItemBlocked) || state == ItemBlocked && r.Error != blocked; changed {
		r.Error = blocked
	}
	return changed, nil
}

// putState finds the state of an item and stores it. It is called when the item's wait has ended.
func (q QueueOn) putState(r *QueueRow) error {
	if _, err := q.findState(r); err != nil {
		return err
	}
	return q.Rows.Put(r)
}

// putChanged stores an item that has become done, dead or blocked, or is none of these any more,
// and updates the items that depend on it.
func (q QueueOn) putChanged(r *QueueRow) error {
	if err := q.Rows.Put(r); err != nil {
		return err
	}
	return q.updateDependents(r.ID, r.State == ItemDone, false)
}

// remove removes an item.
func (q QueueOn) remove(r *QueueRow) error {
	if err := q.Rows.Delete(r); err != nil {
		return err
	}
	return q.updateDependents(r.ID, false, true)
}

// updateDependents updates the items that depend on id, and those that depend on these.
func (q QueueOn) updateDependents(id string, done, gone bool) error {
	list := []string{id}
	for len(list) > 0 {
		id := list[0]
		list = list[1:]
		all, err := q.Rows.Dependents(id)
		if err != nil {
			return err
		}
		for _, r := range all {
			if done || gone {
				r.Waits = slices.DeleteFunc(slices.Clone(r.Waits), func(other string) bool { return other == id })
			}
			if gone && r.Gone == "" {
				r.Gone = id
			}
			changed, err := q.findState(r)
			if err == nil {
				err = q.Rows.Put(r)
			}
			if err != nil {
				return err
			}
			if changed {
				list = append(list, r.ID)
			}
		}
		done, gone = false, false // the others are neither
	}
	return nil
}

// queueError returns a QueueError about an item.
func queueError(code, id, format string, args ...any) error {
	return effect.Errorf("QueueError", format, args...).With("code", code).With("id", id)
}

// shownQueue returns the name of a queue for messages.
func shownQueue(of *effect.Queue) string {
	if of.File == "" {
		return of.Name
	}
	return of.Name + " in " + of.File
}

// addTime adds a duration to a time, both in milliseconds.
func addTime(at, d int64) int64 {
	if d > maxTime-at {
		return maxTime
	}
	return at + d
}

// maxTime is the end of the year 9999, in milliseconds since the epoch.
const maxTime = 253_402_300_799_000

// sameJSON reports whether two JSON texts are equal values.
func sameJSON(a, b []byte) bool {
	if string(a) == string(b) {
		return true
	}
	x, err := value.Parse(a)
	y, err2 := value.Parse(b)
	return err == nil && err2 == nil && value.Equal(x, y)
}
