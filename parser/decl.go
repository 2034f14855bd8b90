package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// startsDecl contains the words that start a declaration.
var startsDecl = [lexer.NumKinds]bool{
	lexer.Const: true, lexer.Fn: true, lexer.Agent: true, lexer.Host: true, lexer.Tool: true, lexer.Mcp: true,
	lexer.Schema: true, lexer.Struct: true, lexer.Enum: true, lexer.Trait: true, lexer.Impl: true, lexer.Type: true,
	lexer.Pub: true, lexer.Use: true, lexer.Mod: true, lexer.Async: true, lexer.Pipeline: true, lexer.HashMap: true,
	lexer.Ledger: true, lexer.Memory: true,
}

// inBlocks contains the words that start a declaration which is allowed in a block.
var inBlocks = [lexer.NumKinds]bool{
	lexer.Fn: true, lexer.Async: true, lexer.Const: true, lexer.Struct: true, lexer.Enum: true, lexer.Schema: true,
	lexer.Type: true, lexer.Use: true,
}

// head is the part of a declaration or a member before its keyword: its start, its decorators and
// `pub`.
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
	if p.k == lexer.Pub { // a prefix without decorators does not require the grammar
		p.next()
		h.pub = true
		return h
	}
	var f prefix
	read(p, &f)
	h.pub = f.Pub
	if len(f.Decorators) > 0 {
		h.decorators = make([]*ast.Decorator, len(f.Decorators))
		for i := range f.Decorators {
			h.decorators[i] = f.Decorators[i].node(p)
		}
	}
	return h
}

// decorators reads the decorators of a parameter or a schema's field.
func (p *parser) decorators() (list []*ast.Decorator) {
	for p.k == lexer.At {
		var f decorator
		read(p, &f)
		list = append(list, f.node(p))
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
			p.reportUnopened()
		}
	}
	return decls
}

// moduleItem reads one declaration of a module. wrong reports that the previous item was no
// declaration: moduleItem reports a run of statements and unexpected tokens only once.
func (p *parser) moduleItem(decls []ast.Decl, wrong bool) ([]ast.Decl, bool) {
	start := p.i
	p.reports.going = false
	if wrong && !startsDecl[p.k] && !p.startsQueue() && !startsExpr[p.k] && p.k != lexer.Let {
		p.next()
		return decls, true
	}
	if p.isLooseStatement() {
		if !wrong {
			p.report(p.looseStatement())
		}
		quiet, flaws := p.reports.diags, len(p.flaws)
		p.stmtOrSync(new(ast.Block))
		p.reports.diags, p.flaws = quiet, p.flaws[:flaws]
		return append(decls, p.badDecl(head{start: p.toks[start].Start}, start)), true
	}
	var d ast.Decl
	var h head
	read := start // index of the first token that the tree does not contain
	if !p.guard(func() {
		h = p.prefix()
		read = p.i
		d = p.declAfter(h)
	}) {
		p.syncDecl(start)
		if read == start {
			h = head{start: p.toks[start].Start}
		}
		return append(decls, p.badDecl(h, read)), true
	}
	return append(decls, d), false
}

// badDecl returns a placeholder for a declaration of which the parser understood only the part
// before token start.
func (p *parser) badDecl(h head, start int) *ast.BadDecl {
	n := &ast.BadDecl{}
	n.Sp = p.from(h.start)
	n.Decorators = h.decorators
	n.Names = p.recordLostText(n, min(start, p.i), p.i)
	return n
}

// header reads the form of a declaration's header, and reports whether the declaration's body
// follows. If the header has syntax errors and a name, the tree contains the parts before the
// error. The parser then also reads the body, if it finds one.
func (p *parser) header(read func(), n **captured) (body bool) {
	start := p.i
	if p.inHeader(read) {
		return true
	}
	wrong := p.i
	p.setName(start+1, n)
	if i := p.bodyAfter(start); i > 0 {
		p.recordLostText(nil, wrong, i)
		p.seek(i)
		return true
	}
	p.syncDecl(start)
	p.recordLostText(nil, min(wrong, p.i), p.i)
	return false
}

