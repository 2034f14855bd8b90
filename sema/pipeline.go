package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// definePipeline checks the parameters of a pipeline and the signatures of its function stages
// (spec/13-pipelines.md).
func (c *checker) definePipeline(m *module, p *Pipeline) {
	for _, d := range p.Decl.Decorators {
		c.rejectOtherDecorator(m, d)
	}
	ts := &typeScope{m: m}
	if p.Decl.HasParams {
		p.Params = c.stageParams(ts, p.Decl.Params)
	}
	names := map[string]*ast.Stage{}
	for _, d := range p.Decl.Stages {
		if first := names[d.Name.Name]; first != nil {
			c.report(m, diag.DuplicateName.At(d.Name.Sp, "stage `%s` is declared twice", d.Name.Name).Label(first.Name.Sp, "first declared here").
				Hint("rename one of them"))
		}
		names[d.Name.Name] = d
		c.rejectOtherDecorators(m, d.Decorators)
		s := &Stage{Name: d.Name.Name, Decl: d}
		if !d.IsBinding() {
			s.Params = c.stageParams(ts, d.Params)
			s.Output, s.Unwraps = passedType(c.resolve(ts, d.Result))
		}
		p.Stages = append(p.Stages, s)
	}
	if len(p.Stages) == 0 {
		c.report(m, diag.EmptyPipeline.At(p.Decl.Name.Sp, "pipeline `%s` has no stages", p.Name).Hint("add a stage, such as `stage first(text: String) -> String { … }`"))
	}
	if !p.Decl.HasParams {
		p.Params = firstParams(p)
	}
	if p.Decl.Result != nil {
		p.Result, _ = passedType(c.resolve(ts, p.Decl.Result))
	}
}

// passedType returns the type of the value that a stage passes to the next one. For a Result this
// is the type of its Ok value. The second result reports whether t is a Result.
func passedType(t types.Type) (types.Type, bool) {
	if r, ok := types.Resolve(t).(*types.Result); ok {
		return r.Ok, true
	}
	return t, false
}

func (c *checker) stageParams(ts *typeScope, decls []*ast.Param) []*Param {
	fn := &Function{Name: "stage", Info: ts.m.info, mod: ts.m}
	for i, d := range decls {
		c.parameter(fn, ts, d, i, nil)
	}
	if len(decls) > 0 {
		c.parameterCount(ts.m, decls[len(decls)-1].Sp, len(decls))
	}
	return fn.Params
}

// firstParams returns the parameters of run for a pipeline without declared parameters. They are
// those of the first stage if it is a function stage. If the first stage is a binding stage, run
// has no parameters.
func firstParams(p *Pipeline) []*Param {
	if len(p.Stages) == 0 || p.Stages[0].Decl.IsBinding() {
		return nil
	}
	return p.Stages[0].Params
}

// checkPipeline checks the stages of a pipeline. Each stage receives the output of the previous
// one.
func (c *checker) checkPipeline(p *Pipeline) {
	m := p.mod
	b := c.newBody(m, &typeScope{m: m}, &frame{raises: true, result: types.Nil})
	b.defaults(p.Params)
	if p.Decl.HasParams {
		for _, q := range p.Params {
			b.bind(q.Local)
			q.Local.used = true
		}
	}
	var before *Stage
	first := true
	for _, s := range p.Stages {
		if s.Decorations = c.decorations(m, s.Decl.Decorators); len(s.Decorations) > 0 {
			s.Body = &Closure{Type: &types.Func{}}
		}
		if s.Decl.IsBinding() {
			b.bindingStage(s)
		} else {
			if p.Decl.HasParams || before != nil {
				b.reportDefaults(s)
			}
			s.ReceivesParameters = first && b.receivesParameters(p, s, before)
			first = false
			b.functionStage(s, before)
		}
		output := s.Output
		if s.Unwraps {
			output = &types.Result{Ok: s.Output, Err: types.Any}
		}
		c.recordCachedType(m, s.Decorations, s.Decl.Decorators, output)
		s.Local = &Local{Name: s.Name, Type: s.Output, At: s.Decl.Name.Sp, used: true}
		b.bind(s.Local)
		before = s
	}
	b.finish()
	c.pipelineResult(m, p, before)
	for _, q := range p.Params {
		if bad := undecodable(q.Type, map[*types.Decl]bool{}); bad != nil && p.Withheld == "" {
			p.Withheld = "its parameter `" + q.Name + "` has the type `" + types.Full(bad).String() + "`, which cannot be decoded from data"
		}
	}
}

func (b *body) bindingStage(s *Stage) {
	outer, before := b.frame, b.flow.clone()
	if s.Body != nil {
		b.frame = &frame{parent: outer, closure: s.Body, isRepeated: true, raises: true, result: types.Nil}
		b.frame.home = b.frame
	}
	t := b.expr(s.Decl.Value, nil)
	s.Output, s.Unwraps = passedType(types.Resolve(t))
	if b.frame = outer; s.Body != nil {
		b.flow = before
	}
	b.flow.dead = false
}

// functionStage checks the input and the body of a function stage.
func (b *body) functionStage(s, before *Stage) {
	if before != nil && !s.ReceivesParameters {
		b.receivesPrevious(s, before)
	}
	outer := b.frame
	result := types.Type(types.Nil)
	if s.Decl.Result != nil {
		result = b.info.types[s.Decl.Result.ID()]
	}
	f := &frame{parent: outer.parent, home: outer.home, result: result, raises: false}
	if s.Body != nil {
		f.parent, f.closure, f.isRepeated = outer, s.Body, true
		f.home = f
	}
	if s.Decl.Result != nil {
		f.because = reason{b.m, s.Decl.Result.Span(), "the result type of the stage"}
	}
	b.frame = f
	b.enterScope()
	for _, q := range s.Params {
		b.bind(q.Local)
	}
	b.blockValue(s.Decl.Body, result, f.because)
	b.leaveScope()
	b.flow.dead = false
	b.frame = outer
}

