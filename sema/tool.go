package sema

import (
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/sema/edits"
)

// defineTool checks the state and the functions of a tool (spec/10-tools-mcp.md).
func (c *checker) defineTool(m *module, t *Tool) {
	d := t.Decl
	for _, x := range d.Decorators {
		if text, ok := decoratorText(x, 0); ok && d.Description == nil && meansDescribe(x) {
			c.reportDescriptionAbove(m, t, x, text)
			continue
		}
		c.rejectOtherDecorator(m, x)
	}
	if d.Description == nil && t.Description != "" {
		// a description above the tool has been reported
	} else if d.Description != nil {
		t.Description = d.Description.Value
	} else {
		c.report(m, diag.ToolDescription.At(d.Name.Sp, "tool `%s` has no description", t.Name).
			Hint("add `description: \"…\"`; models choose tools by it"))
	}
	ts := &typeScope{m: m, self: t.Type}
	t.State = c.fields(ts, d.Fields)
	for _, decl := range d.Methods {
		fn := &Function{Name: t.Name + "." + decl.Name.Name, Decl: decl, Info: m.info, Tool: t, mod: m, pub: true}
		if first := t.method(decl.Name.Name); first != nil {
			c.report(m, diag.DuplicateName.At(decl.Name.Sp, "tool function `%s` is declared twice", decl.Name.Name).
				Label(first.Decl.Name.Sp, "first declared here").Hint("rename one of them"))
			continue
		}
		if len(decl.Generics) > 0 {
			c.report(m, diag.ToolGeneric.At(decl.Name.Sp, "a tool function cannot have type parameters").Hint("use concrete types; models see them as a JSON Schema"))
		}
		c.signature(fn, ts, t.Type)
		if fn.Recv == nil {
			c.report(m, diag.ToolSelf.At(decl.Name.Sp, "the first parameter of a tool function must be `self`").
				WithFixes(edits.InsertSelf(m.info.File.Source, decl)...).Hint("write `fn %s(self, …)`", decl.Name.Name))
			fn.Recv = t.Type
			fn.Params = append([]*Param{{Name: "self", Type: t.Type, Local: &Local{Name: "self", Type: t.Type, Param: true, used: true}}}, fn.Params...)
		}
		t.Methods = append(t.Methods, fn)
		t.Described = append(t.Described, c.toolMethod(m, t, fn))
		c.enter(m, fn)
	}
}

// meansDescribe reports whether a decorator is `@describe` or has the name of a similar decorator
// in other languages.
func meansDescribe(x *ast.Decorator) bool {
	w := foreign.Decorator.Find(x.Name.Name)
	return x.Name.Name == "describe" || len(w.Ours) == 1 && w.Ours[0] == "describe"
}

// reportDescriptionAbove reports a tool with its description in a decorator. It uses this
// description.
func (c *checker) reportDescriptionAbove(m *module, t *Tool, x *ast.Decorator, text string) {
	t.Description = text
	f, row := m.info.File.Source, "description: "+strconv.Quote(text)
	info, what := diag.DecoratorPlace, "`@%s` is not allowed on a tool"
	if x.Name.Name != "describe" {
		info, what = diag.UnknownDecorator, "unknown decorator `@%s`"
	}
	d := info.At(x.Sp, what, x.Name.Name).Hint("set the description in the tool: `%s,`", row)
	name := t.Decl.Name.Sp.End
	if open := strings.IndexByte(f.String()[name:], '{'); open >= 0 {
		at := name + source.Pos(open) + 1
		d.WithFixes(diag.Fix{Title: "Change to the field `description`", Safe: true, Edits: []diag.Edit{
			diag.Remove(edits.WithItsLines(f, x.Sp)), diag.Insert(at, "\n"+edits.Indent(f, x.Sp.Start)+edits.Indentation+row+",\n")}})
	}
	c.report(m, d)
}