// setName sets the name of a declaration with syntax errors to token i. If token i is no name,
// setName aborts the declaration.
func (p *parser) setName(i int, n **captured) {
	if p.kindAt(i) != lexer.Ident || i >= p.i {
		panic(bailout{})
	}
	if *n == nil {
		*n = &captured{Value: p.textAt(i), Pos: plex.Position{Offset: int(p.toks[i].Start), Line: i}}
	}
}

// wholeForm reads the form of a declaration that ends at a `;`, and reports whether the declaration
// has no syntax errors. If it has errors, the tree contains the parts before the error. n is the
// declaration's name; setName sets it. n is nil for declarations that need no name.
func (p *parser) wholeForm(read func(), n **captured) (ok bool) {
	start := p.i
	if p.guard(read) {
		return true
	}
	wrong := p.i
	if n != nil {
		p.setName(start+1, n)
	}
	p.syncDecl(start)
	p.recordLostText(nil, min(wrong, p.i), p.i)
	return false
}

// isLooseStatement reports whether the current token starts a statement instead of a declaration.
func (p *parser) isLooseStatement() bool {
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
			return false // the word is a misspelled keyword of a declaration
		}
	}
	return startsExpr[p.k]
}

// looseStatement returns the diagnostic for a statement at module level.
func (p *parser) looseStatement() *diag.Diagnostic {
	d := diag.LooseStatement.At(p.statementSpan(), "statements are not allowed at module level")
	if p.k == lexer.Let && p.peek(1) == lexer.Ident && p.peek(2) == lexer.Assign {
		d.Repair(diag.Change(p.span(), "const", "const", false),
			"declare a constant with `const`; use a `hashmap` or a field of a `tool` for state that changes")
	}
	if p.k == lexer.Let && p.peek(1) == lexer.Mut {
		return d.Hint("use a `hashmap` or a field of a `tool` for state that changes; declare a variable of one function inside it")
	}
	if p.k == lexer.Ident && p.peek(1) == lexer.LParen && len(foreign.Declaration.Find(p.text()).Ours) == 1 && foreign.Declaration.Find(p.text()).Ours[0] == "fn" {
		return d.Hint("methods are declared in an `impl`: `impl T { fn name(self) { … } }`")
	}
	if p.k == lexer.Ident && p.text() == "main" && p.peek(1) == lexer.LParen {
		return d.Repair(diag.UnsafeFix(diag.Insert(p.here(), "fn "), "Write `fn main`"), "write `fn main() { … }`")
	}
	return d.Hint("put it into a function: `fn main() { … }`")
}

// statementSpan returns the span of the statement's first line, for a diagnostic.
func (p *parser) statementSpan() source.Span {
	s := p.span()
	for i := p.i; i < len(p.toks)-1 && (i == p.i || !p.startsLine(i)); i++ {
		s = source.Join(s, p.toks[i].Span())
	}
	return s
}

// declAfter reads one declaration whose decorators and `pub` have been read.
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
	if p.startsQueue() {
		return p.storeDecl(h)
	}
	if p.k == lexer.Ident {
		p.failDeclaration()
	}
	if p.k == lexer.Let {
		p.fail(p.looseStatement())
	}
	if p.k == lexer.Semi {
		p.fail(p.expected("a declaration").Hint("remove this `;`"))
	}
	p.failExpected("a declaration")
	return nil
}

// finishDecl sets the fields that all declarations have. The parser calls it after the
// declaration's last token.
func (p *parser) finishDecl(d *ast.DeclHead, h head) {
	d.Sp = p.from(h.start)
	d.Doc = p.docBefore(h.start)
	d.Decorators, d.Pub = h.decorators, h.pub
}

// fnDecl reads a function with its body.
func (p *parser) fnDecl(h head) *ast.FnDecl {
	n, ok := p.fnHead(p.i)
	switch {
	case p.k == lexer.Semi && isNative(h.decorators):
		p.next()
	case ok:
		if p.k == lexer.Semi {
			p.report(p.expected("`{`").Hint("a function needs a body: `{ … }`"))
			n.Body = &ast.Block{}
			n.Body.Sp = p.afterPrevious()
			p.flaws = append(p.flaws, ast.Flaw{Node: n.Body, Span: n.Body.Sp})
			p.next()
		} else {
			n.Body = p.fnBody()
		}
	}
	p.finishDecl(&n.DeclHead, h)
	return n
}

