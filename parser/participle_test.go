package parser

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/alecthomas/participle/v2"
	"github.com/alecthomas/participle/v2/ebnf"
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Here participle reads the forms, by the same tags from which their readers
// are generated.

// byParticiple reads a form that starts at the current token. A leaf within it
// may hold further forms, so that readings nest.
func byParticiple(p *parser, form any) {
	production := productions[reflect.TypeOf(form)]
	outer := now
	defer func() { now = outer }()
	now = reading{p, p.i}
	toks := make(tokens, 0, len(p.toks)-p.i)
	for i := p.i; i < len(p.toks); i++ {
		t := p.toks[i]
		typ := typeOf(t.Kind)
		if production.fields && p.namesField(i) {
			typ = typeWord
		}
		toks = append(toks, plex.Token{Type: typ, Value: p.textAt(i), Pos: plex.Position{Offset: i}})
	}
	lex, err := plex.Upgrade(&toks)
	if err != nil {
		panic(err) // tokens gives none
	}
	err = production.read(lex, form)
	p.seek(now.at(lex))
	if err == nil {
		return
	}
	var unexpected *participle.UnexpectedTokenError
	if !errors.As(err, &unexpected) {
		panic(err)
	}
	p.seek(unexpected.Unexpected.Pos.Offset)
	words := expectation(unexpected.Message())
	if len(words) == 0 && production.fields { // not even its first token
		words = []string{"<word>"}
	}
	p.fail(p.unexpectedInForm(words))
}

// reading is one form's reading: whose, and the token at which it starts.
type reading struct {
	p    *parser
	base int
}

// now is the innermost reading. Captures and leaves belong to it.
var now reading

// at is the index of the token that participle is at.
func (r reading) at(lex *plex.PeekingLexer) int { return r.base + int(lex.RawCursor()) }

// tokens gives what it holds, one after the other.
type tokens []plex.Token

func (t *tokens) Next() (plex.Token, error) {
	first := (*t)[0]
	*t = (*t)[1:]
	return first, nil
}

// The types of tokens that forms name. Fixed texts are matched as such.
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

// definition tells participle the names of the types.
type definition struct{}

func (definition) Symbols() map[string]plex.TokenType {
	return map[string]plex.TokenType{"EOF": plex.EOF, "Name": typeName, "Word": typeWord, "Other": typeOther}
}

func (definition) Lex(string, io.Reader) (plex.Lexer, error) {
	return nil, errors.New("tokens come from package lexer")
}

// production is what participle makes of a form.
type production struct {
	ebnf   string
	fields bool // it names a field: a word before `:` is one token to it
	read   func(lex *plex.PeekingLexer, form any) error
}

// productions are those of the forms that are no part of others.
var productions = map[reflect.Type]production{}

func add[F any]() {
	parser := participle.MustBuild[F](
		participle.Lexer(definition{}),
		participle.UseLookahead(0), // the first token decides, so errors stay where they happened
		participle.ParseTypeWith(func(lex *plex.PeekingLexer) (t ast.Type, err error) {
			leaf(lex, func(p *parser) { t = p.typ() })
			return t, nil
		}),
		participle.ParseTypeWith(func(lex *plex.PeekingLexer) (x ast.Expr, err error) {
			leaf(lex, func(p *parser) { x = p.expr() })
			return x, nil
		}),
	)
	productions[reflect.TypeFor[*F]()] = production{
		ebnf:   parser.String(),
		fields: strings.Contains(parser.String(), "<word>"),
		read: func(lex *plex.PeekingLexer, form any) error {
			f, err := parser.ParseFromLexer(lex, participle.AllowTrailing(true))
			*form.(*F) = *f
			return err
		},
	}
}

func init() {
	add[prefix]()
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

// leaf runs what is written by hand within a form: it sees the token that
// participle is at and leaves off after what it has read.
func leaf(lex *plex.PeekingLexer, read func(*parser)) {
	r := now
	r.p.seek(r.at(lex))
	read(r.p)
	if r.p.i > r.at(lex) {
		lex.FastForward(plex.RawCursor(r.p.i - 1 - r.base))
	}
}

func (l *paramList) Parse(lex *plex.PeekingLexer) error {
	leaf(lex, func(p *parser) { l.list = p.params(true) })
	return nil
}

func (a *arguments) Parse(lex *plex.PeekingLexer) error {
	leaf(lex, func(p *parser) { a.list = p.argsUntilParen() })
	return nil
}

func (b *bound) Parse(lex *plex.PeekingLexer) error {
	leaf(lex, func(p *parser) { *b = bound(*p.bound()) })
	return nil
}

func (c *payload) Parse(lex *plex.PeekingLexer) error {
	if v := lex.Peek().Value; v != "(" && v != "{" {
		return participle.NextMatch
	}
	leaf(lex, func(p *parser) { *c = p.payload() })
	return nil
}

func (n *name) Capture(values []string) error {
	n.Name, n.Sp = values[0], place(values[0])
	return nil
}

func (w *word) Capture(values []string) error {
	w.Name, w.Sp = values[0], place(values[0])
	return nil
}

func (s *spot) Capture(values []string) error {
	*s = spot(place(values[0]))
	return nil
}

// place is where a captured text stands, which participle does not tell: the
// text is a part of the source's.
func place(text string) source.Span {
	whole := uintptr(unsafe.Pointer(unsafe.StringData(now.p.src)))
	start := source.Pos(uintptr(unsafe.Pointer(unsafe.StringData(text))) - whole)
	return source.Span{Start: start, End: start + source.Pos(len(text))}
}

// leafNames are the manual's names for the leaves' types.
var leafNames = map[string]string{
	"Type": "TypeExpr", "Expr": "Expression", "paramList": "ParamList", "arguments": "Arguments", "payload": "Payload", "bound": "Bound",
}

// leafWords are what messages call the leaves.
var leafWords = map[string]string{"Type": "a type", "Expr": "an expression", "paramList": "a parameter", "arguments": "an argument"}

// expectation gives what participle's message says to be missing: it ends in
// the EBNF of the rest of a sequence, `unexpected token "x" (expected
// (":" Type)? ")")`.
func expectation(message string) (words []string) {
	const mark = " (expected "
	i := strings.LastIndex(message, mark)
	if i < 0 {
		return nil
	}
	rule, err := ebnf.ParseString("Rest = " + strings.TrimSuffix(message[i+len(mark):], ")") + " .")
	if err != nil {
		panic(err)
	}
	firsts(rule.Productions[0].Expression, &words)
	return words
}

// firsts adds what an expression may start with and says whether it may be
// empty.
func firsts(x *ebnf.Expression, words *[]string) (empty bool) {
	for _, s := range x.Alternatives {
		rest := true
		for _, t := range s.Terms {
			if rest {
				rest = first(t, words)
			}
		}
		empty = empty || rest
	}
	return empty
}

func first(t *ebnf.Term, words *[]string) (empty bool) {
	word := "a name" // with which the parts of forms start
	switch {
	case t.Group != nil:
		return firsts(t.Group.Expr, words) || t.Repetition == "?" || t.Repetition == "*"
	case t.Literal != "":
		text, err := strconv.Unquote(t.Literal)
		if err != nil {
			text = t.Literal
		}
		word = "`" + text + "`"
	case t.Token == "word":
		word = "<word>"
	case leafWords[t.Name] != "":
		word = leafWords[t.Name]
	}
	if !slices.Contains(*words, word) {
		*words = append(*words, word)
	}
	return t.Repetition == "?" || t.Repetition == "*"
}
