// Package optimize rewrites the IR of a program into equivalent IR that takes less time. It runs
// after codegen, before the VM runs the IR or the compiler stores it. Its output passes ir.Verify.
//
// A pass is a row of Passes. It has a name and can be switched on and off. Each set of passes
// results in a correct program. The passes do not change the program's effects, its errors with
// their positions and traces, or which containers it copies.
//
// Optimizing code that runs once would take longer than it saves. Therefore the passes work only on
// hot functions (calls.go). A function is hot if it contains a loop, passes a closure to a function
// with a loop, is called in a loop or a handler, is recursive, or is used as a value. Functions
// that a hot function calls are hot, too. In a hot function that does not run often itself, the
// code after the last loop is changed only by passes that take linear time. The pass "hot" is this
// restriction: without it the passes work on all functions.
//
// The handlers of a listen, and functions with more than maxCode instructions, are not changed.
package optimize

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ir"
)

// Pass is one optimisation.
type Pass struct {
	Name string
}

// Passes are the optimizer's passes in the order in which they run.
var Passes = [...]Pass{
	inlining:  {"inline"}, // replace calls of small functions, and of closures given to small functions, by their code
	splitting: {"split"},  // give each value of a register that holds several in turn its own register
	unboxing:  {"unbox"},  // store numbers that only pass through full registers in typed ones, and arrays of them as typed arrays
	copying:   {"copy"},   // let readers of a copy read the original
	folding:   {"fold"},   // compute constant expressions and tests; put constants into instructions
	cse:       {"cse"},    // reuse results of earlier reads, checks and computations
	owning:    {"own"},    // skip ownership checks that are known to succeed, and marks of values without containers
	threading: {"thread"}, // retarget jumps to jumps
	killing:   {"dead"},   // remove instructions whose results are not read; compute moved values in their target register
	hoisting:  {"hoist"},  // compute values that are equal in each round of a loop before the loop
	choosing:  {"hot"},    // limit the other passes to functions that may run often: with a loop, called in one, or used as a value
}

const (
	inlining = iota
	splitting
	unboxing
	copying
	folding
	cse
	owning
	threading
	killing
	hoisting
	choosing
)

// Set is a set of passes.
type Set uint32

// None is the empty set of passes. All contains all passes.
const (
	None Set = 0
	All  Set = 1<<len(Passes) - 1
)

// Only returns the set that contains only the pass with index n.
func Only(n int) Set { return 1 << n }

func (s Set) has(n int) bool { return s>>n&1 != 0 }

// Parse returns the set of passes that a text describes: "all", "none", or names separated by
// commas. A name after a "-" removes the pass. If the text starts with a "-", the pass is removed
// from the set of all passes.
func Parse(text string) (Set, error) {
	s := None
	for i, name := range strings.Split(text, ",") {
		name, out := strings.CutPrefix(strings.TrimSpace(name), "-")
		if i == 0 && out {
			s = All
		}
		one, err := named(name)
		if err != nil {
			return None, err
		}
		if out {
			s &^= one
		} else {
			s |= one
		}
	}
	return s, nil
}

func named(name string) (Set, error) {
	switch name {
	case "all":
		return All, nil
	case "none":
		return None, nil
	}
	var names []string
	for n, p := range Passes {
		if p.Name == name {
			return Only(n), nil
		}
		names = append(names, p.Name)
	}
	return None, fmt.Errorf("there is no pass %q: give all, none, or some of %s", name, strings.Join(names, ", "))
}

// maxCode is the maximum number of instructions in a function that is optimized. The analyses are
// not linear in all cases, and a longer function is rarely one hot loop.
const maxCode = 4000

// optimizer is the state of optimizing one program.
type optimizer struct {
	p      *ir.Program
	calls  *ir.Calls
	on     Set
	ints   map[int64]int32
	floats map[uint64]int32
	ready  []bool // functions whose code no longer changes

	callees    []callee
	savedNames map[int]*savedNaming // by function index
	acting     []bool               // by function index; nil until needed (happens.go)

	scratch scratch
}

