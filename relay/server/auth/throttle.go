package auth

import (
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// The bounds of failures within window. Whoever reaches one is refused, also with the right
// password, until the oldest is over.
const (
	window          = 15 * time.Minute
	failuresOfPair  = 5   // of an account from one address
	failuresOfPlace = 20  // from an address
	failuresOfName  = 100 // of an account
)

// throttle counts failures. Each try counts as one until it has succeeded, so that many at
// once are no more than one after the other.
type throttle struct {
	mu    sync.Mutex
	tries map[bucket][]time.Time // in their order
}

// bucket is what failures are counted by: an account, an address, or both.
type bucket struct{ name, place string }

func (b bucket) most() int {
	switch {
	case b.name != "" && b.place != "":
		return failuresOfPair
	case b.place != "":
		return failuresOfPlace
	}
	return failuresOfName
}

func bucketsOf(name, place string) []bucket {
	name = hexsum.SHA256(name)[:16] // a long one costs no memory
	return []bucket{{name, place}, {"", place}, {name, ""}}
}

// begin counts a try, or gives how long to wait until another may be made.
func (t *throttle) begin(name, place string, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tries == nil {
		t.tries = map[bucket][]time.Time{}
	}
	t.forget(now)
	all := bucketsOf(name, place)
	for _, b := range all {
		if got := t.tries[b]; len(got) >= b.most() {
			wait = max(wait, got[len(got)-b.most()].Add(window).Sub(now))
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

// succeeded takes a try back.
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

// forget drops what is over. The map is walked when it may have shrunk by much.
func (t *throttle) forget(now time.Time) {
	for b, got := range t.tries {
		i := 0
		for i < len(got) && !got[i].After(now.Add(-window)) {
			i++
		}
		if i == len(got) {
			delete(t.tries, b)
		} else if i > 0 {
			t.tries[b] = got[i:]
		}
	}
}
