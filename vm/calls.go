package vm

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// call is a place in a trace: a part of an instruction, and how many of the
// inlined calls around it the trace has already left.
type call struct{ pc, part, level int32 }

// atEntry is the level of a place that is a function's beginning.
const atEntry = -1

// calls are the places of a trace: the first place, then those of its callers.
// A short trace is kept call by call. In a long one each repeated cycle of
// calls is kept once with its count, and of the rest only the beginning and the
// end. So the error of a deep recursion takes no more memory than another.
type calls struct {
	few  []call // up to maxTrace
	many *recursion
}

const (
	maxTrace  = 24 // more calls than these are told shortened: …
	traceHead = 12 // … by so many from the beginning,
	traceTail = 8  // and so many from the end

	maxCycle  = 8 // how many functions may call one another in a circle to be told as one
	minRounds = 3 // and how often at least
)

// callsOf begins a trace.
func callsOf(at call) calls {
	var c calls
	c.addCall(at)
	return c
}

func (c *calls) empty() bool { return len(c.few) == 0 }

func (c *calls) addCall(at call) {
	if c.few == nil {
		c.few = make([]call, 0, 4) // most errors are caught within few calls
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

// addCalls adds a part of an instruction and the inlined calls that it stands
// in.
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

// placesAt appends the place of an instruction, then of the inlined calls that it
// stands in.
func (m *image) placesAt(all []Place, pc int) []Place {
	var c calls
	m.addCalls(&c, pc, 0)
	return append(all, c.places(m.place)...)
}

// addCaller adds the call that instruction pc makes, whose frame comes next.
func (m *image) addCaller(c *calls, pc int) {
	part := 0
	if m.code[pc].op == opSubIntKCall {
		part = 1
	}
	m.addCalls(c, pc, part)
}

// isInlinedIn says whether a place stands in an inlined call.
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

// step is a part of a long trace: one call, or a cycle of calls that is
// repeated.
type step struct {
	at    call
	cycle []call // nil of one call; never changed
	times int
}

// calls gives how many calls the step stands for.
func (s *step) calls() int { return max(len(s.cycle)*s.times, 1) }

// recursion is a long trace, in steps. Beyond twice keptSteps the middle goes.
type recursion struct {
	steps []step
	at    int // of the last step, when it is a cycle: how far the next round has come
	left  int // calls that were left out behind the first traceHead steps
}

// keptSteps must hold the calls in which a cycle is looked for.
const keptSteps = maxCycle * minRounds

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
	if len(r.steps) > traceHead+2*keptSteps {
		end := len(r.steps) - keptSteps
		for _, s := range r.steps[traceHead:end] {
			r.left += s.calls()
		}
		r.steps = slices.Delete(r.steps, traceHead, end)
	}
}

// breakOff ends the cycle of the last step; the calls of the unfinished round
// become single steps.
func (r *recursion) breakOff() {
	for _, c := range r.steps[len(r.steps)-1].cycle[:r.at] {
		r.steps = append(r.steps, step{at: c})
	}
	r.at = 0
}

// fold makes a cycle of the last steps when they are minRounds rounds of one.
func (r *recursion) fold() {
	for size := 1; size <= maxCycle; size++ {
		from := len(r.steps) - size*minRounds
		if from < 0 {
			return
		}
		if r.left > 0 && from < traceHead {
			return // what was left out lies between
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

// repeats says whether the steps from index from on are single calls that
// repeat with a period of size.
func (r *recursion) repeats(from, size int) bool {
	for i := len(r.steps) - 1; i >= from; i-- {
		s := r.steps[i]
		if s.cycle != nil || i-size >= from && s.at != r.steps[i-size].at {
			return false
		}
	}
	return true
}

// places finds the places of the calls. One Place with a count stands for the
// calls that were left out.
func (c *calls) places(place func(call) Place) []Place {
	var out []Place
	if c.many == nil {
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