// useTool adds a library tool to the program when the program uses it. Therefore importing the
// tool's module does not make the tool available to models.
func (c *checker) useTool(t *Tool) {
	if t.Info.Library && !slices.Contains(c.prog.Tools, t) {
		c.prog.Tools = append(c.prog.Tools, t)
		for _, fn := range t.Methods {
			c.lib.use(fn)
		}
	}
}

// method returns the function of the tool with the given name, or nil.
func (t *Tool) method(name string) *Function {
	for _, fn := range t.Methods {
		if fn.Decl.Name.Name == name && !fn.Undeclared {
			return fn
		}
	}
	return nil
}

// toolMethod checks the decorators of a tool function, and returns the text of @describe.
func (c *checker) toolMethod(m *module, t *Tool, fn *Function) string {
	d := fn.Decl
	text, described := decoratorText(findDecorator(d.Decorators, "describe"), 0)
	for _, x := range d.Decorators {
		if s, ok := decoratorText(x, 0); ok && !described && meansDescribe(x) { // another decorator's name for a description has been reported
			text, described = s, true
		}
	}
	if !described {
		if d.Pub {
			c.report(m, diag.ToolUndescribed.At(d.Name.Sp, "public tool function `%s` has no description", fn.Name).
				WithFixes(edits.RemovePub(m.info.File.Source, d)...).Hint("add `@describe(\"…\")`, or remove `pub`"))
		}
		return ""
	}
	c.describeParams(m, fn)
	b := c.constBody(m)
	for _, p := range fn.Params[1:] {
		p.Local.Offered = true
		if p.Type != types.Bad && !types.IsAny(p.Type) {
			b.checkDecodable(p.Type, p.At)
		}
		if p.Doc == "" && !isToolContext(p.Type) {
			c.report(m, diag.ToolParamDoc.At(p.At, "parameter `%s` has no description", p.Name).
				Hint("add `@param(\"%s\", \"…\")`", p.Name))
		}
	}
	return text
}

// isToolContext reports whether a parameter of type t receives the context of an external call.
func isToolContext(t types.Type) bool {
	named, ok := types.Resolve(t).(*types.Named)
	return ok && named.Decl.Library && named.Decl.Name == "ToolContext"
}

// describeParams sets the descriptions of a function's parameters to the texts of its @param
// decorators.
func (c *checker) describeParams(m *module, fn *Function) {
	for _, x := range fn.Decl.Decorators {
		if x.Name.Name != "param" {
			continue
		}
		name, _ := decoratorText(x, 0)
		doc, ok := decoratorText(x, 1)
		if p := findParam(fn, name); ok && p != nil {
			p.Doc = doc
			continue
		}
		c.reportWrongParam(m, fn, x, name, ok)
	}
}

// reportWrongParam reports an @param decorator that names no parameter, or a parameter that another
// one describes.
func (c *checker) reportWrongParam(m *module, fn *Function, x *ast.Decorator, name string, described bool) {
	if !described {
		c.report(m, diag.ToolParam.At(x.Sp, "`@param` takes the name of a parameter and its description").
			Hint("write `@param(\"name\", \"what it is\")`"))
		return
	}
	d := diag.ToolParam.At(x.Sp, "`%s` has no parameter `%s`", fn.Name, name)
	var names []string
	for _, p := range fn.Params[1:] {
		names = append(names, p.Name)
	}
	switch near := suggest.Nearest(name, names); {
	case near != "":
		d.Hint("did you mean `%s`?", near)
		if lit, ok := x.Args[0].Value.(*ast.StringLit); ok {
			d.WithFixes(diag.Change(lit.Sp, near, strconv.Quote(near), suggest.Certain(name, near, names)))
		}
	case len(names) > 0:
		d.WithFixes(edits.RemoveDecorator(m.info.File.Source, x)).Hint("its parameters are %s", quotedNames(names))
	default:
		d.Repair(edits.RemoveDecorator(m.info.File.Source, x), "remove it: the function has no parameters")
	}
	c.report(m, d)
}

