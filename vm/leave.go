package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// An Err is a value, and functions return it like any other value. If the program does not handle
// an Err, the report contains its origin. For that the VM stores the last places where an Err was
// created or where `?` returned it from a function. An Ok causes no work.

// errStep is a place where an Err was created or left a function.
type errStep struct {
	err  unsafe.Pointer // the Result that is an Err
	of   unsafe.Pointer // the Result that was converted to this one; nil if there is none
	held *raised        // the error from which the Err was created, caught by a `try` or from a handler; nil if there is none
	at   spot
	made bool // the Err was created here, and not from another Err
	// The number of earlier places of this Err, and the first of them. The first place is stored
	// here because later steps of the same Err may overwrite it in the ring buffer.
	steps int32
	first spot
}

// spot is an instruction and the calls around it, the innermost first. At most three calls are
// stored; 0 means none. They show the functions that return an Err without `?`.
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
		if pc == 0 { // the bottom frame has no caller
			break
		}
		fp, s.calls[i] = below, int32(pc)
	}
	return s
}

// maxErrSteps is the number of stored error steps of all tasks together. An error that leaves a
// recursion produces as many steps as the recursion is deep.
const maxErrSteps = 64

type errSteps struct {
	ring []errStep // a ring buffer; nil until an Err is created
	next int       // number of all error steps so far
}

// recordErrStep records that the current instruction creates an Err or returns it from a function.
// of is the Err from which it was created, or nil.
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
	if n := len(t.caught); made && n > 0 && t.caught[n-1].value == value.Slot(*payloadOf(err)) && isDistinct(t.caught[n-1].value) {
		e.held = t.caught[n-1]
	}
}

// recordHandlerErr records that a listen creates an Err from the error r, which has left a handler.
func recordHandlerErr(t *task, err unsafe.Pointer, r *raised) {
	t.recordErrStep(err, nil, true)
	l := &t.m.left
	l.ring[(l.next-1)&(maxErrSteps-1)].held = r
}

// distinct returns a copy of the value of a caught error that is identical to no other value, so
// that recordErrStep recognizes an Err that the program creates from the error. A String may
// otherwise be a constant of the program, with which the program also creates other Errs.
func distinct(v value.Slot) value.Slot {
	if v.Kind() == value.KindString {
		return value.String(v.AsString())
	}
	return v
}

// isDistinct reports whether a value that distinct has returned is identical only to its copies.
// That is not so for values that exist only once, such as numbers and texts of one character.
func isDistinct(v value.Slot) bool {
	switch v.Kind() {
	case value.KindString:
		return len(v.AsString()) > 1
	case value.KindEnum:
		return len(v.Fields()) > 0
	case value.KindNil, value.KindInt, value.KindFloat, value.KindBool:
		return false
	}
	return true
}

// payloadOf returns the content of a Result.
func payloadOf(result unsafe.Pointer) *value.Slot { return &value.Slot{Ref: result}.Fields()[0] }

// justLeft returns the number of error steps so far if the preceding instruction returned the Err
// that holds v. Otherwise it returns 0.
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

// pathOf returns the error steps of the Err that `?` raised.
func (l *errSteps) pathOf(r *raised) []errStep {
	if r.left == 0 || r.left <= l.next-maxErrSteps {
		return nil
	}
	way := l.path(r.left, l.ring[(r.left-1)&(maxErrSteps-1)].err)
	return way[:len(way)-1] // the trace of r begins with the last step, so that the path excludes it
}

// path returns the places where an Err was created and where functions returned it, the first place
// first. It searches the first next error steps.
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

// wayPlaces returns the places on the path of an Err: each place where `?` returned it, and the
// calls of the functions that returned it without `?`. next is the name of the function whose place
// follows the last one.
func (m *VM) wayPlaces(way []errStep, next string) []Place {
	if len(way) == 0 {
		return nil
	}
	var out []Place
	if left := int(way[len(way)-1].steps) + 1 - len(way); left > 0 { // the ring buffer has overwritten the beginning
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

// callersOf returns the calls around a spot: the calls that the spot stores, and the inlined calls
// that contain them.
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
