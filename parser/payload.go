package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// payload is what the hook of a variant's payload gives: `(A, B)` or
// `{ a: A, b: B }`. It is made of types and written by hand as they are.
type payload interface{ into(v *ast.Variant) }

type tuplePayload []ast.Type

func (l tuplePayload) into(v *ast.Variant) { v.Types = l }

type namedPayload []*ast.FieldDecl

func (l namedPayload) into(v *ast.Variant) { v.Fields, v.Named = l, true }

// payloadIfAny reads a payload; nil where none starts.
func (p *parser) payloadIfAny() payload {
	switch p.k {
	case lexer.LParen:
		return p.tuplePayload()
	case lexer.LBrace:
		return p.namedPayload()
	}
	return nil
}

func (p *parser) tuplePayload() payload {
	open := p.i
	p.next()
	types := tuplePayload{p.typ()}
	for p.eat(lexer.Comma) && p.k != lexer.RParen {
		types = append(types, p.typ())
	}
	p.closeBracket(lexer.RParen, open, "`,` or `)`")
	return types
}

func (p *parser) namedPayload() payload {
	open := p.i
	p.next()
	fields := namedPayload{}
	for p.k != lexer.RBrace {
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
	p.closeBracket(lexer.RBrace, open, "`,` or `}`")
	return fields
}
