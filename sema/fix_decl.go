package sema

import (
	"path"
	"regexp"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Fixes of declarations: what a head lacks or has too much, and where a declaration belongs.

// declareTrait declares a trait before the declaration that names it.
func declareTrait(m *module, name *ast.Ident) diag.Fix {
	at := name.Sp.Start
	if d := m.declarationAt(name.Sp); d != nil {
		at = beginning(m.info.File.Source, d.Span().Start)
	}
	return diag.Offer(diag.Insert(at, "trait "+name.Name+" {}\n\n"), "Declare trait `%s`", name.Name)
}

// moveMethod moves a method of a trait's impl to one of the type alone.
func moveMethod(f *source.File, d *ast.ImplDecl, method *ast.FnDecl, target string) diag.Fix {
	own := indent(f, d.Sp.Start)
	text := "\n\n" + own + "impl " + target + " {\n" + own + indentation + f.Slice(method.Sp) + "\n" + own + "}"
	return diag.Fix{Title: "Move it to `impl " + target + "`", Edits: []diag.Edit{
		diag.Remove(aloneOn(f, method.Sp)), diag.Insert(d.Sp.End, text),
	}}
}

// createFile makes the file of a module, which is empty.
func createFile(name string) diag.Fix {
	return diag.Offer(diag.Edit{File: source.NewFile(name, nil)}, "Create %s", path.Base(name))
}

// inlineModule gives a `mod x;` braces.
func inlineModule(f *source.File, d *ast.ModDecl) diag.Fix {
	at := source.Span{Start: d.Name.Sp.End, End: d.Name.Sp.End}
	if d.Sp.End > at.End && f.Text[d.Sp.End-1] == ';' {
		at.End = d.Sp.End
	}
	return diag.Offer(diag.Replace(at, " {}"), "Write `mod %s {}`", d.Name.Name)
}

// moveForward moves a parameter without a default before those that have one.
func moveForward(f *source.File, d *ast.FnDecl, p *ast.Param) []diag.Fix {
	for i, q := range d.Params {
		if q.Default != nil && q.Sp.End < p.Sp.Start {
			j := i
			for d.Params[j+1] != p {
				j++
			}
			return []diag.Fix{{Title: "Move it forward", Edits: []diag.Edit{
				diag.Insert(q.Sp.Start, f.Slice(p.Sp)+", "), diag.Remove(source.Span{Start: d.Params[j].Sp.End, End: p.Sp.End}),
			}}}
		}
	}
	return nil
}

// readArguments makes of main's one parameter a variable that holds the program's arguments.
func readArguments(d *ast.FnDecl) []diag.Fix {
	if len(d.Params) != 1 || d.Body == nil || len(d.Body.Stmts) == 0 || d.Params[0].Name == nil {
		return nil
	}
	first := d.Body.Stmts[0].Span().Start
	return []diag.Fix{{Title: "Read the arguments by `std::env::args()`", Edits: []diag.Edit{
		diag.Remove(d.Params[0].Sp), diag.Insert(first, "let "+d.Params[0].Name.Name+" = std::env::args();"+gapBefore(d.Body.Sp, first, d.Signature)),
	}}}
}

// gapBefore is what stands before the first statement of a block, which a statement before it is parted by.
func gapBefore(block source.Span, first source.Pos, _ source.Span) string {
	if first-block.Start > 3 { // more than `{ `: a line of its own
		return "\n" + indentation
	}
	return " "
}

// optionalField makes the first field of a struct that holds a declaration of the program an option.
func (c *checker) optionalField(m *module, s *ast.StructDecl) []diag.Fix {
	if s == nil {
		return nil
	}
	for _, f := range s.Fields {
		if n, ok := f.Type.(*ast.NamedType); ok && len(n.Args) == 0 {
			if e := c.declared(m, n.Segments[0].Name); e != nil && e.typ != nil && !e.typ.Library {
				text := "Option<" + m.info.File.Source.Slice(n.Sp) + ">"
				return []diag.Fix{diag.Offer(diag.Replace(n.Sp, text), "Write `%s`", text)}
			}
		}
	}
	return nil
}

// structs are a module's, by their heads.
func (m *module) structs() map[*ast.DeclHead]*ast.StructDecl {
	all := map[*ast.DeclHead]*ast.StructDecl{}
	for _, d := range m.declared() {
		if s, ok := d.(*ast.StructDecl); ok {
			all[d.Head()] = s
		}
	}
	return all
}

// renameToFrom renames the only function of an `impl From`, when that is all that is wrong.
func renameToFrom(d *ast.ImplDecl, im *impl, from types.Type) []diag.Fix {
	if len(d.Methods) != 1 || d.Methods[0].Name.Name == "from" {
		return nil
	}
	fn := im.methods[d.Methods[0].Name.Name]
	if fn == nil || len(fn.Params) != 1 || !types.Identical(fn.Params[0].Type, from) || !types.Identical(fn.Gives(), im.target) {
		return nil
	}
	return []diag.Fix{diag.Offer(diag.Replace(fn.Decl.Name.Sp, "from"), "Rename to `from`")}
}

// withoutPub removes the `pub` of a function, which stands between its decorators and its head.
func withoutPub(f *source.File, d *ast.FnDecl) []diag.Fix {
	head := source.Span{Start: d.Sp.Start, End: d.Name.Sp.Start}
	for _, x := range d.Decorators {
		head.Start = max(head.Start, x.Sp.End)
	}
	n := strings.Index(f.Slice(head), "pub ")
	if n < 0 {
		return nil
	}
	at := head.Start + source.Pos(n)
	return []diag.Fix{diag.Offer(diag.Remove(source.Span{Start: at, End: at + source.Pos(len("pub "))}), "Remove `pub`")}
}

// insertSelf gives a function its `self`, where the parentheses for it are whole.
func insertSelf(f *source.File, d *ast.FnDecl) []diag.Fix {
	head := f.Slice(source.Span{Start: d.Name.Sp.End, End: max(d.Name.Sp.End, d.Signature.End)})
	n := strings.IndexByte(head, '(')
	if n < 0 {
		return nil
	}
	text, rest := selfParameter(f, d), strings.TrimLeft(head[n+1:], " \t\r\n")
	switch {
	case len(d.Params) > 0 && strings.HasPrefix(head[n+1:], f.Slice(d.Params[0].Sp)):
		text += ", "
	case len(d.Params) > 0 || !strings.HasPrefix(rest, ")"):
		return nil
	}
	return []diag.Fix{diag.Sure(diag.Insert(d.Name.Sp.End+source.Pos(n+1), text), "Insert `%s`", strings.TrimSuffix(text, ", "))}
}

// assignsSelf is text that changes a field of self.
var assignsSelf = regexp.MustCompile(`\bself(\.\w+|\[[^\]]*\])+\s*([-+*/%]?=[^=>]|\.(push|insert|remove|set|pop|extend|clear|merge)\()`)

// selfParameter is the `self` that a function needs, by what it does with it.
func selfParameter(f *source.File, d *ast.FnDecl) string {
	if d.Body != nil && assignsSelf.MatchString(f.Slice(d.Body.Sp)) {
		return "mut self"
	}
	return "self"
}

// withoutDecorator removes a decorator.
func withoutDecorator(f *source.File, d *ast.Decorator) diag.Fix {
	return diag.Offer(diag.Remove(aloneOn(f, d.Sp)), "Remove `%s`", f.Slice(d.Sp))
}

// usesOf gives an agent each of the manifest's connections.
func (c *checker) usesOf(a *Agent) (fixes []diag.Fix) {
	if c.cfg.Manifest == nil {
		return nil
	}
	for _, name := range keys(c.cfg.Manifest.Connections) {
		fixes = append(fixes, diag.Offer(diag.Insert(a.Decl.Name.Sp.End, " uses "+name), "Insert `uses %s`", name))
	}
	return fixes
}

// connectors gives a host each of the manifest's.
func (c *checker) connectors(m *module, h *Host) (fixes []diag.Fix) {
	l, ok := hostRows(m.info.File.Source, h.Decl)
	if c.cfg.Manifest == nil || !ok {
		return nil
	}
	for _, name := range keys(c.cfg.Manifest.Hosts) {
		fixes = append(fixes, diag.Fix{Title: "Add `connector: " + name + "`", Edits: l.add("connector: " + name)})
	}
	return fixes
}

func hostRows(f *source.File, d *ast.HostDecl) (rowList, bool) {
	return listIn(f, d.Name.Sp.End, lastOf(d.Fields), d.Sp)
}

// jsonFormat says of a host that it sends JSON.
func jsonFormat(h *Host) []diag.Fix {
	f := h.mod.info.File.Source
	fix := diag.Fix{Title: "Write `output_format: \"json\"`"}
	for _, x := range h.Decl.Fields {
		if x.Name.Name == "output_format" {
			fix.Edits = []diag.Edit{diag.Replace(x.Value.Span(), `"json"`)}
		}
	}
	if l, ok := hostRows(f, h.Decl); fix.Edits == nil && ok {
		fix.Edits = l.add(`output_format: "json"`)
	}
	for i := range fix.Edits {
		fix.Edits[i].File = f
	}
	if fix.Edits == nil {
		return nil
	}
	return []diag.Fix{fix}
}

// inMemory takes its file from a store.
func inMemory(s *Store) []diag.Fix {
	call, ok := unparen(s.Decl.Value).(*ast.MethodCall)
	if !ok {
		return nil
	}
	return []diag.Fix{diag.Offer(diag.Remove(source.Span{Start: call.Recv.Span().End, End: call.Sp.End}), "Remove `with_persistence`")}
}

// withoutTrait removes an impl of a trait that is not needed, or makes its methods those of the type alone.
func withoutTrait(m *module, name *ast.Ident) []diag.Fix {
	d, ok := m.declarationAt(name.Sp).(*ast.ImplDecl)
	if !ok || d.Trait == nil {
		return nil
	}
	f := m.info.File.Source
	if len(d.Methods) == 0 {
		return []diag.Fix{diag.Offer(diag.Remove(aloneOn(f, d.Sp)), "Remove the `impl`")}
	}
	at := source.Span{Start: d.Trait.Span().Start, End: d.Target.Span().Start}
	return []diag.Fix{diag.Offer(diag.Remove(at), "Write `impl %s`", f.Slice(d.Target.Span()))}
}
