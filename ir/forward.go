package ir

// Forward is a forward dataflow over a graph, with its memory. It finds the
// state at the beginning of each run of instructions. A state is a slice of
// width elements; where several paths meet, it keeps what holds on all of them.
// The verifier and the optimiser's analyses are such dataflows.
type Forward[E any] struct {
	Reached []bool // by run: control may come there
	in      []E    // by run, one state after the other
	width   int
	now     []E // within the run under way
	raised  []E // what the errors of its instructions leave
	landed  []E
}

// Lattice says what instructions do to states, which it changes in place.
type Lattice[E any] interface {
	// Step changes the state before instruction pc into the state behind it.
	// When the instruction is in a region, raised is not nil: Step meets raised
	// with the state that an error of the instruction leaves.
	Step(pc int, state, raised []E)
	// Catch changes the state that the errors of a region leave into the state
	// at the region's target, where the register holds the error.
	Catch(state []E, register int)
	// Meet keeps in s what also holds in t, and says whether that changed s. It
	// only ever takes away, so every dataflow comes to an end.
	Meet(s, t []E) (changed bool)
}

// Start makes room for a dataflow over the first runs of a graph, with states
// of width elements. It gives the state at the entry, which the caller fills
// in.
func (f *Forward[E]) Start(runs, width int) (entry []E) {
	f.width = width
	clear(resized(&f.Reached, runs))
	resized(&f.in, runs*width)
	for _, s := range []*[]E{&f.now, &f.raised, &f.landed} {
		resized(s, width)
	}
	f.Reached[0] = true
	return f.In(0)
}

// In is the state at the beginning of a run that is reached.
func (f *Forward[E]) In(run int) []E { return f.in[run*f.width : (run+1)*f.width] }

// Solve finds the states at the beginnings of the runs that Start made room
// for. Control must not come back to them from later runs.
func (f *Forward[E]) Solve(g *Graph, l Lattice[E]) {
	for again := true; again; {
		again = false
		for i, reached := range f.Reached {
			if reached {
				again = f.run(g, i, l) || again
			}
		}
	}
}

// run carries the states through run i and says whether an earlier run must be
// visited again.
func (f *Forward[E]) run(g *Graph, i int, l Lattice[E]) (again bool) {
	b := &g.Runs[i]
	copy(f.now, f.In(i))
	var raised []E
	around := g.Around(b)
	if len(around) > 0 {
		raised = f.raised
		copy(raised, f.now)
	}
	for pc := b.From; pc < b.To; pc++ {
		l.Step(pc, f.now, raised)
	}
	for _, to := range b.Succs() {
		again = f.arrive(int(to), f.now, l) && int(to) <= i || again
	}
	for _, c := range around {
		copy(f.landed, raised)
		l.Catch(f.landed, c.Register)
		f.arrive(int(c.To), f.landed, l) // it stands behind
	}
	return again
}

func (f *Forward[E]) arrive(to int, s []E, l Lattice[E]) (changed bool) {
	if to >= len(f.Reached) {
		return false
	}
	if !f.Reached[to] {
		f.Reached[to] = true
		copy(f.In(to), s)
		return true
	}
	return l.Meet(f.In(to), s)
}