func findParam(fn *Function, name string) *Param {
	for _, p := range fn.Params {
		if p.Name == name && p.Local.Name != "self" {
			return p
		}
	}
	return nil
}

// toolState checks the initial values of the fields of a tool.
func (c *checker) toolState(t *Tool) {
	m := t.mod
	for _, f := range t.Decl.Fields {
		field := findField(t.State, f.Name.Name)
		if field == nil {
			continue
		}
		if f.Default != nil { // a missing value is a syntax error
			c.checkDefault(m, f.Default, field.Type)
		}
	}
}

// StateValue returns the expression that is the initial value of a tool's field.
func (t *Tool) StateValue(f *types.Field) ast.Expr {
	for _, d := range t.Decl.Fields {
		if d.Name.Name == f.Name {
			return d.Default
		}
	}
	return nil
}

// An `mcp` block declares a tool whose functions an MCP server implements. The functions have
// signatures and no bodies (spec/10-tools-mcp.md).

// declareMcp creates the tool that an mcp block declares.
func (c *checker) declareMcp(m *module, e *entity, d *ast.McpDecl) {
	decl := &ast.ToolDecl{DeclHead: d.DeclHead, Methods: d.Methods}
	t := &Tool{Name: e.name, Decl: decl, Info: m.info, mod: m, Server: e.name, Rest: d.Rest, Description: d.Doc}
	t.Type = &types.Declared{Kind: types.Tool, Name: e.name, Origin: t}
	e.obj = t
	c.prog.Tools = append(c.prog.Tools, t)
}

// defineMcp checks the functions of an mcp block.
func (c *checker) defineMcp(m *module, t *Tool) {
	c.rejectOtherDecorators(m, t.Decl.Decorators)
	for _, d := range t.Decl.Decorators {
		if wrapping[d.Name.Name] != "" {
			c.rejectOtherDecorator(m, d)
		}
	}
	if c.cfg.Manifest == nil || !c.cfg.Manifest.Mcp[t.Name] && !c.cfg.Manifest.Unread {
		file, names := "Concerto.toml", []string(nil)
		if c.cfg.Manifest != nil {
			file, names = c.cfg.Manifest.File, sortedKeys(c.cfg.Manifest.Mcp)
		}
		d := diag.UnknownServer.At(t.Decl.Name.Sp, "no MCP server `%s` in %s", t.Name, file)
		if near := suggest.Nearest(t.Name, names); near != "" {
			d.SuggestName(t.Decl.Name.Sp, near, false)
		} else if hint := "add a section [mcp." + t.Name + "] with a command or url"; c.cfg.Manifest != nil {
			c.addSection(d, hint, "mcp."+t.Name, "command = \""+strings.ToLower(t.Name)+"\"")
		} else {
			d.Hint("%s", hint)
		}
		c.report(m, d)
	}
	b := c.constBody(m)
	t.Call, t.Try = b.libraryHelper("__mcp_call"), b.libraryHelper("__mcp_try")
	if t.Rest {
		t.List, t.CallRest = b.libraryHelper("__mcp_list"), b.libraryHelper("__mcp_call_rest")
		c.prog.OnToolsKnown = b.libraryHelper("__with_listed_tools")
	}
	ts := &typeScope{m: m, self: t.Type}
	for _, decl := range t.Decl.Methods {
		fn := &Function{Name: t.Name + "." + decl.Name.Name, Decl: decl, Info: m.info, Tool: t, mod: m, pub: true}
		if first := t.method(decl.Name.Name); first != nil {
			c.report(m, diag.DuplicateName.At(decl.Name.Sp, "function `%s` is declared twice", decl.Name.Name).
				Label(first.Decl.Name.Sp, "first declared here").Hint("rename one of them"))
			continue
		}
		c.signature(fn, ts, t.Type)
		if fn.Recv == nil {
			fn.Recv = t.Type
			fn.Params = append([]*Param{{Name: "self", Type: t.Type, Local: &Local{Name: "self", Type: t.Type, Param: true, used: true}}}, fn.Params...)
		}
		c.mcpFunction(m, fn)
		t.Methods = append(t.Methods, fn)
		text, ok := decoratorText(findDecorator(decl.Decorators, "describe"), 0)
		if !ok {
			text = decl.Doc
		}
		t.Described = append(t.Described, text)
		c.enter(m, fn)
	}
}