// Program optimizes the functions of p with the given passes. Callees precede their callers.
func Program(p *ir.Program, on Set) {
	if on&^Only(choosing) == None {
		return
	}
	o := &optimizer{p: p, calls: ir.NewCalls(p), on: on, ready: make([]bool, len(p.Functions)), callees: make([]callee, len(p.Functions)), savedNames: map[int]*savedNaming{}}
	c := callsOf(p)
	hot := make([]bool, len(p.Functions))
	for n := range hot {
		hot[n] = !on.has(choosing) || c.isHot(n)
		o.ready[n] = !hot[n]
	}
	for _, n := range c.order {
		if hot[n] {
			o.function(int(n), c.often[n] || !on.has(choosing))
			o.ready[n] = true
		}
	}
}

// function optimizes function n. often reports that it runs often.
func (o *optimizer) function(n int, often bool) {
	f := &o.p.Functions[n]
	if len(f.Code) > maxCode {
		return
	}
	u := newUnit(o, n)
	u.often = often
	u.passes()
	u.store()
}

// shortCode is the maximum number of instructions in a function without a loop to which all passes
// are applied for several rounds. Such a function may be called in the loop of another function.
// For longer functions the passes would take too much time.
const shortCode = 60

// loops reports whether an instruction jumps back to the head of a loop.
func loops(in ir.Instr) bool { return ir.Shapes[in.Op].Back }

// end returns the end of the code that may run several times. It is the end of the function if the
// function runs often, and otherwise the end of its last loop.
func (u *unit) end() int {
	if u.often {
		return len(u.code)
	}
	for pc := len(u.code) - 1; pc >= 0; pc-- {
		if loops(u.code[pc]) {
			return pc + 1
		}
	}
	return 0
}

// blocks returns the number of blocks up to end, plus the block after end, which reads the results
// of the last loop.
func (u *unit) blocks() int {
	g := u.graph()
	return min(g.Until(u.end())+1, len(g.Runs))
}

// inLoop reports whether an instruction is in a loop.
func (u *unit) inLoop(pc int) bool {
	for at := pc; at < len(u.code); at++ {
		if in := &u.code[at]; loops(*in) && int(in.Imm) <= pc {
			return true
		}
	}
	return false
}

// rounds is the maximum number of times that the passes are repeated. A pass may create
// opportunities for other passes.
const rounds = 2

func (u *unit) passes() {
	on := u.o.on
	if on.has(inlining) {
		u.inlineCalls()
	}
	if u.end() == 0 {
		return // the unit only refers to memory that it shares with other functions
	}
	worth := len(u.code) <= shortCode || slices.ContainsFunc(u.code, loops)
	for round := range rounds {
		u.changed = false
		if worth {
			u.byWebs(on.has(splitting) && round == 0, on.has(unboxing))
		}
		if on.has(copying) || on.has(folding) || on.has(cse) || on.has(owning) {
			u.sweep()
		}
		if on.has(threading) {
			thread(u)
		}
		if on.has(killing) {
			deadStores(u)
		}
		u.pack()
		if !u.changed || !worth {
			break
		}
	}
	if on.has(hoisting) && worth {
		hoist(u)
	}
}

// byWebs runs the passes that need webs.
func (u *unit) byWebs(splitting, unboxing bool) {
	unboxing = unboxing && u.mayUnbox()
	splitting = splitting && u.f.Registers < frameRoom
	if !splitting && !unboxing {
		return
	}
	w := u.webs()
	if splitting {
		split(u, w)
	}
	if unboxing {
		unbox(u, w)
	}
}

// sweep runs the passes that need facts for each instruction.
func (u *unit) sweep() {
	k := u.facts(everything, u.end())
	on := u.o.on
	k.each(func(pc int, holds bitset) {
		if on.has(copying) {
			k.propagateCopies(pc, holds)
		}
		if on.has(folding) {
			k.fold(pc, holds)
		}
		if on.has(cse) {
			k.cse(pc, holds)
		}
		if on.has(owning) {
			k.removeOwnSteps(pc, holds)
		}
	})
}
