package sema

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema/coverage"
	"github.com/concerto-lang/concerto/sema/edits"
	"github.com/concerto-lang/concerto/sema/surface"
)

// This file contains fixes of undeclared names and of declarations. A fix imports a name from std,
// declares the name, or changes the head or the place of a declaration.

// stdKind is the kind of use of a name that std may contain.
type stdKind uint8

const (
	stdFunction stdKind = iota
	stdConst
	stdType
)

// stdModulesOf returns the modules of std that contain a name for the given kind of use.
func (c *checker) stdModulesOf(name string, kind stdKind) []string {
	if c.lib.stdIndex == nil {
		c.lib.stdIndex = map[stdName][]string{}
		if c.cfg.Library != nil {
			for _, m := range c.cfg.Library.Modules() {
				c.lib.indexStd(m, c.cfg.Library.Module(m))
			}
		}
	}
	return c.lib.stdIndex[stdName{kind, name}]
}

type stdName struct {
	kind stdKind
	name string
}

func (l *libraryUse) indexStd(module string, f *ast.File) {
	for _, d := range f.Decls {
		h := d.Head()
		if h == nil || !h.Pub || h.Name == nil {
			continue
		}
		k := stdName{stdType, h.Name.Name}
		switch d.(type) {
		case *ast.FnDecl:
			k.kind = stdFunction
		case *ast.ConstDecl:
			k.kind = stdConst
		case *ast.StructDecl, *ast.SchemaDecl, *ast.EnumDecl, *ast.TypeDecl:
		default:
			continue
		}
		l.stdIndex[k] = append(l.stdIndex[k], module)
	}
}

// fromStd returns the advice for an undeclared name that std contains. It names the modules that
// contain the name, and has a fix for each import.
func (b *body) fromStd(id *ast.Ident, u use) diag.Advice {
	kind := stdConst
	if u.called {
		kind = stdFunction
	}
	modules := b.c.stdModulesOf(id.Name, kind)
	if len(modules) == 0 || u.method != "" {
		return diag.Advice{}
	}
	a := diag.HintAdvice("write `std::" + modules[0] + "::" + id.Name + "`, or add `use std::" + modules[0] + ";` and write `" + modules[0] + "::" + id.Name + "`")
	for _, m := range modules {
		there := diag.Replace(id.Sp, m+"::"+id.Name)
		if e := b.c.lookup(b.m, m); e != nil && e.module != nil && e.module.std == m {
			a = a.WithFix(diag.Fix{Title: "Change to `" + m + "::" + id.Name + "`", Edits: []diag.Edit{there}})
			continue
		}
		a = a.WithFix(diag.Fix{Title: "Import `std::" + m + "`", Edits: editsInOrder(importEdit(b.m, "std::"+m), there)})
	}
	return a
}

func editsInOrder(a, b diag.Edit) []diag.Edit {
	if b.Span.Start < a.Span.Start {
		a, b = b, a
	}
	return []diag.Edit{a, b}
}

// importTypes returns the fixes that import a type from std.
func (c *checker) importTypes(m *module, name string) (fixes []diag.Fix) {
	for _, in := range c.stdModulesOf(name, stdType) {
		fixes = append(fixes, importFix(m, "std::"+in+"::"+name))
	}
	return fixes
}

// foreignValueFix returns the fix that replaces a word of another language with Concerto's word.
func (b *body) foreignValueFix(id *ast.Ident, u use) []diag.Fix {
	rest := b.info.File.Source.String()[id.Sp.End:]
	empty := map[string]string{"dict": "{}", "Dict": "{}", "Map": "{}", "list": "[]", "List": "[]", "Array": "[]", "Vec": "[]"}[id.Name]
	switch {
	case empty != "" && strings.HasPrefix(rest, "()"):
		return []diag.Fix{diag.Change(source.Span{Start: id.Sp.Start, End: id.Sp.End + 2}, empty, empty, false)}
	case id.Name == "console" && strings.HasPrefix(rest, ".log"), id.Name == "fmt" && strings.HasPrefix(rest, ".Println"):
		end := id.Sp.End + source.Pos(strings.IndexByte(rest+"(", '('))
		return []diag.Fix{diag.Change(source.Span{Start: id.Sp.Start, End: end}, "println", "println", false)}
	}
	w := foreign.Value.Find(id.Name)
	if len(w.Ours) != 1 || w.Hint != "" && !(u.called && strings.Contains(w.Hint, "`"+w.Ours[0]+"(")) && w.Ours[0] != "self" {
		return nil
	}
	return []diag.Fix{diag.Change(id.Sp, w.Ours[0], w.Ours[0], false)}
}