// reportDefaults reports defaults that are never used, because the parameter always receives a
// value.
func (b *body) reportDefaults(s *Stage) {
	for _, q := range s.Params {
		if q.Default != nil {
			b.report(diag.StageInput.At(q.Default.Span(), "parameter `%s` of stage `%s` always receives a value, so its default is never used", q.Name, s.Name).
				Hint("remove the default, or move it to the parameter of the pipeline"))
		}
	}
}

// receivesParameters reports whether the first function stage receives the pipeline's parameters,
// and checks their types. If a binding stage precedes it, it receives them only if it cannot
// receive the value of the binding stage.
func (b *body) receivesParameters(p *Pipeline, s, before *Stage) bool {
	if !p.Decl.HasParams {
		return false
	}
	if before != nil {
		fits := false
		if len(s.Params) == 1 {
			fits, _ = types.Conversion(before.Output, s.Params[0].Type)
		}
		if fits || len(s.Params) != len(p.Params) {
			return false
		}
	}
	if len(s.Params) != len(p.Params) {
		b.report(diag.StageInput.At(s.Decl.Name.Sp, "stage `%s` takes %s, but the pipeline has %d", s.Name, count(len(s.Params), "parameter"), len(p.Params)).
			Label(p.Decl.Name.Sp, "the parameters of the pipeline").Hint("the first function stage must have the same parameters as the pipeline"))
		return true
	}
	for i, q := range s.Params {
		if ok, _ := types.Conversion(p.Params[i].Type, q.Type); !ok {
			b.report(diag.StageInput.At(q.At, "stage `%s` expects `%s`, but `%s` of the pipeline is `%s`", s.Name, types.Full(q.Type), p.Params[i].Name, types.Full(p.Params[i].Type)).
				Label(p.Params[i].At, "declared here").Hint("make the types agree"))
		}
	}
	return true
}

func (b *body) receivesPrevious(s, before *Stage) {
	if len(s.Params) != 1 {
		b.report(diag.StageInput.At(s.Decl.Name.Sp, "stage `%s` takes %s, but receives one value, the output of `%s`", s.Name, count(len(s.Params), "parameter"), before.Name).
			Hint("use one parameter; the body can also use the names of earlier stages"))
		return
	}
	q := s.Params[0]
	ok, convert := types.Conversion(before.Output, q.Type)
	if !ok {
		b.report(diag.StageInput.At(q.At, "stage `%s` expects `%s`, but `%s` returns `%s`", s.Name, types.Full(q.Type), before.Name, types.Full(before.Output)).
			Label(before.Decl.Name.Sp, "this stage returns `%s`", types.Full(before.Output)).Hint("make the types agree, or add a stage between them"))
	}
	if convert {
		s.InputConv = q.Type
	}
}

func (c *checker) pipelineResult(m *module, p *Pipeline, last *Stage) {
	if last == nil {
		p.Result = types.Nil
		return
	}
	if p.Result == nil {
		p.Result = last.Output
		if v, ok := p.pending.(*types.Var); ok && v.Bound == nil {
			v.Bound = p.Result
		}
		return
	}
	ok, convert := types.Conversion(last.Output, p.Result)
	if !ok {
		c.report(m, diag.StageInput.At(last.Decl.Name.Sp, "the last stage returns `%s`, but the pipeline returns `%s`", types.Full(last.Output), types.Full(p.Result)).
			Label(p.Decl.Result.Span(), "declared here").Hint("make the types agree"))
	}
	if convert {
		p.ResultConv = p.Result
	}
}

// pipelineCall checks `P.run(args)`.
func (b *body) pipelineCall(e *ast.MethodCall, p *Pipeline, pp *piped) types.Type {
	if e.Name.Name != "run" {
		b.arguments(e.Args)
		b.report(unknownName(diag.UnknownMethod, e.Name, "pipeline `"+p.Name+"` has no method `%s`", []string{"run"}).Repair(diag.Change(e.Name.Sp, "run", "run", false), "run it with `%s.run(%s)`", p.Name, b.argumentText(e.Args)))
		return types.Bad
	}
	fn := &Function{Name: p.Name + ".run", Decl: &ast.FnDecl{}, Info: p.Info, mod: p.mod, Params: p.Params, Result: types.Nil}
	fn.Decl.Signature = p.Decl.Name.Sp
	d := &Call{Kind: CallPipeline, Pipeline: p, Name: fn.Name, Piped: pp != nil, Fn: fn}
	b.bindArguments(e, d, fn, newInstance(nil), nil, e.Args, pp)
	b.info.details[e.Id] = d
	return &types.Result{Ok: b.c.pipelineOutput(p), Err: types.Error}
}

// pipelineOutput returns the output type of a pipeline. If the pipeline declares no result type,
// pipelineOutput checks the pipeline first if necessary.
func (c *checker) pipelineOutput(p *Pipeline) types.Type {
	if p.Result != nil {
		return p.Result
	}
	if n := len(p.Stages); n > 0 && p.Stages[n-1].Output != nil {
		return p.Stages[n-1].Output
	}
	if p.pending == nil {
		p.pending = c.newVar()
	}
	return p.pending
}
