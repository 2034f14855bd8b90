package ir

// Nop marks a deleted instruction while code is being changed. It is a Jump without a target. No
// valid program contains it.
var Nop = Instr{Op: OpJump, Imm: -1}

// Graph is the control flow graph of a list of instructions. Its nodes are runs: sequences that are
// entered only at the first instruction and left only after the last. A raised error is an edge,
// too: from every instruction of a region to the region's target. All edges lead forwards, except
// those of loops. The memory of a Graph is reused for further lists.
type Graph struct {
	Runs  []Run
	At    []int32 // number of the run of each instruction
	catch []Catch
	leads []bool
	work  []int32
}

// Run consists of the instructions [From, To), which are executed in sequence.
type Run struct {
	From, To        int
	succ            [2]int32 // successors; the first next elements are used
	next            uint8
	Reached         bool  // the run is reachable; set by Reach
	Head            bool  // a loop jumps back to this run
	catches, caught int32 // range of Graph.catch that belongs to this run
}

// Catch is a region around a run. To is the run at its target, and Register receives the error.
type Catch struct {
	To       int32
	Register int
}

// Succs returns the runs that may follow this run.
func (r *Run) Succs() []int32 { return r.succ[:r.next] }

func (r *Run) lead(to int) {
	r.succ[r.next] = int32(to)
	r.next++
}

// Around returns the regions around a run, the innermost first.
func (g *Graph) Around(r *Run) []Catch { return g.catch[r.catches:r.caught] }

// Until returns the number of runs before instruction end, which must be the end of a run.
func (g *Graph) Until(end int) int {
	if end == 0 {
		return 0
	}
	return int(g.At[end-1]) + 1
}

// Build builds the graph of code with its regions. code must have at least one instruction.
func (g *Graph) Build(code []Instr, regions []Region) {
	n := len(code)
	leads := resized(&g.leads, n+1)
	clear(leads)
	leads[0] = true
	for pc := range code {
		in := &code[pc]
		if *in == Nop {
			continue
		}
		s := &Shapes[in.Op]
		if s.Target {
			leads[in.Imm], leads[pc+1] = true, true
		} else if s.Ends {
			leads[pc+1] = true
		}
	}
	for _, r := range regions {
		leads[r.From], leads[r.To], leads[r.Target] = true, true, true
	}
	at := resized(&g.At, n)
	runs := g.Runs[:0]
	for pc := range n {
		if leads[pc] {
			if len(runs) > 0 {
				runs[len(runs)-1].To = pc
			}
			runs = append(runs, Run{From: pc})
		}
		at[pc] = int32(len(runs) - 1)
	}
	runs[len(runs)-1].To = n
	g.Runs, g.catch = runs, g.catch[:0]
	for i := range runs {
		g.link(code, regions, i)
	}
}

// link finds the successors of run i.
func (g *Graph) link(code []Instr, regions []Region, i int) {
	b := &g.Runs[i]
	b.catches = int32(len(g.catch))
	for _, r := range regions {
		if r.From <= b.From && b.From < r.To {
			g.catch = append(g.catch, Catch{g.At[r.Target], r.Register})
		}
	}
	b.caught = int32(len(g.catch))
	last := code[b.To-1]
	s := &Shapes[last.Op]
	if last != Nop && s.Target {
		to := int(g.At[last.Imm])
		b.lead(to)
		g.Runs[to].Head = g.Runs[to].Head || to <= i
	}
	if b.To < len(code) && (last == Nop || !s.Ends) {
		b.lead(i + 1)
	}
}

// Reach marks the runs that are reachable from the run from.
func (g *Graph) Reach(from int32) {
	work := append(g.work[:0], from)
	g.Runs[from].Reached = true
	for len(work) > 0 {
		b := &g.Runs[work[len(work)-1]]
		work = work[:len(work)-1]
		visit := func(to int32) {
			if !g.Runs[to].Reached {
				g.Runs[to].Reached = true
				work = append(work, to)
			}
		}
		for _, to := range b.Succs() {
			visit(to)
		}
		for _, c := range g.Around(b) {
			visit(c.To)
		}
	}
	g.work = work
}

// resized returns n elements in the memory of *s. Their content is undefined.
func resized[T any](s *[]T, n int) []T {
	if cap(*s) < n {
		*s = make([]T, n, n+n/2)
	}
	*s = (*s)[:n]
	return *s
}
