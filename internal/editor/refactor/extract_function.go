package refactor

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// extractFunction moves an expression or statements into a new function. The function's parameters
// are the variables that the moved code reads. It returns the variables that the moved code
// declares and later code uses.
func extractFunction(in *Input) []diag.Edit {
	p := in.selectedPart()
	if p == nil {
		return nil
	}
	own := in.moduleDecl(p.span)
	if own == nil || !in.isSelfContained(p) {
		return nil
	}
	params, args, ok := in.parameters(p)
	if !ok {
		return nil
	}
	result, ok := in.resultOf(p)
	if !ok {
		return nil
	}
	errType, ok := in.leavingErrorType(p, result)
	if !ok {
		return nil
	}
	name := in.freshName("extracted")
	call := name + "(" + strings.Join(args, ", ") + ")"
	body := in.File.Slice(p.span)
	if result.value != "" {
		body += "\n" + result.value
	}
	if errType != "" {
		call += "?"
		body = in.wrapBody(p, result)
		result.typ = "Result<" + orNil(result.typ) + ", " + errType + ">"
	}
	head := "fn " + name + "(" + strings.Join(params, ", ") + ")"
	if result.typ != "" {
		head += " -> " + result.typ
	}
	return []diag.Edit{diag.Replace(p.span, result.bind(call, p)), in.insertAfter(own, head+" {\n"+body+"\n}")}
}

// insertAfter adds a declaration after another one. The caller formats the result.
func (in *Input) insertAfter(d ast.Decl, text string) diag.Edit {
	return diag.Insert(d.Span().End, "\n\n"+in.indent(d.Span().Start)+text)
}

func orNil(t string) string {
	if t == "" {
		return "Nil"
	}
	return t
}

// part is the code that becomes a function.
type part struct {
	span  source.Span
	nodes []ast.Node // the expression, or the statements followed by the block's tail expression
	expr  ast.Expr   // the expression or the tail; nil if there are only statements
	whole bool       // the part is an expression without statements
	block *ast.Block // innermost block around the part
	fn    ast.Node   // function or closure around the part
}

// selectedPart returns the expression or the statements in the selected range, or nil if the range
// is anything else.
func (in *Input) selectedPart() *part {
	nodes, e := in.selectedExpr()
	if !in.isComplete() || in.At.Start == in.At.End {
		return nil
	}
	if e != nil && !strings.HasSuffix(in.File.Slice(in.At), ";") {
		if in.isCalled(nodes) || in.isPlace(nodes) || !in.isValue(e) {
			return nil
		}
		p := &part{span: e.Span(), nodes: []ast.Node{e}, expr: e, whole: true}
		return p.withContext(nodes[:len(nodes)-1])
	}
	around := in.nodesAround(in.At)
	for i := len(around) - 1; i >= 0; i-- {
		if b, ok := around[i].(*ast.Block); ok {
			return in.statements(b, around[:i+1])
		}
	}
	return nil
}

// statements returns the statements of a block in the selected range. It returns nil if the range
// contains no statement or only a part of one.
func (in *Input) statements(b *ast.Block, around []ast.Node) *part {
	p := &part{}
	for _, s := range b.Stmts {
		if s.Span().End <= in.At.Start || s.Span().Start >= in.At.End {
			continue
		}
		if !in.At.Contains(s.Span()) {
			return nil
		}
		switch s.(type) {
		case *ast.LetStmt, *ast.ExprStmt:
		default:
			return nil
		}
		p.nodes = append(p.nodes, s)
	}
	if b.Tail != nil && b.Tail.Span().Start < in.At.End {
		if !in.At.Contains(b.Tail.Span()) || !in.isValue(b.Tail) {
			return nil
		}
		p.nodes, p.expr = append(p.nodes, b.Tail), b.Tail
	}
	if len(p.nodes) == 0 {
		return nil
	}
	p.span = spanFrom(p.nodes[0], p.nodes[len(p.nodes)-1])
	return p.withContext(around)
}

// withContext sets the block and the function around a part. Both are nil outside of a function
// body.
func (p *part) withContext(around []ast.Node) *part {
	for i := len(around) - 1; i >= 0; i-- {
		switch n := around[i].(type) {
		case *ast.Block:
			if p.block == nil {
				p.block = n
			}
		case *ast.FnDecl:
			if p.block == nil {
				return nil
			}
			p.fn = n
			return p
		case *ast.Closure:
			if p.fn == nil {
				p.fn = n
			}
		case ast.Pattern, ast.Type, *ast.Decorator, *ast.Param, *ast.Stage, *ast.MockStmt:
			return nil
		}
		if p.fn != nil && p.block != nil {
			return p
		}
	}
	return nil
}

// isValue reports whether an expression has a type that a function can return, including the type
// of no value.
func (in *Input) isValue(e ast.Expr) bool {
	return in.Info.TypeOf(e) == types.Nil || in.hasValue(e)
}

