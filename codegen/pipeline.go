package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// A pipeline becomes one function. It contains the stages in sequence. Each stage is in a region,
// and the function emits lifecycle events before and after the stage (spec/13-pipelines.md). The
// function's result is a Result<Out, Error>.

func (g *generator) pipelineSignature(p *sema.Pipeline) signature {
	s := signature{result: ir.Full, abi: ir.Typed}
	for _, q := range p.Params {
		s.params = append(s.params, class(q.Type))
	}
	if s.isFull() {
		s.abi = ir.FullABI
	}
	return s
}

// pipe is the state of generating a pipeline's function. Its numbers are registers.
type pipe struct {
	p       *sema.Pipeline
	result  int // result of the pipeline
	started int // start time of the pipeline, in milliseconds
	stage   int // start time of the current stage, in milliseconds
	error   int // current error
	value   int // value of the current stage; if the stage's result is a Result, its Ok value
}

func (g *generator) pipeline(n int, p *sema.Pipeline) {
	g.enqueue(func() {
		g.build(n, func(spilled bool) *builder {
			f := g.newFn(p.Info, p.Name+".run", p.Decl.Name.Span().Start, g.pipelineSignature(p))
			f.startSpill(spilled)
			for i, q := range p.Params {
				if p.Decl.HasParams {
					f.param(q.Local, 1+i, f.out.Params[i])
				} else {
					f.param(nil, 1+i, f.out.Params[i])
				}
			}
			x := &pipe{p: p, result: f.alloc(), started: f.alloc(), stage: f.alloc(), error: f.alloc(), value: f.alloc()}
			for _, r := range []int{x.result, x.started, x.stage, x.error, x.value} {
				f.isVar[r] = true
			}
			f.stages(x)
			f.emit(ir.OpReturn, x.result, 0, 0, 0)
			return f.finishFunction()
		})
	})
}

// stages generates all stages of a pipeline and the code that ends the pipeline.
func (f *builder) stages(x *pipe) {
	failed, end := &label{}, &label{}
	f.now(x.started)
	f.lifecycle("pipeline:start", x, nil, -1)
	var before *sema.Stage
	for _, s := range x.p.Stages {
		f.updatePosition(s.Decl.Name.Span().Start)
		f.oneStage(x, s, before, failed)
		before = s
	}
	f.updatePosition(x.p.Decl.Name.Span().Start)
	f.lifecycle("pipeline:complete", x, nil, x.started)
	out := val{reg: x.value, class: ir.Full}
	if before != nil && x.p.ResultConv != nil {
		out = f.boxed(f.convert(out, before.Output, x.p.ResultConv, -1), -1)
	}
	f.markShared(out, types.Any)
	f.emit(ir.OpNewOk, x.result, out.reg, 0, 0)
	f.jump(ir.OpJump, 0, 0, end)
	f.bindLabel(failed)
	f.emit(ir.OpNewErr, x.result, x.error, 0, 0)
	f.bindLabel(end)
}

// oneStage generates a stage. It puts the stage's unwrapped value into the register x.value and
// into the variable with the stage's name. An error jumps to failed.
func (f *builder) oneStage(x *pipe, s, before *sema.Stage, failed *label) {
	v := f.declare(s.Local)
	top := f.top
	f.now(x.stage)
	f.lifecycle("pipeline:stage_start", x, s, -1)
	from := f.next()
	f.depth++
	if len(s.Decorations) > 0 {
		f.move(x.value, ir.Full, f.decoratedStage(x, s, before))
	} else if s.Decl.IsBinding() {
		f.move(x.value, ir.Full, f.bindingStage(s))
	} else {
		f.functionStage(x, s, before)
	}
	f.depth--
	to := f.next()
	f.free(top)
	good, bad := &label{}, &label{}
	if s.Unwraps {
		f.jump(ir.OpJumpVariant, x.value, 0, good)
		f.emit(ir.OpField, x.error, x.value, 0, 0)
		f.jump(ir.OpJump, 0, 0, bad)
	} else {
		f.jump(ir.OpJump, 0, 0, good)
	}
	f.catchRegion(from, to, x.error)
	f.bindLabel(bad)
	f.lifecycle("pipeline:error", x, s, x.stage)
	f.jump(ir.OpJump, 0, 0, failed)
	f.bindLabel(good)
	if s.Unwraps {
		f.emit(ir.OpField, x.value, x.value, 0, 0)
	}
	f.markShared(val{reg: x.value, class: ir.Full}, s.Output)
	f.init(v, val{reg: x.value, class: ir.Full})
	f.free(top)
	f.lifecycle("pipeline:stage_complete", x, s, x.stage)
}

func (f *builder) bindingStage(s *sema.Stage) val {
	v := f.value(s.Decl.Value, -1)
	f.markShared(v, f.resultType(s.Decl.Value))
	return v
}

