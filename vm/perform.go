package vm

import (
	"context"
	"errors"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// ResultFunc converts an effect's result to the value that the native returns. If it returns an
// *effect.Error, the effect counts as failed.
type ResultFunc func(effect.Result) (value.Slot, error)

// Nothing is the ResultFunc of an effect that has no result.
func Nothing(effect.Result) (value.Slot, error) { return value.Nil, nil }

// nativeRequest is the request of a native for an effect.
type nativeRequest struct {
	request effect.Request // nil if the native requested no effect
	convert ResultFunc
	park    func(t *task, w *wait) status // if set, parks the task instead of performing a request
}

// Ask lets a native return the result of an effect. The VM performs r, and convert converts its
// result to a value for the program. A native returns what Ask returns. The native's arguments are
// no longer valid when convert is called.
func (a *Args) Ask(r effect.Request, convert ResultFunc) (value.Slot, error) {
	a.asked = nativeRequest{request: r, convert: convert}
	return value.Nil, nil
}

// AskToOpen does the same as Ask, for an effect that opens an external resource. The task then owns
// the resource: the VM closes it when the task ends by an error or is cancelled. held returns the
// number of the resource and the request that closes it. If the request is nil, the task owns
// nothing. Release ends the ownership.
func (a *Args) AskToOpen(r effect.Request, convert ResultFunc, held func(effect.Result) (id int64, closing effect.Request)) (value.Slot, error) {
	m := a.vm
	return a.Ask(r, func(result effect.Result) (value.Slot, error) {
		id, closing := held(result)
		if closing != nil {
			m.openResources.add(m.sched.current, openResource{id, closing})
		}
		return convert(result)
	})
}

// takeRequest returns the request that the native which was just called has made, and clears it.
func (a *Args) takeRequest() nativeRequest {
	x := a.asked
	a.asked = nativeRequest{}
	return x
}

// opPerform calls a native that requests an effect, and performs the effect.
func opPerform(t *task, in *ins) status {
	n := &t.m.image.natives[in.imm]
	args := t.arguments(in, n.name)
	v, err := n.call(args)
	w := &wait{kind: waitPerform, window: in.a, wrap: in.c != 0}
	if err != nil {
		return t.throwError(err)
	}
	x := args.takeRequest()
	w.convert = x.convert
	switch {
	case x.park != nil:
		return x.park(t, w)
	case x.request == nil: // the native had the result without an effect
		return t.storeResult(w, v)
	}
	return t.request(x.request, w)
}

// arguments returns the Args for the window of a native.
func (t *task) arguments(in *ins, name string) *Args {
	a := &t.m.args
	a.base, a.n, a.name = unsafe.Add(t.fp, uintptr(in.a)*slotSize+slotSize), int(in.b), name
	return a
}

// ask performs the request of a native that CallNative has called, or of an operation on a store in
// a file. The task continues at once unless another process has locked the file.
func (t *task) ask(r effect.Request, w *wait) status {
	t.m.stats.Requests++
	if t.isAlone() {
		w.result, w.err = t.performWaiting(r)
		return t.complete(w)
	}
	w.result, w.err = t.performEffect(t.m.requests.atOnce, r)
	if !errors.Is(w.err, effect.ErrWaits) {
		return t.complete(w)
	}
	t.m.stats.Requests-- // startRequest counts the request again
	w.result, w.err = nil, nil
	w.request = r
	f := &pendingRequest{t: t, wait: w}
	t.m.startRequest(r, f)
	w.flight = f
	return t.park(w)
}

func (t *task) acceptResult(w *wait) status {
	var e *effect.Error
	if errors.As(w.err, &e) {
		if w.wrap {
			*t.slot(w.window) = value.Err(programError(e))
			return running
		}
		return t.throw(programError(e))
	}
	t.addModel(w)
	v, err := w.convert(w.result)
	if e, ok := err.(*effect.Error); ok {
		w.err = e
		return t.acceptResult(w)
	}
	if err != nil {
		return t.throwError(err)
	}
	return t.storeResult(w, v)
}

// storeResult stores the result of an effect in the register of the operation that waits for it.
func (t *task) storeResult(w *wait, v value.Slot) status {
	st := t.chargeResult(v)
	if st == running {
		if w.wrap {
			v = value.Ok(v)
		}
		*t.slot(w.window) = v
	}
	return st
}

// waiting is a request that is performed when Config.Choose selects it.
type waiting struct {
	seq     int
	ctx     context.Context
	request effect.Request
}

// performChosen performs the waiting request that Config.Choose selects.
func (m *VM) performChosen() completion {
	i := m.choose()
	w := m.requests.waiting[i]
	m.requests.waiting = append(m.requests.waiting[:i], m.requests.waiting[i+1:]...)
	result, err := m.config.Performer.Perform(w.ctx, w.request)
	return completion{seq: w.seq, result: result, err: err}
}

func (m *VM) choose() int {
	requests := make([]effect.Request, len(m.requests.waiting))
	for i, w := range m.requests.waiting {
		if w.ctx.Err() != nil {
			return i
		}
		requests[i] = w.request
	}
	return m.config.Choose(requests)
}

// OnUnknown returns the program's policy for an interrupted effect that the task performs: "retry",
// "fail" or "ask", and the name of the function that has it. The policy applies when a resumed run
// cannot determine whether the effect was performed. It is that of the innermost function with
// `@on_unknown` or `@idempotent`. policy is "" if there is none, or if the effect is of another
// class than once and settled.
func (s Scene) OnUnknown(r effect.Request) (policy, function string) {
	if effect.Lookup(r.Kind()) == nil {
		return "", ""
	}
	switch effect.ClassOf(r) {
	case effect.ClassOnce, effect.ClassSettled:
		return s.t.onUnknown()
	}
	return "", ""
}

// onUnknown returns the policy and the name of the innermost function that has a policy. It
// searches the functions that the task executes, and then those of the tasks that wait for the
// task.
func (t *task) onUnknown() (policy, function string) {
	for x := t; x != nil; {
		fp, pc := x.frame(), x.pc()
		for fp != nil && pc > 0 {
			if f := x.m.image.blockAt(pc).fn; f != nil && f.info != nil && f.info.OnUnknown != "" {
				return f.info.OnUnknown, f.info.Name
			}
			fp, pc = x.caller(fp)
		}
		if x.member.group == nil {
			return "", ""
		}
		x = x.member.group.t
	}
	return "", ""
}

// frame returns the frame pointer of a running or parked task, or nil before the task has a frame.
func (t *task) frame() unsafe.Pointer {
	if t.stack == nil && int(t.parked.depth) < len(t.parked.slots) {
		return unsafe.Pointer(&t.parked.slots[t.parked.depth])
	}
	return t.fp
}
