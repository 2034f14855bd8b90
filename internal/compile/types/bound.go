package types

// Bound is a trait with its arguments, which a type parameter is bound by.
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

// Identical reports whether two bounds name the same trait with the same arguments. The type that
// replaces a reported error is identical to any other.
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

// Substitute replaces type parameters in the arguments by their values in m.
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

// Open reports whether a type parameter is left in the arguments.
func (b *Bound) Open() bool {
	for _, a := range b.Args {
		if HasParam(a) {
			return true
		}
	}
	return false
}
