package refactor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// inlineVariable replaces a variable's uses with its value and removes the variable. A value with
// side effects, or that reads mutable state, is only moved if that makes no difference.
func inlineVariable(in *Input) []diag.Edit {
	v := in.selectedVariable()
	if v == nil || v.local.Mut || v.local.Late || v.local.Cell {
		return nil
	}
	value := v.let.Value
	if v.let.Type != nil && in.Info.Conv(value) != nil || in.losesComment(v.let.Sp, value) || in.isShadowed(v) {
		return nil
	}
	x := in.effectsOf(value)
	if !x.isEmpty() && !in.canMoveTo(v, x) {
		return nil
	}
	edits := []diag.Edit{diag.Remove(in.statementLines(v.let.Sp))}
	for _, use := range v.uses {
		if c := in.Info.Conv(use[len(use)-1].(ast.Expr)); c != nil && !in.isFixed(value) {
			return nil // what it becomes there depends on how it is written
		}
		edits = append(edits, in.replaceWith(use, in.valueText(use, value)))
	}
	slices.SortFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return edits
}

// isFixed reports whether an expression has the same type and value in every place.
func (in *Input) isFixed(e ast.Expr) bool {
	switch e := unparen(e).(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.StringLit, *ast.InterpLit, *ast.PathExpr, *ast.MethodCall, *ast.FieldExpr, *ast.TupleIndex, *ast.IndexExpr,
		*ast.Binary, *ast.Unary, *ast.Cast, *ast.Call, *ast.StructLit, *ast.Question, *ast.Await:
		return true
	case *ast.ArrayLit:
		return len(e.Elems) > 0 && in.areFixed(e.Elems)
	case *ast.TupleLit:
		return in.areFixed(e.Elems)
	}
	return false
}

// areFixed reports whether expressions are fixed, and remain what they are in their place.
func (in *Input) areFixed(all []ast.Expr) bool {
	for _, e := range all {
		if !in.isFixed(e) || in.Info.Conv(e) != nil {
			return false
		}
	}
	return true
}

// variable is a variable declared by a `let` of its own.
type variable struct {
	local *sema.Local
	let   *ast.LetStmt
	block *ast.Block   // in which it is declared
	uses  [][]ast.Node // each with all nodes around it
}

// selectedVariable returns the variable whose name is at the range, if it is used, or nil.
func (in *Input) selectedVariable() *variable {
	if !in.isComplete() {
		return nil
	}
	nodes := in.nodesAround(in.At)
	if len(nodes) == 0 {
		return nil
	}
	var local *sema.Local
	for i := len(nodes) - 1; i >= 0 && local == nil; i-- {
		switch n := nodes[i].(type) {
		case *ast.NamePat:
			local, _ = in.Info.Object(n).(*sema.Local)
		case *ast.PathExpr:
			local, _ = in.Info.Object(n).(*sema.Local)
		case *ast.LetStmt: // on the word `let`
			if p, ok := n.Pattern.(*ast.NamePat); ok && in.At.End <= p.Sp.End {
				local, _ = in.Info.Object(p).(*sema.Local)
			}
		case ast.Stmt:
			return nil
		}
	}
	if local == nil || local.Param {
		return nil
	}
	return in.variableOf(local)
}

func (in *Input) variableOf(local *sema.Local) *variable {
	v := &variable{local: local}
	around := in.nodesAround(local.At)
	for i, n := range around {
		if l, ok := n.(*ast.LetStmt); ok && l.Pattern.Span() == local.At && i > 0 {
			v.let = l
			v.block, _ = around[i-1].(*ast.Block)
		}
	}
	if v.let == nil || v.block == nil || v.let.Value == nil || v.let.Else != nil {
		return nil
	}
	if _, plain := v.let.Pattern.(*ast.NamePat); !plain {
		return nil
	}
	ast.Inspect(v.block, func(n ast.Node) bool {
		if p, ok := n.(*ast.PathExpr); ok && in.Info.Object(p) == sema.Object(local) {
			v.uses = append(v.uses, in.nodesAround(p.Sp))
		}
		return true
	})
	for i, u := range v.uses {
		for len(u) > 0 {
			if p, ok := u[len(u)-1].(*ast.PathExpr); ok && in.Info.Object(p) == sema.Object(local) {
				break
			}
			u = u[:len(u)-1]
		}
		if len(u) < 2 {
			return nil
		}
		v.uses[i] = u
	}
	if len(v.uses) == 0 {
		return nil
	}
	return v
}

