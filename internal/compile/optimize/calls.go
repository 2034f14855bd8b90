package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// calls is the call graph. It contains the calls that the code determines.
type calls struct {
	p  *ir.Program
	to []int32 // callees of all functions, one function after the other
	of []int32 // index in to of each function's first callee, and the length of to at the end

	// order contains the functions. Callees precede their callers, unless they are mutually
	// recursive. cyclic contains the functions that call themselves, directly or through other
	// functions.
	order  []int32
	cyclic []bool

	often         []bool // the function probably runs many times
	loops         []bool // the function contains a loop
	makesClosures []bool // the function creates a closure and contains a call
}

// callsOf returns the call graph of a program.
func callsOf(p *ir.Program) *calls {
	n := len(p.Functions)
	c := &calls{p: p, of: make([]int32, 0, n+1), cyclic: make([]bool, n), often: make([]bool, n), loops: make([]bool, n), makesClosures: make([]bool, n)}
	names := map[string]bool{} // names of methods that are looked up at run time
	for f := range n {
		c.of = append(c.of, int32(len(c.to)))
		c.function(f, names)
	}
	c.of = append(c.of, int32(len(c.to)))
	for _, m := range p.Methods {
		if names[m.Name] {
			c.often[m.Function] = true
		}
	}
	c.sort()
	c.markRepeated()
	return c
}

// function records the calls in function n. A callee runs often if the call is in a loop. A
// function that is used as a value or looked up as a method also counts as running often, because
// its callers are unknown.
func (c *calls) function(n int, names map[string]bool) {
	f := &c.p.Functions[n]
	loop := int32(len(f.Code)) // distance of the outermost enclosing loop's start from the end of the code
	value, call := false, false
	first := len(c.to)
	for pc := len(f.Code) - 1; pc >= 0; pc-- {
		switch in := &f.Code[pc]; in.Op {
		case ir.OpLoop, ir.OpForInt, ir.OpForIntTo:
			c.loops[n] = true
			loop = min(loop, in.Imm)
		case ir.OpCall, ir.OpSpawn:
			call = true
			c.calls(in.Imm, loop <= int32(pc))
		case ir.OpLoadFunction, ir.OpNewClosure:
			value = true
			c.calls(in.Imm, true)
		case ir.OpCallMethod:
			names[*c.p.Constants[in.Imm].String] = true
		}
	}
	slices.Reverse(c.to[first:]) // if two functions call each other, the one that is called first must come first
	c.makesClosures[n] = value && call
	for l := range f.Listens { // a handler runs once for each message
		for h := range f.Listens[l].Handlers {
			code := f.Listens[l].Handlers[h].Code
			for pc := range code {
				switch in := &code[pc]; in.Op {
				case ir.OpCall, ir.OpSpawn, ir.OpLoadFunction, ir.OpNewClosure:
					c.calls(in.Imm, true)
				case ir.OpCallMethod:
					names[*c.p.Constants[in.Imm].String] = true
				}
			}
		}
	}
}

func (c *calls) calls(to int32, often bool) {
	c.to = append(c.to, to)
	c.often[to] = c.often[to] || often
}

// callees returns the functions that function n calls.
func (c *calls) callees(n int32) []int32 { return c.to[c.of[n]:c.of[n+1]] }

// sort computes order and cyclic with Tarjan's algorithm. It uses an explicit stack, because chains
// of calls can be long.
func (c *calls) sort() {
	nodes := len(c.p.Functions)
	c.order = make([]int32, 0, nodes)
	number, low := make([]int32, nodes), make([]int32, nodes) // numbers from 1; 0 means that the function has not been visited
	next := make([]int32, nodes)                              // index of the next callee to visit
	open := make([]bool, nodes)                               // the function is in a component that is not complete
	var path, component []int32
	count := int32(0)
	enter := func(n int32) {
		count++
		number[n], low[n], open[n] = count, count, true
		path, component = append(path, n), append(component, n)
	}
	for root := range int32(nodes) {
		if number[root] != 0 {
			continue
		}
		for enter(root); len(path) > 0; {
			n := path[len(path)-1]
			if to := c.callees(n); int(next[n]) < len(to) {
				m := to[next[n]]
				next[n]++
				switch {
				case number[m] == 0:
					enter(m)
				case open[m]:
					low[n] = min(low[n], number[m])
					c.cyclic[n] = c.cyclic[n] || m == n
				}
				continue
			}
			path = path[:len(path)-1]
			c.order = append(c.order, n)
			if len(path) > 0 {
				up := path[len(path)-1]
				low[up] = min(low[up], low[n])
			}
			if low[n] == number[n] {
				component = c.close(component, n, open)
			}
		}
	}
}

// close completes the strongly connected component whose first function is n.
func (c *calls) close(component []int32, n int32, open []bool) []int32 {
	for k := len(component) - 1; ; k-- {
		m := component[k]
		open[m] = false
		if m == n {
			return component[:k]
		}
		c.cyclic[m], c.cyclic[n] = true, true
	}
}

// markRepeated marks all functions that run often: the marked functions, the recursive functions,
// and all functions that one of these calls.
func (c *calls) markRepeated() {
	var work []int32
	for f := range c.often {
		if c.often[f] = c.often[f] || c.cyclic[f]; c.often[f] {
			work = append(work, int32(f))
		}
	}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for _, to := range c.callees(n) {
			if !c.often[to] {
				c.often[to] = true
				work = append(work, to)
			}
		}
	}
}

// isHot reports whether the passes should optimize a function. A function is hot if it runs often,
// contains a loop, or passes a closure to a callee with a loop, which may be inlined.
func (c *calls) isHot(n int) bool {
	if c.often[n] || c.loops[n] {
		return true
	}
	if !c.makesClosures[n] {
		return false
	}
	for _, to := range c.callees(int32(n)) {
		if c.loops[to] {
			return true
		}
	}
	return false
}
