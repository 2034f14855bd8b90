package parser

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// members reads `{ one, one, … }`. An error in one member does not affect the other members. broken
// stores the parts of a member that has syntax errors and starts at token start.
func (p *parser) members(n ast.Node, one func(), broken func(start int)) {
	b, ok := p.openBraces(nil)
	if !ok {
		p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: p.afterPrevious()})
		return
	}
	for p.hasElement(b) {
		start := p.i
		p.reports.going = false
		if !p.guard(func() { one(); p.separator(b) }) || p.i == start {
			p.sync(start, inList)
			broken(start)
			p.recordLostText(n, start, p.i)
		}
	}
	p.recordGuessedEnd(n)
}

// brokenField returns the field that starts at token start and has syntax errors, or nil if it has
// no name. last is the previous field. If last extends beyond token start, the error is after last,
// and brokenField returns nil.
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

// last returns the last element of a list, or nil.
func last[N any](list []*N) *N {
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// separator requires a `,` or the end of the list. If a comma is missing at the end of a line,
// separator reports it there, and the list continues on the next line.
func (p *parser) separator(b braces) {
	if p.eat(lexer.Comma) || p.k == lexer.RBrace || p.k == lexer.EOF {
		return
	}
	d := diag.Unexpected.At(p.span(), "expected `,` or `}`, found %s", p.foundText())
	if p.leftBraces(b) {
		return
	}
	if p.newLine() && (p.k.IsWord() || p.k == lexer.At || p.k == lexer.String) {
		e := p.prevEnd()
		d.Span = source.Span{Start: e, End: e}
		p.report(d.Repair(diag.SafeFix(diag.Insert(e, ","), "Insert `,`"), "add `,` here"))
		return
	}
	if p.k == lexer.Semi {
		p.report(d.Repair(diag.SafeFix(diag.Replace(d.Span, ","), "Change to `,`"), "write `,` instead of `;`"))
		p.next()
		return
	}
	d.Label(p.toks[b.open].Span(), "in the braces that open here")
	if hint := p.foreignHint(); hint != "" {
		d.WithFixes(p.foreignFix(hint)...).Hint("%s", hint)
	}
	p.fail(d)
}

func (p *parser) structDecl(h head) *ast.StructDecl {
	var f structHeader
	body := p.header(func() { read(p, &f) }, &f.Name)
	n := f.node(p)
	if !body {
		p.finishDecl(&n.DeclHead, h)
		return n
	}
	p.members(n, func() {
		start, pub := p.here(), p.k == lexer.Pub && p.peek(1).IsWord()
		if pub {
			p.next()
		}
		if p.k == lexer.Fn && p.peek(1) == lexer.Ident && p.peek(2) == lexer.LParen {
			p.methodInStruct(n, head{start: start, pub: pub})
			return
		}
		var f structField
		read(p, &f)
		field := f.node(p)
		field.Pub = pub
		p.finishField(field, start)
		n.Fields = append(n.Fields, field)
	}, func(start int) {
		if field := p.brokenField(start, last(n.Fields)); field != nil {
			n.Fields = append(n.Fields, field)
		}
	})
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) finishField(f *ast.FieldDecl, start source.Pos) {
	f.Sp = p.from(start)
	f.Doc = p.docBefore(start)
}

func (p *parser) schemaDecl(h head) *ast.SchemaDecl {
	var f schemaHeader
	body := p.header(func() { read(p, &f) }, &f.Name)
	n := f.node(p)
	if !body {
		p.finishDecl(&n.DeclHead, h)
		return n
	}
	p.members(n, func() {
		start := p.here()
		decorators := p.decorators()
		var f schemaField
		read(p, &f)
		field := f.node(p)
		field.Decorators = decorators
		p.finishField(field, start)
		n.Fields = append(n.Fields, field)
	}, func(start int) {
		if field := p.brokenField(start, last(n.Fields)); field != nil {
			n.Fields = append(n.Fields, field)
		}
	})
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) enumDecl(h head) *ast.EnumDecl {
	var f enumHeader
	body := p.header(func() { read(p, &f) }, &f.Name)
	n := f.node(p)
	if !body {
		p.finishDecl(&n.DeclHead, h)
		return n
	}
	p.members(n, func() {
		start := p.here()
		if p.k != lexer.Ident {
			p.failName()
		}
		var f variant
		read(p, &f)
		v := f.node(p)
		v.Sp = p.from(start)
		v.Doc = p.docBefore(start)
		n.Variants = append(n.Variants, v)
	}, func(start int) {
		last := last(n.Variants)
		if t := p.toks[start]; t.Kind == lexer.Ident && start < p.i && (last == nil || last.Sp.End <= t.Start) {
			v := &ast.Variant{Name: &ast.Ident{Base: ast.Base{Sp: t.Span()}, Name: p.textAt(start)}}
			v.Sp = t.Span()
			v.Doc = p.docBefore(t.Start)
			n.Variants = append(n.Variants, v)
		}
	})
	p.finishDecl(&n.DeclHead, h)
	return n
}

// isFieldName reports whether token i is a word that a `:` or `?:` follows.
func (p *parser) isFieldName(i int) bool {
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
		read(p, &f)
		fields = append(fields, f.node(p))
	}, func(start int) {
		t := p.toks[start]
		if last := last(fields); start >= p.i || !t.Kind.IsWord() || last != nil && last.Sp.End > t.Start {
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
	body := p.header(func() { read(p, &f) }, &f.Name)
	n := f.node(p)
	if !body {
		p.finishDecl(&n.DeclHead, h)
		return n
	}
	if p.k == lexer.Use && p.peek(1) == lexer.Ident {
		p.fail(p.expected("`{`").Hint("name the connection of the agent after `uses`"))
	}
	n.Fields = p.configFields(n)
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) hostDecl(h head) *ast.HostDecl {
	var f hostHeader
	read(p, &f)
	n := f.node(p)
	n.Fields = p.configFields(n)
	p.finishDecl(&n.DeclHead, h)
	return n
}

// methods reads `{ fn … fn … }`. If other is not nil, methods calls it first for each member. other
// returns is if it has read the member, and comma if a `,` must follow the member.
func (p *parser) methods(n ast.Node, one func(h head), other func(start source.Pos) (is, comma bool), broken func(start int)) {
	b, ok := p.openBraces(nil)
	if !ok {
		p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: p.afterPrevious()})
		return
	}
	for p.hasElement(b) {
		start := p.i
		p.reports.going = false
		ok := p.guard(func() {
			if other != nil {
				if is, comma := other(p.here()); is {
					if comma {
						p.separator(b)
					}
					return
				}
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
			p.recordLostText(n, start, p.i)
		}
	}
	p.recordGuessedEnd(n)
}

func (p *parser) failMethod() {
	d := p.expected("`fn` or `}`")
	switch {
	case p.k == lexer.Semi:
		d.Hint("remove this `;`")
	case p.k == lexer.Comma:
		d.Hint("remove the `,`: functions need no separator")
	case p.k == lexer.Ident && p.peek(1) == lexer.LParen:
		d.Hint("declare a method with `fn`")
	}
	p.fail(d)
}

// traitDecl reads a trait. Each of its methods ends with a `;` or has a default body.
func (p *parser) traitDecl(h head) *ast.TraitDecl {
	var f traitHeader
	body := p.header(func() { read(p, &f) }, &f.Name)
	n := f.node(p)
	if !body {
		p.finishDecl(&n.DeclHead, h)
		return n
	}
	p.methods(n, func(h head) {
		if h.pub {
			p.report(diag.Unexpected.At(p.toks[p.i-1].Span(), "`pub` is not allowed in a trait").
				Hint("remove `pub`: the methods have the visibility of the trait"))
		}
		m, ok := p.fnHead(p.i)
		if p.k == lexer.LBrace {
			m.Body = p.block()
		} else if ok {
			p.requireSignatureSemi()
		}
		p.finishDecl(&m.DeclHead, h)
		n.Methods = append(n.Methods, m)
	}, nil, nil)
	p.finishDecl(&n.DeclHead, h)
	return n
}

// requireSignatureSemi requires the `;` after a signature.
func (p *parser) requireSignatureSemi() {
	if p.k == lexer.LBrace {
		p.fail(p.expected("`;`").Hint("remove the body: this declares only the signature"))
	}
	p.requireDeclSemi()
}

func (p *parser) implDecl(h head) *ast.ImplDecl {
	var f implHeader
	read(p, &f)
	n := f.node(p)
	p.methods(n, func(h head) { n.Methods = append(n.Methods, p.fnDecl(h)) }, nil, nil)
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) mcpDecl(h head) *ast.McpDecl {
	var f mcpHeader
	read(p, &f)
	n := f.node(p)
	p.methods(n, func(h head) {
		if h.pub {
			p.report(diag.Unexpected.At(p.toks[p.i-1].Span(), "`pub` is not allowed in an `mcp` block").
				Hint("remove `pub`: the functions can be called wherever the server is visible"))
		}
		m, ok := p.fnHead(p.i)
		if ok {
			p.requireSignatureSemi()
		}
		p.finishDecl(&m.DeclHead, h)
		n.Methods = append(n.Methods, m)
	}, func(source.Pos) (is, comma bool) {
		if p.reportServerFields(n.Name) {
			return true, true
		}
		n.Rest = p.eat(lexer.DotDot)
		if n.Rest && p.k != lexer.RBrace {
			p.fail(p.expected("`}`").Hint("`..` must come last: it includes all other functions of the server"))
		}
		return n.Rest, true
	}, nil)
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) toolDecl(h head) *ast.ToolDecl {
	var f toolHeader
	read(p, &f)
	n := f.node(p)
	p.methods(n,
		func(h head) { n.Methods = append(n.Methods, p.fnDecl(h)) },
		func(start source.Pos) (is, comma bool) {
			if !p.k.IsWord() || p.peek(1) != lexer.Colon {
				return false, false
			}
			if k := p.peek(2); k == lexer.String || k == lexer.StringHead {
				if p.isWord("description") {
					p.description(n)
					return true, true
				}
			}
			var field *ast.FieldDecl
			comma = true
			if p.isValueMissing() {
				field = p.fieldWithoutValue()
				comma = p.k == lexer.Comma
			} else {
				var f toolField
				read(p, &f)
				field = f.node(p)
			}
			p.finishField(field, start)
			n.Fields = append(n.Fields, field)
			return true, comma
		}, func(start int) {
			if k := p.toks[start].Kind; k != lexer.Ident || p.textAt(start) == "description" {
				return
			}
			if field := p.brokenField(start, last(n.Fields)); field != nil {
				field.Default = &ast.BadExpr{IDBase: p.baseAt(source.Span{Start: field.Sp.End, End: field.Sp.End})}
				n.Fields = append(n.Fields, field)
			}
		})
	p.finishDecl(&n.DeclHead, h)
	return n
}

// description reads a tool's `description: "…"`.
func (p *parser) description(n *ast.ToolDecl) {
	at := p.span()
	p.next()
	p.next()
	lit := p.plainString("a description")
	if n.Description != nil {
		d := diag.TwoDescriptions.At(at, "duplicate `description`").Label(n.Description.Sp, "the first description")
		d.Fixes = append(d.Fixes, diag.UnsafeFix(diag.Remove(p.rowSpan(at.Start)), "Remove the second description"))
		p.report(d)
		return
	}
	n.Description = lit
}

func (p *parser) pipelineDecl(h head) *ast.PipelineDecl {
	var f pipelineHeader
	read(p, &f)
	n := f.node(p)
	b, ok := p.openBraces(nil)
	if !ok {
		p.flaws = append(p.flaws, ast.Flaw{Node: n, Span: p.afterPrevious()})
		p.finishDecl(&n.DeclHead, h)
		return n
	}
	for p.hasElement(b) {
		start := p.i
		p.reports.going = false
		if !p.guard(func() {
			if s := p.stage(); s != nil {
				n.Stages = append(n.Stages, s)
			}
		}) || p.i == start {
			p.sync(start, inStages)
			p.recordLostText(n, start, p.i)
		}
	}
	p.recordGuessedEnd(n)
	p.finishDecl(&n.DeclHead, h)
	return n
}

func (p *parser) stage() *ast.Stage {
	if p.k == lexer.Comma && p.after(lexer.RBrace) && (p.peek(1) == lexer.Stage || p.peek(1) == lexer.RBrace || p.peek(1) == lexer.At) {
		p.report(p.expected("`stage` or `}`").Repair(diag.SafeFix(diag.Remove(p.span()), "Remove the `,`"), "remove the `,`: stages need no separator"))
		if p.next(); p.k == lexer.RBrace {
			return nil
		}
	}
	h := p.prefix()
	if p.k == lexer.Fn && p.peek(1) == lexer.Ident && p.peek(2) == lexer.LParen {
		p.report(diag.Unexpected.At(p.span(), "expected `stage` or `}`, found `fn`").
			Repair(diag.Change(p.span(), "stage", "stage", true), "declare a step of a pipeline with `stage`: `stage %s`", p.textAt(p.i+1)))
		var f fnHeader
		read(p, &f)
		fn := f.node(p)
		n := &ast.Stage{Name: fn.Name, Params: fn.Params, Result: fn.Result}
		n.Body = p.fnBody()
		n.Sp = p.from(h.start)
		n.Doc, n.Decorators = p.docBefore(h.start), h.decorators
		return n
	}
	if p.k != lexer.Stage {
		d := p.expected("`stage` or `}`")
		if word := p.text(); p.k == lexer.Ident && p.peek(1) == lexer.Ident && slices.Contains([]string{"step", "fn", "node", "task", "phase"}, word) {
			d.Fixes, d.Hints = nil, nil
			d.Repair(diag.Change(p.span(), "stage", "stage", false), "declare a step of a pipeline with `stage`")
		}
		if h.pub {
			d.Hint("`pub` is not allowed on a stage")
		}
		p.fail(d)
	}
	var f stageHeader
	read(p, &f)
	n := f.node(p)
	if n.Value != nil {
		p.requireDeclSemi()
	} else {
		n.Body = p.fnBody()
	}
	n.Sp = p.from(h.start)
	n.Doc = p.docBefore(h.start)
	n.Decorators = h.decorators
	return n
}
