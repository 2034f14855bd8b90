package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// Plain forms. Most headers and members are as plain as their kind allows:
// `host Name {`, `name: T,`, `fn name(…) -> T`. They are read here, which takes
// a fifth of participle's time and a quarter of its memory, half of what
// parsing cost in all. What is not plain goes through its form, which says, too,
// what is wrong with it. A test reads everything both ways.

// header reads a header up to its `{`; a plain one is a word and a name.
// Generics are plain for functions and impls only, which have them most.
func header[F any](p *parser, g *production[F]) (*F, *ast.Ident) {
	if p.formsOnly || p.peek(1) != lexer.Ident || p.peek(2) != lexer.LBrace {
		form := run(p, g)
		return form, p.formName(1)
	}
	p.next()
	return new(F), p.ident()
}

// agentHeader reads an agent's header; `agent Name uses x {` is plain, too.
func (p *parser) agentHeader() (*agentHeader, *ast.Ident) {
	if p.formsOnly || p.peek(1) != lexer.Ident || p.peek(2) != lexer.Ident || p.textAt(p.i+2) != "uses" ||
		p.peek(3) != lexer.Ident || p.peek(4) != lexer.LBrace {
		return header(p, &p.grammar.agent)
	}
	p.next()
	name := p.ident()
	p.next()
	uses := plex.Token{Value: p.text(), Pos: plex.Position{Offset: int(p.here())}}
	p.next()
	return &agentHeader{Uses: uses}, name
}

// fnHeader reads a function's header.
func (p *parser) fnHeader() *ast.FnDecl {
	async := p.k == lexer.Async
	at := 1
	if async {
		at = 2
	}
	after, plain := p.plainGenerics(p.i + at + 1)
	if !plain || p.peek(at-1) != lexer.Fn || p.peek(at) != lexer.Ident || p.kindAt(after) != lexer.LParen {
		return run(p, &p.grammar.fn).node(p.formName(at), async)
	}
	p.seek(p.i + at)
	name := p.ident()
	generics := p.generics(after)
	form := fnHeader{Params: p.paramsInParens()}
	if p.eat(lexer.Arrow) {
		form.Result = p.typ()
	}
	n := form.node(name, async)
	n.Generics = generics
	return n
}

// implHeader reads an impl's header.
func (p *parser) implHeader() *ast.ImplDecl {
	after, plain := p.plainGenerics(p.i + 1)
	if !plain {
		return run(p, &p.grammar.impl).node()
	}
	p.next()
	generics := p.generics(after)
	form := implHeader{First: p.typ()}
	if p.eat(lexer.For) {
		form.Target = p.typ()
	}
	n := form.node()
	n.Generics = generics
	return n
}

// plainGenerics looks for generics at token i: where they end, when nothing is
// wrong with them, or i when there are none.
func (p *parser) plainGenerics(i int) (after int, plain bool) {
	if p.formsOnly {
		return i, false
	}
	if p.kindAt(i) != lexer.Less {
		return i, true
	}
	for i++; ; i++ {
		if p.kindAt(i) != lexer.Ident {
			return i, false
		}
		i++
		for k := lexer.Colon; p.kindAt(i) == k && p.kindAt(i+1) == lexer.Ident; k = lexer.Plus {
			i += 2
		}
		if p.kindAt(i) == lexer.Comma && p.kindAt(i+1) == lexer.Greater {
			i++
		}
		switch p.kindAt(i) {
		case lexer.Comma:
		case lexer.Greater:
			return i + 1, true
		default:
			return i, false
		}
	}
}

// generics reads plain generics that end before token after.
func (p *parser) generics(after int) (list []*ast.TypeParam) {
	for p.i < after-1 {
		p.next() // `<` or `,`
		if p.k != lexer.Ident {
			break // behind the last `,`
		}
		t := &ast.TypeParam{Name: p.ident()}
		t.Sp = t.Name.Sp
		for p.k == lexer.Colon || p.k == lexer.Plus {
			p.next()
			t.Bounds = append(t.Bounds, p.bound())
			t.Sp = source.Join(t.Sp, t.Bounds[len(t.Bounds)-1].Sp)
		}
		list = append(list, t)
	}
	p.seek(after)
	return list
}

