package sim

import (
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
)

// RelaySchedule determines what happens to programs, hostd, the server and the phones of a relay.
type RelaySchedule struct {
	Jobs []Job `json:"jobs"`
	Choices
}

// Job is a program.
type Job struct {
	Steps []JobStep `json:"steps"`
}

// JobStep is a step of a program.
type JobStep struct {
	Kind string `json:"kind"`         // emit, sleep, text, confirm, approval or asks
	Ms   int    `json:"ms,omitempty"` // how long it sleeps, or waits for an answer
}

// For returns how long the step takes at most.
func (s *JobStep) For() time.Duration { return time.Duration(s.Ms) * time.Millisecond }

// stepTimes are the durations of steps in milliseconds.
var stepTimes = []int{1, 800, 6_007, 40_013, 420_011}

// GenerateJobs generates the programs of a schedule.
func GenerateJobs(seed uint64) (all []Job) {
	r := newRandom(seed)
	kinds := []string{"emit", "emit", "emit", "sleep", "text", "text", "confirm", "approval", "approval", "asks"}
	for range 1 + r.IntN(3) {
		var j Job
		for range 2 + r.IntN(6) {
			s := JobStep{Kind: kinds[r.IntN(len(kinds))]}
			if s.Kind != "emit" {
				s.Ms = stepTimes[r.IntN(len(stepTimes))] + 10*len(all) + len(j.Steps) // no two timers expire at the same time
			}
			j.Steps = append(j.Steps, s)
		}
		all = append(all, j)
	}
	return all
}

// random returns the fault that the seed selects for a call.
func (s *RelaySchedule) random(name string) (Fault, bool) {
	x := chance(s.Seed, name)
	f := Fault{At: name}
	if strings.Contains(name, " reads ") && x%8 == 0 { // what the server has read is no longer true when it reads the next table
		f.Kind, f.For = Delay, 3079*time.Millisecond
		return f, true
	}
	if x%(8<<(s.Seed%5)) != 0 {
		return Fault{}, false
	}
	r := newRandom(x)
	switch n := r.IntN(20); {
	case n < 4:
		f.Kind = Crash
	case n < 8:
		f.Kind, f.N, f.How = Disk, 1+r.IntN(20), simdisk.Outcome(r.IntN(int(simdisk.Outcomes)))
	case n < 14:
		f.Kind, f.N = Lose, 1+r.IntN(deliveries)
	case n < 18:
		f.Kind, f.For = Delay, []time.Duration{13 * time.Millisecond, 3079 * time.Millisecond, 50_023 * time.Millisecond}[r.IntN(3)]
	default:
		f.Kind = Suspend
	}
	return f, true
}

// appliesInRelay reports whether the fault can happen to a call of a process of a relay.
func (f Fault) appliesInRelay(p *process) bool {
	isDaemon := strings.HasPrefix(p.name, "hostd#") || strings.HasPrefix(p.name, "server#")
	switch f.Kind {
	case Crash:
		return p.id > 0
	case Disk, Suspend:
		return isDaemon
	case Lose: // of a message
		return (strings.Contains(f.At, " sends (") || strings.Contains(f.At, " connects to ")) && !strings.Contains(f.At, "connects to "+hostdAddress) // a Unix socket loses nothing
	}
	return true
}

// reached is called when a call continues. It lets the faults of the call happen.
func (r *relay) reached(p *process, name string) (delay time.Duration, again bool) {
	r.mu.Lock()
	isQuiet := r.phase.isQuiet
	r.mu.Unlock()
	if isQuiet {
		return 0, false
	}
	at := r.plan.at(name, len(r.faults), r.plan.random)
	for _, f := range r.happening(at, func(f Fault) bool { return f.appliesInRelay(p) }) {
		switch f.Kind {
		case Crash:
			r.crash(p, name)
		case Disk:
			r.diskOf(p).FaultAfter(f.N, f.How)
		case Lose:
			r.wires.mu.Lock()
			r.wires.outcomes[name] = delivery(f.N)
			r.wires.mu.Unlock()
		case Delay:
			delay = f.For
		case Suspend:
			p.cancel(errSuspended)
		}
	}
	return delay, false
}

func (r *relay) diskOf(p *process) *simdisk.Disk {
	if strings.HasPrefix(p.name, "server#") {
		return r.disks.server
	}
	return r.disk
}
