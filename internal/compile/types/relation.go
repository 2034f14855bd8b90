package types

import "slices"

// Identical reports whether two types are the same. An unbound inference variable is identical only
// to itself.
func Identical(a, b Type) bool {
	a, b = Resolve(a), Resolve(b)
	if a == b {
		return true
	}
	switch x := a.(type) {
	case *Array:
		y, ok := b.(*Array)
		return ok && Identical(x.Elem, y.Elem)
	case *Map:
		y, ok := b.(*Map)
		return ok && Identical(x.Key, y.Key) && Identical(x.Value, y.Value)
	case *HashMap:
		y, ok := b.(*HashMap)
		return ok && Identical(x.Key, y.Key) && Identical(x.Value, y.Value)
	case *Queue:
		y, ok := b.(*Queue)
		return ok && Identical(x.Elem, y.Elem)
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && slices.EqualFunc(x.Elems, y.Elems, Identical)
	case *Option:
		y, ok := b.(*Option)
		return ok && Identical(x.Elem, y.Elem)
	case *Result:
		y, ok := b.(*Result)
		return ok && Identical(x.Ok, y.Ok) && Identical(x.Err, y.Err)
	case *Task:
		y, ok := b.(*Task)
		return ok && Identical(x.Elem, y.Elem)
	case *Func:
		y, ok := b.(*Func)
		return ok && slices.EqualFunc(x.Params, y.Params, Identical) && Identical(x.Result, y.Result)
	case *Union:
		y, ok := b.(*Union)
		return ok && x.within(y) && y.within(x)
	case *Named:
		y, ok := b.(*Named)
		return ok && x.Decl == y.Decl && slices.EqualFunc(x.Args, y.Args, Identical)
	case *Declared:
		y, ok := b.(*Declared)
		return ok && x.Origin == y.Origin
	}
	return false
}

func (u *Union) within(v *Union) bool {
	return !slices.ContainsFunc(u.Values, func(s string) bool { return !v.Has(s) })
}

// Has reports whether s is one of the strings in the union.
func (u *Union) Has(s string) bool { return slices.Contains(u.Values, s) }

// Subtype reports whether every value of a is a value of b without conversion (spec/03-types.md). A
// string union is a subtype of String, every error type of Error, and every type of Any. The same
// applies to the elements of containers. Subtype binds unbound variables in a and b if this is
// necessary.
func Subtype(a, b Type) bool {
	a, b = Resolve(a), Resolve(b)
	if a == b || a == Never || a == Bad || b == Bad {
		return true
	}
	if v, ok := b.(*Var); ok {
		return v.bind(a)
	}
	if v, ok := a.(*Var); ok {
		return v.bind(b)
	}
	if IsAny(b) {
		return true
	}
	if b == Error {
		return IsErrorLike(a)
	}
	if p, ok := b.(*Param); ok && p.Admits != nil {
		return !IsAny(a) && p.Admits(a)
	}
	switch x := a.(type) {
	case *Union:
		if b == String {
			return true
		}
		y, ok := b.(*Union)
		return ok && x.within(y)
	case *Declared:
		return b == Type(x.Kind) && x.Kind != nil || Identical(a, b)
	case *Array:
		y, ok := b.(*Array)
		return ok && Subtype(x.Elem, y.Elem)
	case *Map:
		y, ok := b.(*Map)
		return ok && Subtype(x.Key, y.Key) && Subtype(x.Value, y.Value)
	case *HashMap:
		y, ok := b.(*HashMap)
		return ok && Identical(x.Key, y.Key) && Identical(x.Value, y.Value)
	case *Queue:
		y, ok := b.(*Queue)
		return ok && Identical(x.Elem, y.Elem)
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && slices.EqualFunc(x.Elems, y.Elems, Subtype)
	case *Option:
		y, ok := b.(*Option)
		return ok && Subtype(x.Elem, y.Elem)
	case *Result:
		y, ok := b.(*Result)
		return ok && Subtype(x.Ok, y.Ok) && Subtype(x.Err, y.Err)
	case *Task:
		y, ok := b.(*Task)
		return ok && Subtype(x.Elem, y.Elem)
	case *Func:
		y, ok := b.(*Func)
		return ok && slices.EqualFunc(y.Params, x.Params, Subtype) && Subtype(x.Result, y.Result)
	case *Named:
		y, ok := b.(*Named)
		return ok && x.Decl == y.Decl && slices.EqualFunc(x.Args, y.Args, Subtype)
	}
	return false
}

// IsErrorLike reports whether a value of type t may be thrown. All values may be thrown except Nil,
// Option, Result, functions and Tasks, because throwing these is probably unintended.
func IsErrorLike(t Type) bool {
	switch x := Resolve(t).(type) {
	case *Option:
		return IsAny(x)
	case *Result, *Func, *Task:
		return false
	case *Basic:
		return x != Nil
	}
	return true
}

// bind binds an inference variable to t. It returns false if t contains the variable.
func (v *Var) bind(t Type) bool {
	if t == Type(v) {
		return true
	}
	if v.within(t) {
		return false
	}
	v.Bound = t
	return true
}

func (v *Var) within(t Type) bool {
	found := false
	Walk(t, func(u Type) bool {
		found = found || u == Type(v)
		return !found
	})
	return found
}

// Walk calls f for t. If f returns true, Walk does the same for the parts of t.
func Walk(t Type, f func(Type) bool) {
	t = Resolve(t)
	if !f(t) {
		return
	}
	for _, p := range Parts(t) {
		Walk(p, f)
	}
}

