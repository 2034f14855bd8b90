// Package optimize rewrites a program's IR into equivalent IR that takes less time. It runs after
// codegen and before the VM or the writing of the file; its output passes ir.Verify as its input
// does, and prints the same way.
//
// A pass is a row of Passes: a name, a file of its own, a switch. Each pass alone results in a
// correct program, with or without the others. The passes do not change what a program emits, the
// errors that it raises with their places and traces, or what it copies or leaves uncopied.
//
// Code that runs once gains nothing, and the passes take longer than all the rest of compiling. So
// they work on hot functions only (calls.go): those that have a loop, or pass a closure to one that
// has; those that are called in a loop or in a handler, can call themselves, or are used as values;
// and what these call. In a hot function that does not itself run often, only linear passes change
// the code after its last loop. The pass "hot" is this choice: without it the passes work on all
// functions.
//
// The handlers of a listen are not changed, and neither is a function of more than maxCode
// instructions.
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
	Doc  string // what it does, for --help and the manual
}

// Passes are the optimizer's passes in the order in which they run.
var Passes = [...]Pass{
	inlining:  {"inline", "small functions, and closures given to small functions, in place of their calls"},
	deciding:  {"decide", "a test that an earlier one has decided is not made: nested patterns become decision trees"},
	splitting: {"split", "a register that holds one value after another becomes several"},
	unboxing:  {"unbox", "numbers that only pass through self-describing registers stay plain, arrays of them typed"},
	copying:   {"copy", "a copy's reader reads the original"},
	folding:   {"fold", "what is computed from constants is computed now; constants in place; tests known in advance"},
	cse:       {"cse", "common subexpressions: what has been read, checked or computed already is not again"},
	owning:    {"own", "what is owned already is not walked to again; no mark for what holds no container"},
	threading: {"thread", "a jump to a jump goes where that goes"},
	killing:   {"dead", "dead stores: removes instructions whose results are not read; computes a value that is only moved directly in its target register"},
	hoisting:  {"hoist", "what is the same in each round of a loop is computed before it"},
	matching:  {"match", "moves the tests of a match of an Int, an enum or a String to its start, where the VM uses a table for them"},
	choosing:  {"hot", "the others work only on functions that may run often: with a loop, or called in one, by themselves or as a value"},
}

const (
	inlining = iota
	deciding
	splitting
	unboxing
	copying
	folding
	cse
	owning
	threading
	killing
	hoisting
	matching
	choosing
)

// Set is a choice of passes.
type Set uint32

// None and All are the smallest and the largest choice.
const (
	None Set = 0
	All  Set = 1<<len(Passes) - 1
)

// Only is the pass with a number alone.
func Only(n int) Set { return 1 << n }

func (s Set) has(n int) bool { return s>>n&1 != 0 }

// Parse reads a choice of passes: "all", "none", or names separated by commas.
// A name that begins with "-" removes that pass; when it comes first, it is
// removed from all passes.
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

// maxCode bounds the functions that are optimised, in instructions. The
// analyses are linear in the usual case only, and a longer function is hardly
// one hot loop.
const maxCode = 4000

// optimizer is the work on one program.
type optimizer struct {
	p      *ir.Program
	calls  *ir.Calls
	on     Set
	ints   map[int64]int32
	floats map[uint64]int32
	ready  []bool // functions whose code does not change any more

	callees    []callee
	savedNames map[int]*savedNaming // by function
	acting     []bool               // by function; nil before it is asked (happens.go)

	scratch scratch
}

// Program rewrites the functions of p by the passes of a choice, callees first.
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

// function rewrites one function.
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

// shortCode bounds the length of a function without a loop that gets all passes
// and more than one round: another function's loop may call it. For a longer
// function without a loop they do not pay.
const shortCode = 60

// loops reports whether an instruction leads back to the head of a loop.
func loops(in ir.Instr) bool { return ir.Shapes[in.Op].Back }

// end returns the end of the code that can run again: the end of the function
// when it runs often, else the end of its last loop.
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

// blocks counts the blocks up to end and the one after it, where the values that the last loop
// leaves are read.
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

// rounds bounds how often the passes are repeated: one pass makes work for
// another.
const rounds = 2

func (u *unit) passes() {
	on := u.o.on
	if on.has(inlining) {
		u.inlineCalls()
	}
	if u.end() == 0 {
		return // what it has been given stays with others
	}
	worth := len(u.code) <= shortCode || slices.ContainsFunc(u.code, loops)
	for round := range rounds {
		u.changed = false
		if on.has(deciding) {
			decide(u)
		}
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
	if on.has(matching) {
		match(u)
		u.pack()
	}
}

// byWebs runs the passes that work on whole values.
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

// sweep applies the passes that use facts to each instruction.
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
