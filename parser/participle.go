package parser

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alecthomas/participle/v2"
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// read parses a form with participle, starting at the current token. A leaf in the form may contain
// further forms, so reads nest. If a token does not fit, read reports it and bails out; to then
// contains the parts that were read before that token.
func read[F any](p *parser, to *F) {
	production := productions[reflect.TypeFor[F]()]
	production.build()
	w := p.openWindow(production)
	defer w.close()
	w.fill(w.lex)
	v, err := production.parser.(*participle.Parser[F]).ParseFromLexer(w.lex, participle.AllowTrailing(true))
	*to = *v
	if w.failed {
		panic(bailout{}) // a leaf has reported the error, which participle treats as an omitted part
	}
	if err == nil {
		p.seek(w.lex.Peek().Pos.Line)
		return
	}
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		panic(err)
	}
	p.seek(unexpected.Unexpected.Pos.Line)
	words := expectation(unexpected.Message())
	if len(words) == 0 && production.fields { // not even its first token
		words = []string{"<word>"}
	}
	p.fail(p.unexpectedInForm(words))
}

// captured is a token that a form captures. Its Pos holds the byte offset, and as Line the index
// among the file's tokens.
type captured = plex.Token

// span returns the span of a captured token, or an empty span if t is nil.
func span(t *captured) source.Span {
	if t == nil {
		return source.Span{}
	}
	start := source.Pos(t.Pos.Offset)
	return source.Span{Start: start, End: start + source.Pos(len(t.Value))}
}

// captured returns the Ident of a captured name, or nil.
func (p *parser) captured(t *captured) *ast.Ident {
	if t == nil {
		return nil
	}
	n := p.newIdent()
	n.Name, n.Sp = t.Value, span(t)
	return n
}

// window is the part of the file's tokens that participle sees. Participle copies a lexer and reads
// tokens only by index, so a leaf counts as one token, however long it is. The tokens after it are
// written into the window when it has been read.
type window struct {
	p      *parser
	form   *production
	lex    *plex.PeekingLexer
	toks   []plex.Token // the tokens of lex
	failed bool         // a leaf has reported an error
	below  *window      // the next unused window of the parser
}

// windows maps the first token of each open window to the window. A leaf finds its parser this way,
// because participle passes it only a copy of the lexer, which shares the tokens.
var windows sync.Map // *plex.Token → *window

// blankTokens is a plex.Lexer that returns n-1 meaningless tokens, then the end of the file.
type blankTokens int

func (n *blankTokens) Next() (plex.Token, error) {
	if *n--; *n == 0 {
		return plex.Token{Type: plex.EOF}, nil
	}
	return plex.Token{Type: typeOther}, nil
}

// room is the initial number of tokens in a window, more than nearly all forms need.
const room = 48

// openWindow returns an empty window for a form; fill writes its tokens.
func (p *parser) openWindow(form *production) *window {
	w := p.windows
	if w == nil {
		w = &window{}
		w.resize(room)
	} else {
		p.windows = w.below
		w.lex.LoadCheckpoint(plex.Checkpoint{})
	}
	w.p, w.form, w.failed = p, form, false
	windows.Store(&w.toks[0], w)
	return w
}

// close returns the window to the parser.
func (w *window) close() {
	windows.Delete(&w.toks[0])
	w.below, w.p.windows = w.p.windows, w
}

// resize makes room for n tokens.
func (w *window) resize(n int) {
	left := blankTokens(n)
	lex, err := plex.Upgrade(&left)
	if err != nil {
		panic(err) // blankTokens returns none
	}
	toks := lex.Range(0, plex.RawCursor(n))
	copy(toks, w.toks)
	if w.lex == nil {
		w.lex = lex
	} else {
		*w.lex = *lex // participle stores its position in this one at the end
	}
	w.toks = toks
}

// fill writes the tokens from the parser's current one to the position of lex: as many as the form
// can read before its next leaf.
func (w *window) fill(lex *plex.PeekingLexer) {
	p, at, depth := w.p, int(lex.RawCursor()), 0
	for i := p.i; ; i++ {
		if at+1 >= len(w.toks) {
			w.grow(lex)
		}
		t := p.toks[i]
		if w.form.braces && t.Kind == lexer.PathSep {
			if depth++; depth > maxNesting { // participle would recurse as deep
				p.seek(i)
				p.failDeep()
			}
		}
		typ := typeOf(t.Kind)
		if w.form.fields && p.isFieldName(i) {
			typ = typeWord
		}
		w.toks[at] = plex.Token{Type: typ, Value: p.textAt(i), Pos: plex.Position{Offset: int(t.Start), Line: i}}
		if at++; t.Kind == lexer.EOF {
			return
		}
		if w.form.endsAt(t.Kind, i-p.i+1) {
			w.toks[at] = plex.Token{Type: plex.EOF, Pos: plex.Position{Offset: int(t.End), Line: i + 1}}
			return
		}
	}
}

