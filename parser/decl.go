package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// startsDecl holds the words that declarations start with.
var startsDecl = [lexer.NumKinds]bool{
	lexer.Const: true, lexer.Fn: true, lexer.Agent: true, lexer.Host: true, lexer.Tool: true, lexer.Mcp: true,
	lexer.Schema: true, lexer.Struct: true, lexer.Enum: true, lexer.Trait: true, lexer.Impl: true, lexer.Type: true,
	lexer.Pub: true, lexer.Use: true, lexer.Mod: true, lexer.Async: true, lexer.Pipeline: true, lexer.HashMap: true,
	lexer.Ledger: true, lexer.Memory: true,
}

// inBlocks holds the words of the declarations that blocks take, too.
var inBlocks = [lexer.NumKinds]bool{
	lexer.Fn: true, lexer.Async: true, lexer.Const: true, lexer.Struct: true, lexer.Enum: true, lexer.Schema: true,
	lexer.Type: true, lexer.Use: true,
}

// head is what stands before a declaration or member: where it starts, its
// decorators and `pub`.
type head struct {
	start      source.Pos
	decorators []*ast.Decorator
	pub        bool
}

// prefix reads decorators and `pub`.
func (p *parser) prefix() head {
	h := head{start: p.here()}
	if p.k != lexer.At && p.k != lexer.Pub {
		return h
	}
	var f prefix
	f.read(p)
	h.pub = f.Pub
	if len(f.Decorators) > 0 {
		h.decorators = make([]*ast.Decorator, len(f.Decorators))
		for i := range f.Decorators {
			h.decorators[i] = f.Decorators[i].node()
		}
	}
	return h
}

// decorators reads those that stand before a parameter or a schema's field.
func (p *parser) decorators() (list []*ast.Decorator) {
	for p.k == lexer.At {
		var f decorator
		f.read(p)
		list = append(list, f.node())
	}
	return list
}

// module reads declarations up to the end of the file.
func (p *parser) module() (decls []ast.Decl) {
	wrong := false
	for p.k != lexer.EOF {
		switch {
		case p.k != lexer.RBrace:
			decls, wrong = p.moduleItem(decls, wrong)
		case wrong:
			p.next()
		default:
			p.unopened()
		}
	}
	return decls
}

// moduleItem reads one declaration of a module. wrong says that the item
// before was none: a run of statements and stray tokens is one mistake.
func (p *parser) moduleItem(decls []ast.Decl, wrong bool) ([]ast.Decl, bool) {
	start := p.i
	if wrong && !startsDecl[p.k] && !startsExpr[p.k] && p.k != lexer.Let {
		p.next()
		return decls, true
	}
	if p.looseStatement() {
		if !wrong {
			p.report(p.loose())
		}
		quiet := p.diags
		p.stmtOrSync(new(ast.Block))
		p.diags = quiet
		return decls, true
	}
	var d ast.Decl
	if !p.guard(func() { d = p.decl() }) {
		p.syncDecl(start)
		bad := &ast.BadDecl{}
		bad.Sp = p.from(p.toks[start].Start)
		return append(decls, bad), true
	}
	return append(decls, d), false
}

// looseStatement says whether a statement stands where a declaration should.
func (p *parser) looseStatement() bool {
	switch {
	case p.k == lexer.Let, p.k == lexer.Label:
		return true
	case startsDecl[p.k], p.k == lexer.At:
		return false
	case p.k == lexer.Ident:
		switch next := p.peek(1); {
		case next == lexer.Ident && p.isWord("mock"), next == lexer.For && p.isWord("parallel"):
			return true
		case next.IsWord() && next != lexer.As, next == lexer.LBrace, next == lexer.String:
			return false // a declaration with a misspelt word
		}
	}
	return startsExpr[p.k]
}

// loose makes the diagnostic for a statement at module level.
func (p *parser) loose() *diag.Diagnostic {
	d := diag.LooseStatement.At(p.statementSpan(), "a statement cannot stand at module level")
	if p.k == lexer.Let && p.peek(1) == lexer.Ident && p.peek(2) == lexer.Assign {
		d.Hint("a value that never changes can be a `const`; what changes and lasts is a `hashmap`, or the state of a `tool`")
	}
	return d.Hint("put it into a function: `fn main() { … }`")
}

// statementSpan is the place of a statement for a message: its first line.
func (p *parser) statementSpan() source.Span {
	s := p.span()
	for i := p.i; i < len(p.toks)-1 && (i == p.i || !p.startsLine(i)); i++ {
		s = source.Join(s, p.toks[i].Span())
	}
	return s
}

// decl reads one declaration.
func (p *parser) decl() ast.Decl {
	return p.declAfter(p.prefix())
}