// isPlace reports whether the last of nodes is assigned to or mutated.
func (in *Input) isPlace(nodes []ast.Node) bool {
	for i := len(nodes) - 1; i > 0; i-- {
		switch p := nodes[i-1].(type) {
		case *ast.FieldExpr, *ast.IndexExpr, *ast.TupleIndex, *ast.ParenExpr:
			continue
		case *ast.MethodCall:
			c := in.Info.Call(p)
			return ast.Node(p.Recv) == nodes[i] && (c == nil || c.Fn == nil || c.Fn.MutSelf)
		case *ast.Assign:
			return ast.Node(p.Target) == nodes[i]
		}
		return false
	}
	return false
}

// isSelfContained reports whether a part has the same meaning outside of its function. This
// requires that no jump leaves the part and that the part refers to no local declarations.
func (in *Input) isSelfContained(p *part) bool {
	alone := true
	for _, n := range p.nodes {
		alone = alone && !jumpsOut(n, 0, nil)
	}
	around := in.nodesAround(p.span)
	for _, n := range around {
		switch n := n.(type) {
		case *ast.PipelineDecl, *ast.TraitDecl:
			return false
		case *ast.Block: // declarations in a block are local to that block
			for _, s := range n.Stmts {
				if _, d := s.(*ast.DeclStmt); d {
					return false
				}
			}
		}
	}
	for _, r := range in.Refs() {
		if !p.span.Contains(r.At) {
			continue
		}
		switch text := in.File.Slice(r.At); {
		case text == "Self" || text == "self", r.Def.Kind == sema.DefStage, r.Def.Kind == sema.DefTypeParam:
			return false
		}
	}
	return alone
}

// jumpsOut reports whether a node contains a `return`, or a `break` or `continue` of a loop outside
// of the node.
func jumpsOut(n ast.Node, loops int, labels []string) (out bool) {
	isInnerLabel := func(label *ast.Ident) bool {
		if label == nil {
			return loops > 0
		}
		for _, l := range labels {
			if l == label.Name {
				return true
			}
		}
		return false
	}
	enter := func(label *ast.Ident) {
		loops++
		if label != nil {
			labels = append(labels[:len(labels):len(labels)], label.Name)
		}
	}
	switch n := n.(type) {
	case *ast.Closure, ast.Decl:
		return false
	case *ast.ReturnExpr:
		return true
	case *ast.BreakExpr:
		out = !isInnerLabel(n.Label)
	case *ast.ContinueExpr:
		out = !isInnerLabel(n.Label)
	case *ast.ForExpr:
		enter(n.Label)
	case *ast.WhileExpr:
		enter(n.Label)
	case *ast.LoopExpr:
		enter(n.Label)
	case *ast.ParallelFor:
		enter(nil)
	}
	ast.Children(n, func(c ast.Node) { out = out || jumpsOut(c, loops, labels) })
	return out
}

// parameters returns the parameters that a part needs and the arguments for them. ok is false if
// the part assigns a variable of its function.
func (in *Input) parameters(p *part) (params, args []string, ok bool) {
	ok = true
	seen := map[*sema.Local]bool{}
	for _, n := range p.nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Assign:
				ok = ok && !in.refersOutside(p, rootVariable(n.Target))
			case *ast.MethodCall:
				if c := in.Info.Call(n); c == nil || c.Fn == nil || c.Fn.MutSelf {
					l := in.outsideLocal(p, rootVariable(n.Recv))
					ok = ok && (l == nil || !l.Mut)
				}
			case *ast.PathExpr:
				l := in.outsideLocal(p, n)
				if l == nil || seen[l] {
					break
				}
				seen[l] = true
				t, can := typeText(l.Type)
				ok = ok && can && !l.Cell && !l.Late && l.Name != "self"
				params, args = append(params, l.Name+": "+t), append(args, l.Name)
			}
			return ok
		})
	}
	return params, args, ok
}

// rootVariable returns the variable at the beginning of an assignable expression such as `v.a[0]`.
func rootVariable(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.FieldExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.TupleIndex:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return e
		}
	}
}

func (in *Input) refersOutside(p *part, e ast.Expr) bool { return in.outsideLocal(p, e) != nil }

// outsideLocal returns the variable that an expression names if the variable is declared in the
// part's function, outside of the part. Otherwise it returns nil.
func (in *Input) outsideLocal(p *part, e ast.Expr) *sema.Local {
	x, ok := e.(*ast.PathExpr)
	if !ok {
		return nil
	}
	l, _ := in.Info.Object(x).(*sema.Local)
	if l == nil || p.span.Contains(l.At) {
		return nil
	}
	return l
}

// partResult is the result of the new function.
type partResult struct {
	typ, value string // value is the expression to return if the part has no tail
	names      []string
	mut        bool
}

// bind returns the text that replaces the part: a call, with a `let` if the part declares
// variables.
func (g partResult) bind(call string, p *part) string {
	let := "let "
	if g.mut {
		let = "let mut "
	}
	switch {
	case len(g.names) == 1:
		return let + g.names[0] + " = " + call + ";"
	case len(g.names) > 1:
		return let + "(" + strings.Join(g.names, ", ") + ") = " + call + ";"
	case p.expr == nil:
		return call + ";"
	}
	return call
}