// isShadowed reports whether a name in the variable's value may refer to something else at a use of
// the variable.
func (in *Input) isShadowed(v *variable) bool {
	names := map[string]bool{}
	ast.Inspect(v.let.Value, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
	found := false
	ast.Inspect(v.block, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.NamePat:
			found = found || names[n.Name.Name] && n.Sp.Start > v.let.Sp.End
		case *ast.BindPat:
			found = found || names[n.Name.Name] && n.Sp.Start > v.let.Sp.End
		case *ast.Param:
			found = found || n.Name != nil && names[n.Name.Name] && n.Sp.Start > v.let.Sp.End
		case *ast.Catch:
			found = found || n.Name != nil && names[n.Name.Name] && n.Sp.Start > v.let.Sp.End
		case ast.Decl:
			found = found || n.Head().Name != nil && names[n.Head().Name.Name]
		}
		return !found
	})
	return found
}

// canMoveTo reports whether a value with effects means the same where its variable is used: once,
// in the next statement, before all that it could change or be changed by.
func (in *Input) canMoveTo(v *variable, x effects) bool {
	if len(v.uses) != 1 {
		return false
	}
	i := slices.IndexFunc(v.block.Stmts, func(s ast.Stmt) bool { return s == ast.Stmt(v.let) })
	var next ast.Node = v.block.Tail
	if i+1 < len(v.block.Stmts) {
		next = v.block.Stmts[i+1]
	}
	s, ok := in.findInsertionPoint(v.uses[0])
	return ok && s.block == v.block && s.stmt == next && areIndependent(x, in.effectsOf(s.first...))
}

// statementLines returns a statement with its lines if nothing else is on them, otherwise with the
// white space up to the next.
func (in *Input) statementLines(s source.Span) source.Span {
	own := source.Pos(len(in.indent(s.Start)))
	first := in.File.LineStart(in.File.LineOf(s.Start))
	rest := in.File.Slice(source.Span{Start: s.End, End: source.Pos(len(in.File.Text))})
	blank := len(rest) - len(strings.TrimLeft(rest, " \t\r"))
	if s.Start-own == first && strings.HasPrefix(rest[blank:], "\n") {
		return source.Span{Start: first, End: s.End + source.Pos(blank) + 1}
	}
	return source.Span{Start: s.Start, End: s.End + source.Pos(blank)}
}

// valueText returns a value as it is written in the place of the last of nodes.
func (in *Input) valueText(nodes []ast.Node, value ast.Expr) string {
	text := in.text(value)
	if !bindsLoosely(value) {
		return text
	}
	switch nodes[len(nodes)-2].(type) {
	case *ast.Arg, *ast.LetStmt, *ast.ExprStmt, *ast.Block, *ast.ParenExpr, *ast.ArrayLit, *ast.TupleLit, *ast.MapEntry, *ast.FieldInit, *ast.ReturnExpr, *ast.InterpLit:
		return text
	}
	return "(" + text + ")"
}

// bindsLoosely reports whether a part of an expression could bind to its surroundings.
func bindsLoosely(e ast.Expr) bool {
	switch e.(type) {
	case *ast.IntLit, *ast.BoolLit, *ast.NilLit, *ast.StringLit, *ast.InterpLit, *ast.PathExpr, *ast.ParenExpr, *ast.ArrayLit, *ast.TupleLit, *ast.Call,
		*ast.MethodCall, *ast.FieldExpr, *ast.TupleIndex, *ast.IndexExpr, *ast.Question:
		return false
	}
	return true
}
