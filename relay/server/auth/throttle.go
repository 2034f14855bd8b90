package auth

import (
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Limits on failures within window. At a limit even the right password is refused until the oldest
// failure expires.
const (
	failureWindow   = 15 * time.Minute
	failuresOfPair  = 5   // of an account from one address
	failuresOfPlace = 20  // from an address
	failuresOfName  = 100 // of an account
)

// throttle counts failures. An attempt counts as a failure until it succeeds, so that concurrent
// attempts are limited as well.
type throttle struct {
	mu    sync.Mutex
	tries map[bucket][]time.Time // in order of time
}

// bucket is a key of the count: an account, an address, or both.
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
	name = hexsum.SHA256(name)[:16] // a long name needs no memory
	return []bucket{{name, place}, {"", place}, {name, ""}}
}

// begin counts an attempt, or returns how long to wait before the next one.
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

// succeeded removes a successful attempt from the count.
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

// forget removes expired attempts, and walks the map when it may have shrunk considerably.
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
