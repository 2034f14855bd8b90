package auth

import (
	"fmt"
	"testing"
	"time"
)

// TestThrottle checks the three limits: for one account from one address, for one address, and for
// one account.
func TestThrottle(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		most int
		who  func(i int) (name, place string)
	}{
		"pair":    {5, func(int) (string, string) { return "ann", "1.1.1.1" }},
		"address": {20, func(i int) (string, string) { return fmt.Sprint("u", i), "1.1.1.1" }},
		"account": {100, func(i int) (string, string) { return "ann", fmt.Sprint("1.1.1.", i) }},
	} {
		var th throttle
		for i := range c.most {
			n, p := c.who(i)
			if wait := th.begin(n, p, at.Add(time.Duration(i)*time.Second)); wait > 0 {
				t.Errorf("%s: attempt %d must wait %v", name, i, wait)
			}
		}
		n, p := c.who(c.most)
		now := at.Add(time.Duration(c.most) * time.Second)
		if wait := th.begin(n, p, now); wait != failureWindow-time.Duration(c.most)*time.Second {
			t.Errorf("%s: the next attempt must wait %v", name, wait)
		}
		if wait := th.begin(n, p, at.Add(failureWindow)); wait != 0 {
			t.Errorf("%s: after the window an attempt must wait %v", name, wait)
		}
		th.succeeded(n, p, at.Add(failureWindow))
		if wait := th.begin(n, p, at.Add(failureWindow)); wait != 0 {
			t.Errorf("%s: a success was counted as a failure", name)
		}
		if th.begin("x", "y", at.Add(10*failureWindow)); len(th.tries) != 3 {
			t.Errorf("%s: the throttle holds %d entries", name, len(th.tries))
		}
	}
}
