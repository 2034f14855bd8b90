package optimize

import "github.com/concerto-lang/concerto/ir"

// scratch is the memory of the analyses. It is reused from function to function
// and, within a function, by successive analyses of the same kind.
type scratch struct {
	graph   ir.Graph
	live    liveness
	classes classFlow
	webs    webs
	facts   facts
	unbox   unboxer
	rewrite rewriting
	calls   []int32 // to be inlined
	callee  []place
	targets []int32 // by instruction: how many jumps lead there
}

// room returns n elements in the memory of *s, whatever they hold.
func room[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n, n+n/2)
	}
	*s = (*s)[:n]
	return *s
}

// zeroed is room, with nothing in it.
func zeroed[T any](s *[]T, n int) []T {
	out := room(s, n)
	clear(out)
	return out
}
