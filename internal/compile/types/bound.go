package types

// Bound is a trait with its type arguments. It is a requirement for the values of a type parameter.
type Bound struct {
	Trait *Trait
	Args  []Type
}

func (b *Bound) String() string {
	if len(b.Args) == 0 {
		return b.Trait.Name
	}
	return b.Trait.Name + "<" + list(b.Args) + ">"
}

// Identical reports whether two bounds have the same trait and identical type arguments. The type
// Bad is identical to any other type argument.
func (b *Bound) Identical(o *Bound) bool {
	if b.Trait != o.Trait || len(b.Args) != len(o.Args) {
		return false
	}
	for i := range b.Args {
		if !Identical(b.Args[i], o.Args[i]) && Resolve(b.Args[i]) != Bad && Resolve(o.Args[i]) != Bad {
			return false
		}
	}
	return true
}

// Substitute replaces type parameters in the type arguments with their values in m.
func (b *Bound) Substitute(m map[*Param]Type) *Bound {
	if len(b.Args) == 0 || len(m) == 0 {
		return b
	}
	out := &Bound{Trait: b.Trait, Args: make([]Type, len(b.Args))}
	for i, a := range b.Args {
		out.Args[i] = Full(Substitute(a, m))
	}
	return out
}

// Open reports whether the type arguments contain a type parameter.
func (b *Bound) Open() bool {
	for _, a := range b.Args {
		if HasParam(a) {
			return true
		}
	}
	return false
}
