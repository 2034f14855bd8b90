package relaytest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/concerto-lang/concerto/relay/faultproxy"
)

// TestLossy: the networks of the host and of the app drop, double, delay and swap frames, cut
// connections within one, and leave some half open. Nothing is lost, and nothing is done twice.
func TestLossy(t *testing.T) {
	for name, odds := range map[string]faultproxy.Odds{
		"double and delay": {faultproxy.Duplicate: 1000, faultproxy.Delay: 200},
		"swap":             {faultproxy.Swap: 1000},
		"cut":              {faultproxy.Cut: 50},
		"drop":             {faultproxy.Drop: 100},
		"half open":        {faultproxy.HalfOpen: 20},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "half open" && !long() {
				t.Skip("a connection that is half open is known after 45 s: RELAY_KILL_ROUNDS has it tried")
			}
			t.Parallel()
			s := newSystem(t, faultproxy.Random(1, odds), faultproxy.Random(2, odds))
			a := startApp(t, s.apps.URL(), login(t, s.apps.URL(), "ann", "correct horse battery"))
			a.lossy = true
			w := &work{s: s, a: a, inputs: map[string][]string{}}
			w.begin()
			chance := rand.New(rand.NewPCG(3, 0))
			for range 20 {
				w.input()
				a.grows(w.run, 5+chance.IntN(20))
			}
			w.finish()
			w.check()
			t.Log(fmt.Sprint(w.states))
		})
	}
}
