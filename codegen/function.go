package codegen

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// builder is the state of generating one function.
type builder struct {
	g *generator
	// info is the file of the current expression, home the file of the function.
	info, home *sema.Info
	out        ir.Function
	emitter

	top   int // first free register
	vars  map[*sema.Local]*variable
	isVar [256]bool // true for registers that hold a variable
	spill spill
	names names

	leave leave
	// depth is the number of enclosing regions and handlers.
	depth int
	// moving is the use of a variable whose value is moved in the current assignment to this
	// variable.
	moving *ast.PathExpr
	// scope is the code that runs while the variables of the next pattern live.
	scope scope
	loops []*loop
	pipes []pipedInto
	tries map[*ast.TryExpr]*try
	seen  analyses
	inner inner
	// declared is the declared function whose body the builder generates, or nil.
	declared *sema.Function
	// returnsSelf reports that the function returns the value of its first parameter, the receiver.
	returnsSelf bool
}

// analyses caches the results of analyses of the tree.
type analyses struct {
	touched map[ast.Node]*touch    // what each node can change (touch.go)
	uses    map[*ast.Block]*uses   // uses of variables in each block (lastuse.go)
	moves   map[*ast.PathExpr]bool // last uses of variables, which move their values (lastuse.go)
}

// inner counts the closures and bodies in the function, which get numbered names.
type inner struct{ closures, bodies int }

// signature is the calling convention of a function.
type signature struct {
	params []ir.Class
	result ir.Class
	abi    ir.ABI
}

// signatureOf returns the calling convention of fn. fn has the full ABI if the VM calls it, or if
// all its registers are Full.
func (g *generator) signatureOf(fn *sema.Function) signature {
	s := signature{result: class(fn.Result), abi: ir.Typed}
	full := fn.Tool != nil || fn == g.p.Main || fn.Async || fn.IsTest() || fn.IsEval() || fn == g.p.Guard
	for i, p := range fn.Params {
		c := class(p.Type)
		if full || i == 0 && fn.MutSelf {
			c = ir.Full
		}
		s.params = append(s.params, c)
	}
	if full {
		s.result = ir.Full
	}
	if s.isFull() {
		s.abi = ir.FullABI
	}
	return s
}

func (s signature) isFull() bool {
	for _, c := range s.params {
		if c != ir.Full {
			return false
		}
	}
	return s.result == ir.Full
}

// newFn starts generating a function. The function's parameters are in the registers from 1 on.
func (g *generator) newFn(info *sema.Info, name string, at source.Pos, s signature) *builder {
	f := &builder{g: g, info: info, home: info, top: 1 + len(s.params), vars: map[*sema.Local]*variable{},
		emitter: emitter{pos: at, places: source.Cursor{File: info.File.Source}}}
	f.out = ir.Function{Name: name, File: g.file(info), Line: f.places.Position(at).Line,
		Params: s.params, ABI: s.abi, Result: s.result, Registers: f.top}
	f.out.Code, f.out.Positions = g.code[:0], g.positions[:0]
	g.code, g.positions = nil, nil
	f.blk = &f.out.Block
	return f
}

// build generates function n. If the function needs more registers than the machine has, build
// generates it again, and puts its later variables into a spill block.
func (g *generator) build(n int, body func(spilled bool) *builder) {
	mark := g.mark()
	f := body(false)
	if f.spill.overflow {
		g.reset(mark)
		f = body(true)
	}
	if f.spill.overflow {
		g.diags.Add(diag.TooManyRegisters.At(source.Span{Start: f.spill.at, End: f.spill.at}, "expression in `%s` is too large", f.out.Name).
			Hint("assign parts of the expression to variables, or move them into a function").In(f.info.File.Source))
	}
	g.code, g.positions = f.out.Code, f.out.Positions
	f.out.Code, f.out.Positions = slices.Clone(g.code), slices.Clone(g.positions)
	g.out.Functions[n] = f.out
}

// mark contains the lengths of functions and queue. reset uses them before a function is generated
// again.
type mark struct{ functions, queue int }

func (g *generator) mark() mark { return mark{len(g.out.Functions), len(g.queue)} }