// resultOf returns the result of a part: the value of its expression, or the variables that it
// declares for later code.
func (in *Input) resultOf(p *part) (g partResult, ok bool) {
	if p.expr != nil {
		if t := in.Info.TypeOf(p.expr); t != types.Nil {
			g.typ, ok = typeText(t)
			return g, ok
		}
		return g, true
	}
	var locals []*sema.Local
	for _, n := range p.nodes {
		l, isLet := n.(*ast.LetStmt)
		if !isLet || l.Pattern == nil {
			continue
		}
		ast.Inspect(l.Pattern, func(n ast.Node) bool {
			if x, isName := n.(interface {
				ast.Node
				ID() ast.ID
			}); isName {
				if v, isLocal := in.Info.Object(x).(*sema.Local); isLocal && in.isUsedAfter(p, v) {
					locals = append(locals, v)
				}
			}
			return true
		})
	}
	var ts []string
	for _, v := range locals {
		t, can := typeText(v.Type)
		if !can || v.Late || v.Cell {
			return g, false
		}
		g.names, ts, g.mut = append(g.names, v.Name), append(ts, t), g.mut || in.isChangedAfter(p, v)
	}
	if len(ts) > 0 {
		g.typ, g.value = strings.Join(ts, ", "), strings.Join(g.names, ", ")
	}
	if len(ts) > 1 {
		g.typ, g.value = "("+g.typ+")", "("+g.value+")"
	}
	return g, true
}

func (in *Input) isUsedAfter(p *part, v *sema.Local) (used bool) {
	ast.Inspect(p.block, func(n ast.Node) bool {
		if x, ok := n.(*ast.PathExpr); ok && x.Sp.Start >= p.span.End && in.Info.Object(x) == sema.Object(v) {
			used = true
		}
		return !used
	})
	return used
}

func (in *Input) isChangedAfter(p *part, v *sema.Local) (changed bool) {
	is := func(e ast.Expr) bool {
		x, ok := rootVariable(e).(*ast.PathExpr)
		return ok && in.Info.Object(x) == sema.Object(v)
	}
	ast.Inspect(p.block, func(n ast.Node) bool {
		if n.Span().End <= p.span.End {
			return false
		}
		switch n := n.(type) {
		case *ast.Assign:
			changed = changed || is(n.Target)
		case *ast.MethodCall:
			if c := in.Info.Call(n); c == nil || c.Fn == nil || c.Fn.MutSelf {
				changed = changed || v.Mut && is(n.Recv)
			}
		}
		return !changed
	})
	return changed
}

// leavingErrorType returns the type of the errors that a `?` in a part returns from the enclosing
// function, or "" if there is none. ok is false if the new function could not return these errors.
func (in *Input) leavingErrorType(p *part, g partResult) (errType string, ok bool) {
	returns, raises, other := false, false, false
	var note func(l *sema.Leave)
	note = func(l *sema.Leave) {
		switch {
		case l == nil:
			other = true
		case l.Kind == sema.LeaveTry && l.Try != nil && p.span.Contains(l.Try.Sp):
			if l.Next != nil {
				note(l.Next)
			}
		case l.Kind == sema.LeaveTry && (l.Next == nil || l.Next.Kind == sema.LeaveRaise), l.Kind == sema.LeaveRaise:
			raises = true
		case l.Kind == sema.LeaveReturn && !l.Option:
			returns = true
		default:
			other = true
		}
	}
	for _, n := range p.nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Closure:
				return false
			case *ast.Question:
				note(in.Info.Question(n))
			case *ast.ThrowExpr:
				note(in.Info.Throw(n))
			}
			return true
		})
	}
	switch fn, isFn := p.fn.(*ast.FnDecl); {
	case other, returns && raises, raises && (strings.HasPrefix(g.typ, "Result<") || strings.HasPrefix(g.typ, "Option<") || strings.HasSuffix(g.typ, "?")):
		return "", false
	case !returns:
		return "", true
	case isFn:
		if r, named := fn.Result.(*ast.NamedType); named && len(r.Args) == 2 && r.Segments[len(r.Segments)-1].Name == "Result" {
			return in.text(r.Args[1]), true
		}
	}
	return "", false
}

// wrapBody returns the part as the body of a function that returns a Result.
func (in *Input) wrapBody(p *part, g partResult) string {
	switch {
	case p.expr == nil && g.value != "":
		return in.File.Slice(p.span) + "\nOk(" + g.value + ")"
	case p.expr == nil:
		return in.File.Slice(p.span) + "\nOk(nil)"
	}
	before := in.File.Slice(source.Span{Start: p.span.Start, End: p.expr.Span().Start})
	if g.typ == "" {
		return before + in.text(p.expr) + ";\nOk(nil)"
	}
	return before + "Ok(" + in.text(p.expr) + ")"
}
