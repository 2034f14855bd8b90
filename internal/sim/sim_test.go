package sim

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	first = flag.Uint64("first", 1, "first seed")
	seeds = flag.Uint64("seeds", 20, "number of seeds")
	show  = flag.Bool("show", false, "show the story of each seed")
	most  = flag.Int("most", 3, "number of violations after which the test ends")
	twice = flag.Bool("twice", false, "run each seed twice, and compare the traces")
)

func TestSeeds(t *testing.T) {
	base := filepath.Join(t.TempDir(), "w1")
	wrong, different := 0, 0
	var w *Workload
	for seed := *first; seed < *first+*seeds; seed++ {
		if w == nil || seed%8 == 0 {
			w = Generate(seed / 8)
			w.compile(t, base)
		}
		s := &Schedule{Work: w, Order: seed, People: seed, Seed: seed, Most: int(seed % 4)}
		r := s.Play(t, base)
		if len(r.Problems) > 0 || *show {
			t.Errorf("seed %d: %s\nsync %s, wait %v\n%s%s\n%s", seed, strings.Join(r.Problems, "\n"), w.Sync, w.Wait, r.Story, strings.Join(r.Out, "\n"), strings.TrimPrefix(w.Text(), head))
			if wrong++; wrong == *most {
				t.FailNow()
			}
		}
		if *twice {
			again := s.Play(t, base)
			if !slices.Equal(r.Trace, again.Trace) || r.Story != again.Story {
				different++
				t.Logf("seed %d has two traces:\n%s", seed, firstDifference(r, again))
			}
		}
	}
	t.Logf("%d of %d seeds have two traces", different, *seeds)
}

// firstDifference returns where two runs of a schedule differ.
func firstDifference(a, b *Result) string {
	for _, x := range []struct {
		name string
		a, b []string
	}{{"calls", a.Trace, b.Trace}, {"story", strings.Split(a.Story, "\n"), strings.Split(b.Story, "\n")}} {
		for i := range max(len(x.a), len(x.b)) {
			if i >= len(x.a) || i >= len(x.b) || x.a[i] != x.b[i] {
				from := max(i-6, 0)
				return x.name + "\n  " + strings.Join(x.a[min(from, len(x.a)):min(i+12, len(x.a))], "\n  ") + "\nand\n  " + strings.Join(x.b[min(from, len(x.b)):min(i+12, len(x.b))], "\n  ")
			}
		}
	}
	return "none"
}
