package vm

import (
	"math"

	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// Operations on Any, checked at run time. An Any never contains an Option.

func opAnyField(t *task, in *ins) status {
	v, st := t.anyField(value.Flatten(*t.slot(in.b)), t.m.image.constants[in.imm])
	if st == running {
		*t.slot(in.a) = value.Flatten(v)
	}
	return st
}

func opAnyIndex(t *task, in *ins) status {
	v, st := t.anyIndex(value.Flatten(*t.slot(in.b)), value.Flatten(*t.slot(in.c)))
	if st == running {
		*t.slot(in.a) = value.Flatten(v)
	}
	return st
}

var anyOps = [...]string{"+", "-", "*", "/", "%", "<", "<=", ">", ">="}

func opAnyBinary(t *task, in *ins) status {
	a, b := value.Flatten(*t.slot(in.b)), value.Flatten(*t.slot(in.c))
	op := ir.AnyOp(in.imm)
	if op < 0 || int(op) >= len(anyOps) {
		return t.badOperand(in)
	}
	var v value.Slot
	var st status
	if op >= ir.AnyLt {
		v, st = t.anyCompare(op, a, b)
	} else {
		v, st = t.anyArith(op, a, b)
	}
	if st == running {
		*t.slot(in.a) = v
	}
	return st
}

func (t *task) noOperator(op ir.AnyOp, a, b value.Slot) (value.Slot, status) {
	return a, t.fault("cannot apply %s to %s and %s", anyOps[op], describe(a), describe(b))
}

func (t *task) anyCompare(op ir.AnyOp, a, b value.Slot) (value.Slot, status) {
	x, okx := a.Number()
	y, oky := b.Number()
	if okx && oky && (a.Kind() == value.KindFloat || b.Kind() == value.KindFloat) {
		switch op { // if an operand is a NaN, the result is false
		case ir.AnyLt:
			return value.Bool(x < y), running
		case ir.AnyLe:
			return value.Bool(x <= y), running
		case ir.AnyGt:
			return value.Bool(x > y), running
		}
		return value.Bool(x >= y), running
	}
	c, ok := value.Compare(a, b)
	if !ok {
		return t.noOperator(op, a, b)
	}
	switch op {
	case ir.AnyLt:
		return value.Bool(c < 0), running
	case ir.AnyLe:
		return value.Bool(c <= 0), running
	case ir.AnyGt:
		return value.Bool(c > 0), running
	}
	return value.Bool(c >= 0), running
}

func (t *task) anyArith(op ir.AnyOp, a, b value.Slot) (value.Slot, status) {
	ka, kb := a.Kind(), b.Kind()
	switch {
	case ka == value.KindInt && kb == value.KindInt:
		return t.intArith(op, a.AsInt(), b.AsInt())
	case op == ir.AnyAdd && ka == value.KindString && kb == value.KindString:
		return t.concat(a.Str(), b.Str())
	case op == ir.AnyAdd && ka == value.KindArray && kb == value.KindArray:
		joined := a.Array().Slice(0, a.Array().Len)
		joined.Extend(b.Array())
		return joined.Slot(), t.chargeResult(joined.Slot())
	}
	x, okx := a.Number()
	y, oky := b.Number()
	if !okx || !oky {
		return t.noOperator(op, a, b)
	}
	switch op {
	case ir.AnyAdd:
		return value.Float(x + y), running
	case ir.AnySub:
		return value.Float(x - y), running
	case ir.AnyMul:
		return value.Float(x * y), running
	case ir.AnyDiv:
		return value.Float(x / y), running
	}
	return value.Float(math.Mod(x, y)), running
}

func (t *task) intArith(op ir.AnyOp, x, y int64) (value.Slot, status) {
	var n int64
	var ok bool
	switch op {
	case ir.AnyAdd:
		n, ok = intmath.Add(x, y)
	case ir.AnySub:
		n, ok = intmath.Sub(x, y)
	case ir.AnyMul:
		n, ok = intmath.Mul(x, y)
	case ir.AnyDiv:
		if n, ok = intmath.Div(x, y); y == 0 {
			return value.Nil, t.fault("division by zero")
		}
	case ir.AnyRem:
		if n, ok = intmath.Rem(x, y); y == 0 {
			return value.Nil, t.fault("remainder by zero")
		}
	}
	if !ok {
		return value.Nil, t.fault("integer overflow")
	}
	return value.Int(n), running
}

func opAnyNeg(t *task, in *ins) status {
	s := value.Flatten(*t.slot(in.b))
	switch s.Kind() {
	case value.KindInt:
		n, ok := intmath.Neg(s.AsInt())
		if !ok {
			return t.fault("integer overflow")
		}
		*t.slot(in.a) = value.Int(n)
	case value.KindFloat:
		*t.slot(in.a) = value.Float(-s.AsFloat())
	default:
		return t.fault("cannot negate %s", describe(s))
	}
	return running
}

func opAnyBool(t *task, in *ins) status {
	s := value.Flatten(*t.slot(in.b))
	if s.Kind() != value.KindBool {
		return t.fault("expected a Bool, got %s", describe(s))
	}
	*bitsAt(t.fp, in.a) = s.Bits
	return running
}

// anyField returns member k of o: a map's value for the key k, or nil; a field of a struct; or the
// message, kind or source of any error. The members of a tuple are "0", "1", ….
func (t *task) anyField(o, k value.Slot) (value.Slot, status) {
	name := k.AsString()
	switch o.Kind() {
	case value.KindMap:
		v, _ := o.Map().Get(k)
		return v, running
	case value.KindStruct:
		if v, ok := value.FieldByName(o, name); ok {
			return v, running
		}
		if value.IsError(o) {
			switch name {
			case "kind":
				return value.String(value.ErrorKind(o)), running
			case "source":
				return value.Source(o), running
			}
		}
	case value.KindTuple:
		if len(name) == 1 && name[0] >= '0' && int(name[0]-'0') < len(o.Fields()) {
			return o.Fields()[name[0]-'0'], running
		}
	case value.KindNil:
		return o, t.fault("nil has no member %s", name)
	}
	return o, t.fault("%s has no member %s", value.TypeName(o), name)
}

func (t *task) anyIndex(o, i value.Slot) (value.Slot, status) {
	switch o.Kind() {
	case value.KindMap:
		if !value.Hashable(i) {
			return o, t.badKey(i)
		}
		v, ok := o.Map().Get(i)
		if !ok {
			return o, t.noKey(i)
		}
		return v, running
	case value.KindArray, value.KindString:
		if i.Kind() == value.KindRange {
			lo, hi := i.RangeBounds()
			return t.slice(o, value.Int(lo), value.Int(hi), false)
		}
		if i.Kind() != value.KindInt {
			return o, t.fault("an index must be an Int, not %s", describe(i))
		}
		if o.Kind() == value.KindString {
			v, ok := t.m.texts.characters().At(o.Str(), i.AsInt(), &t.m.pace)
			if !ok {
				return o, t.outOfRange(i.AsInt(), o.Str().Len())
			}
			return v, running
		}
		a := o.Array()
		if uint64(i.AsInt()) >= uint64(a.Len) {
			return o, t.outOfRange(i.AsInt(), a.Len)
		}
		return a.At(int(i.AsInt())), running
	case value.KindTuple:
		n, st := t.tupleIndex(o, i)
		if st != running {
			return o, st
		}
		return o.Fields()[n], running
	}
	return o, t.fault("cannot index %s", describe(o))
}

// tupleIndex checks the index of a tuple's member, as in `x.0`, and returns it.
func (t *task) tupleIndex(o, i value.Slot) (int, status) {
	if i.Kind() != value.KindInt {
		return 0, t.fault("an index must be an Int, not %s", describe(i))
	}
	if n := len(o.Fields()); uint64(i.AsInt()) >= uint64(n) {
		return 0, t.outOfRange(i.AsInt(), n)
	}
	return int(i.AsInt()), running
}

func opAnySetField(t *task, in *ins) status {
	o, name := *t.slot(in.a), t.m.image.constants[in.imm].AsString()
	if o.Kind() == value.KindStruct {
		if i := o.Type().FieldIndex(name); i >= 0 {
			v, errs := schema.ConvertIn(&t.m.pace, *t.slot(in.b), o.Type().Fields[i].Type)
			if len(errs) > 0 {
				return t.fault("field %s: %s", name, schema.Join(errs))
			}
			o.Fields()[i] = v
			return running
		}
	}
	if o.Kind() == value.KindMap {
		return t.fault("set a map's entry with m[\"%s\"] = …", name)
	}
	return t.fault("%s has no field %s", value.TypeName(o), name)
}

func opAnySetIndex(t *task, in *ins) status {
	o, i, s := *t.slot(in.a), value.Flatten(*t.slot(in.b)), *t.slot(in.c)
	switch o.Kind() {
	case value.KindMap:
		if !value.Hashable(i) {
			return t.badKey(i)
		}
		o.Map().Set(i, s)
		return running
	case value.KindArray:
		if i.Kind() != value.KindInt {
			return t.fault("an index must be an Int, not %s", describe(i))
		}
		a := o.Array()
		if uint64(i.AsInt()) >= uint64(a.Len) {
			return t.outOfRange(i.AsInt(), a.Len)
		}
		a.Set(int(i.AsInt()), s)
		return running
	case value.KindTuple:
		n, st := t.tupleIndex(o, i)
		if st == running {
			o.Fields()[n] = s
		}
		return st
	}
	return t.fault("cannot assign to an element of %s", describe(o))
}

func opAnyOwnField(t *task, in *ins) status {
	o, k := *t.slot(in.b), t.m.image.constants[in.imm]
	switch o.Kind() {
	case value.KindStruct:
		if i := o.Type().FieldIndex(k.AsString()); i >= 0 {
			return t.ownField(in.a, o, i, in)
		}
	case value.KindMap:
		return t.ownKey(in.a, o.Map(), k)
	}
	return t.fault("%s has no member %s", value.TypeName(o), k.AsString())
}

func opAnyOwnIndex(t *task, in *ins) status {
	o, i := *t.slot(in.b), value.Flatten(*t.slot(in.c))
	switch o.Kind() {
	case value.KindMap:
		return t.ownKey(in.a, o.Map(), i)
	case value.KindArray:
		if i.Kind() != value.KindInt {
			return t.fault("an index must be an Int, not %s", describe(i))
		}
		return t.ownElem(in.a, o.Array(), i.AsInt())
	case value.KindTuple:
		n, st := t.tupleIndex(o, i)
		if st != running {
			return st
		}
		return t.ownField(in.a, o, n, in)
	}
	return t.fault("cannot index %s", describe(o))
}

// opErrorField reads message, kind or source of any value that is an error.
func opErrorField(t *task, in *ins) status {
	e := *t.slot(in.b)
	d := t.slot(in.a)
	switch t.m.image.constants[in.imm].AsString() {
	case "message":
		*d = value.String(value.Message(e))
	case "kind":
		*d = value.String(value.ErrorKind(e))
	case "source":
		*d = value.Source(e)
		value.Share(*d)
	default:
		return t.badOperand(in)
	}
	return running
}
