package policy

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
)

// FuzzEditedTapes compares the decisions with edited tapes. Each replay must end, long before the
// time limit of 10 s, and each session has a state.
func FuzzEditedTapes(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 1))
		f.Add(newRules(r).record(r, conversation(r)))
	}
	source, _ := newRules(rand.New(rand.NewPCG(1, 1))).source(layout{name: "q"})
	p, dir := load(f, source), f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		recorded, err := engine.ReadTape(strings.NewReader(text))
		if err != nil {
			return
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		for _, normalized := range []bool{false, true} {
			r, err := p.ReplayPolicy(ctx, recorded, normalized, engine.Options{WorkDir: dir})
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("the replay did not end")
			}
			if err != nil {
				continue
			}
			s := Compare("s", r)
			n := 0
			for state, k := range s.Decisions {
				if state != Same {
					n += k
				}
			}
			if n != len(s.Differences) {
				t.Errorf("%d decisions differ, but %d are listed", n, len(s.Differences))
			}
			if (s.State == Undecidable || s.State == Failed) != (s.Problem != nil) {
				t.Errorf("the state is %s, and the problem is %+v", s.State, s.Problem)
			}
			if s.State == Same && n > 0 {
				t.Error("the session is the same, but decisions differ")
			}
		}
	})
}