// declareFixes returns the fixes that declare an undeclared name.
func (b *body) declareFixes(id *ast.Ident, u use) []diag.Fix {
	if declarations := b.declarationTexts(id.Name, u); len(declarations) > 0 {
		var fixes []diag.Fix
		for _, text := range declarations {
			text = strings.Trim(text, "`")
			if kind, _, _ := strings.Cut(text, " "); !strings.Contains(text, "{ … }") {
				fixes = append(fixes, b.insertBeforeDecl(id.Sp, text, "Declare "+kind+" `"+id.Name+"`")...)
			}
		}
		return fixes
	}
	switch {
	case u.method != "" || isUpper(id.Name):
		return nil
	case u.called:
		return b.declareFunction(id, u)
	}
	return b.declareVariable(id, u)
}

// insertBeforeDecl returns the fix that inserts text before the declaration of the module that
// contains a position.
func (b *body) insertBeforeDecl(at source.Span, text, title string) []diag.Fix {
	f := b.info.File.Source
	d := b.m.declarationAt(at)
	if d == nil {
		return nil
	}
	before := edits.CommentStart(f, d.Span().Start)
	own := edits.Indent(f, before)
	return []diag.Fix{diag.UnsafeFix(diag.Insert(before, strings.ReplaceAll(text, "\n", "\n"+own)+"\n\n"+own), "%s", title)}
}

// declareVariable returns the fix that declares a variable. It inserts the declaration before the
// statement that reads the variable, or changes the assignment to a declaration.
func (b *body) declareVariable(id *ast.Ident, u use) []diag.Fix {
	f := b.info.File.Source
	if b.here == 0 || b.here > id.Sp.Start {
		return nil
	}
	rest := strings.TrimLeft(f.Slice(source.Span{Start: id.Sp.End, End: source.Pos(len(f.Text))}), " \t")
	if b.here == id.Sp.Start && strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") {
		return []diag.Fix{diag.UnsafeFix(diag.Insert(b.here, "let "), "Declare variable `%s`", id.Name)}
	}
	if value := b.startValue(id); value != "" {
		at := b.here
		if loop := outermostLoop(b.info.File, id.Sp); loop != nil {
			at = loop.Span().Start
		}
		return []diag.Fix{diag.UnsafeFix(diag.Insert(at, "let mut "+id.Name+" = "+value+";\n"+edits.Indent(f, at)), "Declare variable `%s`", id.Name)}
	}
	value := b.valueBeside(id)
	if u.hint != nil {
		value = edits.Placeholder(u.hint)
	}
	if value == "" || value == edits.NotWritten {
		return nil
	}
	return []diag.Fix{diag.UnsafeFix(diag.Insert(b.here, "let "+id.Name+" = "+value+";"+b.separator()), "Declare variable `%s`", id.Name)}
}

// valueBeside returns a value for an undeclared variable whose type is not expected. It returns ""
// if the expression around the variable requires a type that is unknown here.
func (b *body) valueBeside(id *ast.Ident) string {
	around := surface.Around(b.info.File, id.Sp)
	for i := len(around) - 1; i >= 0; i-- {
		switch n := around[i].(type) {
		case *ast.Ident, *ast.PathExpr, *ast.ParenExpr:
		case *ast.Binary:
			other := n.X
			if other.Span().Contains(id.Sp) {
				other = n.Y
			}
			switch unparen(other).(type) {
			case *ast.IntLit:
				return "0"
			case *ast.FloatLit:
				return "0.0"
			case *ast.BoolLit:
				return "false"
			case *ast.StringLit, *ast.InterpLit:
				return `""`
			default: // the others have no known type
			}
			return ""
		case *ast.IndexExpr, *ast.FieldExpr, *ast.TupleIndex, *ast.Unary, *ast.ForExpr, *ast.MatchExpr, *ast.Question, *ast.Await, *ast.RangeExpr,
			*ast.Cast, *ast.Assign, *ast.ThrowExpr:
			return ""
		default:
			return "nil"
		}
	}
	return "nil"
}

