package journaltest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Engine is a store whose runs workers claim.
type Engine struct {
	// Submit stores a run.
	Submit func(id, queue, key string, priority int)
	// Limit sets the limits of a queue; 0 means none.
	Limit func(queue string, concurrency, perKey int)
	// Worker registers a worker of the queues a and b with a long lease.
	Worker func() Worker
	// State returns the state of a run.
	State func(id string) string
}

// Worker is a registered worker.
type Worker struct {
	// Claim claims at most n runs, of which those are held that have crashed twice.
	Claim func(n int) []Claim
	// Open returns the run of a claim, whose Create or Open uses it.
	Open func(id string) journal.Run
	// Refuse releases a claimed run for another worker after a delay.
	Refuse func(id string, delay time.Duration)
	// Release makes a claimed run ready.
	Release func(id string)
	// Renew renews the lease, and reports whether it had not expired.
	Renew func() bool
	// Expire ends the lease without notifying the worker.
	Expire func()
}

// Claim is a run that a worker has claimed.
type Claim struct {
	Run             string
	Held, TakenOver bool
}

// Workers tests how the workers of a store claim runs. open returns an empty store.
func Workers(t *testing.T, open func(t *testing.T) *Engine) {
	for _, x := range []struct {
		name string
		test func(t *testing.T, e *Engine)
	}{{"order", claimOrder}, {"limits", claimLimits}, {"takeover", takeOver}, {"crashes", crashes}, {"release", release}, {"park", park}} {
		t.Run(x.name, func(t *testing.T) { x.test(t, open(t)) })
	}
}

// wantClaims claims runs and compares them. A run of a dead worker ends with "!", and a held one
// with "?".
func wantClaims(t *testing.T, w Worker, n int, want string) {
	t.Helper()
	var got []string
	for _, c := range w.Claim(n) {
		switch {
		case c.Held:
			c.Run += "?"
		case c.TakenOver:
			c.Run += "!"
		}
		got = append(got, c.Run)
	}
	if slices.Sort(got); strings.Join(got, " ") != want {
		t.Errorf("claimed %q, want %q", strings.Join(got, " "), want)
	}
}

// claimOrder claims runs by their priority.
func claimOrder(t *testing.T, e *Engine) {
	e.Submit("r1", "a", "", 0)
	e.Submit("r2", "a", "", 5)
	e.Submit("r3", "b", "", 1)
	e.Submit("r4", "other", "", 9)
	w := e.Worker()
	wantClaims(t, w, 1, "r2")
	wantClaims(t, w, 1, "r3")
	wantClaims(t, e.Worker(), 5, "r1")
	wantClaims(t, w, 5, "")
}

// claimLimits claims runs of a queue with limits.
func claimLimits(t *testing.T, e *Engine) {
	e.Limit("a", 2, 1)
	for _, x := range []string{"r1 k", "r2 k", "r3 l", "r4 m"} {
		id, key, _ := strings.Cut(x, " ")
		e.Submit(id, "a", key, 0)
	}
	w, other := e.Worker(), e.Worker()
	wantClaims(t, w, 5, "r1 r3")
	wantClaims(t, other, 5, "")
	w.Expire()
	wantClaims(t, other, 5, "r1! r3!") // they were in progress
	other.Release("r3")
	wantClaims(t, w, 5, "")
	wantClaims(t, e.Worker(), 1, "r4") // which is ready for longer
}

// takeOver lets a worker lose its lease: that is for ever, and another worker owns its runs.
func takeOver(t *testing.T, e *Engine) {
	e.Submit("r1", "a", "", 0)
	w, other := e.Worker(), e.Worker()
	wantClaims(t, w, 1, "r1")
	old, err := w.Open("r1").Create(start("r1"), program, options())
	must(t, err)
	if !w.Renew() {
		t.Error("a lease that has not expired was not renewed")
	}
	wantClaims(t, other, 1, "")
	w.Expire()
	if w.Renew() {
		t.Error("a lease that has expired was renewed")
	}
	wantClaims(t, w, 1, "")
	wantClaims(t, other, 1, "r1!")
	old.Append(did(9))
	wantFenced(t, old)
	must(t, old.Close())
	w.Release("r1")
	if got := e.State("r1"); got != "running" {
		t.Errorf("after the former owner has released the run it is %s, want running", got)
	}
	next, h, err := other.Open("r1").Open(nil, options())
	must(t, err)
	if h.N != 1 {
		t.Errorf("the history has %d records, want 1", h.N)
	}
	next.Append(did(1))
	must(t, next.Flush(journal.Synced), next.Close())
}

// crashes lets the workers of a run die.
func crashes(t *testing.T, e *Engine) {
	e.Submit("r1", "a", "", 0)
	w := e.Worker()
	wantClaims(t, w, 1, "r1")
	w.Expire()
	w = e.Worker()
	wantClaims(t, w, 1, "r1!")
	w.Expire()
	wantClaims(t, e.Worker(), 1, "r1?")
	if got := e.State("r1"); got != "held" {
		t.Errorf("after two crashes the run is %s, want held", got)
	}
	wantClaims(t, e.Worker(), 1, "")
}

// release lets workers release runs that have not ended.
func release(t *testing.T, e *Engine) {
	e.Submit("r1", "a", "", 0)
	w, other := e.Worker(), e.Worker()
	wantClaims(t, w, 1, "r1")
	writer, err := w.Open("r1").Create(start("r1"), program, options())
	must(t, err)
	must(t, writer.Close())
	wantClaims(t, other, 1, "") // its worker decides what becomes of it
	w.Release("r1")
	wantClaims(t, other, 1, "r1")
	other.Refuse("r1", time.Hour)
	wantClaims(t, w, 1, "")
	if got := e.State("r1"); got != "ready" {
		t.Errorf("a refused run is %s, want ready", got)
	}
}

// park lets a run wait for an answer.
func park(t *testing.T, e *Engine) {
	waits := &journal.Record{RecordKind: journal.KPark, RareMembers: journal.RareMembers{Waits: []journal.Wait{{Effect: 1, ID: "q1"}}}}
	e.Submit("r1", "a", "", 0)
	w := e.Worker()
	wantClaims(t, w, 1, "r1")
	writer, err := w.Open("r1").Create(start("r1"), program, options())
	must(t, err)
	writer.Append(waits)
	must(t, writer.Flush(journal.Synced), writer.Close())
	if got := e.State("r1"); got != "waiting" {
		t.Errorf("a run that waits is %s, want waiting", got)
	}
	wantClaims(t, w, 1, "")
	must(t, w.Open("r1").PutAnswer("q1", answer(1)))
	wantClaims(t, w, 1, "r1")
	writer, _, err = w.Open("r1").Open(nil, options())
	must(t, err)
	writer.Append(waits)
	must(t, writer.Flush(journal.Synced), writer.Close())
	if got := e.State("r1"); got != "ready" {
		t.Errorf("a run whose answer is stored is %s, want ready", got)
	}
}
