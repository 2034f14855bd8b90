package vm

import (
	"context"
	"errors"
	"maps"
	"slices"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// Encoding of errors: those that are being propagated, those that were caught, and the origins of
// Errs.

func (k *StateCodec) raisedBody(r *raised) {
	k.Slot(&r.value)
	for _, flag := range []*bool{&r.fault, &r.panicked, &r.cancelled} {
		k.Bool(flag)
	}
	refer(k, entityScope, &r.until)
	number(k, &r.left)
	k.trace(&r.trace)
}

func (k *StateCodec) trace(c *calls) {
	list(k, &c.few, k.call)
	many := c.many != nil
	k.Bool(&many)
	if !many {
		return
	}
	if k.reading {
		c.many = new(recursion)
	}
	list(k, &c.many.steps, func(s *step) {
		k.call(&s.at)
		list(k, &s.cycle, k.call)
		number(k, &s.times)
	})
	number(k, &c.many.left)
	number(k, &c.many.at)
	if n := len(c.many.steps); k.reading && c.many.at != 0 {
		k.require(n > 0 && c.many.at > 0 && c.many.at < len(c.many.steps[n-1].cycle), "a trace has no such step")
	}
}

// call encodes or decodes a place of a trace.
func (k *StateCodec) call(c *call) {
	number(k, &c.level)
	k.pc(&c.pc, &c.part)
}

// pc encodes or decodes an instruction and the number of its part. An instruction of 0 means none.
func (k *StateCodec) pc(pc, part *int32) {
	var x position
	if !k.reading && *pc > 1 {
		x = k.at.of(int(*pc), int(*part))
	}
	number(k, &x.block)
	if x.block == 0 {
		return
	}
	number(k, &x.at)
	if k.reading && k.err == nil {
		n, p, ok := k.at.find(x)
		k.require(ok, "a trace leads nowhere")
		*pc, *part = int32(n), int32(p)
	}
}

func (k *StateCodec) spot(s *spot) {
	var part int32
	k.pc(&s.pc, &part)
	for i := range s.calls {
		k.pc(&s.calls[i], &part)
	}
}

// errSteps encodes or decodes the last error steps of a run.
func (k *StateCodec) errSteps(l *errSteps) {
	number(k, &l.next)
	if !k.require(l.next >= 0, "a count is negative") || l.next == 0 {
		return
	}
	if k.reading {
		l.ring = make([]errStep, maxErrSteps)
	}
	for i := range l.ring[:min(l.next, maxErrSteps)] {
		k.errStep(&l.ring[i])
	}
}

func (k *StateCodec) errStep(e *errStep) {
	k.result(&e.err)
	k.result(&e.of)
	refer(k, entityRaised, &e.held)
	k.spot(&e.at)
	k.Bool(&e.made)
	number(k, &e.steps)
	k.spot(&e.first)
}

// result encodes or decodes a pointer to the object of a Result, or nil.
func (k *StateCodec) result(p *unsafe.Pointer) {
	s := value.Slot{Ref: *p}
	k.Slot(&s)
	if k.reading {
		k.require(s.IsNil() || s.IsResult(), "what left a function is no Result")
		*p = s.Ref
	}
}

// path encodes or decodes the error steps of an unhandled Err with which a task ended.
func (k *StateCodec) path(t *task) {
	hasWay := t.way != nil
	k.Bool(&hasWay)
	if !hasWay {
		return
	}
	if k.reading {
		t.way = new([]errStep)
	}
	list(k, t.way, k.errStep)
}

// Tags for the error of a request.
const (
	failedNot   byte = iota
	failedSo         // an error that the program may catch
	failedEnded      // a pending request was cancelled
)

// failure encodes or decodes the error of a request, or nil.
func (k *StateCodec) failure(p *error) {
	tag := failedNot
	e, program := errors.AsType[*effect.Error](*p)
	switch {
	case *p == nil:
	case program:
		tag = failedSo
	case errors.Is(*p, context.Canceled):
		tag = failedEnded
	default:
		k.refuse("an exchange has broken: %v", *p)
	}
	below(k, &tag, int(failedEnded)+1, "an error is of no kind")
	switch tag {
	case failedEnded:
		*p = context.Canceled
	case failedSo:
		if k.reading {
			e = &effect.Error{}
		}
		k.programError(e)
		*p = e
	}
}

func (k *StateCodec) programError(e *effect.Error) {
	k.Text(&e.Kind)
	k.Text(&e.Message)
	number(k, &e.Status)
	names := slices.Sorted(maps.Keys(e.Fields))
	list(k, &names, func(name *string) {
		k.Text(name)
		var v value.Slot
		switch x := e.Fields[*name].(type) {
		case nil:
		case string:
			v = value.String(x)
		case bool:
			v = value.Bool(x)
		case int:
			v = value.Int(int64(x))
		case int64:
			v = value.Int(x)
		case float64:
			v = value.Float(x)
		case []string:
			v = value.StringArray(x)
		default:
			k.refuse("a field of an error is a %T", x)
		}
		k.plain(&v)
		if k.reading {
			e.With(*name, plainOf(v))
		}
	})
}

// plain encodes or decodes a scalar or a text inline.
func (k *StateCodec) plain(v *value.Slot) {
	text := v.Kind() == value.KindString
	k.Bool(&text)
	if !text {
		k.Slot(v)
		return
	}
	s := ""
	if !k.reading {
		s = v.AsString()
	}
	k.Text(&s)
	*v = value.String(s)
}

func plainOf(v value.Slot) any {
	switch v.Kind() {
	case value.KindString:
		return v.AsString()
	case value.KindBool:
		return v.AsBool()
	case value.KindInt:
		return v.AsInt()
	case value.KindFloat:
		return v.AsFloat()
	case value.KindArray:
		texts := make([]string, v.Array().Len)
		for i := range texts {
			texts[i] = value.Text(v.Array().At(i))
		}
		return texts
	}
	return nil
}
