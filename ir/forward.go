package ir

// Forward is a forward dataflow over a graph, with its memory: what is known at
// the beginning of each run of instructions. What is known at a point is a state
// of as many E as the dataflow is wide; where ways meet, what holds on all of
// them. Both the verifier and the optimiser's analyses are such.
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
	// Step makes of the state before instruction pc the one behind it. Where the
	// instruction stands in a region, raised is not nil: Step meets it with what
	// an error of the instruction leaves.
	Step(pc int, state, raised []E)
	// Catch makes of what a region's errors leave the state at its target, with
	// the error in a register.
	Catch(state []E, register int)
	// Meet keeps in s what holds in t too, and says whether that changed s. It
	// only ever takes away, so that every dataflow comes to an end.
	Meet(s, t []E) (changed bool)
}

// Start makes room for a dataflow over so many runs of a graph, with states of a
// width. It gives the state at the entry, to be filled in.
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

// Solve finds the states at the beginnings of the runs that Start made room for.
// Control does not come back from those behind them.
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

// run follows the states through run i and says whether one before it must be
// looked at again.
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