// Parts returns the types that t directly contains, in written order.
func Parts(t Type) []Type {
	switch x := Resolve(t).(type) {
	case *Array:
		return []Type{x.Elem}
	case *Map:
		return []Type{x.Key, x.Value}
	case *HashMap:
		return []Type{x.Key, x.Value}
	case *Queue:
		return []Type{x.Elem}
	case *Tuple:
		return x.Elems
	case *Option:
		return []Type{x.Elem}
	case *Result:
		return []Type{x.Ok, x.Err}
	case *Task:
		return []Type{x.Elem}
	case *Func:
		return append(append([]Type(nil), x.Params...), x.Result)
	case *Named:
		return x.Args
	}
	return nil
}

// Rebuild returns t with each part x replaced by f(x). It returns t itself if no part changes.
func Rebuild(t Type, f func(Type) Type) Type {
	switch x := t.(type) {
	case *Array:
		if e := f(x.Elem); e != x.Elem {
			return &Array{e}
		}
	case *Map:
		if k, v := f(x.Key), f(x.Value); k != x.Key || v != x.Value {
			return &Map{k, v, x.Message}
		}
	case *HashMap:
		if k, v := f(x.Key), f(x.Value); k != x.Key || v != x.Value {
			return &HashMap{k, v}
		}
	case *Queue:
		if e := f(x.Elem); e != x.Elem {
			return &Queue{e}
		}
	case *Tuple:
		if es, changed := rebuildList(x.Elems, f); changed {
			return &Tuple{es}
		}
	case *Option:
		if e := f(x.Elem); e != x.Elem {
			return NewOption(e)
		}
	case *Result:
		if o, e := f(x.Ok), f(x.Err); o != x.Ok || e != x.Err {
			return &Result{o, e}
		}
	case *Task:
		if e := f(x.Elem); e != x.Elem {
			return &Task{e}
		}
	case *Func:
		ps, changed := rebuildList(x.Params, f)
		if r := f(x.Result); changed || r != x.Result {
			return &Func{ps, r}
		}
	case *Named:
		if as, changed := rebuildList(x.Args, f); changed {
			return &Named{x.Decl, as}
		}
	}
	return t
}

func rebuildList(ts []Type, f func(Type) Type) ([]Type, bool) {
	var out []Type
	for i, t := range ts {
		u := f(t)
		if u != t && out == nil {
			out = append([]Type(nil), ts...)
		}
		if out != nil {
			out[i] = u
		}
	}
	if out == nil {
		return ts, false
	}
	return out, true
}

// AnyOption is Option<Any>. It has the same values as Any: None is nil, and Some(x) is x. Therefore
// each type is accepted where the other is required. But a value of type AnyOption has the methods
// of Option (spec/03-types.md, "Any").
var AnyOption = &Option{Any}

// NewOption returns the type Option<t>.
func NewOption(t Type) Type {
	if Resolve(t) == Any {
		return AnyOption
	}
	return &Option{t}
}

// Loose returns the type that operations use for t: Any for Option<Any>, otherwise t.
func Loose(t Type) Type {
	if IsAny(t) {
		return Any
	}
	return Resolve(t)
}

// IsAny reports whether t is Any or Option<Any>, which have the same values.
func IsAny(t Type) bool {
	t = Resolve(t)
	if t == Any {
		return true
	}
	o, ok := t.(*Option)
	return ok && Resolve(o.Elem) == Any
}

// Substitute replaces type parameters in t with their values in m.
func Substitute(t Type, m map[*Param]Type) Type {
	if len(m) == 0 {
		return t
	}
	var sub func(Type) Type
	sub = func(t Type) Type {
		t = Resolve(t)
		if p, ok := t.(*Param); ok {
			if r, ok := m[p]; ok {
				return r
			}
			return t
		}
		return Rebuild(t, sub)
	}
	return sub(t)
}

// Full returns t with all bound variables replaced by their types, also in its parts.
func Full(t Type) Type {
	t = Resolve(t)
	return Rebuild(t, Full)
}

// HasVar reports whether t contains an unbound variable.
func HasVar(t Type) bool {
	found := false
	Walk(t, func(u Type) bool {
		if _, ok := u.(*Var); ok {
			found = true
		}
		return !found
	})
	return found
}

// HasParam reports whether t contains a type parameter.
func HasParam(t Type) bool {
	found := false
	Walk(t, func(u Type) bool {
		if _, ok := u.(*Param); ok && !IsTrait(u) {
			found = true
		}
		return !found
	})
	return found
}

// IsNumeric reports whether t is Int or Float.
func IsNumeric(t Type) bool { t = Resolve(t); return t == Int || t == Float }

// IsString reports whether t is String or a string union.
func IsString(t Type) bool {
	t = Resolve(t)
	if t == String {
		return true
	}
	_, ok := t.(*Union)
	return ok
}

// IsHashable reports whether t may be the type of a map's keys.
func IsHashable(t Type) bool {
	t = Resolve(t)
	_, v := t.(*Var)
	_, p := t.(*Param)
	return t == Int || t == Bool || t == Bad || IsAny(t) || v || p && !IsTrait(t) || IsString(t)
}

// Bindings returns a map from type parameters to their arguments.
func Bindings(params []*Param, args []Type) map[*Param]Type {
	m := make(map[*Param]Type, len(params))
	for i, p := range params {
		m[p] = args[i]
	}
	return m
}
