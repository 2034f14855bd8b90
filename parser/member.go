package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// members reads `{ one, one, … }`: each member is guarded by itself, so that
// a wrong one does not hide the others.
func (p *parser) members(one func()) {
	b := p.openBraces(nil)
	for p.within(b) {
		start := p.i
		if !p.guard(func() { one(); p.separator(b) }) {
			p.sync(start, inList)
		}
	}
}

// separator wants `,` or the end of the list. A comma missing at a line's end
// is reported there, and the list goes on.
func (p *parser) separator(b braces) {
	if p.eat(lexer.Comma) || p.k == lexer.RBrace || p.k == lexer.EOF {
		return
	}
	d := diag.Unexpected.At(p.span(), "expected `,` or `}`, found %s", p.found())
	if p.left(b) {
		return
	}
	if p.newLine() && (p.k.IsWord() || p.k == lexer.At || p.k == lexer.String) {
		e := p.prevEnd()
		d.Span = source.Span{Start: e, End: e}
		p.report(d.Hint("end this one with `,`"))
		return
	}
	if p.k == lexer.Semi {
		p.report(d.Hint("these are separated by `,`"))
		p.next()
		return
	}
	d.Label(p.toks[b.open].Span(), "in the braces opened here")
	if hint := p.foreignHint(); hint != "" {
		d.Hint("%s", hint)
	}
	p.fail(d)
}

func (p *parser) structDecl(h head) *ast.StructDecl {
	var f structHeader
	f.read(p)
	n := f.node()
	p.members(func() {
		start, pub := p.here(), p.k == lexer.Pub && p.peek(1).IsWord()
		if pub {
			p.next()
		}
		var f structField
		f.read(p)
		field := f.node()
		field.Pub = pub
		p.finishField(field, start)
		n.Fields = append(n.Fields, field)
	})
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) finishField(f *ast.FieldDecl, start source.Pos) {
	f.Sp = p.from(start)
	f.Doc = p.docBefore(start)
}

func (p *parser) schemaDecl(h head) *ast.SchemaDecl {
	var f schemaHeader
	f.read(p)
	n := f.node()
	p.members(func() {
		start := p.here()
		decorators := p.decorators()
		var f schemaField
		f.read(p)
		field := f.node()
		field.Decorators = decorators
		p.finishField(field, start)
		n.Fields = append(n.Fields, field)
	})
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) enumDecl(h head) *ast.EnumDecl {
	var f enumHeader
	f.read(p)
	n := f.node()
	p.members(func() {
		start := p.here()
		if p.k != lexer.Ident {
			p.failName()
		}
		var f variant
		f.read(p)
		v := f.node()
		v.Sp = p.from(start)
		v.Doc = p.docBefore(start)
		n.Variants = append(n.Variants, v)
	})
	p.finish(&n.DeclHead, h)
	return n
}

// namesField says whether token i is a word before `:` or `?:`.
func (p *parser) namesField(i int) bool {
	if !p.kindAt(i).IsWord() {
		return false
	}
	next := p.kindAt(i + 1)
	return next == lexer.Colon || next == lexer.Question && p.kindAt(i+2) == lexer.Colon
}

// configFields reads `{ word: value, … }`.
func (p *parser) configFields() (fields []*ast.ConfigField) {
	p.members(func() {
		var f configField
		f.read(p)
		fields = append(fields, f.node())
	})
	return fields
}

func (p *parser) agentDecl(h head) *ast.AgentDecl {
	var f agentHeader
	f.read(p)
	n := f.node()
	if p.k == lexer.Use && p.peek(1) == lexer.Ident {
		p.fail(p.expected("`{`").Hint("an agent's provider stands after `uses`"))
	}
	n.Fields = p.configFields()
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) hostDecl(h head) *ast.HostDecl {
	var f hostHeader
	f.read(p)
	n := f.node()
	n.Fields = p.configFields()
	p.finish(&n.DeclHead, h)
	return n
}

// methods reads `{ fn … fn … }`; other handles what starts with no `fn`, if
// given, and says whether it did.
func (p *parser) methods(one func(h head), other func(start source.Pos) bool) {
	b := p.openBraces(nil)
	for p.within(b) {
		start := p.i
		ok := p.guard(func() {
			if other != nil && other(p.here()) {
				p.separator(b)
				return
			}
			h := p.prefix()
			if p.k != lexer.Fn && p.k != lexer.Async {
				p.failMethod()
			}
			one(h)
		})
		if !ok {
			p.sync(start, inMethods)
		}
	}
}

