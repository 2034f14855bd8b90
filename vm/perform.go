package vm

import (
	"errors"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
	"github.com/concerto-lang/concerto/ir"
)

// performing is one effect that library code performs by name: how its request
// is made of the arguments, and its value of the result.
type performing struct {
	request func(*task, *Args) (effect.Request, error)
	value   func(effect.Result) (value.Slot, error)
}

// performs are the effects of Perform. Each family adds its own in its file.
var performs = map[string]*performing{}

// nothing is the value of an effect without result.
func nothing(effect.Result) (value.Slot, error) { return value.Nil, nil }

func init() { slow[ir.OpPerform] = opPerform }

func opPerform(t *task, in *ins) status {
	p := t.m.performing[in.imm]
	args := t.arguments(in, t.m.constants[in.imm].AsString())
	r, err := p.request(t, args)
	if err != nil {
		return t.throwError(err)
	}
	return t.request(r, &wait{kind: waitPerform, window: in.a, wrap: in.c != 0, perform: p})
}

// arguments describes the window of a native or an effect.
func (t *task) arguments(in *ins, name string) *Args {
	a := &t.m.args
	a.base, a.n, a.name = unsafe.Add(t.fp, uintptr(in.a)*slotSize+slotSize), int(in.b), name
	return a
}

func (t *task) performed(w *wait) status {
	d := t.slot(w.window)
	var e *effect.Error
	if errors.As(w.err, &e) {
		if w.wrap {
			*d = value.Err(programError(e))
			return running
		}
		return t.throw(programError(e))
	}
	if s, ok := w.result.(*effect.StreamOpened); ok {
		t.m.opened(t, s.ID)
	}
	v, err := w.perform.value(w.result)
	if err != nil {
		return t.throwError(err)
	}
	st := t.weigh(v)
	if st == running {
		if w.wrap {
			v = value.Ok(v)
		}
		*d = v
	}
	return st
}
