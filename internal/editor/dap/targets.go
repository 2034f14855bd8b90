package dap

import (
	"slices"
	"strings"

	"github.com/google/go-dap"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/vm"
)

// stepInTargets answers with the functions that the line of a frame calls. A method call has
// several targets if several types declare a method of that name.
func (s *session) stepInTargets(r *dap.StepInTargetsRequest) {
	s.withFrame(r, r.Arguments.FrameId, func(f *frameRef) {
		x := &dap.StepInTargetsResponse{Response: newResponse(r)}
		x.Body.Targets = []dap.StepInTarget{}
		for _, c := range callsIn(f) {
			for i, k := range s.run.debuggee.vm.StopPoints() {
				if !k.Entry || k.Handler != "" || !c.mayCall(k.Function) ||
					slices.ContainsFunc(x.Body.Targets, func(t dap.StepInTarget) bool { return t.Label == k.Function }) {
					continue
				}
				x.Body.Targets = append(x.Body.Targets, dap.StepInTarget{Id: i + 1, Label: k.Function, Line: s.lineOut(c.at.Line), Column: s.columnOut(c.at.Column)})
			}
		}
		s.send(x)
	})
}

// callSite is a call in the line of a frame.
type callSite struct {
	path   []string
	method bool
	at     source.Position
}

// mayCall reports whether the call may call a function, judging by its name.
func (c *callSite) mayCall(function string) bool {
	last := c.path[len(c.path)-1]
	of, name, method := strings.Cut(function, ".")
	if !method {
		return !c.method && function == last
	}
	return name == last && (c.method || len(c.path) > 1 && c.path[len(c.path)-2] == of)
}

// callsIn returns the calls in the line of a frame, in order.
func callsIn(f *frameRef) (all []callSite) {
	if f.Text == "" {
		return nil
	}
	file := source.NewFile(f.File, []byte(f.Text))
	tree, _ := parser.Parse(file)
	add := func(method bool, names ...*ast.Ident) {
		last := names[len(names)-1]
		if last == nil || file.LineOf(last.Span().Start) != f.Line {
			return
		}
		c := callSite{method: method, at: file.Position(last.Span().Start)}
		for _, n := range names {
			c.path = append(c.path, n.Name)
		}
		all = append(all, c)
	}
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Call:
			if p, ok := n.Fn.(*ast.PathExpr); ok && len(p.Segments) > 0 {
				add(false, p.Segments...)
			}
		case *ast.MethodCall:
			add(true, n.Name)
		}
		return true
	}
	for _, d := range tree.Decls {
		ast.Inspect(d, look)
	}
	slices.SortStableFunc(all, func(a, b callSite) int { return a.at.Column - b.at.Column })
	return all
}

// stepIn steps into the next call, or into the function that the editor selected.
func (s *session) stepIn(r *dap.StepInRequest) {
	yes := &dap.StepInResponse{Response: newResponse(r)}
	n := r.Arguments.TargetId
	if n == 0 {
		s.handleContinue(r, plan{kind: planIn}, r.Arguments.ThreadId, yes)
		return
	}
	s.withStopped(r, func(*stopState) {
		all := s.run.debuggee.vm.StopPoints()
		if n < 1 || n > len(all) {
			s.replyError(r, "unknown step-in target %d", n)
			return
		}
		s.resumeRun(r, plan{kind: planInto, into: all[n-1]}, r.Arguments.ThreadId, yes)
	})
}

// isDone reports whether a step into a function is complete. It is complete if the run has entered
// the function or has left the line.
func (p *plan) isDone(depth vm.Depth, k *vm.StopPoint) bool {
	if k.Kind == vm.StopLine && k.Entry && k.Function == p.into.Function && k.File == p.into.File {
		return true
	}
	return k.Kind == vm.StopLine && !depth.Above(p.depth) || p.depth.Above(depth) && k.Kind == vm.StopReturn
}
