package sim

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// Power is a power cut at a call. How is what remains of the disk.
const Power Kind = "power"

// MergeSchedule determines what happens to a merge queue.
type MergeSchedule struct {
	Work *MergeWork `json:"work"`
	Choices
}

// MergeWork is the configuration of a queue, and what people do.
type MergeWork struct {
	Batch   int         `json:"batch,omitempty"`
	Retry   int         `json:"retry,omitempty"`
	Squash  bool        `json:"squash,omitempty"`
	Push    bool        `json:"push,omitempty"`  // the target is a branch of a remote
	Flaky   bool        `json:"flaky,omitempty"` // the gate may fail without reason
	Runners int         `json:"runners"`
	People  int         `json:"people,omitempty"` // 1 by default; each does every n-th step
	Steps   []MergeStep `json:"steps"`
}

// MergeStep is what a person does: submit, drop or retry a change, or move the target as a user who
// commits, or who takes a change.
type MergeStep struct {
	Do       string `json:"do"`
	ID       string `json:"id,omitempty"`
	File     string `json:"file,omitempty"` // that a submission changes
	Old      bool   `json:"old,omitempty"`  // it is based on the first commit
	After    string `json:"after,omitempty"`
	Priority int    `json:"priority,omitempty"`
	Pause    bool   `json:"pause,omitempty"` // runners end before the next step
}

// GenerateMerges generates the work of a queue.
func GenerateMerges(seed uint64) *MergeWork {
	r := newRandom(seed)
	w := &MergeWork{Batch: 1 + r.IntN(4), Retry: r.IntN(2), Squash: r.IntN(4) == 0, Push: r.IntN(3) == 0, Flaky: r.IntN(3) == 0, Runners: 1 + r.IntN(2), People: 1 + r.IntN(2)}
	id := func() string { return fmt.Sprint("c", r.IntN(5)) }
	for i := range 5 + r.IntN(6) {
		s := MergeStep{Do: "submit", ID: id(), Pause: r.IntN(3) == 0}
		switch n := r.IntN(12); {
		case n < 7:
			s.File, s.Old, s.Priority = fmt.Sprint("f", i), r.IntN(3) == 0, r.IntN(2)
			if n < 3 {
				s.File = []string{fmt.Sprint("bad", i), "shared", "shared", "left", "right", "right"}[r.IntN(6)]
			}
			if other := id(); other != s.ID && r.IntN(5) == 0 {
				s.After = other
			}
		default:
			s.Do = []string{"user", "drop", "retry", "take", "user"}[n-7]
		}
		w.Steps = append(w.Steps, s)
	}
	return w
}

// random returns the fault that the seed selects for a call. No operation of the disk is Broken:
// SQLite does not sync a directory again if that has failed.
func (s *MergeSchedule) random(name string) (Fault, bool) {
	x := chance(s.Seed, name)
	if x%(4<<(s.Seed%5)) != 0 {
		return Fault{}, false
	}
	r := newRandom(x)
	f := Fault{At: name, How: simdisk.PowerNone + simdisk.Outcome(r.IntN(simdisk.Outcomes-int(simdisk.PowerNone)))}
	switch n := r.IntN(20); {
	case n < 6:
		f.Kind, f.How = Crash, 0
	case n < 12:
		f.Kind, f.N, f.How = Disk, 1+r.IntN(12), simdisk.Outcome(r.IntN(simdisk.Outcomes))
	case n < 16:
		f.Kind = Power
	case n < 18:
		f.Kind, f.How = Suspend, 0
	default:
		f.Kind, f.N, f.How = Full, 1+r.IntN(12), 0
	}
	return f, true
}

// reached is called when a call continues. It lets the faults of the call happen.
func (m *mergeWorld) reached(p *process, name string) (delay time.Duration, again bool) {
	if m.calm || p.id == 0 {
		return 0, false
	}
	at := m.plan.at(name, len(m.faults), m.plan.random)
	for _, f := range m.happening(at, func(f Fault) bool { return f.Kind != Suspend || strings.HasPrefix(name, "runner") }) {
		switch f.Kind {
		case Crash:
			m.crash(p, name)
		case Power:
			m.disk.Cut(f.How)
		case Disk:
			m.disk.FaultAfter(f.N, f.How)
		case Full:
			m.disk.FailAfter(f.N, fullFor, syscall.ENOSPC)
		case Suspend:
			if p.cancel != nil {
				p.cancel(errSuspended)
			}
		}
	}
	return 0, false
}