func (p *parser) failMethod() {
	d := p.expected("`fn` or `}`")
	switch {
	case p.k == lexer.Semi:
		d.Hint("remove this `;`")
	case p.k == lexer.Comma:
		d.Hint("functions are not separated by `,`")
	case p.k == lexer.Ident && p.peek(1) == lexer.LParen:
		d.Hint("a method starts with `fn`")
	}
	p.fail(d)
}

// traitDecl reads a trait; its methods have a `;` or a default body.
func (p *parser) traitDecl(h head) *ast.TraitDecl {
	var f traitHeader
	f.read(p)
	n := f.node()
	p.methods(func(h head) {
		if h.pub {
			p.report(diag.Unexpected.At(p.toks[p.i-1].Span(), "a trait's methods take no `pub`").
				Hint("they have the trait's own visibility"))
		}
		m := p.fnHead(p.i)
		if p.k == lexer.LBrace {
			m.Body = p.block()
		} else {
			p.signatureSemi()
		}
		p.finish(&m.DeclHead, h)
		n.Methods = append(n.Methods, m)
	}, nil)
	p.finish(&n.DeclHead, h)
	return n
}

// signatureSemi wants the `;` after a signature.
func (p *parser) signatureSemi() {
	if p.k == lexer.LBrace {
		p.fail(p.expected("`;`").Hint("only the signature is declared here; the body lies elsewhere"))
	}
	p.declSemi()
}

func (p *parser) implDecl(h head) *ast.ImplDecl {
	var f implHeader
	f.read(p)
	n := f.node()
	p.methods(func(h head) { n.Methods = append(n.Methods, p.fnDecl(h)) }, nil)
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) mcpDecl(h head) *ast.McpDecl {
	var f mcpHeader
	f.read(p)
	n := f.node()
	p.methods(func(h head) {
		if h.pub {
			p.report(diag.Unexpected.At(p.toks[p.i-1].Span(), "an MCP server's functions take no `pub`").
				Hint("they can be called wherever the server can"))
		}
		m := p.fnHead(p.i)
		p.signatureSemi()
		p.finish(&m.DeclHead, h)
		n.Methods = append(n.Methods, m)
	}, func(source.Pos) bool {
		if p.serverFields(n.Name) {
			return true
		}
		n.Rest = p.eat(lexer.DotDot)
		if n.Rest && p.k != lexer.RBrace {
			p.fail(p.expected("`}`").Hint("`..` stands last: it means the server's other functions"))
		}
		return n.Rest
	})
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) toolDecl(h head) *ast.ToolDecl {
	var f toolHeader
	f.read(p)
	n := f.node()
	p.methods(
		func(h head) { n.Methods = append(n.Methods, p.fnDecl(h)) },
		func(start source.Pos) bool {
			if !p.k.IsWord() || p.peek(1) != lexer.Colon {
				return false
			}
			if k := p.peek(2); k == lexer.String || k == lexer.StringHead {
				if p.isWord("description") {
					p.description(n)
					return true
				}
			}
			var f toolField
			f.read(p)
			field := f.node()
			p.finishField(field, start)
			n.Fields = append(n.Fields, field)
			return true
		})
	p.finish(&n.DeclHead, h)
	return n
}

// description reads a tool's `description: "…"`.
func (p *parser) description(n *ast.ToolDecl) {
	at := p.span()
	p.next()
	p.next()
	lit := p.plainString("a description")
	if n.Description != nil {
		p.report(diag.TwoDescriptions.At(at, "this tool is described already").
			Label(n.Description.Sp, "the first description"))
		return
	}
	n.Description = lit
}

func (p *parser) pipelineDecl(h head) *ast.PipelineDecl {
	var f pipelineHeader
	f.read(p)
	n := f.node()
	b := p.openBraces(nil)
	for p.within(b) {
		start := p.i
		if !p.guard(func() { n.Stages = append(n.Stages, p.stage()) }) {
			p.sync(start, inStages)
		}
	}
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) stage() *ast.Stage {
	h := p.prefix()
	if p.k != lexer.Stage {
		d := p.expected("`stage` or `}`")
		if h.pub {
			d.Hint("stages take no `pub`")
		}
		p.fail(d)
	}
	var f stageHeader
	f.read(p)
	n := f.node()
	if n.Value != nil {
		p.declSemi()
	} else {
		n.Body = p.fnBody()
	}
	n.Sp = p.from(h.start)
	n.Doc = p.docBefore(h.start)
	n.Decorators = h.decorators
	return n
}