// functionStage generates a stage's body in the pipeline's frame. A `return` in the body ends the
// stage.
func (f *builder) functionStage(x *pipe, s, before *sema.Stage) {
	for i, q := range s.Params {
		v := f.declare(q.Local)
		top := f.top
		in, from := f.stageInput(x, before, s, i)
		f.markShared(in, from)
		f.init(v, f.convert(in, from, q.Type, -1))
		f.free(top)
	}
	out := &label{}
	f.leave = leave{kind: leaveStage, result: stageResult(f, s), out: out, dst: x.value}
	loops := f.loops
	f.loops = nil
	f.stageBody(s.Decl.Body)
	f.loops = loops
	f.bindLabel(out)
	f.leave = leave{}
}

// stageInput returns parameter i of a function stage before its conversion, and the type of this
// value. The value is a parameter of the pipeline, or the value of the previous stage.
func (f *builder) stageInput(x *pipe, before, s *sema.Stage, i int) (val, types.Type) {
	if before != nil && !s.ReceivesParameters {
		return val{reg: x.value, class: ir.Full}, before.Output
	}
	t := x.p.Params[i].Type
	if x.p.Decl.HasParams {
		return f.load(f.variable(x.p.Params[i].Local), t, -1), t
	}
	return val{reg: 1 + i, class: f.out.Params[i]}, t
}

func (f *builder) stageBody(b *ast.Block) {
	v := f.blockValue(b, f.leave.result, -1, false)
	if !f.dead {
		f.move(f.leave.dst, ir.Full, v)
	}
}

// stageResult returns the declared result type of a function stage.
func stageResult(f *builder, s *sema.Stage) types.Type {
	if s.Decl.Result == nil {
		return types.Nil
	}
	return f.info.Written(s.Decl.Result)
}

// now puts the time of the monotonic clock, in milliseconds, into register r as a boxed value.
func (f *builder) now(r int) {
	w := f.alloc()
	f.emit(ir.OpPerform, w, 0, 0, f.g.stringConst("clock"))
	f.emit(ir.OpField, r, w, 1, 0)
	f.free(w)
}

// lifecycle emits a lifecycle event of the pipeline. since is the register with the start time for
// an event that reports an end, or -1 for an event that reports a start.
func (f *builder) lifecycle(channel string, x *pipe, s *sema.Stage, since int) {
	if f.dead {
		return
	}
	top := f.top
	m := f.alloc()
	base := f.top
	pair := func(key string, value func(r int)) {
		f.stringValue(key, f.alloc())
		value(f.alloc())
	}
	pair("name", func(r int) { f.stringValue(x.p.Name, r) })
	if s != nil {
		pair("stage", func(r int) { f.stringValue(s.Name, r) })
	}
	if since >= 0 {
		pair("duration_ms", func(r int) {
			f.now(r)
			f.emit(ir.OpSubInt, r, r, since, 0)
			f.box(r, r, ir.Int)
		})
	}
	if channel == "pipeline:error" {
		pair("error", func(r int) { f.emit(ir.OpErrorField, r, x.error, 0, f.g.stringConst("message")) })
	}
	n := (f.top - base) / 2
	f.emit(ir.OpNewMap, m, base, n, 0)
	c := f.stringValue(channel, base)
	f.emit(ir.OpEmit, c.reg, m, 0, 0)
	f.free(top)
}

// publicPipeline describes a pipeline for callers outside the program.
func (g *generator) publicPipeline(p *sema.Pipeline) ir.Pipeline {
	out := ir.Pipeline{Run: ir.ToolMethod{Name: p.Name, Description: p.Decl.Doc}, Stages: len(p.Stages), Withheld: p.Withheld}
	if p.Withheld == "" {
		out.Run.Function = g.pipelineAdapter(p)
		out.Run.Params = g.toolParams(p.Params, p.Info, p.Name+".run")
		out.Run.Result = g.typeIndex(p.Result)
	}
	return out
}

// pipelineAdapter returns the index of a function that calls the pipeline for external callers.
func (g *generator) pipelineAdapter(p *sema.Pipeline) int {
	own := g.pipelineSignature(p)
	if own.abi == ir.FullABI {
		return g.numbers.pipelines[p]
	}
	n := g.reserve()
	g.enqueue(func() {
		s := signature{result: ir.Full, abi: ir.FullABI}
		for range p.Params {
			s.params = append(s.params, ir.Full)
		}
		g.build(n, func(bool) *builder {
			f := g.newFn(p.Info, p.Name+".run", p.Decl.Name.Span().Start, s)
			w := f.alloc()
			for i, class := range own.params {
				f.move(f.alloc(), class, val{reg: 1 + i, class: ir.Full})
			}
			f.emit(ir.OpCall, w, 0, 0, int32(g.numbers.pipelines[p]))
			f.emit(ir.OpReturn, w, 0, 0, 0)
			return f.finishFunction()
		})
	})
	return n
}
