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

// defineTool types a tool's state and functions (spec/10-tools-mcp.md).
func (c *checker) defineTool(m *module, t *Tool) {
	d := t.Decl
	for _, x := range d.Decorators {
		if text, ok := decoratorText(x, 0); ok && d.Description == nil && meansDescribe(x) {
			c.describedAbove(m, t, x, text)
			continue
		}
		c.otherDecorator(m, x)
	}
	if d.Description == nil && t.Description != "" {
		// which has been reported
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
			c.report(m, diag.ToolGeneric.At(decl.Name.Sp, "a tool function has no type parameters").Hint("name concrete types; models see them as a JSON Schema"))
		}
		c.signature(fn, ts, t.Type)
		if fn.Recv == nil {
			c.report(m, diag.ToolSelf.At(decl.Name.Sp, "a tool function's first parameter is `self`").
				By(edits.InsertSelf(m.info.File.Source, decl)...).Hint("write `fn %s(self, …)`", decl.Name.Name))
			fn.Recv = t.Type
			fn.Params = append([]*Param{{Name: "self", Type: t.Type, Local: &Local{Name: "self", Type: t.Type, Param: true, used: true}}}, fn.Params...)
		}
		t.Methods = append(t.Methods, fn)
		t.Described = append(t.Described, c.toolMethod(m, t, fn))
		c.enter(m, fn)
	}
}

// meansDescribe reports whether a decorator is `@describe`, or what it is called in other languages.
func meansDescribe(x *ast.Decorator) bool {
	w := foreign.Decorator.Find(x.Name.Name)
	return x.Name.Name == "describe" || len(w.Ours) == 1 && w.Ours[0] == "describe"
}

// describedAbove reports a tool whose description is a decorator, and takes it as that.
func (c *checker) describedAbove(m *module, t *Tool, x *ast.Decorator, text string) {
	t.Description = text
	f, row := m.info.File.Source, "description: "+strconv.Quote(text)
	info, what := diag.DecoratorPlace, "`@%s` cannot stand on a tool"
	if x.Name.Name != "describe" {
		info, what = diag.UnknownDecorator, "unknown decorator `@%s`"
	}
	d := info.At(x.Sp, what, x.Name.Name).Hint("a tool's description is its first row: `%s,`", row)
	name := t.Decl.Name.Sp.End
	if open := strings.IndexByte(f.String()[name:], '{'); open >= 0 {
		at := name + source.Pos(open) + 1
		d.By(diag.Fix{Title: "Make it the row `description`", Safe: true, Edits: []diag.Edit{
			diag.Remove(edits.WithItsLines(f, x.Sp)), diag.Insert(at, "\n"+edits.Indent(f, x.Sp.Start)+edits.Indentation+row+",\n")}})
	}
	c.report(m, d)
}

// useTool brings a library tool into the program when it is first named, so
// that importing its module offers nobody more than what is used.
func (c *checker) useTool(t *Tool) {
	if t.Info.Library && !slices.Contains(c.prog.Tools, t) {
		c.prog.Tools = append(c.prog.Tools, t)
		for _, fn := range t.Methods {
			c.use(fn)
		}
	}
}

// method finds a tool function by name, or gives nil.
func (t *Tool) method(name string) *Function {
	for _, fn := range t.Methods {
		if fn.Decl.Name.Name == name && !fn.Undeclared {
			return fn
		}
	}
	return nil
}

// toolMethod checks what a tool function says of itself and gives @describe's
// text.
func (c *checker) toolMethod(m *module, t *Tool, fn *Function) string {
	d := fn.Decl
	text, described := decoratorText(decorator(d.Decorators, "describe"), 0)
	for _, x := range d.Decorators {
		if given, ok := decoratorText(x, 0); ok && !described && meansDescribe(x) { // which has been reported
			text, described = given, true
		}
	}
	if !described {
		if d.Pub {
			c.report(m, diag.ToolUndescribed.At(d.Name.Sp, "`%s` is offered to models, but nothing describes it", fn.Name).
				By(edits.RemovePub(m.info.File.Source, d)...).Hint("add `@describe(\"…\")`, or remove `pub`"))
		}
		return ""
	}
	for _, x := range d.Decorators {
		if x.Name.Name != "param" {
			continue
		}
		name, _ := decoratorText(x, 0)
		doc, ok := decoratorText(x, 1)
		if p := findParam(fn, name); ok && p != nil {
			p.Doc = doc
			continue
		}
		c.wrongParam(m, fn, x, name, ok)
	}
	b := c.constBody(m)
	for _, p := range fn.Params[1:] {
		p.Local.Offered = true
		if p.Type != types.Bad && !types.IsAny(p.Type) {
			b.decodable(p.Type, p.At)
		}
		if p.Doc == "" && !isToolContext(p.Type) {
			c.report(m, diag.ToolParamDoc.At(p.At, "parameter `%s` has no description", p.Name).
				Hint("add `@param(\"%s\", \"…\")`", p.Name))
		}
	}
	return text
}

// isToolContext says whether a parameter is filled in by who calls from outside.
func isToolContext(t types.Type) bool {
	named, ok := types.Resolve(t).(*types.Named)
	return ok && named.Decl.Library && named.Decl.Name == "ToolContext"
}

// wrongParam reports an @param that describes no parameter.
func (c *checker) wrongParam(m *module, fn *Function, x *ast.Decorator, name string, described bool) {
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
			d.By(diag.Change(lit.Sp, near, strconv.Quote(near), suggest.Certain(name, near, names)))
		}
	case len(names) > 0:
		d.By(edits.RemoveDecorator(m.info.File.Source, x)).Hint("its parameters are %s", listed(names))
	default:
		d.Repair(edits.RemoveDecorator(m.info.File.Source, x), "remove it: the function takes none")
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

// toolState checks the first values of a tool's fields.
func (c *checker) toolState(t *Tool) {
	m := t.mod
	for _, f := range t.Decl.Fields {
		field := findField(t.State, f.Name.Name)
		if field == nil {
			continue
		}
		if f.Default != nil { // else the parser has refused it
			c.checkDefault(m, f.Default, field.Type)
		}
	}
}

// StateValue is the expression of a state field's first value.
func (t *Tool) StateValue(f *types.Field) ast.Expr {
	for _, d := range t.Decl.Fields {
		if d.Name.Name == f.Name {
			return d.Default
		}
	}
	return nil
}
