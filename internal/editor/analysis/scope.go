package analysis

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// addVariables offers the variables that are visible at the cursor, the nearest first.
func (c *completer) addVariables() {
	names := c.checkedFile.visibleVariables(c.nodes, c.pos, c.statementStart())
	byPlace := map[source.Pos]*sema.Def{}
	for _, r := range c.refs() {
		if r.Decl {
			byPlace[r.At.Start] = r.Def
		}
	}
	for i := len(names) - 1; i >= 0; i-- {
		id := names[i]
		d := byPlace[id.Sp.Start]
		if d == nil {
			d = &sema.Def{Kind: sema.DefVariable, Name: id.Name, Info: c.info, At: id.Sp}
		}
		if !id.Missing() {
			c.addDef(id.Name, d, 1)
			c.markFitting(c.matchesExpected(d))
		}
	}
}

// statementStart returns the start of the statement at the cursor: the variable that this statement
// declares is not visible in it.
func (c *completer) statementStart() source.Pos {
	if k := c.kindBefore(1); k == lexer.Semi || k == lexer.RBrace || k == lexer.LBrace || len(c.toks) == 0 {
		return c.pos
	}
	return c.toks[len(c.toks)-1].Start
}

// visibleVariables returns the names of the variables visible at pos, the outermost first. Of let
// statements it considers only those that end at or before the position before.
func (f *checkedFile) visibleVariables(nodes []ast.Node, pos, before source.Pos) []*ast.Ident {
	var out []*ast.Ident
	bound := func(p ast.Pattern) {
		if p == nil {
			return
		}
		ast.Inspect(p, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.NamePat:
				out = append(out, n.Name)
			case *ast.BindPat:
				out = append(out, n.Name)
			}
			return true
		})
	}
	params := func(ps []*ast.Param) {
		for _, p := range ps {
			if p.Name != nil {
				out = append(out, p.Name)
			}
			bound(p.Pattern)
		}
	}
	cond := func(x ast.Expr) {
		if l, ok := x.(*ast.LetCond); ok && l.Sp.End <= pos {
			bound(l.Pattern)
		}
	}
	for _, n := range nodes {
		switch n := n.(type) {
		case *ast.FnDecl:
			out = nil
			params(n.Params)
		case *ast.Closure:
			params(n.Params)
		case *ast.PipelineDecl:
			params(n.Params)
			for _, s := range n.Stages {
				if s.Span().End <= pos {
					out = append(out, s.Name)
				}
			}
		case *ast.Stage:
			params(n.Params)
		case *ast.Block:
			for _, st := range n.Stmts {
				if l, ok := st.(*ast.LetStmt); ok && l.Sp.End <= before {
					bound(l.Pattern)
				}
			}
		case *ast.ForExpr:
			if n.Body != nil && isWithin(n.Body.Sp, pos) {
				bound(n.Pattern)
			}
		case *ast.ParallelFor:
			if n.Body != nil && isWithin(n.Body.Sp, pos) {
				bound(n.Pattern)
			}
		case *ast.IfExpr:
			if n.Then != nil && isWithin(n.Then.Sp, pos) {
				cond(n.Cond)
			}
		case *ast.WhileExpr:
			cond(n.Cond)
		case *ast.Arm:
			if n.Pattern != nil && n.Pattern.Span().End <= pos {
				bound(n.Pattern)
			}
		case *ast.Catch:
			if n.Name != nil {
				out = append(out, n.Name)
			}
		}
	}
	return out
}
