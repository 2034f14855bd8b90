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

// read parses a form with participle, starting at the current token. A leaf of the form may contain
// further forms, so calls of read nest. If a token does not fit, read reports the error and aborts
// the construct. to then contains the parts before that token.
func read[F any](p *parser, to *F) {
	production := productions[reflect.TypeFor[F]()]
	production.build()
	w := p.openWindow(production)
	defer w.close()
	w.fill(w.lex)
	v, err := production.parser.(*participle.Parser[F]).ParseFromLexer(w.lex, participle.AllowTrailing(true))
	*to = *v
	if w.failed {
		panic(bailout{}) // a leaf has reported the error; participle treats the leaf as an omitted part
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
	if len(words) == 0 && production.fields { // the form does not allow the first token
		words = []string{"<word>"}
	}
	p.fail(p.unexpectedInForm(words))
}

// captured is a token that a form captures. Pos.Offset is its byte offset, and Pos.Line is its
// index among the file's tokens.
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

// window is the part of the file's tokens that participle reads. Participle copies a lexer and
// reads tokens only by index. A leaf counts as one token for participle, however many tokens the
// leaf reads. After a leaf, fill overwrites the window with the tokens that follow the leaf.
type window struct {
	p      *parser
	form   *production
	lex    *plex.PeekingLexer
	toks   []plex.Token // tokens that lex reads
	failed bool         // a leaf has reported an error
	below  *window      // next unused window of the parser
}

// windows maps the first token of each open window to the window. Participle passes a leaf only a
// copy of the lexer. The copy shares the tokens, so a leaf finds its window and parser by the
// address of the first token.
var windows sync.Map // *plex.Token → *window

// blankTokens is a plex.Lexer that returns n-1 placeholder tokens and then EOF.
type blankTokens int

func (n *blankTokens) Next() (plex.Token, error) {
	if *n--; *n == 0 {
		return plex.Token{Type: plex.EOF}, nil
	}
	return plex.Token{Type: typeOther}, nil
}

// room is the initial number of tokens in a window. Nearly all forms need fewer tokens.
const room = 48

// openWindow returns an empty window for a form. The caller fills it with fill.
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

// resize changes the number of tokens in the window to n.
func (w *window) resize(n int) {
	left := blankTokens(n)
	lex, err := plex.Upgrade(&left)
	if err != nil {
		panic(err) // blankTokens returns no error
	}
	toks := lex.Range(0, plex.RawCursor(n))
	copy(toks, w.toks)
	if w.lex == nil {
		w.lex = lex
	} else {
		*w.lex = *lex // participle stores its final position in the object that w.lex points to
	}
	w.toks = toks
}

// fill copies tokens from the parser's current token to the window, starting at the position of
// lex. It copies as many tokens as the form can read before its next leaf.
func (w *window) fill(lex *plex.PeekingLexer) {
	p, at, depth := w.p, int(lex.RawCursor()), 0
	for i := p.i; ; i++ {
		if at+1 >= len(w.toks) {
			w.grow(lex)
		}
		t := p.toks[i]
		if w.form.braces && t.Kind == lexer.PathSep {
			if depth++; depth > maxNesting { // participle would recurse to the same depth
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

// grow doubles the number of tokens in the window that participle reads through lex. The position
// of lex does not change.
func (w *window) grow(lex *plex.PeekingLexer) {
	at := lex.MakeCheckpoint()
	windows.Delete(&w.toks[0])
	w.resize(2 * len(w.toks))
	windows.Store(&w.toks[0], w)
	*lex = *w.lex
	lex.LoadCheckpoint(at)
}

// The token types that forms refer to. Participle compares fixed texts directly.
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
	parser any // a *participle.Parser[F] for the form F
	ebnf   string
	fields bool // the form names a field: it reads a word before a `:` as one token
	lists  bool // the form may read any number of tokens before its next leaf
	braces bool // the form contains braces
}

// productions maps the type of each form to its production. It contains only forms that are not
// parts of other forms.
var productions = map[reflect.Type]*production{}

func (x *production) build() { x.once.Do(func() { x.make(x) }) }

// most is the maximum number of tokens that a form without lists reads before its next leaf.
const most = 8

// endsAt reports whether the form reads no token after the current one, which has kind k and is the
// nth that fill copies. A leaf may still read further tokens.
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
			participle.UseLookahead(0), // one token decides between alternatives, so errors are reported at the right token
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

// errLeaf is the error that a leaf returns to participle after the leaf has reported a syntax
// error.
var errLeaf = errors.New("reported by a leaf")

// leaf runs read, a hand-written parsing function, as a part of a form. read starts at participle's
// current token, and participle continues after the tokens that read consumes.
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

// tryRead runs read and reports whether read completed without a bailout. A bailout because of
// excessive nesting continues to the outermost construct.
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

// leafNames maps the types of leaves to their names in the manual.
var leafNames = map[string]string{
	"Type": "TypeExpr", "Expr": "Expression", "paramList": "ParamList", "arguments": "Arguments", "payload": "Payload", "bound": "Bound",
}

// leafWords maps the names of leaves to their descriptions in messages.
var leafWords = map[string]string{"Type": "a type", "Expr": "an expression", "paramList": "a parameter", "arguments": "an argument"}

// expectation extracts the expected parts from participle's message. The message ends with the EBNF
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

// rule parses a rule in participle's EBNF and collects the tokens that can start it. Package ebnf
// could parse the rule as well. But every program that imports it builds its parser at startup,
// which takes longer than checking a small program.
type rule struct {
	rest  string
	words []string
}

// token returns the next token of the rule: a literal, a name or a sign.
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

// alternatives reads `a b | c` up to its end or a `)`, and reports whether one of the alternatives
// may be empty.
func (r *rule) alternatives() (empty bool) {
	collected, start := r.words, true // start: the alternative is empty so far, or may be
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

// expectedText returns the description of a rule's literal or name for a message.
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
