package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// payload is the payload of a variant: `(A, B)` or `{ a: A, b: B }`. It is a leaf, because it
// consists of types, which are parsed by hand.
type payload struct {
	types  []ast.Type
	fields []*ast.FieldDecl
	named  bool
}

func (p *parser) payload() payload {
	if p.k == lexer.LParen {
		return p.tuplePayload()
	}
	return p.namedPayload()
}

func (p *parser) tuplePayload() payload {
	if p.peek(1).IsWord() && p.peek(2) == lexer.Colon {
		return p.namedPayloadInParens()
	}
	open := p.i
	p.next()
	types := []ast.Type{p.typ()}
	for p.eat(lexer.Comma) && p.k != lexer.RParen {
		types = append(types, p.typ())
	}
	return payload{types: elementsBefore(p, types, p.closeBracket(lexer.RParen, open, "`,` or `)`"))}
}

func (p *parser) namedPayload() payload {
	open := p.i
	p.next()
	fields := p.payloadFields(lexer.RBrace)
	return payload{fields: elementsBefore(p, fields, p.closeBracket(lexer.RBrace, open, "`,` or `}`")), named: true}
}

// payloadFields reads `a: A, b: B` up to the closing token.
func (p *parser) payloadFields(closing lexer.Kind) []*ast.FieldDecl {
	fields := []*ast.FieldDecl{}
	for p.k != closing {
		start := p.here()
		f := &ast.FieldDecl{Name: p.word()}
		if p.k != lexer.Colon {
			p.fail(p.colonExpected())
		}
		p.next()
		f.Type = p.typ()
		p.finishField(f, start)
		fields = append(fields, f)
		if !p.eat(lexer.Comma) {
			break
		}
	}
	return fields
}