// isNative reports whether a function is implemented outside the program, as the native functions
// of the library are.
func isNative(ds []*ast.Decorator) bool {
	for _, d := range ds {
		if d.Name.Name == "native" {
			return true
		}
	}
	return false
}

// fnBody reads the block after a function's header. It reports a missing block.
func (p *parser) fnBody() *ast.Block {
	return p.blockOr(func() *diag.Diagnostic {
		d := p.expected("`{`")
		if len(d.Hints) == 0 && p.k == lexer.Colon && p.startsLine(p.i+1) {
			d.Hint("the body must be in braces: `{ … }`")
		} else if len(d.Hints) == 0 && !p.newLine() && (p.k == lexer.Colon || p.k == lexer.Ident) {
			d.Hint("write `->` before the result type")
		}
		return d
	})
}

// fnHead reads a function's signature, and reports whether a valid token follows. If the signature
// has syntax errors, the tree contains its parts, and the flaw of the result type records the rest
// of the text. If the function has no name, fnHead reads the body to report its errors, and aborts
// the declaration.
func (p *parser) fnHead(start int) (*ast.FnDecl, bool) {
	var f fnHeader
	if p.inHeader(func() { read(p, &f) }) {
		n := f.node(p)
		n.Signature = p.from(p.toks[start].Start)
		if n.Result == nil && p.k != lexer.LBrace && p.k != lexer.Semi {
			n.Result = p.foreignResult()
		}
		return n, true
	}
	wrong, body := p.i, p.bodyAfter(start)
	at := start + 1
	if p.kindAt(start) == lexer.Async {
		at++
	}
	if p.kindAt(at) != lexer.Ident || at >= wrong {
		if body > 0 {
			p.seek(body)
			p.block()
		} else {
			p.syncDecl(start)
		}
		panic(bailout{})
	}
	p.setName(at, &f.Name)
	if f.Result == nil {
		f.Result = &ast.BadType{IDBase: p.baseAt(p.afterPrevious())}
	}
	n := f.node(p)
	n.Signature = p.from(p.toks[start].Start)
	if body > 0 {
		p.recordLostText(n, wrong, body)
		p.seek(body)
	} else {
		if p.setting.depth == 0 || !startsStmt[p.k] || !p.newLine() { // in a block, the token starts the next statement
			p.syncDecl(start)
		}
		p.recordLostText(n, min(wrong, p.i), p.i)
	}
	return n, body > 0
}

func (p *parser) typeDecl(h head) *ast.TypeDecl {
	var f typeAlias
	ok := p.wholeForm(func() { read(p, &f) }, &f.Name)
	if f.Type == nil {
		f.Type = &ast.BadType{IDBase: p.baseAt(p.afterPrevious())}
	}
	n := f.node(p)
	if ok {
		p.requireDeclSemi()
	}
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) constDecl(h head) *ast.ConstDecl {
	var f constant
	ok := p.wholeForm(func() { read(p, &f) }, &f.Name)
	if f.Value == nil {
		f.Value = p.badExpr(p.baseAt(p.afterPrevious()))
	}
	n := f.node(p)
	if ok {
		p.requireDeclSemi()
	}
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) useDecl(h head) *ast.UseDecl {
	start := p.i
	var f useItem
	if !p.wholeForm(func() { read(p, &f) }, nil) {
		n := &ast.UseDecl{Tree: p.brokenUse(start + 1)}
		p.finishDecl(&n.DeclHead, h)
		return n
	}
	n := f.node(p)
	p.requireDeclSemi()
	p.finishDecl(&n.DeclHead, h)
	return n
}

