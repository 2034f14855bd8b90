package memstore

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestQueueContent checks that a queue continues from a copy of its content.
func TestQueueContent(t *testing.T) {
	q := NewQueue("q")
	q.MaxAttempts, q.RetryMS = 2, 100
	do := func(q *Queue, now int64, r effect.Request) (effect.Result, string) {
		t.Helper()
		result, err := q.Perform(now, r)
		if e, ok := errors.AsType[*effect.Error](err); ok {
			return nil, e.Fields["code"].(string)
		} else if err != nil {
			t.Fatal(err)
		}
		return result, ""
	}
	for range 3 {
		do(q, 0, &effect.QueueAdd{Queue: q.Request(), Value: json.RawMessage("1")})
	}
	first, _ := do(q, 0, &effect.QueueClaim{Queue: q.Request(), Worker: "a", LeaseMS: 10})
	all, number := q.Content()
	p := NewQueue("q")
	p.MaxAttempts, p.RetryMS = 2, 100
	p.SetContent(all, number)
	item := first.(*effect.QueueClaimed).Item
	if _, code := do(p, 5, &effect.QueueUpdate{Queue: q.Request(), Op: effect.QueueComplete, ID: item.ID, Worker: "a", Attempts: 1, LeaseUntil: item.LeaseUntil}); code != "" {
		t.Error(code)
	}
	if id, _ := do(p, 5, &effect.QueueAdd{Queue: q.Request(), Value: json.RawMessage("1")}); id.(*effect.QueueAdded).ID != "t4" {
		t.Errorf("the next id is %v, want t4", id)
	}
}

// TestQueueClockSetBack checks that a lease and a delay end at the latest when their length has
// passed since the clock was set back, and that no claim is lost.
func TestQueueClockSetBack(t *testing.T) {
	q := NewQueue("q")
	q.MaxAttempts, q.RetryMS = 3, 0
	perform := func(now int64, r effect.Request) effect.Result {
		t.Helper()
		result, err := q.Perform(now, r)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	const hour = 3_600_000
	perform(10*hour, &effect.QueueAdd{Queue: q.Request(), Value: json.RawMessage("1")})
	perform(10*hour, &effect.QueueAdd{Queue: q.Request(), Value: json.RawMessage("2"), DelayMS: 2000})
	item := perform(10*hour, &effect.QueueClaim{Queue: q.Request(), Worker: "a", LeaseMS: 1000}).(*effect.QueueClaimed).Item
	states := func(now int64) (all []string) {
		for _, x := range perform(now, &effect.QueueGet{Queue: q.Request()}).(*effect.QueueItems).Items {
			all = append(all, x.State)
		}
		return all
	}
	for _, c := range []struct {
		now  int64
		want [2]string
	}{{hour, [2]string{ItemClaimed, ItemWaiting}}, {hour + 999, [2]string{ItemClaimed, ItemWaiting}}, {hour + 1000, [2]string{ItemReady, ItemWaiting}},
		{hour + 2000, [2]string{ItemReady, ItemReady}}, {0, [2]string{ItemReady, ItemReady}}} {
		if got := states(c.now); [2]string(got) != c.want {
			t.Errorf("at %d: states %v, want %v", c.now, got, c.want)
		}
	}
	perform(0, &effect.QueueUpdate{Queue: q.Request(), Op: effect.QueueComplete, ID: item.ID, Worker: "a", Attempts: 1, LeaseUntil: item.LeaseUntil})
}
