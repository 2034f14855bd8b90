package vm

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// call is a place in a trace: a part of an instruction, and the number of inlined calls around it
// that the trace has already left.
type call struct{ pc, part, level int32 }

// atEntry is the level of a place at the beginning of a function.
const atEntry = -1

// calls are the places of a trace: the first place, then those of its callers. A short trace is
// stored call by call. A long trace stores each repeated cycle of calls once with its count, and
// only the beginning and the end of the remaining calls. The error of a deep recursion therefore
// needs no more memory than any other.
type calls struct {
	few  []call // the first maxTrace calls
	many *recursion
}

const (
	maxTrace  = 24 // length in calls above which a trace is shortened
	traceHead = 12 // number of calls or cycles kept at the beginning of a shortened trace
	traceTail = 8  // number of calls or cycles kept at the end of a shortened trace

	maxCycle  = 8 // maximum number of calls in a cycle
	minRounds = 3 // minimum number of repetitions that are stored as a cycle
)

// callsOf returns a trace that consists of one call.
func callsOf(at call) calls {
	var c calls
	c.addCall(at)
	return c
}

func (c *calls) empty() bool { return len(c.few) == 0 }

func (c *calls) addCall(at call) {
	if c.few == nil {
		c.few = make([]call, 0, 4) // most errors pass few calls before a region catches them
	}
	if len(c.few) < maxTrace {
		c.few = append(c.few, at)
		return
	}
	if c.many == nil {
		c.many = &recursion{}
		for _, at := range c.few {
			c.many.addCall(at)
		}
	}
	c.many.addCall(at)
}

// addCalls adds a part of an instruction and the inlined calls that contain it.
func (m *image) addCalls(c *calls, pc, part int) {
	at := call{int32(pc), int32(part), 0}
	c.addCall(at)
	b := m.blockAt(pc)
	for i := range b.inlined {
		if m.isInlinedIn(&b.inlined[i], at) {
			at.level++
			c.addCall(at)
		}
	}
}

// placesAt appends the place of an instruction, then those of the inlined calls that contain it.
func (m *image) placesAt(all []Place, pc int) []Place {
	var c calls
	m.addCalls(&c, pc, 0)
	if all == nil {
		return c.places(m.place)
	}
	return append(all, c.places(m.place)...)
}

// addCaller adds the call at instruction pc. The caller's frame is the next one of the trace.
func (m *image) addCaller(c *calls, pc int) {
	part := 0
	if m.code[pc].op == opSubIntKCall {
		part = 1
	}
	m.addCalls(c, pc, part)
}

// isInlinedIn reports whether c is within the inlined call x.
func (m *image) isInlinedIn(x *ir.Inlined, c call) bool {
	at := int(m.origin[c.pc] + c.part)
	return x.From <= at && at < x.To
}

func (c *calls) clone() calls {
	out := calls{few: slices.Clone(c.few)}
	if c.many != nil {
		r := *c.many
		r.steps = slices.Clone(r.steps)
		out.many = &r
	}
	return out
}

// step is a part of a long trace: one call, or a repeated cycle of calls.
type step struct {
	at    call
	cycle []call // nil for a single call; never modified
	times int
}

// calls returns the number of calls in the step.
func (s *step) calls() int { return max(len(s.cycle)*s.times, 1) }

// recursion is a long trace, in steps. addCall drops steps from the middle when more than
// traceHead+2*maxSteps steps are stored.
type recursion struct {
	steps []step
	at    int // position within the next round, if the last step is a cycle
	left  int // number of calls dropped after the first traceHead steps
}

// maxSteps is the number of last steps that are never dropped. fold searches for a cycle within
// that many steps.
const maxSteps = maxCycle * minRounds

func (r *recursion) addCall(c call) {
	if n := len(r.steps); n > 0 && r.steps[n-1].cycle != nil {
		last := &r.steps[n-1]
		if last.cycle[r.at] == c {
			if r.at++; r.at == len(last.cycle) {
				r.at = 0
				last.times++
			}
			return
		}
		r.breakOff()
	}
	r.steps = append(r.steps, step{at: c})
	r.fold()
	if len(r.steps) > traceHead+2*maxSteps {
		end := len(r.steps) - maxSteps
		for _, s := range r.steps[traceHead:end] {
			r.left += s.calls()
		}
		r.steps = slices.Delete(r.steps, traceHead, end)
	}
}

// breakOff finishes the cycle of the last step. The calls of its unfinished round become single
// steps.
func (r *recursion) breakOff() {
	for _, c := range r.steps[len(r.steps)-1].cycle[:r.at] {
		r.steps = append(r.steps, step{at: c})
	}
	r.at = 0
}

// fold replaces the last steps by a cycle if they are minRounds repetitions of the same calls.
func (r *recursion) fold() {
	for size := 1; size <= maxCycle; size++ {
		from := len(r.steps) - size*minRounds
		if from < 0 {
			return
		}
		if r.left > 0 && from < traceHead {
			return // addCall has dropped calls between from and the last step
		}
		if r.repeats(from, size) {
			cycle := make([]call, size)
			for i := range cycle {
				cycle[i] = r.steps[from+i].at
			}
			r.steps = append(r.steps[:from], step{cycle: cycle, times: minRounds})
			return
		}
	}
}

// repeats reports whether the steps from index from on are single calls that repeat with a period
// of size.
func (r *recursion) repeats(from, size int) bool {
	for i := len(r.steps) - 1; i >= from; i-- {
		s := r.steps[i]
		if s.cycle != nil || i-size >= from && s.at != r.steps[i-size].at {
			return false
		}
	}
	return true
}

// places returns the places of the calls. One Place with a count represents the dropped calls.
func (c *calls) places(place func(call) Place) []Place {
	var out []Place
	if c.many == nil {
		const more = 4 // room for the callers
		out = make([]Place, 0, len(c.few)+more)
		for _, at := range c.few {
			out = append(out, place(at))
		}
		return out
	}
	whole := c.clone()
	r := whole.many
	r.breakOff()
	head, tail := r.steps, []step(nil)
	if len(head) > maxTrace || r.left > 0 {
		end := max(len(r.steps)-traceTail, traceHead)
		for _, s := range r.steps[traceHead:end] {
			r.left += s.calls()
		}
		head, tail = r.steps[:traceHead], r.steps[end:]
	}
	add := func(steps []step) {
		for _, s := range steps {
			if s.cycle == nil {
				out = append(out, place(s.at))
			}
			for i, at := range s.cycle {
				p := place(at)
				if p.Times = s.times; i == 0 {
					p.Cycle = len(s.cycle)
				}
				out = append(out, p)
			}
		}
	}
	add(head)
	if tail != nil {
		out = append(out, Place{Left: r.left})
		add(tail)
	}
	return out
}
