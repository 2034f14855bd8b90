package analysis

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// The expected type of a completion.

// expectedType returns the expected type of the value at the cursor, or nil if it is unknown.
func (c *completer) expectedType() types.Type {
	if c.info == nil {
		return nil
	}
	switch c.kindBefore(1) {
	case lexer.LParen, lexer.Comma:
		if call := c.checkedFile.callAt(c.pos); call != nil && call.active >= 0 {
			return call.params[call.active].t
		}
		return nil
	case lexer.Colon:
		if t := c.fieldType(); t != nil {
			return t
		}
		if call := c.checkedFile.callAt(c.pos); call != nil && call.active >= 0 && call.params[call.active].name == c.wordBefore(2) {
			return call.params[call.active].t
		}
		return nil
	case lexer.If, lexer.While:
		return types.Bool
	case lexer.Listen:
		return types.Host
	case lexer.Return:
		return c.resultType()
	}
	for i := len(c.nodes) - 1; i >= 0; i-- {
		switch n := c.nodes[i].(type) {
		case *ast.Ident, *ast.BadExpr, *ast.PathExpr, *ast.StringLit:
		case *ast.LetStmt:
			return c.declaredType(n.Type)
		case *ast.ConstDecl:
			return c.declaredType(n.Type)
		case *ast.StoreDecl:
			return nil
		case *ast.Binary:
			return c.otherOperandType(n)
		case *ast.Assign:
			if c.kindBefore(1) == lexer.Assign {
				return knownType(c.info.TypeOf(n.Target))
			}
			return nil
		case *ast.Block:
			return c.tailType(n)
		default:
			return nil
		}
	}
	return nil
}

// knownType returns t, or nil if t is an invalid type.
func knownType(t types.Type) types.Type {
	if t = types.Resolve(t); t == nil || t == types.Bad || t == types.Type(types.Any) {
		return nil
	}
	return t
}

// declaredType returns the type that is written before the `=` at the cursor.
func (c *completer) declaredType(t ast.Type) types.Type {
	if t == nil || c.kindBefore(1) != lexer.Assign {
		return nil
	}
	return knownType(c.info.Written(t))
}

// otherOperandType returns the type of the other operand of a comparison or calculation.
func (c *completer) otherOperandType(n *ast.Binary) types.Type {
	if n.X == nil || n.X.Span().End > c.word.Start || n.OpSpan.Start >= c.word.Start {
		return nil
	}
	return knownType(c.info.TypeOf(n.X))
}

// tailType returns the result type of the function if the cursor is at the last statement of its
// body.
func (c *completer) tailType(b *ast.Block) types.Type {
	k := c.kindBefore(1)
	if fn, ok := innermost[*ast.FnDecl](c); ok && fn.Body == b && (k == lexer.LBrace || k == lexer.Semi || k == lexer.RBrace) {
		return c.resultType()
	}
	return nil
}

// resultType returns the result type of the function that contains the cursor.
func (c *completer) resultType() types.Type {
	for i := len(c.nodes) - 1; i >= 0; i-- {
		switch n := c.nodes[i].(type) {
		case *ast.Closure:
			return nil
		case *ast.FnDecl:
			if n.Result == nil {
				return nil
			}
			return knownType(c.info.Written(n.Result))
		}
	}
	return nil
}

// fieldType returns the type of the field whose value is at the cursor.
func (c *completer) fieldType() types.Type {
	n, ok := c.enclosingList().(*ast.StructLit)
	if !ok {
		return nil
	}
	for _, f := range c.literalFields(n) {
		if f.Name == c.wordBefore(2) {
			return knownType(f.Type)
		}
	}
	return nil
}

// literalFields returns the fields of the type that a literal constructs.
func (c *completer) literalFields(n *ast.StructLit) []*types.Field {
	d := c.info.Struct(n)
	if d == nil {
		return nil
	}
	if d.Variant != nil {
		return d.Variant.Variant.Fields
	}
	if x, ok := types.Resolve(d.Type).(*types.Named); ok {
		return x.Decl.Fields
	}
	return nil
}

// matchesExpected reports whether a declaration provides a value of the expected type.
func (c *completer) matchesExpected(d *sema.Def) bool {
	if c.want == nil {
		return false
	}
	t := d.Type
	switch d.Kind {
	case sema.DefVariable, sema.DefParam, sema.DefConst, sema.DefStore, sema.DefStage, sema.DefField:
	case sema.DefHost:
		return c.want == types.Type(types.Host)
	case sema.DefAgent:
		return c.want == types.Type(types.Agent)
	case sema.DefFunction, sema.DefMethod:
		fn, ok := d.Object.(*sema.Function)
		if around, _ := innermost[*ast.FnDecl](c); !ok || fn.Async || fn.Decl == around {
			return false
		}
		t = fn.Result
	default:
		return false
	}
	return knownType(t) != nil && types.Identical(t, c.want)
}

// literalOrder is the sort key of literals. It puts them after the declarations of the program.
const literalOrder = 15

// addLiterals offers the literals of the expected type.
func (c *completer) addLiterals() {
	add := func(label, snippet string, k ItemKind) {
		c.add(Item{Label: label, Kind: k, Text: label, Snippet: snippet, fits: true, order: literalOrder + len(c.items)})
	}
	switch t := c.want.(type) {
	case *types.Union:
		for _, v := range t.Values {
			add(`"`+v+`"`, "", ConstItem)
		}
	case *types.Named:
		for _, v := range t.Decl.Variants {
			snippet := ""
			if len(v.Fields) > 0 {
				if snippet = t.Decl.Name + "::" + v.Name + "($0)"; v.Named {
					snippet = t.Decl.Name + "::" + v.Name + " { $0 }"
				}
			}
			add(t.Decl.Name+"::"+v.Name, snippet, VariantItem)
		}
	case *types.Option:
		add("Some", "Some($0)", VariantItem)
		add("None", "", VariantItem)
	case *types.Result:
		add("Ok", "Ok($0)", VariantItem)
		add("Err", "Err($0)", VariantItem)
	case *types.Basic:
		if t == types.Bool {
			add("true", "", KeywordItem)
			add("false", "", KeywordItem)
		}
	}
}
