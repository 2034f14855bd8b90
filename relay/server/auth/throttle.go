package auth

import (
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// The maximum numbers of failed logins within failureWindow. At the maximum even the right password
// is refused until the oldest failure is older than failureWindow.
const (
	failureWindow   = 15 * time.Minute
	failuresOfPair  = 5   // for one account from one address
	failuresOfPlace = 20  // for one address
	failuresOfName  = 100 // for one account
)

// throttle counts failed logins. Each attempt counts as a failure until it succeeds, so the limits
// also apply to concurrent attempts.
type throttle struct {
	mu    sync.Mutex
	tries map[bucket][]time.Time // times of the failures, oldest first
}

// bucket is the key of a counter. It has a name for the failures of an account, a place for those
// of an address, or both.
type bucket struct{ name, place string }

func (b bucket) limit() int {
	switch {
	case b.name != "" && b.place != "":
		return failuresOfPair
	case b.place != "":
		return failuresOfPlace
	}
	return failuresOfName
}

func bucketsOf(name, place string) []bucket {
	name = hexsum.SHA256(name)[:16] // store a hash, because a name may be arbitrarily long
	return []bucket{{name, place}, {"", place}, {name, ""}}
}

// begin counts an attempt. At a limit it counts nothing and returns the time until the next attempt
// is allowed.
func (t *throttle) begin(name, place string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tries == nil {
		t.tries = map[bucket][]time.Time{}
	}
	t.forget(now)
	all := bucketsOf(name, place)
	for _, b := range all {
		if got := t.tries[b]; len(got) >= b.limit() {
			wait = max(wait, got[len(got)-b.limit()].Add(failureWindow).Sub(now))
		}
	}
	if wait > 0 {
		return wait
	}
	for _, b := range all {
		t.tries[b] = append(t.tries[b], now)
	}
	return 0
}

// succeeded removes the attempt that began at a time from the counters.
func (t *throttle) succeeded(name, place string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range bucketsOf(name, place) {
		got := t.tries[b]
		if i := slices.Index(got, at); i >= 0 {
			t.tries[b] = slices.Delete(got, i, i+1)
		}
	}
}

// forget removes the attempts that are at least failureWindow old.
func (t *throttle) forget(now time.Time) {
	for b, got := range t.tries {
		i := 0
		for i < len(got) && !got[i].After(now.Add(-failureWindow)) {
			i++
		}
		if i == len(got) {
			delete(t.tries, b)
		} else if i > 0 {
			t.tries[b] = got[i:]
		}
	}
}
