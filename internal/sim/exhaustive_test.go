package sim

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// exhaustive returns the workloads whose schedules with one fault are all tried: each kind of
// block, alone and concurrent with another of its kind.
func exhaustive() map[string]*Workload {
	all := map[string]*Workload{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		ms := 0
		if strings.Contains(kinds[kind].text, "MS") {
			ms = 20_000
		}
		a, b, c := Block{"b1", kind, ms}, Block{"b2", kind, ms}, Block{"b3", "ask", 0}
		all[kind] = &Workload{Steps: [][]Block{{a}, {c}}, Sync: "output"}
		all[kind+", concurrent"] = &Workload{Steps: [][]Block{{a, b}}, Sync: "every"}
	}
	return all
}

// step returns the number of faults of a workload of which one is tried. By day, all of them are
// tried for single blocks without hosts, and for requests of class once.
func step(name string) int {
	switch isHost := strings.HasPrefix(name, "host"); {
	case randtest.Night() && isHost:
		return 5
	case randtest.Night():
		return 1
	case isHost:
		return 61
	case strings.HasSuffix(name, "concurrent") && !strings.HasPrefix(name, "post"):
		return 7
	}
	return 1
}

// TestEveryFault runs each workload with each fault: at each operation of the disk, every outcome
// of a crash; at each call, every other kind of fault.
func TestEveryFault(t *testing.T) {
	works, total := exhaustive(), 0
	for _, name := range slices.Sorted(maps.Keys(works)) {
		t.Run(name, func(t *testing.T) {
			w := works[name]
			total += playFaults(t, &Schedule{Work: w}, func(r *Result) []Fault { return r.faults(w) }, func(i int) bool { return i%step(name) == 0 })
		})
	}
	t.Logf("%d schedules", total)
}

// faults returns all single faults of a schedule without a fault.
func (r *Result) faults(w *Workload) (all []Fault) {
	call, n := "", 0
	for _, at := range r.Trace {
		if _, isOperation := strings.CutPrefix(at, "- "); isOperation {
			n++
			for how := range w.outcomes() {
				all = append(all, Fault{At: call, Kind: Disk, N: n, How: how})
			}
			all = append(all, Fault{At: call, Kind: Full, N: n}, Fault{At: call, Kind: Broken, N: n})
			continue
		}
		call, n = at, 0
		by := &process{name: strings.Fields(at)[0]}
		if by.name != "server" {
			by.id = 1
		}
		for _, f := range []Fault{{Kind: Crash}, {Kind: Lose}, {Kind: Suspend}, {Kind: Delay, For: 50_023 * time.Millisecond}} {
			if f.At = at; f.applies(by) {
				all = append(all, f)
			}
		}
	}
	return all
}
