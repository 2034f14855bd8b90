package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/internal/source"
	"github.com/concerto-lang/concerto/lexer"
)

// members reads `{ one, one, … }`: each member is guarded by itself, so that
// a wrong one does not hide the others. broken keeps what there is of a member,
// from token start, that could not be read.
func (p *parser) members(n ast.Node, one func(), broken func(start int)) {
	b, ok := p.openBraces(nil)
	if !ok {
		p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: p.behind()})
		return
	}
	for p.within(b) {
		start := p.i
		p.going = false
		if !p.guard(func() { one(); p.separator(b) }) || p.i == start {
			p.sync(start, inList)
			broken(start)
			p.lostText(n, start, p.i)
		}
	}
	p.guessed(n)
}

// brokenField is the field that begins at token start and could not be read to its
// end; nil when it has no name. last is the one before: the mistake may stand
// behind it.
func (p *parser) brokenField(start int, last *ast.FieldDecl) *ast.FieldDecl {
	for p.kindAt(start) == lexer.Pub && p.kindAt(start+1).IsWord() {
		start++
	}
	if t := p.toks[start]; start >= p.i || !t.Kind.IsWord() || last != nil && last.Sp.End > t.Start {
		return nil
	}
	t := p.toks[start]
	f := &ast.FieldDecl{Name: &ast.Ident{Base: ast.Base{Sp: t.Span()}, Name: p.textAt(start)}}
	f.Type = &ast.BadType{IDBase: p.baseAt(source.Span{Start: t.End, End: t.End})}
	f.Sp = t.Span()
	f.Doc = p.docBefore(t.Start)
	return f
}

