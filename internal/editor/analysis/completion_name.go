package analysis

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/editor/doc"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// This file completes names.

// addTypes offers the names of types.
func (c *completer) addTypes() {
	if c.inBound() && (c.kindBefore(1) == lexer.Colon || c.kindBefore(1) == lexer.Plus) {
		c.addTraits()
		return
	}
	for _, n := range c.nodes {
		var generics []*ast.TypeParam
		switch n := n.(type) {
		case *ast.FnDecl:
			generics = n.Generics
		case *ast.ImplDecl:
			generics = n.Generics
			if !c.inImplHead() {
				c.add(Item{Label: "Self", Kind: TypeParamItem, order: 1})
			}
		case *ast.StructDecl:
			generics = n.Generics
		case *ast.EnumDecl:
			generics = n.Generics
		}
		for _, g := range generics {
			c.add(Item{Label: g.Name.Name, Kind: TypeParamItem})
		}
	}
	traits, schema := c.kindBefore(1) == lexer.Impl, c.handlerSchema()
	isType := map[sema.DefKind]bool{sema.DefStruct: true, sema.DefSchema: true, sema.DefEnum: true, sema.DefAlias: true, sema.DefBuiltin: true,
		sema.DefModule: true, sema.DefTrait: c.kindBefore(1) == lexer.Impl || c.inBound(), sema.DefTypeParam: true}
	c.withProgram(func(p *sema.Program) {
		for _, n := range slices.Concat(p.Visible(c.info, c.nodes), p.Prelude(c.info)) {
			if isType[n.Def.Kind] {
				c.addDef(n.Name, n.Def, n.Distance+1)
				c.markFitting(n.Name == schema || traits && n.Def.Kind == sema.DefTrait)
			}
		}
	})
}

// addTraits offers the traits that may bound a type parameter.
func (c *completer) addTraits() {
	c.withProgram(func(p *sema.Program) {
		for _, n := range slices.Concat(p.Visible(c.info, c.nodes), p.Prelude(c.info)) {
			if n.Def.Kind == sema.DefTrait || n.Def.Kind == sema.DefModule {
				c.addDef(n.Name, n.Def, n.Distance+1)
			}
		}
	})
}

// addLabels offers the labels of the loops that contain the cursor.
func (c *completer) addLabels() {
	_, labels := c.enclosingLoops()
	for i, l := range labels {
		c.add(Item{Label: l, Kind: VariableItem, order: i})
	}
}

func (c *completer) inBound() bool {
	_, ok := innermost[*ast.TypeParam](c)
	return ok || c.kindBefore(1) == lexer.Colon && c.kindBefore(3) == lexer.Less
}

// addDeclarations offers the keywords that begin a declaration.
func (c *completer) addDeclarations() {
	for _, k := range []lexer.Kind{lexer.Fn, lexer.Agent, lexer.Host, lexer.Tool, lexer.Mcp, lexer.Schema, lexer.Struct, lexer.Enum, lexer.Trait,
		lexer.Impl, lexer.Type, lexer.Pub, lexer.Use, lexer.Mod, lexer.Const, lexer.Async, lexer.Pipeline, lexer.HashMap, lexer.Ledger, lexer.Memory} {
		c.addKeyword(k.Info().Text, 0)
	}
	c.addKeyword("queue", 0)
}

// addExpressions offers everything with which a statement or an expression may begin. These are
// variables, names of the enclosing modules, the prelude, library modules together with their
// import, and keywords.
func (c *completer) addExpressions() {
	c.want = c.expectedType()
	c.addArgumentNames()
	c.addLiterals()
	c.addVariables()
	c.withProgram(func(p *sema.Program) {
		for _, n := range p.Visible(c.info, c.nodes) {
			c.addDef(n.Name, n.Def, 2+n.Distance)
			c.markFitting(c.matchesExpected(n.Def))
		}
		for _, n := range p.Prelude(c.info) {
			c.addDef(n.Name, n.Def, 20)
			c.markFitting(c.matchesExpected(n.Def))
		}
	})
	c.addLibrary()
	statement := []lexer.Kind{lexer.Let, lexer.For, lexer.While, lexer.Loop, lexer.Return, lexer.Break, lexer.Continue, lexer.Throw}
	anywhere := []lexer.Kind{lexer.If, lexer.Match, lexer.Try, lexer.Await, lexer.Emit, lexer.Listen, lexer.True, lexer.False, lexer.Nil, lexer.Fn}
	starts := c.kindBefore(1) == lexer.Semi || c.kindBefore(1) == lexer.LBrace || c.kindBefore(1) == lexer.RBrace
	inLoop, _ := c.enclosingLoops()
	for _, k := range statement {
		if !inLoop && (k == lexer.Break || k == lexer.Continue) {
			continue
		}
		if starts || c.kindBefore(1) == lexer.FatArrow {
			c.addKeyword(k.Info().Text, 30)
		}
	}
	if c.atAskWord() {
		c.addKeyword("ask", 1)
	}
	for _, k := range anywhere {
		c.addKeyword(k.Info().Text, 30)
	}
	if c.kindBefore(1) == lexer.RBrace {
		c.addKeyword("else", 30)
		c.addKeyword("catch", 30)
	}
}

// addLibrary offers the library's modules and their functions. Each item adds the import that it
// needs.
func (c *completer) addLibrary() {
	if c.word.Start == c.word.End {
		return
	}
	at := c.importPos()
	imported := func(path string) []Edit {
		return []Edit{{Location{c.text.file, source.Span{Start: at, End: at}}, "use std::" + path + ";\n"}}
	}
	for _, g := range doc.Groups() {
		for _, t := range g.Topics {
			module, name, ok := strings.Cut(t.Name, "::")
			if !ok || strings.ContainsAny(name, ".:") || strings.Contains(module, ".") || !isLower(module) {
				continue
			}
			c.add(Item{Label: name, Kind: FunctionItem, Origin: "std::" + module, Signature: strings.TrimPrefix(t.Signature, "fn "+name), order: 40,
				doc: func() string { return topicText(t) }, Edits: imported(module + "::" + name)})
			if module == g.Name {
				c.add(Item{Label: module, Kind: ModuleItem, Origin: "std", order: 41, doc: func() string { return g.Intro }, Edits: imported(module)})
			}
		}
	}
}

func isLower(s string) bool { return s != "" && s == strings.ToLower(s) }

// importPos returns where to insert an import: after the existing imports, or before the first
// declaration.
func (c *completer) importPos() source.Pos {
	var at source.Pos
	for _, d := range c.tree.Decls {
		switch d.(type) {
		case *ast.UseDecl, *ast.ModDecl:
			line := c.text.file.LineOf(d.Span().End)
			if line < c.text.file.Lines() && d.Span().End <= c.pos {
				at = c.text.file.LineStart(line + 1)
			}
		default: // imports are written before the others
		}
	}
	return at
}

// addArgumentNames offers the argument names of the call that contains the cursor.
func (c *completer) addArgumentNames() {
	if k := c.kindBefore(1); k != lexer.LParen && k != lexer.Comma {
		return
	}
	call := c.checkedFile.callAt(c.pos)
	if call == nil {
		return
	}
	for _, p := range call.params {
		if p.name != "" && !call.given[p.name] {
			c.add(Item{Label: p.name, Kind: FieldItem, Signature: ": " + p.typ, Text: p.name + ": ", order: 1})
		}
	}
}
