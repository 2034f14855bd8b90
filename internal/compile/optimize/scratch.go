package optimize

import "github.com/concerto-lang/concerto/ir"

// scratch is memory for the analyses. It is reused for each function, and within a function by
// consecutive analyses of the same kind.
type scratch struct {
	graph   ir.Graph
	live    liveness
	classes classFlow
	webs    webs
	facts   facts
	unbox   unboxer
	rewrite rewriting
	calls   []int32 // calls that will be inlined
	callee  []place
	targets []int32 // number of jumps to each instruction
}

// room returns a slice of n elements in the memory *s. The elements have arbitrary values.
func room[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n, n+n/2)
	}
	*s = (*s)[:n]
	return *s
}

// zeroed returns a slice of n zero elements in the memory *s.
func zeroed[T any](s *[]T, n int) []T {
	out := room(s, n)
	clear(out)
	return out
}