// brokenUse converts the tokens of a `use` with syntax errors, from token i to the current token,
// to a tree. The tree contains the path up to the error, or the list that is open there.
func (p *parser) brokenUse(i int) *ast.UseTree {
	n := &ast.UseTree{}
	start := p.toks[i-1].End
	end := start
	in := &n.Path
	for ; i < p.i; i++ {
		t := p.toks[i]
		switch k := t.Kind; {
		case k == lexer.Ident || k == lexer.Self || k == lexer.SelfType:
			*in = append(*in, &ast.Ident{Base: ast.Base{Sp: t.Span()}, Name: p.textAt(i)})
			end = t.End
			if p.kindAt(i+1) == lexer.PathSep && i+1 < p.i {
				i++
				end = p.toks[i].End
				if next := p.kindAt(i + 1); next != lexer.Ident && next != lexer.LBrace || i+1 >= p.i {
					*in = append(*in, &ast.Ident{Base: ast.Base{Sp: source.Span{Start: end, End: end}}})
				}
				continue
			}
			if len(n.List) > 0 {
				l := n.List[len(n.List)-1]
				l.Sp = source.Span{Start: l.Path[0].Sp.Start, End: end}
			}
		case k == lexer.LBrace && n.List == nil && len(n.Path) > 0 || k == lexer.Comma && n.List != nil:
			if n.List == nil {
				n.List = []*ast.UseTree{}
			}
			end = t.End
			if p.kindAt(i+1) == lexer.Ident && i+1 < p.i {
				n.List = append(n.List, &ast.UseTree{})
				in = &n.List[len(n.List)-1].Path
			}
			continue
		}
		if p.kindAt(i+1) != lexer.Comma || n.List == nil {
			break
		}
	}
	if len(n.Path) == 0 {
		n.Path = []*ast.Ident{{Base: ast.Base{Sp: source.Span{Start: start, End: start}}}}
	}
	n.Sp = source.Span{Start: n.Path[0].Sp.Start, End: end}
	for _, l := range n.List {
		l.Sp = source.Span{Start: l.Path[0].Sp.Start, End: l.Path[len(l.Path)-1].Sp.End}
	}
	return n
}

var storeKinds = map[lexer.Kind]ast.StoreKind{
	lexer.HashMap: ast.HashMapStore, lexer.Ledger: ast.LedgerStore, lexer.Memory: ast.MemoryStore,
}

// startsQueue reports whether the current token is the contextual word `queue` of a declaration.
// Before `=` and `;` it would be an error in any case, and storeDecl has the better message.
func (p *parser) startsQueue() bool {
	if !p.isWord("queue") || p.peek(1) != lexer.Ident {
		return false
	}
	next := p.peek(2)
	return next == lexer.Colon || next == lexer.Assign || next == lexer.Semi
}

// storeDecl reads a hashmap, ledger, memory or queue declaration.
func (p *parser) storeDecl(h head) *ast.StoreDecl {
	if k := p.peek(2); p.peek(1) == lexer.Ident && (k == lexer.Assign || k == lexer.Semi) {
		w, name := p.text(), p.textAt(p.i+1)
		p.fail(diag.StoreNeedsValue.At(p.toks[p.i+1].Span(), "%s `%s` needs a type and a value", w, name).
			Advise(p.storeAdvice(w, name)))
	}
	kind, ok := storeKinds[p.k]
	if !ok {
		kind = ast.QueueStore
	}
	var f store
	ok = p.wholeForm(func() { read(p, &f) }, &f.Name)
	if f.Type == nil {
		f.Type = &ast.BadType{IDBase: p.baseAt(p.afterPrevious())}
	}
	if f.Value == nil {
		f.Value = &ast.BadExpr{IDBase: p.baseAt(p.afterPrevious())}
	}
	n := f.node(p, kind)
	if ok {
		p.requireDeclSemi()
	}
	p.finishDecl(&n.DeclHead, h)
	return n
}

// modDecl reads `mod x;` and `mod x { … }`.
func (p *parser) modDecl(h head) *ast.ModDecl {
	var f modHeader
	read(p, &f)
	n := f.node(p)
	if p.k == lexer.LBrace {
		b, _ := p.openBraces(nil)
		n.Inline, n.Decls = true, []ast.Decl{}
		for wrong := false; p.hasElement(b); {
			n.Decls, wrong = p.moduleItem(n.Decls, wrong)
		}
		p.recordGuessedEnd(n)
	} else {
		p.requireDeclSemi()
	}
	p.finishDecl(&n.DeclHead, h)
	return n
}
