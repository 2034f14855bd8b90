package durable

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestEndedExchange checks that each request of an exchange whose host has exited with an earlier
// process has an outcome: an error for a request whose result the program uses.
func TestEndedExchange(t *testing.T) {
	for _, q := range []effect.Request{&effect.ExchangeNext{}, &effect.ExchangeReply{}, &effect.ExchangeSteer{}, &effect.ExchangeClose{}} {
		result, err := endedObjectResult(q)
		_, isClose := q.(*effect.ExchangeClose)
		if used := effect.Lookup(q.Kind()).Result != nil && !isClose; result != nil || (err != nil) != used {
			t.Errorf("%s: result %v, error %v, want an error: %v", q.Kind(), result, err, used)
		}
	}
}
