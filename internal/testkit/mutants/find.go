package mutants

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

// swaps maps each operator to its replacement. A comparison by == or != that is a whole condition
// is negated instead.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
}

// finder collects the mutants of one file.
type finder struct {
	*code
	f     *file
	path  string
	named string          // the current function
	funcs []*ast.FuncType // the current function types, innermost last
	out   []*Mutant
}

// findMutants returns all mutants of a package, in source order.
func (c *code) findMutants() []*Mutant {
	var out []*Mutant
	for path, f := range c.files {
		fi := &finder{code: c, f: f, path: path}
		for _, d := range f.tree.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				fi.visitFunction(d)
			}
		}
		out = append(out, fi.out...)
	}
	slices.SortFunc(out, inText)
	seen := map[string]int{}
	for _, m := range out {
		key := strings.Join([]string{filepath.Base(m.File), m.Func, m.Change}, "\x00")
		m.nth = seen[key]
		seen[key]++
	}
	return out
}

func (fi *finder) visitFunction(d *ast.FuncDecl) {
	fi.named = d.Name.Name
	fi.funcs = []*ast.FuncType{d.Type}
	fi.visitInside(d.Body)
}

// visitInside adds the mutants of all expressions and statements in a node.
func (fi *finder) visitInside(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			fi.funcs = append(fi.funcs, n.Type)
			fi.visitInside(n.Body)
			fi.funcs = fi.funcs[:len(fi.funcs)-1]
			return false
		case *ast.IfStmt:
			fi.addNegation(n.Cond)
		case *ast.ForStmt:
			fi.addNegation(n.Cond)
		case *ast.SwitchStmt:
			if n.Tag == nil {
				for _, c := range n.Body.List {
					for _, x := range c.(*ast.CaseClause).List {
						fi.addNegation(x)
					}
				}
			}
		case *ast.BinaryExpr:
			fi.addSwap(n)
		case *ast.BasicLit:
			fi.addIncrement(n)
		case *ast.BlockStmt:
			fi.addStatements(n.List)
		case *ast.CaseClause:
			fi.addStatements(n.Body)
		case *ast.CommClause:
			fi.addStatements(n.Body)
		}
		return true
	})
}

// add adds a mutant that replaces a node's text.
func (fi *finder) add(n ast.Node, change, woven string) {
	fi.out = append(fi.out, &Mutant{
		File: fi.path, Line: fi.fset.Position(n.Pos()).Line, Func: fi.named, Change: strings.Join(strings.Fields(change), " "),
		start: fi.offset(n.Pos()), end: fi.offset(n.End()), woven: woven,
	})
}

func (fi *finder) offset(p token.Pos) int { return fi.fset.Position(p).Offset }

// text returns the source between two positions as a format string: formatting it produces the
// source.
func (fi *finder) text(from, to token.Pos) string {
	return strings.ReplaceAll(string(fi.f.text[fi.offset(from):fi.offset(to)]), "%", "%%")
}

func (fi *finder) source(n ast.Node) string { return fi.text(n.Pos(), n.End()) }

// unescape returns the source of a format string.
func unescape(s string) string { return strings.ReplaceAll(s, "%%", "%") }

// addNegation adds a mutant that negates a condition.
func (fi *finder) addNegation(x ast.Expr) {
	if x == nil {
		return
	}
	fi.add(x, fmt.Sprintf("not (%s)", unescape(fi.source(x))), "mutantOn(%d) != ("+fi.source(x)+")")
}

// addSwap adds a mutant with another operator.
func (fi *finder) addSwap(x *ast.BinaryExpr) {
	other, ok := swaps[x.Op]
	tv := fi.info.Types[x]
	if !ok || tv.Value != nil || x.Op == token.ADD && isText(tv.Type) {
		return
	}
	if isNil(fi, x.X) || isNil(fi, x.Y) {
		return // addNegation covers conditions
	}
	result, ok := fi.typeName(tv.Type)
	if !ok {
		return
	}
	changed := fi.text(x.Pos(), x.OpPos) + other.String() + fi.text(x.OpPos+token.Pos(len(x.Op.String())), x.End())
	fi.addChoice(x, result, changed)
}