// reset removes the functions that were reserved after m. It does not remove constants and types,
// because generating them again does not duplicate them.
func (g *generator) reset(m mark) {
	g.out.Functions = g.out.Functions[:m.functions]
	g.queue = g.queue[:m.queue]
	for k, n := range g.adapters {
		if n >= m.functions {
			delete(g.adapters, k)
		}
	}
}

// function generates a declared function. A decorated function becomes two functions: the outer
// one, which callers call, and the inner one, which contains the function's code.
func (g *generator) function(n int, fn *sema.Function) {
	s := g.signatureOf(fn)
	if len(fn.Decorations) > 0 {
		inner := g.reserve()
		g.decoratedFunction(n, inner, fn)
		n = inner
	}
	if fn.Remote() {
		g.remoteFunction(n, fn)
		return
	}
	g.build(n, func(spilled bool) *builder {
		f := g.newFn(fn.Info, fn.Name, fn.Decl.Span().Start, s)
		f.returnsSelf = fn.MutSelf && fn.Tool == nil
		f.out.MutSelf, f.out.OnUnknown = f.returnsSelf, fn.OnUnknown
		f.startSpill(spilled)
		for i, p := range fn.Params {
			f.param(p.Local, 1+i, s.params[i])
			if v := f.vars[p.Local]; v != nil {
				v.borrowed = g.readOnly[p]
			}
		}
		f.leave, f.declared = leave{kind: leaveFunction, result: fn.Result}, fn
		f.findMoves(fn.Decl.Body)
		f.body(fn.Decl.Body, fn.Result)
		return f.finishFunction()
	})
}

// taskEntry generates the function at which a run of main with a parameter starts, and returns its
// index. It calls main, which is function n, with the task of the run, or with the default of the
// parameter.
func (g *generator) taskEntry(fn *sema.Function, n int) int {
	i := g.reserve()
	g.build(i, func(bool) *builder {
		f := g.newFn(fn.Info, ir.TaskEntry, fn.Decl.Span().Start, signature{result: ir.Full, abi: ir.FullABI})
		effect, given := ir.OptionalTask, &label{}
		if fn.TaskIsRequired() {
			effect = ir.RequiredTask
		}
		w := f.alloc()
		task := f.alloc()
		f.emit(ir.OpPerform, task, 0, 0, f.g.stringConst(effect))
		f.jumpNil(task, given, false)
		f.defaultArgument(fn.Params[0], fn.Info, fn.Name, task, ir.Full)
		f.bindLabel(given)
		f.emit(ir.OpCall, w, 0, 0, int32(n))
		f.emit(ir.OpReturn, w, 0, 0, 0)
		return f.finishFunction()
	})
	return i
}

// body generates the block of a function and returns the block's value.
func (f *builder) body(b *ast.Block, result types.Type) {
	if types.Resolve(result) == types.Nil {
		f.block(b)
		f.updatePosition(b.Span().End - 1)
		f.returnNil()
		return
	}
	v := f.blockValue(b, result, -1, true)
	f.updatePosition(f.end(b))
	f.returnValue(v, result)
}

// end returns the source position of the instruction that returns a body's value. The position is
// the closing brace. If the value is just a variable, the position is that of the variable.
func (f *builder) end(b *ast.Block) source.Pos {
	if f.endsInVariable(b) {
		return b.Tail.Span().Start
	}
	return b.Span().End - 1
}

// endsInVariable reports whether the value of a block is a variable.
func (f *builder) endsInVariable(b *ast.Block) bool {
	if b.Tail == nil {
		return false
	}
	p, ok := unparen(f.info, b.Tail).(*ast.PathExpr)
	if ok {
		_, ok = f.info.Object(p).(*sema.Local)
	}
	return ok
}

// finishFunction completes the function after its last instruction.
func (f *builder) finishFunction() *builder {
	f.finishSpill()
	f.finishLocals()
	return f
}

// param binds the register reg of a parameter to the variable l. l is nil for an unused parameter.
func (f *builder) param(l *sema.Local, reg int, c ir.Class) {
	f.isVar[reg] = true
	if l == nil {
		return
	}
	v := &variable{reg: reg, class: c}
	if l.Cell {
		v.class, v.cell = ir.Full, true
		if c != ir.Full {
			f.box(reg, reg, c)
		}
		f.emit(ir.OpNewCell, reg, reg, 0, 0)
	}
	f.putVariable(l, v)
	f.hasValue(v)
}
