package relaytest

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/concerto-lang/concerto/relay/faultproxy"
)

// TestLossy: the networks of the host and of the app drop, double, delay and swap frames, cut
// connections within one, and leave some half open. Nothing is lost, and nothing is done twice.
func TestLossy(t *testing.T) {
	for name, c := range map[string]struct {
		odds faultproxy.Odds
		few  int64 // so many faults on each way; what is dropped is missed after 10 s, what is half open after 45
	}{
		"double and delay": {faultproxy.Odds{faultproxy.Duplicate: 1000, faultproxy.Delay: 200}, 200},
		"swap":             {faultproxy.Odds{faultproxy.Swap: 1000}, 200},
		"cut":              {faultproxy.Odds{faultproxy.Cut: 50}, 20},
		"drop":             {faultproxy.Odds{faultproxy.Drop: 100}, 2},
		"half open":        {faultproxy.Odds{faultproxy.HalfOpen: 100}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "half open" && !long() {
				t.Skip("a connection that is half open is known after 45 s: RELAY_KILL_ROUNDS has it tried")
			}
			t.Parallel()
			var over atomic.Bool
			lossy := func(seed uint64) func(faultproxy.Frame) faultproxy.Fault {
				plan := faultproxy.Few(c.few, faultproxy.Random(seed, c.odds))
				return func(f faultproxy.Frame) faultproxy.Fault {
					if over.Load() {
						return faultproxy.Pass
					}
					return plan(f)
				}
			}
			s := newSystem(t, lossy(1), lossy(2))
			a := startApp(t, s.apps.URL(), login(t, s.apps.URL(), "ann", "correct horse battery"))
			a.lossy = true
			w := &work{s: s, a: a, inputs: map[string][]string{}}
			w.begin()
			chance := rand.New(rand.NewPCG(3, 0))
			for range 20 {
				w.input()
				a.grows(w.run, 5+chance.IntN(20))
			}
			// A command goes out once a connection: one that was dropped comes with the next, which loses nothing.
			over.Store(true)
			s.host.CutAll()
			w.finish()
			w.check()
			t.Log(fmt.Sprint(w.states))
		})
	}
}
