package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// An Err is a value, and functions pass it on as one. If no code handles it, the report contains
// its origin. For that the VM remembers the last places where an Err was created or left a function
// by `?`; an Ok costs nothing.

// errStep is a place where an Err was created or left a function.
type errStep struct {
	err  unsafe.Pointer // the Result
	of   unsafe.Pointer // the Result from which a conversion created it; nil for none
	held *raised        // the error that a try caught and that it contains
	at   spot
	made bool // it was created here, unless it comes from another Err
	// The number of earlier places of this Err, and the first of them, which a long way pushes out
	// of the ring.
	steps int32
	first spot
}

// spot is an instruction and the calls around it, the innermost first; at most three calls are
// stored, and 0 is none. They show the functions that pass an Err on without `?`.
type spot struct {
	pc    int32
	calls [3]int32
}

// spot returns the task's place.
func (t *task) spot() (s spot) {
	s.pc = int32(t.pc())
	fp := t.fp
	for i := range s.calls {
		below, pc := t.caller(fp)
		if pc == 0 { // the bottom frame
			break
		}
		fp, s.calls[i] = below, int32(pc)
	}
	return s
}

// maxErrSteps is the number of error steps that are remembered, of all tasks together. An error
// that leaves a recursion produces as many as the recursion is deep.
const maxErrSteps = 64

type errSteps struct {
	ring []errStep // a ring buffer; nil until an Err is created
	next int       // the number of all error steps so far
}

// recordErrStep records that an Err is created, or leaves a function, at the running instruction.
// of is the Err from which it was created.
func (t *task) recordErrStep(err, of unsafe.Pointer, made bool) {
	l := &t.m.left
	if l.ring == nil {
		l.ring = make([]errStep, maxErrSteps)
	}
	before := &l.ring[(l.next-1)&(maxErrSteps-1)]
	e := &l.ring[l.next&(maxErrSteps-1)]
	l.next++
	steps, at := int32(0), t.spot()
	first := at
	if !made && before.err == err || of != nil && before.err == of {
		steps, first = before.steps+1, before.first
	}
	*e = errStep{err: err, of: of, at: at, made: made, steps: steps, first: first}
	if n := len(t.caught); made && n > 0 && t.caught[n-1].value == value.Slot(*payloadOf(err)) {
		e.held = t.caught[n-1]
	}
}

// payloadOf returns the content of a Result.
func payloadOf(result unsafe.Pointer) *value.Slot { return &value.Slot{Ref: result}.Fields()[0] }

// justLeft returns the number of error steps so far if the Err that holds v left in the preceding
// instruction; otherwise 0.
func (t *task) justLeft(v value.Slot) int {
	l := &t.m.left
	if l.next == 0 {
		return 0
	}
	e := &l.ring[(l.next-1)&(maxErrSteps-1)]
	if pc := int32(t.pc()); e.made || e.at.pc >= pc || e.at.pc+2 < pc || value.Flatten(*payloadOf(e.err)) != v {
		return 0
	}
	return l.next
}

// pathOf returns the way of the Err that `?` raised.
func (l *errSteps) pathOf(r *raised) []errStep {
	if r.left == 0 || r.left <= l.next-maxErrSteps {
		return nil
	}
	way := l.path(r.left, l.ring[(r.left-1)&(maxErrSteps-1)].err)
	return way[:len(way)-1] // the trace of the raised error begins where it was raised
}

// path returns, from the first next error steps, the places where an Err was created and left
// functions, the first place first.
func (l *errSteps) path(next int, err unsafe.Pointer) (found []errStep) {
	for n := next - 1; n >= 0 && n >= l.next-maxErrSteps; n-- {
		e := &l.ring[n&(maxErrSteps-1)]
		if e.err != err {
			continue
		}
		found = append(found, *e)
		if e.of != nil {
			err = e.of
		} else if e.made {
			break
		}
	}
	for i, j := 0, len(found)-1; i < j; i, j = i+1, j-1 {
		found[i], found[j] = found[j], found[i]
	}
	return found
}

// wayPlaces returns the places on the way of an Err: each place where it left a function, and the
// calls of the functions that passed it on without `?`. next is the function whose place follows
// the last.
func (m *VM) wayPlaces(way []errStep, next string) []Place {
	if len(way) == 0 {
		return nil
	}
	var out []Place
	if left := int(way[len(way)-1].steps) + 1 - len(way); left > 0 { // the beginning was overwritten
		first := m.wayPlaces([]errStep{{at: way[len(way)-1].first}}, "")
		out = append(first[:1], Place{Left: left - 1})
		if left == 1 {
			out = out[:1]
		}
	}
	var trace calls
	for i := range way {
		e := &way[i]
		if e.held != nil {
			out = append(out, m.raisedPlaces(e.held)...)
			continue
		}
		trace.addCall(call{pc: e.at.pc})
		after := next
		if i+1 < len(way) {
			after = m.image.place(call{pc: way[i+1].at.pc}).Function
		}
		for _, c := range m.image.callersOf(&e.at) {
			if m.image.place(c).Function == after {
				break
			}
			trace.addCall(c)
		}
	}
	return append(out, trace.places(m.image.place)...)
}

// callersOf returns the calls around a spot: those that the spot stores, and the inlined calls
// among them.
func (m *image) callersOf(s *spot) []call {
	var c calls
	m.addCalls(&c, int(s.pc), 0)
	for _, pc := range s.calls {
		if pc > 0 {
			m.addCaller(&c, int(pc))
		}
	}
	return c.few[1:min(len(c.few), 1+len(s.calls))]
}
