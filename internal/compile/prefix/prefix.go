// Package prefix warns about programs whose requests to a model do not begin like the requests
// before them, so that the provider's cache is not read (spec/07-agents.md). It runs after the
// checker, whose tables it reads, and follows texts through variables, operators, the program's
// functions and their parameters. Where it cannot follow a text, it assumes nothing.
package prefix

import (
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// leastText is the number of characters of constant text from which on a changing value before it
// is worth a warning, and the assumed number in a file.
const leastText = 1000

// leastWindow is the size of the smallest memory in which dropping several messages at once saves
// anything: an exchange appends two.
const leastWindow = 5

// sends contains the methods of agents whose first argument is sent.
var sends = []string{"execute", "execute_with_schema", "execute_typed", "stream", "stream_with_schema", "chat"}

// analysis is the state of one call of Check.
type analysis struct {
	p      *sema.Program
	caches func(*sema.Agent) bool
	list   diag.List
	seen   map[any]bool // agents' memories, and positions, that have been reported
	defs   map[*ast.Block]map[*sema.Local][]def
	depth  int // number of expressions that are being followed into each other
	steps  int // number of expressions that were followed for a call of an agent
}

// Check returns the warnings about a program without errors. caches reports whether the provider of
// an agent's model has a cache.
func Check(p *sema.Program, caches func(*sema.Agent) bool) diag.List {
	a := &analysis{p: p, caches: caches, seen: map[any]bool{}, defs: map[*ast.Block]map[*sema.Local][]def{}}
	if !slices.ContainsFunc(p.Agents, caches) {
		return a.list
	}
	for _, agent := range p.Agents {
		if s, ok := agent.Fields["memory"].(*sema.Store); ok && caches(agent) {
			a.memory(agent, s)
		}
	}
	for _, fn := range p.Functions {
		if !fn.Info.Library && fn.Decl != nil && fn.Decl.Body != nil && !a.seen[fn.Decl] && callsAgent(fn.Decl.Body) {
			a.seen[fn.Decl] = true
			p.CompleteFunction(fn)
			a.body(fn.Info, fn.Decl.Body)
		}
	}
	for _, pl := range p.Pipelines {
		for _, s := range pl.Stages {
			if s.Decl.Body != nil && callsAgent(s.Decl.Body) {
				a.body(pl.Info, s.Decl.Body)
			}
		}
	}
	return a.list
}

// callsAgent reports whether a body contains calls with the names of an agent's methods.
func callsAgent(body *ast.Block) (found bool) {
	inspect(body, func(n ast.Node) {
		m, ok := n.(*ast.MethodCall)
		found = found || ok && (slices.Contains(sends, m.Name.Name) || m.Name.Name == "with_tools" || m.Name.Name == "with_memory")
	})
	return found
}

// body checks the calls of agents in a body.
func (a *analysis) body(info *sema.Info, body *ast.Block) {
	s := a.newScope(info, body)
	inspect(body, func(n ast.Node) {
		call, ok := n.(*ast.MethodCall)
		if !ok || len(call.Args) == 0 {
			return
		}
		agent := agentOf(info, call.Recv)
		if agent == nil || !a.caches(agent) {
			return
		}
		s.use, a.steps = call.Sp.Start, 0
		x := call.Args[0].Value
		switch name := call.Name.Name; {
		case name == "with_tools":
			if v := a.changing(s, x); v != nil {
				a.report(info, diag.ChangingTools.At(x.Span(), "the tools depend on `%s`, so requests begin differently each time", v.name).
					Hint("choose the tools by something that stays the same, or offer all of them"))
			}
		case name == "with_memory":
			if store, ok := objectOf(info, x).(*sema.Store); ok {
				a.memory(agent, store)
			}
		case slices.Contains(sends, name):
			a.prompt(agent, a.text(s, x))
		}
	})
}

// agentOf returns the agent that is the value of an expression, or nil if it is not known.
func agentOf(info *sema.Info, x ast.Expr) *sema.Agent {
	if t, ok := types.Resolve(info.TypeOf(x)).(*types.Declared); ok {
		agent, _ := t.Origin.(*sema.Agent)
		return agent
	}
	return nil
}

// prompt reports the first changing value of a text if much constant text follows it.
func (a *analysis) prompt(agent *sema.Agent, text []piece) {
	first := firstChanging(text)
	if first < 0 {
		return
	}
	after := 0
	for _, p := range text[first:] {
		after += p.length
	}
	if after < leastText {
		return
	}
	v := text[first].value
	what := "text"
	if slices.ContainsFunc(text[first:], func(p piece) bool { return p.file }) {
		what = "text of the file"
	}
	a.report(v.info, diag.EarlyChange.At(v.at, "the value of `%s` changes, so agent `%s` never reads the %s after it from the provider's cache", v.name, agent.Name, what).
		Hint("move it to the end of the prompt"))
}

// firstChanging returns the index of the first changing value of a text, or -1.
func firstChanging(text []piece) int {
	return slices.IndexFunc(text, func(p piece) bool { return p.value != nil })
}

// memory reports a memory that drops messages at each call once it is full.
func (a *analysis) memory(agent *sema.Agent, s *sema.Store) {
	if s.Window < leastWindow || s.Trim != 0 || a.seen[s] {
		return
	}
	a.seen[s] = true
	x := s.Decl.Value
	if m, ok := x.(*ast.MethodCall); ok { // with_persistence
		x = m.Recv
	}
	call, ok := x.(*ast.Call)
	if !ok || len(call.Args) == 0 {
		return
	}
	half := s.Window / 2
	trim := diag.Insert(call.Args[len(call.Args)-1].Value.Span().End, fmt.Sprintf(", trim: %d", half))
	a.report(s.Info, diag.FullMemory.At(call.Sp, "once this memory has %d messages, each call of agent `%s` drops the oldest two, and the provider's cache reads only the system prompt", s.Window, agent.Name).
		Repair(diag.UnsafeFix(trim, "Drop %d messages at once", half), "write `Memory::new(%d, trim: %d)`, which drops %d messages at once", s.Window, half, half))
}

// report adds a warning about a file, once for each position.
func (a *analysis) report(info *sema.Info, d *diag.Diagnostic) {
	at := struct {
		info *sema.Info
		at   source.Span
		of   *diag.Info
	}{info, d.Span, d.Info}
	if a.seen[at] || !a.p.Reports(info, d) {
		return
	}
	a.seen[at] = true
	a.list.Add(d.In(info.File.Source))
}

// inspect calls visit for a node and the nodes below it, except in declarations.
func inspect(n ast.Node, visit func(ast.Node)) {
	visit(n)
	ast.Children(n, func(c ast.Node) {
		if _, ok := c.(*ast.DeclStmt); !ok {
			inspect(c, visit)
		}
	})
}