// startValue returns the initial value of a variable that is changed with an operator such as `+=`,
// or "".
func (b *body) startValue(id *ast.Ident) string {
	op, rest, ok := strings.Cut(strings.TrimLeft(b.info.File.Source.String()[id.Sp.End:], " \t"), "=")
	switch {
	case !ok || len(op) != 1 || !strings.Contains("+-*/%", op):
		return ""
	case strings.HasPrefix(strings.TrimLeft(rest, " \t"), `"`):
		return `""`
	case op == "*" || op == "/":
		return "1"
	}
	return "0"
}

// outermostLoop returns the outermost loop that contains a position in a function, or nil.
func outermostLoop(f *ast.File, at source.Span) (loop ast.Node) {
	for _, n := range surface.Around(f, at) {
		switch n.(type) {
		case *ast.FnDecl, *ast.Closure:
			loop = nil
		case *ast.ForExpr, *ast.WhileExpr, *ast.LoopExpr:
			if loop == nil {
				loop = n
			}
		}
	}
	return loop
}

// stdCallFix returns the fix for a call of a function of std in the form `json.parse(…)`.
func (b *body) stdCallFix(id *ast.Ident, u use) []diag.Fix {
	name := strings.ToLower(id.Name)
	at := source.Span{Start: id.Sp.Start, End: id.Sp.End + source.Pos(len(u.method)+1)}
	f := b.info.File.Source
	if u.method == "" || !slices.Contains(b.c.stdModulesOf(u.method, stdFunction), name) || !strings.HasPrefix(f.String()[id.Sp.End:], "."+u.method) {
		return nil
	}
	path := "std::" + name + "::" + u.method
	return []diag.Fix{diag.Change(at, path, path, false)}
}

// declareFunction returns the fix that declares a function after the declaration that calls the
// function.
func (b *body) declareFunction(id *ast.Ident, u use) []diag.Fix {
	f := b.info.File.Source
	d := b.m.declarationAt(id.Sp)
	if d == nil {
		return nil
	}
	result := ""
	if u.hint != nil {
		if t := types.Full(u.hint); t != types.Nil && t != types.Bad && !isVar(t) {
			result = " -> " + t.String()
		}
	}
	own := "\n" + edits.Indent(f, d.Span().Start)
	text := "\n" + own + "fn " + id.Name + "(" + b.parametersFor(u.args) + ")" + result + " {" + own + edits.Indentation + edits.NotWritten + own + "}"
	return []diag.Fix{diag.UnsafeFix(diag.Insert(d.Span().End, text), "Declare function `%s`", id.Name)}
}

// parametersFor returns the text of parameters for the given arguments. The types of the parameters
// are those of literal arguments, and placeholders otherwise.
func (b *body) parametersFor(args []*ast.Arg) string {
	var out []string
	for i, a := range args {
		name, typ := "arg"+strconv.Itoa(i+1), "Any"
		if a.Name != nil {
			name = a.Name.Name
		}
		switch x := unparen(a.Value).(type) {
		case *ast.StringLit, *ast.InterpLit:
			typ = "String"
		case *ast.IntLit:
			typ = "Int"
		case *ast.FloatLit:
			typ = "Float"
		case *ast.BoolLit:
			typ = "Bool"
		case *ast.PathExpr:
			if l := b.local(x.Segments[0].Name); l != nil && len(x.Segments) == 1 {
				if t := types.Full(l.Type); !isVar(t) && t != types.Bad && l.Name != "self" {
					typ = t.String()
				}
				if a.Name == nil && l.Name != "self" {
					name = l.Name
				}
			}
		default: // the others have no type that is certain
		}
		out = append(out, name+": "+typ)
	}
	return strings.Join(out, ", ")
}

// interpolationFix returns the fix that converts a concatenation with `+` to a string with
// interpolation.
func (b *body) interpolationFix(e *ast.Binary) []diag.Fix {
	var s strings.Builder
	for _, x := range []ast.Expr{e.X, e.Y} {
		text := b.info.File.Source.Slice(unparen(x).Span())
		switch unparen(x).(type) {
		case *ast.StringLit, *ast.InterpLit:
			if len(text) < 2 || text[0] != '"' || strings.HasPrefix(text, `"""`) {
				return nil
			}
			s.WriteString(text[1 : len(text)-1])
		default:
			s.WriteString("${" + text + "}")
		}
	}
	return []diag.Fix{diag.UnsafeFix(diag.Replace(e.Sp, `"`+s.String()+`"`), "Convert to interpolation")}
}

