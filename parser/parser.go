// Package parser makes the tree of a source file; its API promises nothing. It
// stands between the lexer and the checker.
//
// Headers and members of declarations are forms (form_*.go): structs whose tags
// are their grammar in participle's notation, each with a node method that
// creates the ast node. participle reads them (participle.go). Types, patterns,
// parameters, statements and expressions are read by hand. The whole grammar
// is in spec/grammar.md.
//
// Errors leave a construct by a bailout that its statement, member, arm or
// declaration catches (errors.go); reading goes on at the next one
// (recover.go). Braces that do not balance are told by indentation
// (balance.go).
//
// Invariants: Parse never panics, whatever the text; each mistake gives one
// diagnostic; spans run from a node's first token to its last, so children
// lie within their parents; ids are dense in parse order.
package parser

import (
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Parse reads a source file. The File is never nil: where the text is wrong
// it has holes (BadDecl, BadStmt, BadExpr), and the list says why.
func Parse(f *source.File) (*ast.File, diag.List) {
	p := open(f)
	defer p.close()
	decls := p.module()
	p.lexerFlaws()
	file := &ast.File{Source: f, Decls: decls, Comments: p.astComments(), IDs: int(p.ids), Flaws: p.flaws}
	return file, p.reports.diags
}

// ParseExpr reads a text that is one expression. It gives nil when the text
// is no expression; the list says why. ids is how many ids its nodes use.
func ParseExpr(f *source.File) (x ast.Expr, ids int, list diag.List) {
	p := open(f)
	defer p.close()
	ok := p.guard(func() {
		x = p.expr()
		p.atEnd()
	})
	if !ok || p.reports.diags.HasErrors() {
		x = nil
	}
	return x, int(p.ids), p.reports.diags
}

// ParseSignature reads a text that is one function signature, with decorators
// and doc comment, without a body and with or without a closing `;`:
// `async fn f<T>(a: Int) -> T`. It gives nil when the text is none.
func ParseSignature(f *source.File) (fn *ast.FnDecl, ids int, list diag.List) {
	p := open(f)
	defer p.close()
	ok := p.guard(func() {
		fn = p.fnSignature(p.prefix())
		p.eat(lexer.Semi)
		p.atEnd()
	})
	if !ok || p.reports.diags.HasErrors() {
		fn = nil
	}
	return fn, int(p.ids), p.reports.diags
}

// parser is the state of one parse: the session that the pool holds.
type parser struct {
	cursor
	nodes
	reports  reports
	balance  balance
	setting  setting
	flaws    []ast.Flaw
	closers  []int32             // by opening bracket, see closer; nil until wanted
	literals map[int]bool        // those of them that closeLiteral has looked at
	mixed    *ast.StructDecl     // the last struct that was reported to have methods between its fields
	reserved map[lexer.Kind]bool // the reserved words that a name was declared with; nil for none
	noArgs   argScan             // what the last search for type arguments saw
	windows  *window             // the unused ones, linked by below
}

var pool = sync.Pool{New: func() any { return new(parser) }}

// open lexes f and takes a session for it.
func open(f *source.File) *parser {
	p := pool.Get().(*parser)
	toks, comments, list := lexer.Lex(f)
	*p = parser{
		cursor:  cursor{file: f, src: f.String(), toks: toks, comments: comments, k: toks[0].Kind},
		nodes:   p.nodes.remaining(),
		reports: lexerReports(list),
		balance: balanceOf(toks),
		setting: setting{slice: -1},
		windows: p.windows,
	}
	return p
}

// close gives the session back.
func (p *parser) close() {
	*p = parser{nodes: p.nodes.remaining(), windows: p.windows}
	pool.Put(p)
}

// base is an IDBase with the next id that spans from start to the token
// before the current one.
func (p *parser) base(start source.Pos) ast.IDBase {
	return ast.IDBase{Base: ast.Base{Sp: p.from(start)}, Id: p.id()}
}

// baseAt is an IDBase with the next id.
func (p *parser) baseAt(s source.Span) ast.IDBase {
	return ast.IDBase{Base: ast.Base{Sp: s}, Id: p.id()}
}

// ident makes an Ident of the current token and passes it.
func (p *parser) ident() *ast.Ident {
	n := p.newIdent()
	t := p.toks[p.i]
	n.Sp, n.Name = t.Span(), p.src[t.Start:t.End]
	p.next()
	return n
}

// name wants a name and says so where a reserved word stands. One that is missing
// is "".
func (p *parser) name() *ast.Ident {
	if p.k != lexer.Ident {
		d := p.noName(p.i)
		if d.Info == diag.ReservedName && p.readsOn() {
			p.report(d)
			return p.reservedName()
		}
		p.tell(d)
		if !p.stops(lexer.Assign, lexer.Greater) {
			panic(bailout{})
		}
		return p.noIdent()
	}
	return p.ident()
}

// word wants a name or any reserved word.
func (p *parser) word() *ast.Ident {
	if !p.k.IsWord() {
		p.failName()
	}
	return p.ident()
}

// setting is what stands around the text at hand, as far as it changes how that
// is read. Who changes it puts back the one before; so does who catches an
// error.
type setting struct {
	depth  int  // nesting of brackets, blocks, operators
	inHead bool // a bare `{` opens the body
	slice  int  // the `[` whose range may be open: index of its token, or -1
}

// apart begins what is no part of a head or a slice and gives the setting before.
func (s *setting) apart() setting {
	outer := *s
	s.inHead, s.slice = false, -1
	return outer
}

// nest begins the inside of brackets, a level deeper, and gives the setting
// before. slice is their `[`, if its range may be open, else -1.
func (p *parser) nest(slice int) setting {
	outer := p.setting
	p.setting.inHead, p.setting.slice = false, slice
	p.deeper()
	return outer
}

// deeper counts one level of nesting; shallower takes it back.
func (p *parser) deeper() {
	p.setting.depth++
	if p.setting.depth > maxNesting {
		p.failDeep()
	}
}

func (s *setting) shallower() { s.depth-- }

// maxNesting is how deep brackets, blocks, types, patterns and chains of
// operators may be nested: beyond any program, within the stack.
const maxNesting = 10_000