// lastOf is the last of a list, nil when it is empty.
func lastOf[N any](list []*N) *N {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
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
		p.report(d.Repair(diag.Sure(diag.Insert(e, ","), "Insert `,`"), "end this one with `,`"))
		return
	}
	if p.k == lexer.Semi {
		p.report(d.Repair(diag.Sure(diag.Replace(d.Span, ","), "Change to `,`"), "these are separated by `,`"))
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
	body := p.header(f.read, &f.Name)
	n := f.node()
	if !body {
		p.finish(&n.DeclHead, h)
		return n
	}
	p.members(n, func() {
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
	}, func(start int) {
		if field := p.brokenField(start, lastOf(n.Fields)); field != nil {
			n.Fields = append(n.Fields, field)
		}
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
	body := p.header(f.read, &f.Name)
	n := f.node()
	if !body {
		p.finish(&n.DeclHead, h)
		return n
	}
	p.members(n, func() {
		start := p.here()
		decorators := p.decorators()
		var f schemaField
		f.read(p)
		field := f.node()
		field.Decorators = decorators
		p.finishField(field, start)
		n.Fields = append(n.Fields, field)
	}, func(start int) {
		if field := p.brokenField(start, lastOf(n.Fields)); field != nil {
			n.Fields = append(n.Fields, field)
		}
	})
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) enumDecl(h head) *ast.EnumDecl {
	var f enumHeader
	body := p.header(f.read, &f.Name)
	n := f.node()
	if !body {
		p.finish(&n.DeclHead, h)
		return n
	}
	p.members(n, func() {
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
	}, func(start int) {
		last := lastOf(n.Variants)
		if t := p.toks[start]; t.Kind == lexer.Ident && start < p.i && (last == nil || last.Sp.End <= t.Start) {
			v := &ast.Variant{Name: &ast.Ident{Base: ast.Base{Sp: t.Span()}, Name: p.textAt(start)}}
			v.Sp = t.Span()
			v.Doc = p.docBefore(t.Start)
			n.Variants = append(n.Variants, v)
		}
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
func (p *parser) configFields(n ast.Node) (fields []*ast.ConfigField) {
	p.members(n, func() {
		var f configField
		f.read(p)
		fields = append(fields, f.node())
	}, func(start int) {
		t := p.toks[start]
		if last := lastOf(fields); start >= p.i || !t.Kind.IsWord() || last != nil && last.Sp.End > t.Start {
			return
		}
		f := &ast.ConfigField{Name: &ast.Ident{Base: ast.Base{Sp: t.Span()}, Name: p.textAt(start)}}
		f.Value = &ast.BadExpr{IDBase: p.baseAt(source.Span{Start: t.End, End: t.End})}
		f.Sp = t.Span()
		fields = append(fields, f)
	})
	return fields
}

func (p *parser) agentDecl(h head) *ast.AgentDecl {
	var f agentHeader
	body := p.header(f.read, &f.Name)
	n := f.node()
	if !body {
		p.finish(&n.DeclHead, h)
		return n
	}
	if p.k == lexer.Use && p.peek(1) == lexer.Ident {
		p.fail(p.expected("`{`").Hint("an agent's provider stands after `uses`"))
	}
	n.Fields = p.configFields(n)
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) hostDecl(h head) *ast.HostDecl {
	var f hostHeader
	f.read(p)
	n := f.node()
	n.Fields = p.configFields(n)
	p.finish(&n.DeclHead, h)
	return n
}

// methods reads `{ fn … fn … }`; other handles what starts with no `fn`, if
// given, and says whether it did.
func (p *parser) methods(n ast.Node, one func(h head), other func(start source.Pos) bool, broken func(start int)) {
	b, ok := p.openBraces(nil)
	if !ok {
		p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: p.behind()})
		return
	}
	for p.within(b) {
		start := p.i
		p.going = false
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
		if !ok || p.i == start {
			p.sync(start, inMethods)
			if broken != nil {
				broken(start)
			}
			p.lostText(n, start, p.i)
		}
	}
	p.guessed(n)
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
	body := p.header(f.read, &f.Name)
	n := f.node()
	if !body {
		p.finish(&n.DeclHead, h)
		return n
	}
	p.methods(n, func(h head) {
		if h.pub {
			p.report(diag.Unexpected.At(p.toks[p.i-1].Span(), "a trait's methods take no `pub`").
				Hint("they have the trait's own visibility"))
		}
		m, ok := p.fnHead(p.i)
		if p.k == lexer.LBrace {
			m.Body = p.block()
		} else if ok {
			p.signatureSemi()
		}
		p.finish(&m.DeclHead, h)
		n.Methods = append(n.Methods, m)
	}, nil, nil)
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
	p.methods(n, func(h head) { n.Methods = append(n.Methods, p.fnDecl(h)) }, nil, nil)
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) mcpDecl(h head) *ast.McpDecl {
	var f mcpHeader
	f.read(p)
	n := f.node()
	p.methods(n, func(h head) {
		if h.pub {
			p.report(diag.Unexpected.At(p.toks[p.i-1].Span(), "an MCP server's functions take no `pub`").
				Hint("they can be called wherever the server can"))
		}
		m, ok := p.fnHead(p.i)
		if ok {
			p.signatureSemi()
		}
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
	}, nil)
	p.finish(&n.DeclHead, h)
	return n
}

func (p *parser) toolDecl(h head) *ast.ToolDecl {
	var f toolHeader
	f.read(p)
	n := f.node()
	p.methods(n,
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
		}, func(start int) {
			if k := p.toks[start].Kind; k != lexer.Ident || p.textAt(start) == "description" {
				return
			}
			if field := p.brokenField(start, lastOf(n.Fields)); field != nil {
				field.Default = &ast.BadExpr{IDBase: p.baseAt(source.Span{Start: field.Sp.End, End: field.Sp.End})}
				n.Fields = append(n.Fields, field)
			}
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
		d := diag.TwoDescriptions.At(at, "this tool is described already").Label(n.Description.Sp, "the first description")
		d.Fixes = append(d.Fixes, diag.Offer(diag.Remove(p.row(at.Start)), "Remove the second description"))
		p.report(d)
		return
	}
	n.Description = lit
}

func (p *parser) pipelineDecl(h head) *ast.PipelineDecl {
	var f pipelineHeader
	f.read(p)
	n := f.node()
	b, ok := p.openBraces(nil)
	if !ok {
		p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: p.behind()})
		p.finish(&n.DeclHead, h)
		return n
	}
	for p.within(b) {
		start := p.i
		p.going = false
		if !p.guard(func() { n.Stages = append(n.Stages, p.stage()) }) || p.i == start {
			p.sync(start, inStages)
			p.lostText(n, start, p.i)
		}
	}
	p.guessed(n)
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