func (p *parser) declAfter(h head) ast.Decl {
	switch p.k {
	case lexer.Fn, lexer.Async:
		return p.fnDecl(h)
	case lexer.Struct:
		return p.structDecl(h)
	case lexer.Enum:
		return p.enumDecl(h)
	case lexer.Schema:
		return p.schemaDecl(h)
	case lexer.Type:
		return p.typeDecl(h)
	case lexer.Const:
		return p.constDecl(h)
	case lexer.Trait:
		return p.traitDecl(h)
	case lexer.Impl:
		return p.implDecl(h)
	case lexer.Use:
		return p.useDecl(h)
	case lexer.Mod:
		return p.modDecl(h)
	case lexer.Agent:
		return p.agentDecl(h)
	case lexer.Host:
		return p.hostDecl(h)
	case lexer.Tool:
		return p.toolDecl(h)
	case lexer.Mcp:
		return p.mcpDecl(h)
	case lexer.Pipeline:
		return p.pipelineDecl(h)
	case lexer.HashMap, lexer.Ledger, lexer.Memory:
		return p.storeDecl(h)
	}
	if p.k == lexer.Ident {
		p.failDeclaration()
	}
	if p.k == lexer.Let {
		p.fail(p.loose())
	}
	if p.k == lexer.Semi {
		p.fail(p.expected("a declaration").Hint("remove this `;`"))
	}
	p.failExpected("a declaration")
	return nil
}

// finish fills in what all declarations share, once the last token is read.
func (p *parser) finish(d *ast.DeclHead, h head) {
	d.Sp = p.from(h.start)
	d.Doc = p.docBefore(h.start)
	d.Decorators, d.Pub = h.decorators, h.pub
}

// fnDecl reads a function with its body.
func (p *parser) fnDecl(h head) *ast.FnDecl {
	n := p.fnHead(p.i)
	if p.k == lexer.Semi && isNative(h.decorators) {
		p.next()
	} else {
		if p.k == lexer.Semi {
			p.fail(p.expected("`{`").Hint("a function has a body: `{ … }`"))
		}
		n.Body = p.fnBody()
	}
	p.finish(&n.DeclHead, h)
	return n
}

// isNative says whether a function's body lies outside of the program, as the
// library's natives do.
func isNative(ds []*ast.Decorator) bool {
	for _, d := range ds {
		if d.Name.Name == "native" {
			return true
		}
	}
	return false
}

// fnBody reads the block after a header, with the words for a missing one.
func (p *parser) fnBody() *ast.Block {
	return p.blockOr(func() *diag.Diagnostic {
		d := p.expected("`{`")
		if len(d.Hints) == 0 && !p.newLine() && (p.k == lexer.Colon || p.k == lexer.Ident) {
			d.Hint("a result type stands after `->`")
		}
		return d
	})
}

// fnHead reads a signature. When it is wrong but the body behind it can be
// found, the body is read for mistakes of its own before the declaration is
// given up.
func (p *parser) fnHead(start int) *ast.FnDecl {
	var n *ast.FnDecl
	if !p.guard(func() {
		var f fnHeader
		f.read(p)
		n = f.node()
	}) {
		if i := p.bodyAfter(start); i > 0 {
			p.seek(i)
			p.block()
		} else {
			p.syncDecl(start)
		}
		panic(bailout{})
	}
	n.Signature = p.from(p.toks[start].Start)
	return n
}

// fnSignature reads a signature without a body.
func (p *parser) fnSignature(h head) *ast.FnDecl {
	if p.k != lexer.Fn && p.k != lexer.Async {
		p.failExpected("`fn`")
	}
	n := p.fnHead(p.i)
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) typeDecl(h head) *ast.TypeDecl {
	var f typeAlias
	f.read(p)
	n := f.node()
	p.declSemi()
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) constDecl(h head) *ast.ConstDecl {
	var f constant
	f.read(p)
	n := f.node()
	p.declSemi()
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) useDecl(h head) *ast.UseDecl {
	var f useItem
	f.read(p)
	n := f.node()
	p.declSemi()
	p.finish(&n.DeclHead, h)
	return n
}

var storeKinds = map[lexer.Kind]ast.StoreKind{
	lexer.HashMap: ast.HashMapStore, lexer.Ledger: ast.LedgerStore, lexer.Memory: ast.MemoryStore,
}

// storeDecl reads hashmap, ledger and memory.
func (p *parser) storeDecl(h head) *ast.StoreDecl {
	if k := p.peek(2); p.peek(1) == lexer.Ident && (k == lexer.Assign || k == lexer.Semi) {
		w, name := p.text(), p.textAt(p.i+1)
		typ := map[lexer.Kind]string{lexer.HashMap: "HashMap<String, Any>", lexer.Ledger: "Ledger", lexer.Memory: "Memory"}[p.k]
		p.fail(diag.StoreNeedsValue.At(p.toks[p.i+1].Span(), "the %s `%s` needs a type and a value", w, name).
			Hint("write `%s %s: %s = %s::new();`", w, name, typ, map[bool]string{true: "HashMap", false: typ}[p.k == lexer.HashMap]))
	}
	kind := storeKinds[p.k]
	var f store
	f.read(p)
	n := f.node(kind)
	p.declSemi()
	p.finish(&n.DeclHead, h)
	return n
}

// modDecl reads `mod x;` and `mod x { … }`.
func (p *parser) modDecl(h head) *ast.ModDecl {
	var f modHeader
	f.read(p)
	n := f.node()
	if p.k == lexer.LBrace {
		b := p.openBraces(nil)
		n.Inline, n.Decls = true, []ast.Decl{}
		for wrong := false; p.within(b); {
			n.Decls, wrong = p.moduleItem(n.Decls, wrong)
		}
	} else {
		p.declSemi()
	}
	p.finish(&n.DeclHead, h)
	return n
}