// importFix returns the fix that adds an import to a module, after the module's imports or at its
// start.
func importFix(m *module, path string) diag.Fix {
	return diag.UnsafeFix(importEdit(m, path), "Import `%s`", path)
}

func importEdit(m *module, path string) diag.Edit { return topEdit(m, "use "+path+";") }

// modEdit returns the edit that declares a module whose file exists.
func modEdit(m *module, name string) diag.Edit { return topEdit(m, "mod "+name+";") }

// topEdit returns the edit that adds a line after the imports and module declarations at the start
// of a module.
func topEdit(m *module, line string) diag.Edit {
	f := m.info.File.Source
	decls := m.fileDecls()
	var last ast.Decl
	for _, d := range decls {
		use, isUse := d.(*ast.UseDecl)
		mod, isMod := d.(*ast.ModDecl)
		switch {
		case isUse && strings.HasPrefix(line, "use "):
			last = use
			continue
		case isMod && !mod.Inline && strings.HasPrefix(line, "mod "):
			last = mod
			continue
		}
		break
	}
	switch {
	case last != nil:
		return diag.Insert(last.Span().End, "\n"+edits.Indent(f, last.Span().Start)+line)
	case len(decls) == 0:
		return diag.Insert(0, line+"\n")
	}
	at := edits.CommentStart(f, decls[0].Head().Sp.Start)
	gap := "\n\n"
	if _, isUse := decls[0].(*ast.UseDecl); isUse {
		gap = "\n"
	}
	return diag.Insert(at, line+gap+edits.Indent(f, at))
}

// foreignTypeAdvice returns the advice for the name of a type in another language.
func foreignTypeAdvice(hint string, name *ast.Ident) diag.Advice {
	a := diag.HintAdvice(hint)
	if w := foreign.Type.Find(name.Name); len(w.Ours) == 1 {
		return a.WithFix(diag.Change(name.Sp, w.Ours[0], w.Ours[0], false))
	}
	return a
}

// declarationAt returns the declaration of the module that contains a position, or nil.
func (m *module) declarationAt(at source.Span) ast.Decl {
	decls := m.fileDecls()
	i, _ := slices.BinarySearchFunc(decls, at.Start, func(d ast.Decl, p source.Pos) int { return cmp.Compare(d.Span().End, p) })
	if i == len(decls) || decls[i].Span().Start > at.Start || decls[i].Span().End < at.End {
		return nil
	}
	return decls[i]
}

// fileDecls returns the module's declarations in its file.
func (m *module) fileDecls() []ast.Decl {
	m = m.home()
	if m.parent == nil || m.parent.info != m.info {
		return m.info.File.Decls
	}
	for _, d := range m.parent.fileDecls() {
		if inline, ok := d.(*ast.ModDecl); ok && inline.Name.Name == m.name {
			return inline.Decls
		}
	}
	return nil
}

// addSection adds a hint and a fix to d. The fix appends a section with the given body to the
// manifest. The body is only an example, because only the user knows the values.
func (c *checker) addSection(d *diag.Diagnostic, hint, name, body string) {
	a := diag.HintAdvice(hint)
	if c.cfg.Manifest == nil {
		e := diag.Edit{File: source.NewFile("Concerto.toml", nil), Text: "[" + name + "]\n" + body + "\n"}
		d.Hint("%s", hint).WithFixes(diag.UnsafeFix(e, "Create Concerto.toml with `[%s]`", name))
		return
	}
	if f := c.cfg.Manifest.Source; f != nil {
		text := "[" + name + "]\n" + body + "\n"
		switch s := string(f.Text); {
		case s == "" || strings.HasSuffix(s, "\n\n"):
		case strings.HasSuffix(s, "\n"):
			text = "\n" + text
		default:
			text = "\n\n" + text
		}
		e := diag.Insert(source.Pos(len(f.Text)), text)
		e.File = f
		a = a.WithFix(diag.UnsafeFix(e, "Add `[%s]` to Concerto.toml", name))
	}
	d.Advise(a)
}

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
