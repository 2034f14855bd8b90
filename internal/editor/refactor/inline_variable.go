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

// inlineVariable replaces the uses of a variable by its value and removes the variable. A value
// that has side effects or reads mutable state is moved only if this does not change the program's
// behaviour.
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
			return nil // the type of the value depends on its context
		}
		edits = append(edits, in.replaceWith(use, in.valueText(use, value)))
	}
	slices.SortFunc(edits, func(a, b diag.Edit) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return edits
}

// isFixed reports whether an expression has the same type and value in every context.
func (in *Input) isFixed(e ast.Expr) bool {
	switch e := unparen(e).(type) {
	case *ast.IntLit, *ast.FloatLit, *ast.BoolLit, *ast.StringLit, *ast.InterpLit, *ast.PathExpr, *ast.MethodCall, *ast.FieldExpr, *ast.TupleIndex, *ast.IndexExpr,
		*ast.Binary, *ast.Unary, *ast.Cast, *ast.Call, *ast.StructLit, *ast.Question, *ast.Await:
		return true
	case *ast.ArrayLit:
		return len(e.Elems) > 0 && in.areFixed(e.Elems)
	case *ast.TupleLit:
		return in.areFixed(e.Elems)
	default: // the others have no fixed type
	}
	return false
}

// areFixed reports whether all expressions are fixed.
func (in *Input) areFixed(all []ast.Expr) bool {
	for _, e := range all {
		if !in.isFixed(e) || in.Info.Conv(e) != nil {
			return false
		}
	}
	return true
}

// variable is a variable declared by a `let` that declares no other variable.
type variable struct {
	local *sema.Local
	let   *ast.LetStmt
	block *ast.Block   // block that contains the declaration
	uses  [][]ast.Node // for each use, the nodes that contain it
}

// selectedVariable returns the variable whose name is selected, or nil if there is none or the
// variable has no uses.
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
		case *ast.LetStmt: // the cursor is on the keyword `let`
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

// isShadowed reports whether a name in the variable's value may refer to a different declaration at
// a use of the variable.
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

// canMoveTo reports whether a value with effects x has the same meaning at the use of the variable.
// The variable must be used once, in the next statement. No expression evaluated earlier in that
// statement may affect the value or be affected by it.
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

// statementLines returns the range of a statement together with its lines if the lines contain
// nothing else. Otherwise it returns the statement and the white space after it.
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

// valueText returns a value in the syntax that the position of the last of nodes requires, with
// parentheses if necessary.
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

// bindsLoosely reports whether an operator next to an expression could bind to only a part of it.
func bindsLoosely(e ast.Expr) bool {
	switch e.(type) {
	case *ast.IntLit, *ast.BoolLit, *ast.NilLit, *ast.StringLit, *ast.InterpLit, *ast.PathExpr, *ast.ParenExpr, *ast.ArrayLit, *ast.TupleLit, *ast.Call,
		*ast.MethodCall, *ast.FieldExpr, *ast.TupleIndex, *ast.IndexExpr, *ast.Question:
		return false
	default: // the others need parentheses
	}
	return true
}
