package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/coverage"
	"github.com/concerto-lang/concerto/sema/edits"
)

// This file contains fixes of declarations: fixes for missing or superfluous parts of a head, and
// for misplaced declarations.

// declareTrait returns the fix that declares a trait before the declaration that refers to it.
func declareTrait(m *module, name *ast.Ident) diag.Fix {
	at := name.Sp.Start
	if d := m.declarationAt(name.Sp); d != nil {
		at = edits.CommentStart(m.info.File.Source, d.Span().Start)
	}
	return diag.UnsafeFix(diag.Insert(at, "trait "+name.Name+" {}\n\n"), "Declare trait `%s`", name.Name)
}

// optionalFieldFix returns the fix that makes the first recursive field of a struct an Option.
func (c *checker) optionalFieldFix(m *module, s *ast.StructDecl) []diag.Fix {
	if s == nil {
		return nil
	}
	for _, f := range s.Fields {
		if n, ok := f.Type.(*ast.NamedType); ok && len(n.Args) == 0 {
			if e := c.findDeclared(m, n.Segments[0].Name); e != nil && e.typ != nil && !e.typ.Library {
				text := "Option<" + m.info.File.Source.Slice(n.Sp) + ">"
				return []diag.Fix{diag.UnsafeFix(diag.Replace(n.Sp, text), "Write `%s`", text)}
			}
		}
	}
	return nil
}

// structs returns the structs of a module by their DeclHeads.
func (m *module) structs() map[*ast.DeclHead]*ast.StructDecl {
	all := map[*ast.DeclHead]*ast.StructDecl{}
	for _, d := range m.fileDecls() {
		if s, ok := d.(*ast.StructDecl); ok {
			all[d.Head()] = s
		}
	}
	return all
}

// renameToFrom returns the fix that renames the only function of an `impl From` to `from`. It
// returns nil if the impl has other errors.
func renameToFrom(d *ast.ImplDecl, im *impl, from types.Type) []diag.Fix {
	if len(d.Methods) != 1 || d.Methods[0].Name.Name == "from" {
		return nil
	}
	fn := im.methods[d.Methods[0].Name.Name]
	if fn == nil || len(fn.Params) != 1 || !types.Identical(fn.Params[0].Type, from) || !types.Identical(fn.CallType(), im.target) {
		return nil
	}
	return []diag.Fix{diag.UnsafeFix(diag.Replace(fn.Decl.Name.Sp, "from"), "Rename to `from`")}
}

// connectionFixes returns one fix for each connection in the manifest. The fix makes the connection
// that of the agent.
func (c *checker) connectionFixes(a *Agent) (fixes []diag.Fix) {
	if c.cfg.Manifest == nil {
		return nil
	}
	for _, name := range sortedKeys(c.cfg.Manifest.Connections) {
		fixes = append(fixes, diag.UnsafeFix(diag.Insert(a.Decl.Name.Sp.End, " uses "+name), "Insert `uses %s`", name))
	}
	return fixes
}

// connectorFixes returns one fix for each host in the manifest. The fix makes the host the
// connector.
func (c *checker) connectorFixes(m *module, h *Host) (fixes []diag.Fix) {
	l, ok := edits.HostRows(m.info.File.Source, h.Decl)
	if c.cfg.Manifest == nil || !ok {
		return nil
	}
	for _, name := range sortedKeys(c.cfg.Manifest.Hosts) {
		fixes = append(fixes, diag.Fix{Title: "Add `connector: " + name + "`", Edits: l.Add("connector: " + name)})
	}
	return fixes
}

// jsonFormatFix returns the fix that declares that a host's output is JSON.
func jsonFormatFix(h *Host) []diag.Fix {
	f := h.mod.info.File.Source
	fix := diag.Fix{Title: "Write `output_format: \"json\"`"}
	for _, x := range h.Decl.Fields {
		if x.Name.Name == "output_format" {
			fix.Edits = []diag.Edit{diag.Replace(x.Value.Span(), `"json"`)}
		}
	}
	if l, ok := edits.HostRows(f, h.Decl); fix.Edits == nil && ok {
		fix.Edits = l.Add(`output_format: "json"`)
	}
	for i := range fix.Edits {
		fix.Edits[i].File = f
	}
	if fix.Edits == nil {
		return nil
	}
	return []diag.Fix{fix}
}

// inMemoryFix returns the fix that removes the file of a store, so that the store is only in
// memory.
func inMemoryFix(s *Store) []diag.Fix {
	call, ok := unparen(s.Decl.Value).(*ast.MethodCall)
	if !ok {
		return nil
	}
	return []diag.Fix{diag.UnsafeFix(diag.Remove(source.Span{Start: call.Recv.Span().End, End: call.Sp.End}), "Remove `with_persistence`")}
}

// removeTraitFix returns the fix that removes an unnecessary impl of a trait, or converts it to an
// inherent impl.
func removeTraitFix(m *module, name *ast.Ident) []diag.Fix {
	d, ok := m.declarationAt(name.Sp).(*ast.ImplDecl)
	if !ok || d.Trait == nil {
		return nil
	}
	f := m.info.File.Source
	if len(d.Methods) == 0 {
		return []diag.Fix{diag.UnsafeFix(diag.Remove(edits.WithItsLines(f, d.Sp)), "Remove the `impl`")}
	}
	at := source.Span{Start: d.Trait.Span().Start, End: d.Target.Span().Start}
	return []diag.Fix{diag.UnsafeFix(diag.Remove(at), "Write `impl %s`", f.Slice(d.Target.Span()))}
}

// The following functions return fixes that add missing fields, arms, handlers and methods.

// addFields returns the advice for a literal with missing fields. Its fix adds rows.
func (b *body) addFields(e *ast.StructLit, missing, rows []string) diag.Advice {
	a := diag.HintAdvice("add `" + strings.Join(missing, ": …`, `") + ": …`, or copy the other fields with `..base`")
	if l, ok := edits.ListIn(b.info.File.Source, e.Path.Sp.End, edits.LastEnd(e.Fields), e.Sp); ok {
		return a.WithFix(diag.Fix{Title: "Add the missing fields", Edits: l.Add(rows...)})
	}
	return a
}

// addArms adds a fix to the advice a that adds the missing arms of a match. left enumerates further
// missing arms.
func (b *body) addArms(a diag.Advice, e *ast.MatchExpr, missing []string, left *coverage.Arms) diag.Advice {
	if all := left.Patterns(); len(e.Arms) == 0 && len(all) > 0 {
		missing = all
	}
	for len(missing) < coverage.MostMissing && left.AddMissing(&missing) {
	}
	if len(missing) == coverage.MostMissing {
		missing = append(missing, "_")
	}
	l, ok := edits.ListIn(b.info.File.Source, e.Head.End, edits.LastEnd(e.Arms), e.Sp)
	if !ok {
		return a
	}
	var rows []string
	for _, m := range missing {
		rows = append(rows, m+" => "+edits.NotWritten)
	}
	return a.WithFix(diag.Fix{Title: "Add the missing arms", Edits: l.Add(rows...)})
}

// handlerRow returns the text of a handler for the message m.
func handlerRow(m hostmsg.Message) string {
	param := m.Type[:1]
	if m.Schema != "" {
		param += ": " + m.Schema
	}
	return `"` + m.Type + `" => |` + param + "| " + edits.NotWritten
}

// askRow returns the text of an `ask` handler for the message m.
func askRow(m hostmsg.Message) string { return `"` + m.Type + `" => ` + askWord }
