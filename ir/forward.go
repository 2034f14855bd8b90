package ir

// Forward is a forward dataflow over a graph. It owns the memory for its states. It computes the
// state at the start of each run of instructions. A state is a slice of width elements. Where
// several paths meet, the state contains only what is true on all of them. The verifier and the
// analyses of the optimiser use it.
type Forward[E any] struct {
	Reached []bool // by run: the run is reachable
	in      []E    // states at the starts of the runs, one after the other
	width   int
	now     []E // state within the current run
	raised  []E // state after errors of the current run's instructions
	landed  []E
}

// Lattice describes how instructions change a state. The methods modify the state that they
// receive.
type Lattice[E any] interface {
	// Step changes the state before instruction pc to the state after it. If the instruction is in
	// a region, raised is not nil, and Step meets raised with the state after an error of the
	// instruction.
	Step(pc int, state, raised []E)
	// Catch changes the state after the errors of a region to the state at the region's target.
	// There the register contains the error.
	Catch(state []E, register int)
	// Meet retains in s only what is also true in t, and reports whether s changed. It only removes
	// information, so that every dataflow terminates.
	Meet(s, t []E) (changed bool)
}

// Start allocates the states for the first runs of a graph. Each state has width elements. Start
// returns the state at the entry, which the caller must set.
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

// In returns the state at the start of a reachable run.
func (f *Forward[E]) In(run int) []E { return f.in[run*f.width : (run+1)*f.width] }

// Solve computes the states at the starts of the runs for which Start allocated states. No run
// after them may jump back to them.
func (f *Forward[E]) Solve(g *Graph, l Lattice[E]) {
	for changed := true; changed; {
		changed = false
		for i, reached := range f.Reached {
			if reached {
				changed = f.run(g, i, l) || changed
			}
		}
	}
}

// run propagates the states through run i. It reports whether an earlier run must be visited again.
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
		f.arrive(int(c.To), f.landed, l) // the target of a region is always a later run
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
