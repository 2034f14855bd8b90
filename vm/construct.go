package vm

import (
	"github.com/concerto-lang/concerto/internal/data/value"
)

func opNewArray(t *task, in *ins) status {
	*t.slot(in.a) = value.ArrayOf(t.window(in.b, in.c)...)
	return running
}

func opNewTuple(t *task, in *ins) status {
	*t.slot(in.a) = value.Tuple(t.window(in.b, in.c)...)
	return running
}

func opNewOk(t *task, in *ins) status {
	*t.slot(in.a) = value.Ok(*t.slot(in.b))
	return running
}

func opNewErr(t *task, in *ins) status {
	e := value.Err(*t.slot(in.b))
	*t.slot(in.a) = e
	t.recordErrStep(e.Ref, nil, true)
	return running
}

func opNewErrOf(t *task, in *ins) status {
	of := *t.slot(in.c)
	if !isErr(of) {
		return t.badOperand(in)
	}
	e := value.Err(*t.slot(in.b))
	*t.slot(in.a) = e
	t.recordErrStep(e.Ref, of.Ref, true)
	return running
}

func opLeave(t *task, in *ins) status {
	e := *t.slot(in.a)
	if !isErr(e) {
		return t.badOperand(in)
	}
	value.Share(e)
	value.Share(e.Fields()[0])
	t.recordErrStep(e.Ref, nil, false)
	t.notifyPropagated(e.Fields()[0])
	return running
}

// opCaught notifies the debugger that the function which raised an error also catches it.
func opCaught(t *task, in *ins) status {
	if d := t.debugger(); d != nil {
		e := value.Flatten(*t.slot(in.a))
		if in.imm == 1 {
			d.OnError(Scene{t}, Raise{Value: e, Propagated: true, Caught: true})
		}
		d.OnError(Scene{t}, Raise{Value: e, Caught: true})
	}
	return running
}

func opWrapSome(t *task, in *ins) status {
	*t.slot(in.a) = value.Some(*t.slot(in.b))
	return running
}

func opUnwrap(t *task, in *ins) status {
	*t.slot(in.a) = value.Unwrap(*t.slot(in.b))
	return running
}

func opNewMap(t *task, in *ins) status {
	m := value.NewMap(int(in.c))
	w := t.window(in.b, 2*in.c)
	for i := 0; i < len(w); i += 2 {
		if !value.Hashable(w[i]) {
			return t.badKey(w[i])
		}
		m.Set(w[i], w[i+1])
	}
	*t.slot(in.a) = m.Slot()
	return running
}

func (t *task) badKey(k value.Slot) status {
	return t.fault("%s cannot be a key: keys must be Strings, Ints or Bools", describe(k))
}

func opNewStruct(t *task, in *ins) status {
	typ := t.m.image.types[in.imm]
	if typ.Kind == value.TypeError {
		// a program compiled by an older version defines only the first fields
		*t.slot(in.a) = typ.Error(t.window(in.b, uint8(len(t.m.image.program.Types[in.imm].Fields)))...)
		return running
	}
	*t.slot(in.a) = typ.Struct(t.window(in.b, uint8(len(typ.Fields)))...)
	return running
}

func opNewVariant(t *task, in *ins) status {
	typ := t.m.image.types[in.imm]
	if int(in.c) >= len(typ.Variants) {
		return t.badOperand(in)
	}
	*t.slot(in.a) = typ.Enum(int(in.c), t.window(in.b, uint8(len(typ.Variants[in.c].Fields)))...)
	return running
}

func opRenewVariant(t *task, in *ins) status {
	old := *t.slot(in.a)
	if old.Kind() != value.KindEnum || old.Variant() != int(in.c) || old.Type() != t.m.image.types[in.imm] || value.IsShared(old) || t.m.config.AlwaysCopy {
		return opNewVariant(t, in)
	}
	payload := old.Fields()
	copy(payload, t.window(in.b, uint8(len(payload))))
	return running
}

func opNewRange(t *task, in *ins) status {
	lo, hi := *intAt(t.fp, in.b), *intAt(t.fp, in.c)
	if in.imm == 1 {
		*t.slot(in.a) = value.NewRangeTo(lo, hi)
	} else {
		*t.slot(in.a) = value.NewRange(lo, hi)
	}
	return running
}

// rangeLo and rangeHi return the bounds of a range.
func rangeLo(r value.Slot) int64 {
	first, _ := r.Range()
	return first
}

func rangeHi(r value.Slot) int64 {
	_, hi := r.RangeBounds()
	return hi
}

func rangeLast(r value.Slot) int64 {
	_, last := r.Range()
	return last
}

func rangeBound(bound func(value.Slot) int64) func(*task, *ins) status {
	return func(t *task, in *ins) status {
		r := *t.slot(in.b)
		if r.Kind() != value.KindRange {
			return t.badOperand(in)
		}
		*intAt(t.fp, in.a) = bound(r)
		return running
	}
}