// mcpFunction checks that the parameters and the result of a server's function are data.
func (c *checker) mcpFunction(m *module, fn *Function) {
	b := c.constBody(m)
	for _, p := range fn.Params[1:] {
		p.Local.used = true
		if p.Type != types.Bad && !types.IsAny(p.Type) {
			b.checkDecodable(p.Type, p.At)
		}
	}
	result := fn.Result
	if r, ok := types.Resolve(result).(*types.Result); ok {
		result = r.Ok
	}
	if result != types.Bad && !types.IsAny(result) {
		b.checkDecodable(result, fn.Decl.Signature)
	}
	c.describeParams(m, fn)
}

// undeclaredCall checks a call of a function that the `..` of an mcp block includes. The order of
// the function's parameters is unknown, so the arguments must have names. The result is an Any.
func (b *body) undeclaredCall(e *ast.MethodCall, t *Tool, p *piped) types.Type {
	names := map[string]bool{}
	for _, a := range e.Args {
		if a.Name == nil || p != nil {
			b.arguments(e.Args)
			b.report(diag.NamelessArgument.At(a.Value.Span(), "`%s.%s` is not declared, so its arguments must be named", t.Name, e.Name.Name).
				Hint("write `name: value`, or declare the function in `mcp %s`", t.Name))
			return types.Bad
		}
		if names[a.Name.Name] {
			b.arguments(e.Args)
			b.report(diag.ArgumentTwice.At(a.Name.Sp, "parameter `%s` is passed twice", a.Name.Name).Hint("remove one"))
			return types.Bad
		}
		names[a.Name.Name] = true
	}
	if p != nil {
		b.report(diag.NamelessArgument.At(e.Name.Sp, "`%s.%s` is not declared, so the parameter for a piped value is unknown", t.Name, e.Name.Name).
			Hint("write `name: value`, or declare the function in `mcp %s`", t.Name))
		return types.Bad
	}
	return b.invoke(e, b.c.undeclaredFunction(t, e, names), t.Type, nil, nil)
}

// undeclaredFunction returns a function whose parameters have the given names. All calls of the
// same function with these names share it.
func (c *checker) undeclaredFunction(t *Tool, e *ast.MethodCall, names map[string]bool) *Function {
	for _, fn := range t.Methods {
		if fn.Undeclared && fn.Decl.Name.Name == e.Name.Name && fn.hasParams(names) {
			return fn
		}
	}
	c.bodies.now.whole = true // the function affects the results for other bodies
	decl := &ast.FnDecl{DeclHead: ast.DeclHead{Base: t.Decl.Base, Name: e.Name}}
	fn := &Function{Name: t.Name + "." + e.Name.Name, Decl: decl, Info: t.Info, Tool: t, Undeclared: true, Recv: t.Type, Result: types.Any, mod: t.mod, pub: true}
	add := func(name string, typ types.Type, at *ast.Ident) {
		p := &Param{Name: name, Type: typ, Local: &Local{Name: name, Type: typ, Param: true, used: true}}
		if at != nil {
			p.At = at.Sp
		}
		fn.Params = append(fn.Params, p)
	}
	add("self", t.Type, nil)
	for _, a := range e.Args {
		add(a.Name.Name, types.Any, a.Name)
	}
	t.Methods, t.Described = append(t.Methods, fn), append(t.Described, "")
	c.enter(t.mod, fn)
	return fn
}

// hasParams reports whether the function's parameters have exactly the given names.
func (fn *Function) hasParams(names map[string]bool) bool {
	if len(fn.Params)-1 != len(names) {
		return false
	}
	for _, p := range fn.Params[1:] {
		if !names[p.Name] {
			return false
		}
	}
	return true
}
