// Package parser builds the syntax tree of a source file from the lexer's tokens, for the checker.
//
// Headers and members of declarations are forms (form_*.go): structs whose tags are their grammar
// in participle's notation, each with a node method that creates the ast node. participle parses
// them (participle.go). Types, patterns, parameters, statements and expressions are parsed by hand.
// The whole grammar is in spec/grammar.md.
//
// An error aborts a construct with a bailout that the enclosing statement, member, arm or
// declaration recovers (errors.go). Parsing continues at the next one (recover.go). In files with
// unbalanced braces, the indentation determines the errors (balance.go).
//
// Invariants: Parse never panics, for any text. Each error causes one diagnostic. Spans extend from
// a node's first token to its last, so children are within their parents. Ids are dense, in the
// order of parsing.
package parser

import (
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Parse parses a source file. It never returns a nil File: a text with syntax errors has holes
// (BadDecl, BadStmt, BadExpr), and the list contains the errors.
func Parse(f *source.File) (*ast.File, diag.List) {
	p := open(f)
	defer p.close()
	decls := p.module()
	p.recordLexerFlaws()
	file := &ast.File{Source: f, Decls: decls, Comments: p.astComments(), IDs: int(p.ids), Flaws: p.flaws}
	return file, p.reports.diags
}

// parser is the state of parsing one file. Parsers are pooled.
type parser struct {
	cursor
	nodes
	reports  reports
	balance  balance
	setting  setting
	flaws    []ast.Flaw
	closers  []int32             // index of the closing token for each opening bracket, or -1 (closingBracket); nil until needed
	literals map[int]bool        // indices of the `{` that closeLiteral has checked
	mixed    *ast.StructDecl     // last struct that was reported because it contains methods
	reserved map[lexer.Kind]bool // reserved words that the file declares as names; nil for none
	noArgs   argScan             // result of the last failed search for type arguments
	windows  *window             // first unused window; the field below links to the next one
}

var pool = sync.Pool{New: func() any { return new(parser) }}

// open lexes f and returns a parser for its tokens from the pool.
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

// close returns the parser to the pool.
func (p *parser) close() {
	*p = parser{nodes: p.nodes.remaining(), windows: p.windows}
	pool.Put(p)
}

// base returns an IDBase with the next id. Its span extends from start to the end of the previous
// token.
func (p *parser) base(start source.Pos) ast.IDBase {
	return ast.IDBase{Base: ast.Base{Sp: p.from(start)}, Id: p.id()}
}

// baseAt returns an IDBase with the next id and the span s.
func (p *parser) baseAt(s source.Span) ast.IDBase {
	return ast.IDBase{Base: ast.Base{Sp: s}, Id: p.id()}
}

// ident converts the current token to an Ident and consumes it.
func (p *parser) ident() *ast.Ident {
	n := p.newIdent()
	t := p.toks[p.i]
	n.Sp, n.Name = t.Span(), p.src[t.Start:t.End]
	p.next()
	return n
}

// name requires a name. It reports a reserved word as an error. A missing name is an Ident whose
// Name is "".
func (p *parser) name() *ast.Ident {
	if p.k != lexer.Ident {
		d := p.missingName(p.i)
		if d.Info == diag.ReservedName && p.mayFollowName() {
			p.report(d)
			return p.reservedName()
		}
		p.reportAndContinue(d)
		if !p.isPartMissing(lexer.Assign, lexer.Greater) {
			panic(bailout{})
		}
		return p.noIdent()
	}
	return p.ident()
}

// word requires a name or any reserved word.
func (p *parser) word() *ast.Ident {
	if !p.k.IsWord() {
		p.failName()
	}
	return p.ident()
}

// setting is the part of the parser's state that depends on the enclosing constructs. A function
// that changes the setting restores it, also when it recovers from an error.
type setting struct {
	depth  int  // current nesting of brackets, blocks and operators
	inHead bool // a `{` that is not in parentheses starts a body
	slice  int  // index of the `[` of a slice, in which a range may have no end, or -1
}

// isolate changes the setting for a text that is not part of the enclosing head or slice. It
// returns the previous setting.
func (s *setting) isolate() setting {
	outer := *s
	s.inHead, s.slice = false, -1
	return outer
}

// nest changes the setting for the inside of brackets, one level deeper. It returns the previous
// setting. slice is the index of the `[` if the brackets may contain a slice, else -1.
func (p *parser) nest(slice int) setting {
	outer := p.setting
	p.setting.inHead, p.setting.slice = false, slice
	p.deeper()
	return outer
}

// deeper increases the nesting by one. It aborts the construct if the nesting exceeds maxNesting.
func (p *parser) deeper() {
	p.setting.depth++
	if p.setting.depth > maxNesting {
		p.failDeep()
	}
}

func (s *setting) shallower() { s.depth-- }

// maxNesting is the maximum nesting of brackets, blocks, types, patterns and operators. No program
// that a person writes reaches it, and the parser does not overflow the stack at this depth.
const maxNesting = 10_000
