package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// An `mcp` block is a tool whose functions an MCP server has: they have
// signatures and no bodies (spec/10-tools-mcp.md).

// declareMcp makes the tool of an mcp block.
func (c *checker) declareMcp(m *module, e *entity, d *ast.McpDecl) {
	decl := &ast.ToolDecl{DeclHead: d.DeclHead, Methods: d.Methods}
	t := &Tool{Name: e.name, Decl: decl, Info: m.info, mod: m, Server: e.name, Rest: d.Rest, Description: d.Doc}
	t.Type = &types.Declared{Kind: types.Tool, Name: e.name, Origin: t}
	e.obj = t
	c.prog.Tools = append(c.prog.Tools, t)
}

// defineMcp types the functions of an mcp block.
func (c *checker) defineMcp(m *module, t *Tool) {
	c.otherDecorators(m, t.Decl.Decorators)
	for _, d := range t.Decl.Decorators {
		if wrapping[d.Name.Name] != "" {
			c.otherDecorator(m, d)
		}
	}
	if c.cfg.Manifest == nil || !c.cfg.Manifest.Mcp[t.Name] {
		file, known := "Concerto.toml", []string(nil)
		if c.cfg.Manifest != nil {
			file, known = c.cfg.Manifest.File, keys(c.cfg.Manifest.Mcp)
		}
		d := diag.UnknownServer.At(t.Decl.Name.Sp, "no MCP server `%s` in %s", t.Name, file)
		if near := suggest.Nearest(t.Name, known); near != "" {
			d.Meant(t.Decl.Name.Sp, near, false)
		} else if hint := "add a section [mcp." + t.Name + "] with its command or url"; c.cfg.Manifest != nil {
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
		c.prog.Knowing = b.libraryHelper("__knowing")
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
		text, ok := decoratorText(decorator(decl.Decorators, "describe"), 0)
		if !ok {
			text = decl.Doc
		}
		t.Described = append(t.Described, text)
		c.enter(m, fn)
	}
}

// mcpFunction checks that a server's function takes and gives data.
func (c *checker) mcpFunction(m *module, fn *Function) {
	b := c.constBody(m)
	for _, p := range fn.Params[1:] {
		p.Local.used = true
		if p.Type != types.Bad && !types.IsAny(p.Type) {
			b.decodable(p.Type, p.At)
		}
	}
	result := fn.Result
	if r, ok := types.Resolve(result).(*types.Result); ok {
		result = r.Ok
	}
	if result != types.Bad && !types.IsAny(result) {
		b.decodable(result, fn.Decl.Signature)
	}
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
		c.wrongParam(m, fn, x, name, ok)
	}
}
