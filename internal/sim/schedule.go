package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	Crash   Kind = "crash"   // the process of the call dies
	Disk    Kind = "disk"    // a process dies at a later operation of the disk, possibly with the machine
	Delay   Kind = "delay"   // the call continues later
	Lose    Kind = "lose"    // the message of a server is lost
	Suspend Kind = "suspend" // the program receives SIGTERM
	Full    Kind = "full"    // the disk is full for some operations
	Broken  Kind = "broken"  // an operation of the disk fails
)

// Fault is a fault that happens at the call with a name.
type Fault struct {
	At   string          `json:"at"`
	Kind Kind            `json:"kind"`
	N    int             `json:"n,omitempty"`   // for Disk: the number of operations until then; for others, a kind or a number
	How  simdisk.Outcome `json:"how,omitempty"` // for Disk
	For  time.Duration   `json:"for,omitempty"` // for Delay
}

// String returns the fault in words.
func (f Fault) String() string {
	switch f.Kind {
	case Disk:
		return fmt.Sprintf("%s at operation %d of the disk after %q", f.How, f.N, f.At)
	case Full, Broken:
		return fmt.Sprintf("the disk is %s at operation %d after %q", f.Kind, f.N, f.At)
	case Delay:
		return fmt.Sprintf("%q takes %s", f.At, f.For)
	case Pause:
		return fmt.Sprintf("pause of %s at %q", f.For, f.At)
	case Cut:
		return fmt.Sprintf("%s for %s at %q", []string{"no connection", "no request arrives", "no response arrives"}[f.N], f.For, f.At)
	case Jump:
		return fmt.Sprintf("the clock jumps by %d h at %q", f.N, f.At)
	case Lose:
		return fmt.Sprintf("%s at %q", []string{"a message is lost", "nothing arrives", "half arrives", "the connection breaks", "nothing arrives any more"}[f.N], f.At)
	}
	return fmt.Sprintf("%s at %q", f.Kind, f.At)
}

// applies reports whether the fault can happen to a call of a process. A server does not die, and a
// program that has not started receives no signal.
func (f Fault) applies(p *process) bool {
	switch f.Kind {
	case Crash:
		return p.id > 0
	case Suspend:
		return strings.HasPrefix(p.name, "program#") && f.At != p.name+" starts"
	case Lose:
		return p.id == 0
	}
	return true
}

// Schedule determines a run.
type Schedule struct {
	Work *Workload `json:"work"`
	Choices
}

// Choices select what the work of a schedule leaves open.
type Choices struct {
	Order  uint64  `json:"order,omitempty"`  // selects the order of concurrent calls; 0 is the order of their names
	People uint64  `json:"people,omitempty"` // selects what people do, and when
	Faults []Fault `json:"faults"`           // the faults, if Seed is 0
	Seed   uint64  `json:"-"`                // selects faults; 0 for those in Faults
	Most   int     `json:"-"`                // the largest number of faults that Seed selects
}

// choicesOf returns the choices of a seed, with at most most faults.
func choicesOf(seed uint64, most int) Choices {
	return Choices{Order: seed, People: seed, Seed: seed, Most: int(seed % uint64(most+1))}
}

func (c *Choices) chosen() *Choices { return c }

// at returns the faults at a call. random returns the one that the seed selects. happened is the
// number of earlier ones.
func (c *Choices) at(name string, happened int, random func(name string) (Fault, bool)) []Fault {
	if c.Seed == 0 {
		return slices.DeleteFunc(slices.Clone(c.Faults), func(f Fault) bool { return f.At != name })
	}
	if f, ok := random(name); ok && happened < c.Most {
		return []Fault{f}
	}
	return nil
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x73696d)) }

// oneIn returns the number of calls of which one has a fault. It differs between seeds, so that
// faults happen early and late in a run.
func (s *Schedule) oneIn() uint64 { return 6 << (s.Seed % 6) }

// random returns the fault that the seed selects for a call.
func (s *Schedule) random(name string) (Fault, bool) {
	x := chance(s.Seed, name)
	if x%s.oneIn() != 0 {
		return Fault{}, false
	}
	r := newRandom(x)
	f := Fault{At: name}
	switch n := r.IntN(22); {
	case n < 5:
		f.Kind = Crash
	case n < 12:
		f.Kind, f.N, f.How = Disk, 1+r.IntN(12), simdisk.Outcome(r.IntN(int(s.Work.outcomes())))
	case n < 15:
		f.Kind, f.For = Delay, []time.Duration{11 * time.Millisecond, 3079 * time.Millisecond, 50_023 * time.Millisecond}[r.IntN(3)]
	case n < 18:
		f.Kind = Lose
	case n < 20:
		f.Kind, f.N = []Kind{Full, Broken}[n-18], 1+r.IntN(12)
	default:
		f.Kind = Suspend
	}
	return f, true
}
