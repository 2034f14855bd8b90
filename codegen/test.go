package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/ir"
)

// tests adds the test functions to the program's list of tests.
func (g *generator) tests() {
	for _, t := range g.p.Tests {
		g.out.Tests = append(g.out.Tests, ir.Test{Name: t.Name, Function: g.numbers.functions[t.Fn], ExpectFail: t.ExpectFail, Expect: t.Expect})
	}
}

// evals adds the evals to the program's list of evals.
func (g *generator) evals() {
	for _, e := range g.p.Evals {
		n, isIncluded := g.numbers.functions[e.Fn]
		if !isIncluded || e.Row == nil {
			continue
		}
		out := ir.Eval{Name: e.Name, Function: n, FunctionName: e.Fn.Name, Data: e.Data, DataFunction: -1, Row: g.typeIndex(e.Row), Repeat: e.Repeat, Cluster: e.Cluster, Margin: e.Margin, Fields: e.Fields, GateBuiltins: e.GateBuiltins}
		if e.Rows != nil {
			out.Data, out.DataFunction = e.Rows.Name, g.numbers.functions[e.Rows]
		}
		for _, m := range e.Metrics {
			out.Metrics = append(out.Metrics, ir.Metric(m))
		}
		g.out.Evals = append(g.out.Evals, out)
	}
}

// guard adds the function that decides about calls of agents.
func (g *generator) guard() {
	if fn := g.p.Guard; fn != nil && len(fn.Params) == 1 {
		g.out.Guard = &ir.Guard{Function: g.numbers.functions[fn], Approval: g.typeIndex(fn.Params[0].Type)}
	}
}

// mock generates a mock statement. It calls a function of the library with a map of the fields, and
// with the agent, the host or the name of the server.
func (f *builder) mock(s *ast.MockStmt) {
	defer f.free(f.top)
	d := f.info.Mock(s)
	if d == nil || d.Install == nil {
		bug(f.info, s.Sp, "a mock without detail")
	}
	w := f.alloc()
	party, script := f.alloc(), f.alloc()
	switch {
	case d.Server != nil:
		f.stringValue(d.Server.Server, party)
	case d.Agent != nil:
		f.emit(ir.OpLoadAgent, party, 0, 0, int32(f.g.numbers.agents[d.Agent]))
	default:
		f.emit(ir.OpLoadHost, party, 0, 0, int32(f.g.numbers.hosts[d.Host]))
	}
	base := f.top
	for _, field := range s.Fields {
		f.stringValue(field.Name.Name, f.alloc())
		f.ownInto(field.Value, f.alloc())
	}
	f.emit(ir.OpNewMap, script, base, len(s.Fields), 0)
	f.free(base)
	f.invoke(d.Install, w)
}