// constant reads a constant up to its `;`.
func (p *parser) constant() *ast.ConstDecl {
	if after := p.peek(2); p.formsOnly || p.peek(1) != lexer.Ident || after != lexer.Colon && after != lexer.Assign {
		return run(p, &p.grammar.constant).node(p.formName(1))
	}
	p.next()
	name := p.ident()
	var form constant
	if p.eat(lexer.Colon) {
		form.Type = p.typ()
	}
	p.wantInForm(lexer.Assign)
	form.Value = p.expr()
	return form.node(name)
}

// paramsInParens reads `(…)` of a plain header; params ends at the `)`.
func (p *parser) paramsInParens() paramList {
	p.next()
	list := paramNodes(p.params(true))
	p.next()
	return list
}

// stageHeader reads a stage's header or its binding.
func (p *parser) stageHeader() *ast.Stage {
	after := p.peek(2)
	if p.formsOnly || p.peek(1) != lexer.Ident || after != lexer.LParen && after != lexer.Assign {
		return run(p, &p.grammar.stage).node(p.formName(1))
	}
	p.next()
	name := p.ident()
	var form stageHeader
	if p.eat(lexer.Assign) {
		form.Value = p.expr()
		return form.node(name)
	}
	form.Params = p.paramsInParens()
	p.wantInForm(lexer.Arrow)
	form.Result = p.typ()
	return form.node(name)
}

// plainField reads the name and the `:` of a member, if it begins with them.
func (p *parser) plainField() *ast.Ident {
	if p.formsOnly || !p.k.IsWord() || p.peek(1) != lexer.Colon {
		return nil
	}
	name := p.ident()
	p.next()
	return name
}

func (p *parser) structField() *ast.FieldDecl {
	name := p.plainField()
	if name == nil {
		return runField(p, &p.grammar.field).node(p.formName(0))
	}
	form := structField{Type: p.typ()}
	if p.eat(lexer.Assign) {
		form.Default = p.expr()
	}
	return form.node(name)
}

func (p *parser) schemaField() *ast.FieldDecl {
	name := p.plainField()
	if name == nil {
		return runField(p, &p.grammar.schemaRow).node(p.formName(0))
	}
	form := schemaField{Type: p.typ()}
	if p.eat(lexer.Assign) {
		form.Default = p.expr()
	}
	return form.node(name)
}

func (p *parser) toolField() *ast.FieldDecl {
	name := p.plainField()
	if name == nil {
		return runField(p, &p.grammar.toolField).node(p.formName(0))
	}
	form := toolField{Type: p.typ()}
	p.wantInForm(lexer.Assign)
	form.Default = p.expr()
	return form.node(name)
}

func (p *parser) configField() *ast.ConfigField {
	name := p.plainField()
	if name == nil {
		return runField(p, &p.grammar.config).node(p.formName(0))
	}
	return (&configField{Value: p.expr()}).node(name)
}

// store reads a store up to its `;`.
func (p *parser) store(kind ast.StoreKind) *ast.StoreDecl {
	if p.formsOnly || p.peek(1) != lexer.Ident || p.peek(2) != lexer.Colon {
		return run(p, &p.grammar.store).node(p.formName(1), kind)
	}
	p.next()
	name := p.ident()
	p.next()
	form := store{Type: p.typ()}
	p.wantInForm(lexer.Assign)
	form.Value = p.expr()
	return form.node(name, kind)
}

// variant reads a variant, which begins with a name.
func (p *parser) variant() *ast.Variant {
	if p.formsOnly {
		return run(p, &p.grammar.variant).node(p.formName(0))
	}
	name := p.ident()
	return (&variant{Payload: p.payloadIfAny()}).node(name)
}

// decorator reads `@name` or `@name(args)`.
func (p *parser) decorator() *ast.Decorator {
	if p.formsOnly || p.peek(1) != lexer.Ident {
		return run(p, &p.grammar.decorator).node()
	}
	start := p.here()
	p.next()
	n := &ast.Decorator{Name: p.ident()}
	if p.eat(lexer.LParen) {
		n.Args = p.argsUntilParen()
		p.wantInForm(lexer.RParen)
	}
	n.Sp = p.from(start)
	return n
}

// wantInForm wants a token, in the words that forms have for a missing one.
func (p *parser) wantInForm(k lexer.Kind) {
	if !p.eat(k) {
		p.fail(p.unexpectedInForm([]string{"`" + k.Info().Text + "`"}, false))
	}
}
