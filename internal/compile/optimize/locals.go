package optimize

import (
	"slices"

	"github.com/concerto-lang/concerto/ir"
)

// This file updates the registers of variables (ir.Local) when the code of a function changes.
// Codegen assigns one register to each variable, but passes move values to other registers.
// Therefore each instruction that sets a variable records the variable (place.defs). The passes
// preserve this information as they preserve the source position. At the end, a dataflow analysis
// computes the register of each variable at each instruction. Positions at which the register is
// unknown are omitted.

// variable is a variable of the function or of an inlined call.
type variable struct {
	name     string
	slot     int // slot in the spill block, as in ir.Local
	from, to int // scope of the variable
	param    int // register of the parameter at the start of the function; 0 if the variable is no parameter
	within   int // number of the inlined call that contains the variable; 0 for the function itself
}

// naming contains the information about the variables of a function.
type naming struct {
	vars  []variable
	sets  [][]int32 // sets of variables; place.defs and place.lost are indices of this list, and index 0 is the empty set
	calls []int     // number of each call in unit.inlined; nil while there are none
	made  int       // number of the last inlined call
}

func (n *naming) set(vars ...int32) int32 {
	if len(n.sets) == 0 {
		n.sets = append(n.sets, nil)
	}
	n.sets = append(n.sets, vars)
	return int32(len(n.sets) - 1)
}

func (n *naming) of(set int32) []int32 {
	if set == 0 {
		return nil
	}
	return n.sets[set]
}

// both returns the index of the union of two sets.
func (n *naming) both(a, b int32) int32 {
	switch {
	case a == 0 || a == b:
		return b
	case b == 0:
		return a
	}
	return n.set(append(slices.Clone(n.of(a)), n.of(b)...)...)
}

// here returns the place without its information about variables.
func (p place) here() place { return place{line: p.line, column: p.column} }

// name reads the variables that codegen has recorded for the function, and records which
// instructions set them.
func (u *unit) name() {
	params := len(u.f.Params)
	for range u.inlined { // calls that were inlined before these passes
		u.names.made++
		u.names.calls = append(u.names.calls, u.names.made)
	}
	for _, l := range u.f.Locals {
		v := variable{name: l.Name, slot: l.Slot, from: l.From, to: l.To}
		if l.Register <= params && l.Reserved == 0 {
			v.param = l.Register
		}
		n := u.names.set(int32(len(u.names.vars)))
		u.names.vars = append(u.names.vars, v)
		for pc := l.Reserved; pc < l.To; pc++ {
			if r, _, _ := u.sets(u.code[pc]); r == l.Register {
				u.places[pc].defs = u.names.both(u.places[pc].defs, n)
			}
		}
	}
}

// named returns the places and the variables of a function that is inlined, as the function's own
// passes have left them.
func (u *unit) named(f *ir.Function, n int) ([]place, *naming) {
	if k := u.o.savedNames[n]; k != nil {
		return k.places, &k.names
	}
	places := unfold(&u.s.callee, &f.Block)
	if len(f.Locals) == 0 {
		return places, &naming{}
	}
	callee := &unit{o: u.o, p: u.p, n: n, f: f, s: u.s, code: f.Code, places: places}
	callee.name()
	return places, &callee.names
}

// savedNaming is the information about the variables of a function that may be inlined later.
type savedNaming struct {
	places []place
	names  naming
}

// saveNames stores the information about the variables of a small function, because the function
// may be inlined.
func (u *unit) saveNames() {
	if len(u.names.vars) > 0 && len(u.code) <= closureCode {
		u.o.savedNames[u.n] = &savedNaming{slices.Clone(u.places), u.names}
	}
}

// adopted is the state of adding the variables of an inlined function.
type adopted struct {
	callee *naming
	vars   int         // number that is added to the callee's indices of variables
	calls  map[int]int // new numbers of the calls that are inlined in the callee
	sets   map[int32]int32
}

// adopt adds the variables of a callee. scopes sets their scopes later.
func (u *unit) adopt(callee *naming) *adopted {
	a := &adopted{callee: callee, vars: len(u.names.vars), calls: map[int]int{}, sets: map[int32]int32{}}
	u.names.made++
	a.calls[0] = u.names.made
	for _, c := range callee.calls {
		u.names.made++
		a.calls[c] = u.names.made
	}
	for _, v := range callee.vars {
		v.within, v.param = a.calls[v.within], 0
		u.names.vars = append(u.names.vars, v)
	}
	return a
}

// scopes sets the scopes of the variables in the new code. The callee's instructions start at from.
func (a *adopted) scopes(u *unit, from int, start []int32) {
	for i, v := range a.callee.vars {
		x := &u.names.vars[a.vars+i]
		x.from, x.to = from+int(start[v.from]), from+int(start[v.to])
	}
}

