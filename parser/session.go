package parser

import (
	"errors"
	"io"

	"github.com/alecthomas/participle/v2"
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Token types that forms name. Operators and reserved words are matched by
// their text, so they need no types of their own but to tell words apart.
const (
	typeIdent plex.TokenType = iota + 1
	typeWord                 // any word before `:`, in forms that name fields
	typeKeyword
	typeString
	typeOther
)

// definition offers our tokens to participle. It is asked for its symbols
// only: the tokens themselves are filled into frames.
type definition struct{}

func (definition) Symbols() map[string]plex.TokenType {
	return map[string]plex.TokenType{
		"EOF": plex.EOF, "Name": typeIdent, "Word": typeWord, "Keyword": typeKeyword, "String": typeString, "Other": typeOther,
	}
}

func (definition) Lex(string, io.Reader) (plex.Lexer, error) {
	return nil, errors.New("tokens come from package lexer")
}

// typeOf gives participle's type for each kind.
var typeOf = func() (t [lexer.NumKinds]plex.TokenType) {
	for k := range t {
		switch kind := lexer.Kind(k); {
		case kind == lexer.EOF:
			t[k] = plex.EOF
		case kind == lexer.Ident:
			t[k] = typeIdent
		case kind.IsKeyword():
			t[k] = typeKeyword
		case kind == lexer.String:
			t[k] = typeString
		default:
			t[k] = typeOther
		}
	}
	return t
}()

// frame is a participle lexer over a window of the token slice. Its buffer is
// the lexer's own token slice, filled in place, so that a form costs no copy
// of more than its own tokens. What a hook reads beyond the window counts as
// one token, and the window moves on. Forms nest only through hooks (a closure
// with a nested fn in a default value); each nesting has its frame.
type frame struct {
	lexer *plex.PeekingLexer
	start plex.Checkpoint
	buf   []plex.Token
	base  int // token index of buf[0]
	end   int // token index after the last one filled
	// fields says that the form names fields: a word before `:` is a Word.
	fields bool
}

// frameSize is how many tokens a frame holds at first; it grows as needed.
const frameSize = 256

// slack is how much longer than its first window a form's buffer is: room for
// what follows the values that hooks read beyond it.
const slack = 64

// blanks yields n tokens and the end: what a frame is made from.
type blanks struct{ n int }

func (b *blanks) Next() (plex.Token, error) {
	if b.n == 0 {
		return plex.EOFToken(plex.Position{}), nil
	}
	b.n--
	return plex.Token{Type: typeOther}, nil
}

func newFrame(size int) *frame {
	l, err := plex.Upgrade(&blanks{size})
	if err != nil {
		panic(err) // blanks gives none
	}
	return &frame{lexer: l, start: l.MakeCheckpoint(), buf: l.Range(0, plex.RawCursor(size+1))}
}

// fill puts tokens up to end into the buffer, as far as it reaches, and the
// end mark behind them.
func (p *parser) fill(f *frame, end int) {
	end = min(end, len(p.toks)-1, f.base+len(f.buf)-1)
	for i := f.end; i < end; i++ {
		t := p.toks[i]
		b := &f.buf[i-f.base]
		b.Type, b.Value, b.Pos.Offset = typeOf[t.Kind], p.src[t.Start:t.End], int(t.Start)
		if f.fields && t.Kind.IsWord() && p.namesField(i) {
			b.Type = typeWord
		}
	}
	f.end = max(f.end, end)
	mark := &f.buf[f.end-f.base]
	mark.Type, mark.Value, mark.Pos.Offset = plex.EOF, "", int(p.toks[f.end].Start)
}

// namesField says whether the word at token i stands before `:` or `?:`.
func (p *parser) namesField(i int) bool {
	next := p.kindAt(i + 1)
	return next == lexer.Colon || next == lexer.Question && p.kindAt(i+2) == lexer.Colon
}

// push takes a frame and fills it with the tokens from the current one to end.
func (p *parser) push(end int, fields bool) *frame {
	if p.nesting == len(p.frames) {
		p.frames = append(p.frames, newFrame(frameSize))
	}
	f := p.frames[p.nesting]
	if end-p.i > maxNesting { // participle reads lists by recursion
		p.failDeep()
	}
	if n := end - p.i + slack; n > len(f.buf) {
		f = newFrame(2 * n)
		p.frames[p.nesting] = f
	}
	p.nesting++
	f.lexer.LoadCheckpoint(f.start)
	f.base, f.end, f.fields = p.i, p.i, fields
	p.fill(f, end)
	return f
}

// production is a form's grammar, built when first used.
type production[F any] struct{ parser *participle.Parser[F] }

func (g *production[F]) get(p *parser) *participle.Parser[F] {
	if g.parser == nil {
		g.parser = participle.MustBuild[F](p.options()...)
	}
	return g.parser
}

var allowTrailing = participle.AllowTrailing(true)

// run parses one form that starts at the current token. The current token is
// then the one after the form. An error is reported in our words and bails
// out, with the current token where it was found.
func run[F any](p *parser, g *production[F]) *F {
	return runFrame(p, g, p.push(p.memberEnd(p.i), false))
}

// runField is run for a form that names fields with any word.
func runField[F any](p *parser, g *production[F]) *F {
	return runFrame(p, g, p.push(p.memberEnd(p.i), true))
}

func runFrame[F any](p *parser, g *production[F], f *frame) *F {
	first := p.i
	// Hooks parse as if at the top; a bailout leaves through here.
	head, slice := p.inHead, p.slice
	p.inHead, p.slice = false, -1
	var form *F
	var err error
	func() {
		defer func() {
			p.nesting--
			p.inHead, p.slice = head, slice
			if r := recover(); r != nil {
				if e, ok := r.(participle.Error); ok {
					err = e // a panic of participle's own: an error like any other
					return
				}
				panic(r)
			}
		}()
		form, err = g.get(p).ParseFromLexer(f.lexer, allowTrailing)
	}()
	if err != nil {
		p.failForm(f, err)
	}
	p.seek(f.base + int(f.lexer.RawCursor()))
	p.form = first
	return form
}

// fixed is a field of a form for tokens that are not captured: capturing
// costs as much as all else, and where a form's name stands is known.
type fixed struct{}

// formName makes the name that is the n-th token, from 0, of the form just
// run.
func (p *parser) formName(n int) *ast.Ident {
	t := p.toks[p.form+n]
	id := p.newIdent()
	id.Sp, id.Name = t.Span(), p.src[t.Start:t.End]
	return id
}

// hook runs a hand-written parsing function within a form. The function sees
// the token that participle is at and leaves off after what it has read.
func hook[T any](p *parser, parse func() T) func(*plex.PeekingLexer) (T, error) {
	return func(l *plex.PeekingLexer) (T, error) {
		f := p.frames[p.nesting-1]
		p.seek(f.base + int(l.RawCursor()))
		before := p.i
		node := parse()
		if any(node) == nil {
			return node, participle.NextMatch
		}
		switch read := p.i - before; {
		case read == 0: // an empty list
			p.fill(f, p.memberEnd(p.i))
		case p.i < f.end:
			l.FastForward(plex.RawCursor(p.i - 1 - f.base))
		default: // past the window: what was read becomes one token of it
			c := int(l.RawCursor())
			f.buf[c].Type, f.buf[c].Value = typeOther, ""
			f.base, f.end = p.i-c-1, p.i
			p.fill(f, p.memberEnd(p.i))
			l.Next()
		}
		return node, nil
	}
}

// The types that hooks give. Their names are the production names in the
// grammar's EBNF.
type (
	typeExpr   interface{ ast.Type }
	bound      interface{ named() *ast.NamedType }
	expression interface{ ast.Expr }
	arguments  interface{ list() []*ast.Arg }
)

// argList is what the arguments hook gives.
type argList []*ast.Arg

func (a argList) list() []*ast.Arg { return a }

// boundType is what the bound hook gives.
type boundType ast.NamedType

func (b *boundType) named() *ast.NamedType { return (*ast.NamedType)(b) }

// options are what every form is built with. Lookahead 0 commits to a branch
// at its first token, so errors stay where they happened.
func (p *parser) options() []participle.Option {
	return []participle.Option{
		participle.Lexer(definition{}),
		participle.UseLookahead(0),
		participle.ParseTypeWith(hook(p, func() typeExpr { return p.typ() })),
		participle.ParseTypeWith(hook(p, func() bound { return (*boundType)(p.bound()) })),
		participle.ParseTypeWith(hook(p, func() expression { return p.expr() })),
		participle.ParseTypeWith(hook(p, func() arguments { return argList(p.argsUntilParen()) })),
		participle.ParseTypeWith(hook(p, p.payloadIfAny)),
		participle.ParseTypeWith(hook(p, func() paramList { return paramNodes(p.params(true)) })),
	}
}

// identOf makes an Ident of a captured token; nil of none.
func identOf(t plex.Token) *ast.Ident {
	if t.Value == "" {
		return nil
	}
	return &ast.Ident{Base: ast.Base{Sp: spanOf(t)}, Name: t.Value}
}

func spanOf(t plex.Token) source.Span {
	s := source.Pos(t.Pos.Offset)
	return source.Span{Start: s, End: s + source.Pos(len(t.Value))}
}

// failForm reports participle's error in our words.
func (p *parser) failForm(f *frame, err error) {
	p.seek(f.base + int(f.lexer.RawCursor()))
	var unexpected *participle.UnexpectedTokenError
	if errors.As(err, &unexpected) {
		for i := f.base; i <= f.end; i++ {
			if int(p.toks[i].Start) == unexpected.Unexpected.Pos.Offset {
				p.seek(i)
				break
			}
		}
		p.fail(p.unexpectedInForm(expectation(unexpected.Message()), f.fields))
	}
	p.fail(diag.Unexpected.At(p.span(), "unexpected %s", p.found()))
}
