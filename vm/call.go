package vm

import (
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func opCall(t *task, in *ins) status { return t.enter(in.a, int(in.imm), unsafe.Pointer(nil)) }

func opNewClosure(t *task, in *ins) status {
	*t.slot(in.a) = value.NewClosure(&t.m.image.functions[in.imm].Function, t.window(in.b, in.c)...)
	return running
}

func opNewCell(t *task, in *ins) status {
	*t.slot(in.a) = value.NewCell(*t.slot(in.b))
	return running
}

// window returns n registers from base. The result aliases the stack.
func (t *task) window(base, n uint8) []value.Slot { return unsafe.Slice(t.slot(base), int(n)) }

// tooDeep faults because the stack may not grow further.
func (t *task) tooDeep() status {
	if m := &t.m.memory; m.limit > 0 && 2*len(t.stack) <= t.m.maxStack {
		return t.fault("stack overflow: %s", m.exceeded().Message)
	}
	return t.fault("stack overflow: the calls need more than %d MiB", t.m.maxStack*int(slotSize)>>20)
}

// enter calls the function at entry with window w, after growing the stack if necessary. closure is
// the running closure, or nil for a plain function.
func (t *task) enter(w uint8, entry int, closure unsafe.Pointer) status {
	if !t.need(int(w), headroom) {
		return t.tooDeep()
	}
	t.fp = unsafe.Add(t.fp, uintptr(w)*slotSize)
	link := (*value.Slot)(t.fp)
	link.Bits = uint64(uintptr(t.ip)-uintptr(t.code)) | uint64(w)<<frameShift
	if closure != nil {
		link.Ref = closure
	}
	t.ip = unsafe.Add(t.code, uintptr(entry)*insSize)
	if t.budget--; t.budget < 0 {
		// The next check of the budget interrupts the task. An interruption here would split the
		// operation that makes the call.
		t.budget = 0
	}
	return running
}

func opCallClosure(t *task, in *ins) status {
	c := *t.slot(in.a)
	if c.Kind() != value.KindClosure {
		return t.fault("cannot call %s: not a function", describe(c))
	}
	f := functionOf(c)
	if f.Params != int(in.b) {
		return t.fault("%s takes %s, called with %d", functionName(&f.Function), count(f.Params, "argument"), in.b)
	}
	return t.enter(in.a, f.entry, c.Ref)
}

func functionName(f *value.Function) string {
	if f.Name == "" {
		return "the function"
	}
	return "function " + f.Name
}

func opCallNative(t *task, in *ins) status {
	n := &t.m.image.natives[in.imm]
	before := 0 // size of the receiver in memory before the call
	if t.m.memory.limit > 0 && in.b > 0 {
		before = value.Size(*t.slot(in.a + 1))
	}
	t.m.pace.Left = t.budget - nativeCost
	v, err := n.call(t.arguments(in, n.name))
	t.budget = t.m.pace.Left
	if t.samples.hasSamples() {
		t.sample(n.name)
	}
	if t.m.memory.limit > 0 {
		if st := t.chargeNative(in, before, v); st != running {
			return st
		}
	}
	if t.m.args.asked.request != nil {
		if x := t.m.args.takeRequest(); err == nil {
			return t.ask(x.request, &wait{kind: waitPerform, window: in.a, wrap: in.c != 0, convert: x.convert})
		}
	}
	if err != nil {
		e, program := err.(*value.Error)
		if !program || in.c == 0 {
			return t.throwError(err)
		}
		v = value.Err(e.Slot())
	} else if in.c != 0 {
		v = value.Ok(v)
	}
	*t.slot(in.a) = v
	return running
}

// chargeNative accounts for the memory that a native allocated: the size of its result, and the
// growth of its receiver since before.
func (t *task) chargeNative(in *ins, before int, result value.Slot) status {
	if in.b > 0 {
		if grown := value.Size(*t.slot(in.a + 1)) - before; grown > 0 {
			if st := t.countMemory(grown); st != running {
				return st
			}
		}
	}
	return t.chargeResult(result)
}
