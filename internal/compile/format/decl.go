package format

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
)

// item writes the i-th declaration of a module or member of a declaration. Blank lines separate a
// declaration that takes several lines from others. last is the group of the previous item.
func (p *printer) item(i int, last *int32, write func()) {
	if i > 0 {
		p.forceAll()
		o := op{kind: opDecl, flags: flagIf(p.gapBlank(), blank), a: *last, b: p.next() + 1}
		p.add(o)
	}
	*last = p.next()
	p.group()
	write()
	p.end()
}

// members writes `{ … }` with n members.
func (p *printer) members(n int, write func(i int)) {
	var last int32
	p.tok(lexer.LBrace)
	p.body(n, n == 1, func(i int, _ func(bool)) { p.item(i, &last, func() { write(i) }) })
}

// decl writes a declaration.
func (p *printer) decl(d ast.Decl) {
	if fn, ok := d.(*ast.FnDecl); ok {
		p.fn(fn)
		return
	}
	h := d.Head()
	p.prefix(h.Decorators, h.Pub, p.space)
	switch d := d.(type) {
	case *ast.ImplDecl:
		p.impl(d)
		return
	case *ast.UseDecl:
		p.anyToken()
		p.space()
		p.use(d.Tree)
		p.tok(lexer.Semi)
		return
	default: // the others begin with a word and a name
	}
	p.anyToken()
	p.space()
	p.anyToken()
	switch d := d.(type) {
	case *ast.StructDecl:
		p.generics(d.Generics)
		p.space()
		p.fieldDecls(d.Fields)
	case *ast.SchemaDecl:
		p.generics(d.Generics)
		p.space()
		p.fieldDecls(d.Fields)
	case *ast.EnumDecl:
		p.generics(d.Generics)
		p.space()
		p.list(lexer.LBrace, lexer.RBrace, len(d.Variants), braces, func(i int) { p.variant(d.Variants[i]) })
	case *ast.TraitDecl:
		p.generics(d.Generics)
		p.space()
		p.fns(d.Methods)
	case *ast.TypeDecl:
		p.generics(d.Generics)
		p.aliasTarget(d.Type)
	case *ast.ConstDecl:
		p.annotation(d.Type)
		p.initializer(d.Value)
		p.tok(lexer.Semi)
	case *ast.ModDecl:
		if !d.Inline {
			p.tok(lexer.Semi)
			return
		}
		p.space()
		p.members(len(d.Decls), func(i int) { p.decl(d.Decls[i]) })
	default:
		p.component(d)
	}
}

// component writes the part after the name in declarations of agents, hosts, tools, pipelines and
// stores.
func (p *printer) component(d ast.Decl) {
	switch d := d.(type) {
	case *ast.AgentDecl:
		if d.Uses != nil {
			p.space()
			p.anyToken()
			p.space()
			p.anyToken()
		}
		p.space()
		p.fields(d.Fields)
	case *ast.HostDecl:
		p.space()
		p.fields(d.Fields)
	case *ast.ToolDecl:
		p.space()
		p.tool(d)
	case *ast.McpDecl:
		p.space()
		p.mcp(d)
	case *ast.PipelineDecl:
		if d.HasParams {
			p.params(d.Params)
		}
		p.result(d.Result)
		p.space()
		p.members(len(d.Stages), func(i int) { p.stage(d.Stages[i]) })
	case *ast.StoreDecl:
		p.annotation(d.Type)
		p.initializer(d.Value)
		p.tok(lexer.Semi)
	default: // decl writes the others
		p.unexpected(d)
	}
}

// prefix writes decorators and `pub`. Each decorator is on the line on which the source has it. gap
// writes the text between a decorator and the following text on the same line.
func (p *printer) prefix(ds []*ast.Decorator, pub bool, gap func()) {
	for _, d := range ds {
		p.decorator(d)
		p.afterDecorator(gap)
	}
	p.pub(pub)
}

func (p *printer) pub(pub bool) {
	if pub {
		p.tok(lexer.Pub)
		p.space()
	}
}

// decorated writes a member with its decorators. A decorator is on the member's line if the source
// has it there and the line is not too long.
func (p *printer) decorated(ds []*ast.Decorator, write func()) {
	for _, d := range ds {
		p.group()
		p.decorator(d)
		p.afterDecorator(func() { p.line(false) })
	}
	p.group()
	write()
	p.end()
	for range ds {
		p.end()
	}
}

func (p *printer) decorator(d *ast.Decorator) {
	p.tok(lexer.At)
	p.anyToken()
	if p.at(lexer.LParen) {
		p.args(d.Args)
	}
}

func (p *printer) afterDecorator(gap func()) {
	if p.newLine() {
		p.hard(false)
	} else {
		gap()
	}
}

// fn writes a function. If the function is too long for a line, the line is first broken after the
// decorators, and then at the parameters.
func (p *printer) fn(n *ast.FnDecl) {
	var params int32
	p.decorated(n.Decorators, func() {
		p.pub(n.Pub)
		if n.Async {
			p.tok(lexer.Async)
			p.space()
		}
		p.tok(lexer.Fn)
		p.space()
		p.anyToken()
		p.generics(n.Generics)
		params = p.signature(n.Params, n.Result)
	})
	if n.Body == nil {
		p.tok(lexer.Semi)
		return
	}
	p.gap()
	p.groupAfter(params)
	p.block(n.Body)
	p.end()
}

