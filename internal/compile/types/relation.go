package types

// Identical reports whether two types are the same. Unbound inference variables
// are identical only to themselves.
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
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && identicalLists(x.Elems, y.Elems)
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
		return ok && identicalLists(x.Params, y.Params) && Identical(x.Result, y.Result)
	case *Union:
		y, ok := b.(*Union)
		return ok && x.within(y) && y.within(x)
	case *Named:
		y, ok := b.(*Named)
		return ok && x.Decl == y.Decl && identicalLists(x.Args, y.Args)
	case *Declared:
		y, ok := b.(*Declared)
		return ok && x.Origin == y.Origin
	}
	return false
}

func identicalLists(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Identical(a[i], b[i]) {
			return false
		}
	}
	return true
}

func (u *Union) within(v *Union) bool {
	for _, x := range u.Values {
		if !v.Has(x) {
			return false
		}
	}
	return true
}

// Has reports whether s is one of the union's literals.
func (u *Union) Has(s string) bool {
	for _, v := range u.Values {
		if v == s {
			return true
		}
	}
	return false
}

// Subtype reports whether every value of a is a value of b without conversion: a
// string union is a String, any error an Error, anything an Any, and the same
// for elements of containers (spec/03-types.md). Unbound variables in a and b
// are bound as needed.
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
	case *Tuple:
		y, ok := b.(*Tuple)
		return ok && subtypeLists(x.Elems, y.Elems)
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
		return ok && subtypeLists(y.Params, x.Params) && Subtype(x.Result, y.Result)
	case *Named:
		y, ok := b.(*Named)
		return ok && x.Decl == y.Decl && subtypeLists(x.Args, y.Args)
	}
	return false
}

func subtypeLists(a, b []Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !Subtype(a[i], b[i]) {
			return false
		}
	}
	return true
}

// IsErrorLike reports whether values of t are accepted where an Error is expected. Any value may be
// thrown, except those of Nil, Option, Result, function and Task types, which are probably an error
// of the author.
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

// bind fixes an inference variable, refusing a type that contains it.
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

// Walk calls f on t and, while f returns true, on its parts.
func Walk(t Type, f func(Type) bool) {
	t = Resolve(t)
	if !f(t) {
		return
	}
	for _, p := range Parts(t) {
		Walk(p, f)
	}
}

// Parts are the types that t is built of, in written order.
func Parts(t Type) []Type {
	switch x := Resolve(t).(type) {
	case *Array:
		return []Type{x.Elem}
	case *Map:
		return []Type{x.Key, x.Value}
	case *HashMap:
		return []Type{x.Key, x.Value}
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

// Rebuild is t with its parts mapped by f; t itself when none changes.
func Rebuild(t Type, f func(Type) Type) Type {
	switch x := t.(type) {
	case *Array:
		if e := f(x.Elem); e != x.Elem {
			return &Array{e}
		}
	case *Map:
		if k, v := f(x.Key), f(x.Value); k != x.Key || v != x.Value {
			return &Map{k, v}
		}
	case *HashMap:
		if k, v := f(x.Key), f(x.Value); k != x.Key || v != x.Value {
			return &HashMap{k, v}
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

// AnyOption is Option<Any>. It has the same values as Any: None is nil, and
// Some(x) is x. So each is accepted where the other is, but AnyOption has the
// methods of Option (spec/03-types.md, "Any").
var AnyOption = &Option{Any}

// NewOption is Option<t>.
func NewOption(t Type) Type {
	if Resolve(t) == Any {
		return AnyOption
	}
	return &Option{t}
}

// Loose is t as operations see it: for Option<Any>, Any.
func Loose(t Type) Type {
	if IsAny(t) {
		return Any
	}
	return Resolve(t)
}

// IsAny reports whether t is Any or Option<Any>, which hold the same values.
func IsAny(t Type) bool {
	t = Resolve(t)
	if t == Any {
		return true
	}
	o, ok := t.(*Option)
	return ok && Resolve(o.Elem) == Any
}

// Substitute replaces type parameters by their values in m.
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

// Full is t with all bound variables looked through, also within.
func Full(t Type) Type {
	t = Resolve(t)
	return Rebuild(t, Full)
}

// HasVar reports whether an unbound variable is left in t.
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

// HasParam reports whether a type parameter is left in t.
func HasParam(t Type) bool {
	found := false
	Walk(t, func(u Type) bool {
		if _, ok := u.(*Param); ok {
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

// IsHashable reports whether t may be a map's key.
func IsHashable(t Type) bool {
	t = Resolve(t)
	_, v := t.(*Var)
	_, p := t.(*Param)
	return t == Int || t == Bool || t == Bad || IsAny(t) || v || p || IsString(t)
}

// Bindings returns the arguments of type parameters, by their parameters.
func Bindings(params []*Param, args []Type) map[*Param]Type {
	m := make(map[*Param]Type, len(params))
	for i, p := range params {
		m[p] = args[i]
	}
	return m
}
