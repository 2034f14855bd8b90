package types

// Join returns the type of a value that has the type a or the type b (spec/03-types.md). The join
// of Int and Float is Float; of T and nil, Option<T>; of different errors, Error; of string unions
// and literals, String; of Never and T, T. It returns false if there is no common type.
func Join(a, b Type) (Type, bool) {
	a, b = Resolve(a), Resolve(b)
	switch {
	case a == b || b == Never || b == Bad:
		return a, true
	case a == Never || a == Bad:
		return b, true
	case a == Any || b == Any:
		return Any, true
	}
	if _, ok := a.(*Var); ok {
		return b, Subtype(b, a)
	}
	if _, ok := b.(*Var); ok {
		return a, Subtype(a, b)
	}
	if a == Nil || b == Nil {
		return joinNil(a, b)
	}
	if IsNumeric(a) && IsNumeric(b) {
		return Float, true
	}
	if t, ok := joinOption(a, b); ok {
		return t, true
	}
	if u, ok := joinStrings(a, b); ok {
		return u, true
	}
	if t, ok := joinParts(a, b); ok {
		return t, true
	}
	switch {
	case Subtype(a, b):
		return b, true
	case Subtype(b, a):
		return a, true
	case isError(a) && isError(b):
		return Error, true
	}
	return joinDeclared(a, b)
}

// joinDeclared joins the types of two agents, hosts or tools with different declarations. The join
// is Agent, Host or Tool.
func joinDeclared(a, b Type) (Type, bool) {
	x, xok := a.(*Declared)
	y, yok := b.(*Declared)
	if xok && yok && x.Kind != nil && x.Kind == y.Kind {
		return x.Kind, true
	}
	return nil, false
}

func joinNil(a, b Type) (Type, bool) {
	other := a
	if a == Nil {
		other = b
	}
	if _, ok := other.(*Option); ok {
		return other, true
	}
	return NewOption(other), true
}

func joinOption(a, b Type) (Type, bool) {
	x, xok := a.(*Option)
	y, yok := b.(*Option)
	switch {
	case xok && yok:
		if e, ok := Join(x.Elem, y.Elem); ok && !converts(x.Elem, e) && !converts(y.Elem, e) {
			return NewOption(e), true
		}
	case xok:
		if e, ok := Join(x.Elem, b); ok && !converts(x.Elem, e) {
			return NewOption(e), true
		}
	case yok:
		if e, ok := Join(a, y.Elem); ok && !converts(y.Elem, e) {
			return NewOption(e), true
		}
	}
	return nil, false
}

// converts reports whether a value of type a must be converted to the join e. An element in a
// container cannot be converted.
func converts(a, e Type) bool { return !Subtype(a, e) }

func joinStrings(a, b Type) (Type, bool) {
	x, xok := a.(*Union)
	y, yok := b.(*Union)
	if xok && yok {
		if x.within(y) {
			return y, true
		}
		if y.within(x) {
			return x, true
		}
	}
	if IsString(a) && IsString(b) {
		return String, true
	}
	return nil, false
}

// joinParts joins two container types of the same form by joining their type arguments. It returns
// false if an element would have to be converted.
func joinParts(a, b Type) (Type, bool) {
	if !sameShape(a, b) {
		return nil, false
	}
	pa, pb := Parts(a), Parts(b)
	joined := make([]Type, len(pa))
	for i := range pa {
		j, ok := Join(pa[i], pb[i])
		if !ok || converts(pa[i], j) || converts(pb[i], j) {
			return nil, false
		}
		joined[i] = j
	}
	i := -1
	return Rebuild(a, func(Type) Type { i++; return joined[i] }), true
}

func sameShape(a, b Type) bool {
	switch x := a.(type) {
	case *Array:
		_, ok := b.(*Array)
		return ok
	case *Map:
		_, ok := b.(*Map)
		return ok
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && len(x.Elems) == len(y.Elems)
	case *Result:
		_, ok := b.(*Result)
		return ok
	case *Task:
		_, ok := b.(*Task)
		return ok
	case *Named:
		y, ok := b.(*Named)
		return ok && x.Decl == y.Decl
	}
	return false
}

// isError reports whether t is Error or an error type.
func isError(t Type) bool {
	if t == Error {
		return true
	}
	n, ok := t.(*Named)
	return ok && n.Decl.Kind == ErrorStruct
}

// Conversion reports whether a value of type a is accepted where b is required, and whether it must
// be converted: Int to Float, T to Option<T>, Any to T, anything to Nil (spec/03-types.md).
func Conversion(a, b Type) (ok, convert bool) {
	a, b = Resolve(a), Resolve(b)
	switch {
	case a == b:
		return true, false
	case b == Nil:
		return true, a != Never && a != Nil
	case a == Never || a == Bad || b == Bad:
		return true, false
	}
	if _, isVar := b.(*Var); isVar {
		return Subtype(a, b), false
	}
	switch {
	case IsAny(b):
		return true, true
	case IsAny(a):
		return true, true
	case a == Int && b == Float:
		return true, true
	case IsTrait(b):
		return Subtype(a, b), true
	}
	if o, isOption := b.(*Option); isOption {
		if a == Nil {
			return true, false
		}
		if _, also := a.(*Option); !also || !Subtype(a, b) {
			if _, isVar := a.(*Var); !isVar {
				ok, _ := Conversion(a, o.Elem)
				return ok, true
			}
		}
	}
	return Subtype(a, b), false
}