// grow doubles the window that participle reads through lex, which stays at its token.
func (w *window) grow(lex *plex.PeekingLexer) {
	at := lex.MakeCheckpoint()
	windows.Delete(&w.toks[0])
	w.resize(2 * len(w.toks))
	windows.Store(&w.toks[0], w)
	*lex = *w.lex
	lex.LoadCheckpoint(at)
}

// The types of tokens that forms refer to. Fixed texts are matched directly.
const (
	typeName plex.TokenType = iota + 1
	typeWord
	typeOther
)

func typeOf(k lexer.Kind) plex.TokenType {
	switch k {
	case lexer.EOF:
		return plex.EOF
	case lexer.Ident:
		return typeName
	}
	return typeOther
}

// definition provides the names of the token types to participle.
type definition struct{}

func (definition) Symbols() map[string]plex.TokenType {
	return map[string]plex.TokenType{"EOF": plex.EOF, "Name": typeName, "Word": typeWord, "Other": typeOther}
}

func (definition) Lex(string, io.Reader) (plex.Lexer, error) {
	return nil, errors.New("tokens come from package lexer")
}

// production is participle's parser for a form, created at its first use.
type production struct {
	once   sync.Once
	make   func(*production)
	parser any // a *participle.Parser of the form
	ebnf   string
	fields bool // it names a field: a word before `:` is one token in it
	lists  bool // it may have any number of tokens before its next leaf
	braces bool // it has braces of its own
}

// productions contains the forms that are not parts of others.
var productions = map[reflect.Type]*production{}

func (x *production) build() { x.once.Do(func() { x.make(x) }) }

// most is the maximum number of tokens that a form without lists reads before its next leaf.
const most = 8

// endsAt reports whether the form reads nothing after a token of kind k, the nth of a window,
// unless a leaf reads that token.
func (x *production) endsAt(k lexer.Kind, n int) bool {
	if !x.lists {
		return n == most
	}
	return k == lexer.Semi || !x.braces && (k == lexer.LBrace || k == lexer.RBrace) || n > 2 && startsDecl[k]
}

func add[F any]() {
	productions[reflect.TypeFor[F]()] = &production{make: func(x *production) {
		parser := participle.MustBuild[F](
			participle.Lexer(definition{}),
			participle.UseLookahead(0), // the first token decides, so errors keep their position
			participle.ParseTypeWith(func(lex *plex.PeekingLexer) (t ast.Type, err error) {
				err = leaf(lex, func(p *parser) { t = p.typ() })
				return t, err
			}),
			participle.ParseTypeWith(func(lex *plex.PeekingLexer) (e ast.Expr, err error) {
				err = leaf(lex, func(p *parser) { e = p.expr() })
				return e, err
			}),
		)
		x.parser, x.ebnf = parser, parser.String()
		x.fields, x.braces = strings.Contains(x.ebnf, "<word>"), strings.Contains(x.ebnf, `"{"`)
		x.lists = strings.Contains(x.ebnf, `","`) || strings.Contains(x.ebnf, "*")
	}}
}

func init() {
	add[prefix]()
	add[decorator]()
	add[fnHeader]()
	add[structHeader]()
	add[structField]()
	add[enumHeader]()
	add[variant]()
	add[schemaHeader]()
	add[schemaField]()
	add[typeAlias]()
	add[constant]()
	add[traitHeader]()
	add[implHeader]()
	add[modHeader]()
	add[useItem]()
	add[agentHeader]()
	add[hostHeader]()
	add[configField]()
	add[mockHeader]()
	add[toolHeader]()
	add[toolField]()
	add[mcpHeader]()
	add[pipelineHeader]()
	add[stageHeader]()
	add[store]()
}

// errLeaf is the error of a leaf that has reported an error.
var errLeaf = errors.New("reported by a leaf")