// addChoice adds a mutant that evaluates another expression instead of x.
func (fi *finder) addChoice(x ast.Expr, result, other string) {
	fi.add(x, unescape(fi.source(x))+" -> "+unescape(other),
		"func() "+result+" { if mutantOn(%d) { return "+other+" }; return "+fi.source(x)+" }()")
}

func isText(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return !ok || b.Info()&types.IsString != 0
}

func isNil(fi *finder, x ast.Expr) bool { return fi.info.Types[x].IsNil() }

// typeName returns the name of a type in the file, or false if the file cannot name it.
func (fi *finder) typeName(t types.Type) (string, bool) {
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(t)
	}
	foreign := false
	text := types.TypeString(t, func(p *types.Package) string {
		if p.Path() == fi.code.path {
			return ""
		}
		foreign = foreign || !slices.ContainsFunc(fi.f.tree.Imports, func(i *ast.ImportSpec) bool {
			return i.Name == nil && i.Path.Value == fmt.Sprintf("%q", p.Path())
		})
		return p.Name()
	})
	return text, !foreign
}

// addIncrement adds a mutant with a number increased by one.
func (fi *finder) addIncrement(x *ast.BasicLit) {
	tv := fi.info.Types[x]
	if x.Kind != token.INT || tv.Type == nil || tv.Value == nil {
		return
	}
	result, ok := fi.typeName(tv.Type)
	if !ok {
		return
	}
	other := constant.BinaryOp(tv.Value, token.ADD, constant.MakeInt64(1))
	fi.addChoice(x, result, other.ExactString())
}

// addStatements adds a mutant for each statement whose removal leaves valid code. It also adds the
// mutants of return statements.
func (fi *finder) addStatements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				fi.addDrop(s)
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.BranchStmt:
			fi.addDrop(s)
		case *ast.ReturnStmt:
			fi.addReturns(s)
		}
	}
}

func (fi *finder) addDrop(s ast.Stmt) {
	fi.add(s, "without "+unescape(fi.source(s)), "if !mutantOn(%d) { "+fi.source(s)+" }")
}

// addReturns adds a mutant that returns the zero values of the results, or the negation of a bool.
// A return without results is dropped, so that the function continues.
func (fi *finder) addReturns(s *ast.ReturnStmt) {
	fn := fi.funcs[len(fi.funcs)-1]
	switch {
	case len(s.Results) == 0:
		fi.addDrop(s)
		return
	case len(s.Results) == 1 && isBool(fi.info.Types[s.Results[0]].Type):
		fi.addNegation(s.Results[0])
		return
	case !slices.ContainsFunc(s.Results, func(x ast.Expr) bool { return !fi.isZero(x) }):
		return
	}
	var declared, names []string
	for _, r := range fn.Results.List {
		for range max(1, len(r.Names)) {
			name := fmt.Sprint("mutantZero", len(names))
			names = append(names, name)
			declared = append(declared, "var "+name+" "+fi.source(r.Type))
		}
	}
	fi.add(s, unescape(fi.source(s))+" -> zero",
		"if mutantOn(%d) { "+strings.Join(declared, "; ")+"; return "+strings.Join(names, ", ")+" }; "+fi.source(s))
}

func isBool(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

// isZero reports whether an expression is obviously the zero value of its type.
func (fi *finder) isZero(x ast.Expr) bool {
	tv := fi.info.Types[x]
	if tv.IsNil() {
		return true
	}
	if lit, ok := x.(*ast.CompositeLit); ok {
		return len(lit.Elts) == 0
	}
	if tv.Value == nil {
		return false
	}
	switch tv.Value.Kind() {
	case constant.String:
		return constant.StringVal(tv.Value) == ""
	case constant.Bool:
		return !constant.BoolVal(tv.Value)
	}
	return constant.Sign(tv.Value) == 0
}