// signature writes `(params) -> T` and returns the group of the parameters. A long line is broken
// at the parameters, if there are any, and not before the result.
func (p *printer) signature(params []*ast.Param, result ast.Type) (group int32) {
	group = p.next()
	p.params(params)
	outer := p.rigid
	p.rigid = outer || len(params) > 0
	p.result(result)
	p.rigid = outer
	return group
}

func (p *printer) fns(list []*ast.FnDecl) {
	p.members(len(list), func(i int) { p.decl(list[i]) })
}

// mcp writes the functions of a server, and the `..` if there is one.
func (p *printer) mcp(d *ast.McpDecl) {
	n := len(d.Methods)
	if d.Rest {
		n++
	}
	p.members(n, func(i int) {
		if i < len(d.Methods) {
			p.decl(d.Methods[i])
		} else {
			p.tok(lexer.DotDot)
		}
	})
}

// params writes `(a: A, b: B)`.
func (p *printer) params(list []*ast.Param) {
	p.list(lexer.LParen, lexer.RParen, len(list), parens, func(i int) { p.param(list[i]) })
}

func (p *printer) param(n *ast.Param) {
	for _, d := range n.Decorators {
		p.decorator(d)
		p.space()
	}
	if n.Mut {
		p.tok(lexer.Mut)
		p.space()
	}
	if n.Pattern != nil {
		p.pattern(n.Pattern)
	} else {
		parens := p.wrapped(n.Name.Sp.Start)
		p.anyToken()
		p.unwrap(parens)
	}
	p.annotation(n.Type)
	p.initializer(n.Default)
}

func (p *printer) impl(n *ast.ImplDecl) {
	p.tok(lexer.Impl)
	p.generics(n.Generics)
	p.space()
	if n.Trait != nil {
		p.typ(n.Trait)
		p.space()
		p.tok(lexer.For)
		p.space()
	}
	p.typ(n.Target)
	p.space()
	p.fns(n.Methods)
}

// aliasTarget writes `= T;`.
func (p *printer) aliasTarget(t ast.Type) {
	p.space()
	p.tok(lexer.Assign)
	p.space()
	p.typ(t)
	p.tok(lexer.Semi)
}

// fieldDecls writes the fields of a struct, schema or variant.
func (p *printer) fieldDecls(list []*ast.FieldDecl) {
	p.list(lexer.LBrace, lexer.RBrace, len(list), braces, func(i int) { p.fieldDecl(list[i]) })
}

func (p *printer) fieldDecl(n *ast.FieldDecl) {
	p.decorated(n.Decorators, func() {
		p.pub(n.Pub)
		p.anyToken()
		if n.Optional {
			p.tok(lexer.Question)
		}
		p.annotation(n.Type)
	})
	p.initializer(n.Default)
}

func (p *printer) variant(n *ast.Variant) {
	p.anyToken()
	switch {
	case n.Named:
		p.space()
		p.fieldDecls(n.Fields)
	case len(n.Types) > 0:
		p.types(lexer.LParen, lexer.RParen, n.Types, style{})
	}
}

// fields writes `{ word: value, … }`.
func (p *printer) fields(list []*ast.ConfigField) {
	p.list(lexer.LBrace, lexer.RBrace, len(list), braces, func(i int) {
		p.anyToken()
		p.value(list[i].Value)
	})
}

// tool writes the description, the fields and the functions of a tool in the order of the source.
func (p *printer) tool(n *ast.ToolDecl) {
	fields, methods, described := n.Fields, n.Methods, n.Description == nil
	count := len(fields) + len(methods)
	if !described {
		count++
	}
	p.members(count, func(i int) {
		here := p.toks[p.i].Start
		switch {
		case len(methods) > 0 && methods[0].Sp.Start == here:
			m := methods[0]
			methods = methods[1:]
			p.decl(m)
		case len(fields) > 0 && fields[0].Sp.Start == here:
			f := fields[0]
			fields = fields[1:]
			p.fieldDecl(f)
			p.comma(i == count-1, style{}, count)
		default:
			p.anyToken()
			p.value(n.Description)
			p.comma(i == count-1, style{}, count)
		}
	})
}

func (p *printer) stage(n *ast.Stage) {
	p.prefix(n.Decorators, false, p.space)
	p.tok(lexer.Stage)
	p.space()
	p.anyToken()
	if n.IsBinding() {
		p.initializer(n.Value)
		p.tok(lexer.Semi)
		return
	}
	params := p.signature(n.Params, n.Result)
	p.gap()
	p.groupAfter(params)
	p.block(n.Body)
	p.end()
}

// use writes one branch of a use declaration.
func (p *printer) use(n *ast.UseTree) {
	p.segments(len(n.Path))
	switch {
	case n.Glob:
		p.tok(lexer.PathSep)
		p.anyToken()
	case n.List != nil:
		p.tok(lexer.PathSep)
		p.list(lexer.LBrace, lexer.RBrace, len(n.List), style{}, func(i int) { p.use(n.List[i]) })
	}
	if n.Alias != nil {
		p.space()
		p.tok(lexer.As)
		p.space()
		p.anyToken()
	}
}
