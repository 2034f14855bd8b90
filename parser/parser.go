// Package parser makes the tree of a source file; its API promises nothing. It
// stands between the lexer and the checker.
//
// Headers and members of declarations are forms (form_*.go): structs whose tags
// are their grammar in participle's notation, each with a node method that
// makes the ast node. From the tags parser/gen writes a reader for each
// (readers.go), and in tests participle reads every form by the same tags and
// must find the same tree or the same mistake. Types, patterns, parameters,
// statements and expressions are read by hand. The whole grammar stands in
// spec/grammar.md.
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

//go:generate go run ./gen . readers.go

import (
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Parse reads a source file. The File is never nil: where the text is wrong
// it has holes (BadDecl, BadStmt, BadExpr), and the list says why.
func Parse(f *source.File) (*ast.File, diag.List) {
	return parse(f, nil)
}

// parse is Parse. forms reads the forms in their readers' stead, if given.
func parse(f *source.File, forms func(*parser, any)) (*ast.File, diag.List) {
	p := open(f)
	defer p.close()
	p.forms = forms
	file := &ast.File{Source: f, Decls: p.module(), Comments: p.astComments(), IDs: int(p.ids)}
	return file, p.diags
}

// instead fills a form in its reader's stead.
func instead[F any](p *parser, form *F) *F {
	p.forms(p, form)
	return form
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
	if !ok || p.diags.HasErrors() {
		x = nil
	}
	return x, int(p.ids), p.diags
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
	if !ok || p.diags.HasErrors() {
		fn = nil
	}
	return fn, int(p.ids), p.diags
}

// parser is the state of one parse: the session that the pool holds.
type parser struct {
	file     *source.File
	src      string
	toks     []lexer.Token
	comments []lexer.Comment
	i        int        // the current token
	k        lexer.Kind // its kind

	ids     ast.ID
	diags   diag.List
	lastAt  source.Pos          // where the last error was reported, -1 at first
	lastTok int                 // the current token then
	lexed   map[source.Pos]bool // where the lexer reported errors
	mute    bool                // the lexer gave up on the file's end: say nothing about it
	depth   int                 // nesting of brackets, blocks, operators
	tooDeep bool                // a bailout about depth is on its way to the outermost construct
	inHead  bool                // a bare `{` opens the body
	slice   int                 // the `[` whose range may be open: index of its token

	noArgs    argScan            // what the last search for type arguments saw
	matches   []int32            // partner of each bracket token; nil until wanted
	excess    int                // how many `}` there are more than `{`
	culprit   int                // token of the `{` to blame when there are fewer; -1 none, -2 not looked for
	blamed    []int              // the `{` that have been told of
	forms     func(*parser, any) // reads a form in its reader's stead: participle in tests, else nil
	namedPool []ast.Ident        // nodes for later, of this file or the next
	pathPool  []ast.PathExpr
	segPool   []*ast.Ident
}

var pool = sync.Pool{New: func() any { return new(parser) }}

// open lexes f and takes a session for it.
func open(f *source.File) *parser {
	p := pool.Get().(*parser)
	toks, comments, list := lexer.Lex(f)
	*p = parser{
		file: f, src: f.String(), toks: toks, comments: comments, diags: list,
		lastAt: -1, lastTok: -1, culprit: -2, slice: -1,
		namedPool: p.namedPool, pathPool: p.pathPool, segPool: p.segPool,
	}
	for _, d := range list.Sorted() {
		if p.lexed == nil {
			p.lexed = map[source.Pos]bool{}
		}
		p.lexed[d.Span.Start] = true
		p.mute = p.mute || d.Info == diag.OpenComment
	}
	p.k = toks[0].Kind
	p.countBraces()
	return p
}

// close gives the session back.
func (p *parser) close() {
	*p = parser{namedPool: p.namedPool, pathPool: p.pathPool, segPool: p.segPool}
	pool.Put(p)
}

func (p *parser) astComments() []ast.Comment {
	if len(p.comments) == 0 {
		return nil
	}
	out := make([]ast.Comment, len(p.comments))
	for i, c := range p.comments {
		out[i] = ast.Comment{Base: ast.Base{Sp: source.Span{Start: c.Start, End: c.End}}, Doc: c.Doc}
	}
	return out
}

// Reading tokens.

func (p *parser) tok() lexer.Token { return p.toks[p.i] }

// next passes the current token; the end of the file stays.
func (p *parser) next() {
	if p.k != lexer.EOF {
		p.i++
		p.k = p.toks[p.i].Kind
	}
}

// seek goes to token i.
func (p *parser) seek(i int) {
	p.i = min(i, len(p.toks)-1)
	p.k = p.toks[p.i].Kind
}

// peek is the kind n tokens on.
func (p *parser) peek(n int) lexer.Kind {
	if p.i+n < len(p.toks) {
		return p.toks[p.i+n].Kind
	}
	return lexer.EOF
}

// eat passes a token of kind k, if one is there.
func (p *parser) eat(k lexer.Kind) bool {
	if p.k != k {
		return false
	}
	p.next()
	return true
}

// text is the current token's text.
func (p *parser) text() string { return p.textAt(p.i) }

func (p *parser) textAt(i int) string {
	t := p.toks[i]
	return p.src[t.Start:t.End]
}

// isWord says whether the current token is the contextual word w.
func (p *parser) isWord(w string) bool { return p.k == lexer.Ident && p.text() == w }

// here is the current token's start.
func (p *parser) here() source.Pos { return p.toks[p.i].Start }

// prevEnd is the end of the token before the current one.
func (p *parser) prevEnd() source.Pos {
	if p.i == 0 {
		return 0
	}
	return p.toks[p.i-1].End
}

// from is the span from start to the token before the current one.
func (p *parser) from(start source.Pos) source.Span {
	return source.Span{Start: start, End: max(start, p.prevEnd())}
}

// newLine says whether the current token is the first of its line.
func (p *parser) newLine() bool { return p.startsLine(p.i) }

func (p *parser) startsLine(i int) bool {
	if i == 0 {
		return true
	}
	for j := int(p.toks[i].Start) - 1; j >= int(p.toks[i-1].End); j-- {
		if p.src[j] == '\n' {
			return true
		}
	}
	return false
}

// column0 says whether token i stands at the very start of a line.
func (p *parser) column0(i int) bool {
	s := p.toks[i].Start
	return s == 0 || p.src[s-1] == '\n'
}

// Making nodes.

func (p *parser) id() ast.ID {
	n := p.ids
	p.ids++
	return n
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

// chunk is how many small nodes are allocated at a time.
const chunk = 64

// ident makes an Ident of the current token and passes it.
func (p *parser) ident() *ast.Ident {
	n := p.newIdent()
	t := p.toks[p.i]
	n.Sp, n.Name = t.Span(), p.src[t.Start:t.End]
	p.next()
	return n
}

func (p *parser) newIdent() *ast.Ident {
	if len(p.namedPool) == 0 {
		p.namedPool = make([]ast.Ident, chunk)
	}
	n := &p.namedPool[0]
	p.namedPool = p.namedPool[1:]
	return n
}

// name wants a name and says so where a reserved word stands.
func (p *parser) name() *ast.Ident {
	if p.k != lexer.Ident {
		p.failName()
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

// deeper counts one level of nesting; shallower takes it back.
func (p *parser) deeper() {
	p.depth++
	if p.depth > maxNesting {
		p.failDeep()
	}
}

func (p *parser) shallower() { p.depth-- }

// maxNesting is how deep brackets, blocks, types, patterns and chains of
// operators may be nested: beyond any program, within the stack.
const maxNesting = 10_000