// call returns the new number of call i, which is inlined in the callee.
func (a *adopted) call(i int) int {
	if i < len(a.callee.calls) {
		return a.calls[a.callee.calls[i]]
	}
	return a.calls[0]
}

// place converts a place of the callee to a place of the caller.
func (a *adopted) place(u *unit, p place) place {
	p.defs, p.lost = a.set(u, p.defs), a.set(u, p.lost)
	return p
}

func (a *adopted) set(u *unit, n int32) int32 {
	if n == 0 {
		return 0
	}
	if _, found := a.sets[n]; !found {
		all := slices.Clone(a.callee.of(n))
		for i := range all {
			all[i] += int32(a.vars)
		}
		a.sets[n] = u.names.set(all...)
	}
	return a.sets[n]
}

// takeArguments records that the instructions directly before a call, which set its arguments, set
// the callee's parameters.
func (u *unit) takeArguments(w int, a *adopted, b *buffer) {
	for i, v := range a.callee.vars {
		if v.param == 0 {
			continue
		}
		n := u.names.set(int32(a.vars + i))
		for at := len(b.code) - 1; at >= 0 && !b.leads(at); at-- {
			if b.code[at] == nop {
				continue
			}
			r, _, lost := u.sets(b.code[at])
			if r == w+v.param {
				b.places[at].defs = u.names.both(b.places[at].defs, n)
			}
			if r == w+v.param || lost <= w+v.param {
				break
			}
		}
	}
}

// leads reports whether control may enter the new code at an instruction other than from the
// previous one, or leave it there. It considers only what the code determines.
func (b *buffer) leads(at int) bool {
	in := b.code[at]
	return in != nop && (ir.Shapes[in.Op].Target || ir.Shapes[in.Op].Ends)
}

// moveScopes converts the scopes of the first count variables to new code.
func (n *naming) moveScopes(count int, moved []int32) {
	for i := range n.vars[:count] {
		v := &n.vars[i]
		v.from, v.to = int(moved[v.from]), int(moved[v.to])
	}
}

// isReadable reports whether a debugger may read a variable that the instruction at pc sets,
// because an effect may occur within the variable's scope.
func (u *unit) isReadable(pc int) bool {
	if u.places[pc].defs == 0 || makesFunction(u.code[pc].Op) {
		return false
	}
	for _, n := range u.names.of(u.places[pc].defs) {
		v := u.names.vars[n]
		for at := v.from; at < v.to; at++ {
			if u.o.happens(u.code[at]) {
				return true
			}
		}
	}
	return false
}

func makesFunction(op ir.Op) bool { return op == ir.OpNewClosure || op == ir.OpLoadFunction }

// dropSetter records that an instruction which set a variable is removed.
func (u *unit) dropSetter(pc int) {
	p := &u.places[pc]
	if in := u.code[pc]; in.A == in.B && isMove(in.Op) {
		return // the variable already has the value
	}
	p.lost, p.defs = u.names.both(p.lost, p.defs), 0
}

// transferLocals moves the information about variables from a removed instruction to its
// replacement.
func (u *unit) transferLocals(from, to int) {
	u.places[to].defs = u.names.both(u.places[to].defs, u.places[from].defs)
	u.places[from].defs = 0
}

// storeNames stores the computed locations of the variables in the function.
func (u *unit) storeNames() {
	u.f.Locals = nil
	if len(u.names.vars) == 0 {
		return
	}
	all := u.located()
	for n := range all {
		all[n] = u.removeShadowed(n, all[n])
	}
	calls := map[int]int{}
	for i, number := range u.names.calls {
		u.inlined[i].Locals = nil
		calls[number] = i
	}
	for n, v := range u.names.vars {
		i, inlined := calls[v.within]
		switch {
		case v.within == 0:
			u.f.Locals = append(u.f.Locals, all[n]...)
		case inlined:
			x := &u.inlined[i]
			for _, l := range all[n] {
				l.From, l.To = max(l.From, x.From), min(l.To, x.To)
				if l.From < l.To {
					x.Locals = append(x.Locals, l)
				}
			}
		}
	}
}

// removeShadowed removes from a variable's ranges the scopes of later variables with the same name.
func (u *unit) removeShadowed(n int, all []ir.Local) []ir.Local {
	v := &u.names.vars[n]
	for _, o := range u.names.vars[n+1:] {
		if o.name != v.name || o.within != v.within || o.from >= v.to || o.to <= v.from {
			continue
		}
		var left []ir.Local
		for _, l := range all {
			before, after := l, l
			before.To, after.From = min(l.To, o.from), max(l.From, o.to)
			for _, part := range []ir.Local{before, after} {
				if part.From < part.To {
					left = append(left, part)
				}
			}
		}
		all = left
	}
	return all
}