// leaf runs a hand-written parsing function in a form: it starts at participle's token, and
// participle continues after the tokens that it has read.
func leaf(lex *plex.PeekingLexer, read func(*parser)) error {
	found, _ := windows.Load(&lex.Range(0, 1)[0])
	w := found.(*window)
	p := w.p
	start := lex.Peek().Pos.Line
	p.seek(start)
	if !p.tryRead(func() { read(p) }) {
		w.failed = true
		return errLeaf
	}
	if p.i > start {
		lex.Next()
		w.fill(lex)
	}
	return nil
}

// tryRead runs read and reports whether it returned; if not, it has bailed out. An error about
// depth continues to the outermost construct.
func (p *parser) tryRead(read func()) (ok bool) {
	defer func() {
		if !ok && !p.reports.tooDeep {
			if e := recover(); e != (bailout{}) {
				panic(e)
			}
		}
	}()
	read()
	return true
}

func (l *paramList) Parse(lex *plex.PeekingLexer) error {
	return leaf(lex, func(p *parser) { l.list = p.params(true) })
}

func (a *arguments) Parse(lex *plex.PeekingLexer) error {
	return leaf(lex, func(p *parser) { a.list = p.argsUntilParen() })
}

func (b *bound) Parse(lex *plex.PeekingLexer) error {
	return leaf(lex, func(p *parser) { *b = bound(*p.bound()) })
}

func (c *payload) Parse(lex *plex.PeekingLexer) error {
	if v := lex.Peek().Value; v != "(" && v != "{" {
		return participle.NextMatch
	}
	return leaf(lex, func(p *parser) { *c = p.payload() })
}

// leafNames are the manual's names of the leaves' types.
var leafNames = map[string]string{
	"Type": "TypeExpr", "Expr": "Expression", "paramList": "ParamList", "arguments": "Arguments", "payload": "Payload", "bound": "Bound",
}

// leafWords are the leaves' names in messages.
var leafWords = map[string]string{"Type": "a type", "Expr": "an expression", "paramList": "a parameter", "arguments": "an argument"}

// expectation returns the missing parts from participle's message. The message ends with the EBNF
// of the rest of a sequence: `unexpected token "x" (expected (":" Type)? ")")`.
func expectation(message string) []string {
	const mark = " (expected "
	i := strings.LastIndex(message, mark)
	if i < 0 {
		return nil
	}
	r := rule{rest: strings.TrimSuffix(message[i+len(mark):], ")")}
	r.alternatives()
	return r.words
}

// rule parses a rule in participle's EBNF and collects its possible first tokens. Package ebnf
// would do the same, but it creates its own parser whenever a program that contains it starts,
// which takes longer than checking a small program.
type rule struct {
	rest  string
	words []string
}

// token returns the next literal, name or sign.
func (r *rule) token() string {
	r.rest = strings.TrimLeft(r.rest, " ")
	end := min(1, len(r.rest))
	if q, err := strconv.QuotedPrefix(r.rest); err == nil {
		end = len(q)
	} else if strings.HasPrefix(r.rest, "<") {
		end = strings.IndexByte(r.rest, '>') + 1
	} else if n := strings.IndexAny(r.rest, ` "<()|?*+`); n > 0 {
		end = n
	} else if n < 0 {
		end = len(r.rest)
	}
	t := r.rest[:end]
	r.rest = r.rest[end:]
	return t
}

// alternatives reads `a b | c` up to its end or a `)`, and reports whether it may be empty.
func (r *rule) alternatives() (empty bool) {
	collected, start := r.words, true // whether this alternative may be empty so far
	for {
		switch t := r.token(); t {
		case "", ")":
			r.words = collected
			return empty || start
		case "|":
			empty, start = empty || start, true
		default:
			r.words = nil
			none := t == "(" && r.alternatives()
			if t != "(" {
				r.words = []string{expectedText(t)}
			}
			if strings.HasPrefix(r.rest, "?") || strings.HasPrefix(r.rest, "*") {
				none = true
			}
			r.rest = strings.TrimLeft(r.rest, "?*+")
			if start {
				for _, w := range r.words {
					if !slices.Contains(collected, w) {
						collected = append(collected, w)
					}
				}
				start = none
			}
		}
	}
}

// expectedText returns a literal or name of a rule in words.
func expectedText(t string) string {
	if text, err := strconv.Unquote(t); err == nil {
		return "`" + text + "`"
	}
	if t == "<word>" {
		return t
	}
	if w := leafWords[t]; w != "" {
		return w
	}
	return "a name" // the other parts of forms start with it
}
