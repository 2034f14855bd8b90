package sema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/sema/edits"
)

// use describes how the program uses an undeclared name. It determines which declaration is
// suggested.
type use struct {
	method string     // method that is called on the value, or ""
	hint   types.Type // expected type, or nil
	field  string     // field of a declaration whose value is the name, or ""
	called bool
	args   []*ast.Arg // arguments, if the name is called
}

// reportUnknownValue reports an undeclared name.
func (b *body) reportUnknownValue(e *ast.PathExpr, u use) {
	id := e.Segments[0]
	b.info.details[e.Id] = unknown
	if b.unknowns[id.Name] {
		b.errors++ // the name has been reported
		return
	}
	if b.unknowns == nil {
		b.unknowns = map[string]bool{}
	}
	b.unknowns[id.Name] = true
	d := diag.UnknownName.At(id.Sp, "unknown name `%s`", id.Name)
	if b.receiver == ast.Expr(e) {
		u.method = b.method
	}
	if u.field == "" {
		u.field = b.configField
	}
	outer := b.outerVariable(id.Name)
	switch {
	case outer != nil:
		outer.used = true // the nested function means to use the variable
		d.Label(outer.At, "declared here").Hint("a function in a block cannot use outer variables: pass it as a parameter, or write a closure `|…| …`")
	case id.Name == "self":
		if fn := b.owner(); fn != nil && fn.assoc != nil && fn.Recv == nil {
			d.Cause = selfCause(fn)
			d.WithFixes(edits.InsertSelf(b.info.File.Source, fn.Decl)...)
		}
		d.Hint("%s", b.selfHint())
	default:
		b.suggestName(d, id, u)
	}
	b.report(d)
}

// suggestName adds the advice for an undeclared name to d. It suggests a similar name, an item of
// std, or a declaration of the name.
func (b *body) suggestName(d *diag.Diagnostic, id *ast.Ident, u use) {
	if owner := b.ownVariant(id.Name); owner != "" {
		d.Repair(diag.UnsafeFix(diag.Insert(id.Sp.Start, owner+"::"), "Write `%s::%s`", owner, id.Name), "did you mean the variant `%s::%s`?", owner, id.Name)
		return
	}
	near, names := b.nearName(id.Name, u)
	std, hint := b.fromStd(id, u), foreign.Value.Hint(id.Name)
	switch {
	case near != "" && (!std.Is() || b.isOwnName(near)):
		d.SuggestName(id.Sp, near, !std.Is() && names.Certain(id.Name, near)).WithFixes(std.Fixes...)
	case std.Is() && hint == "":
		d.Advise(std)
	case hint != "":
		d.WithFixes(b.stdCallFix(id, u)...).WithFixes(b.foreignValueFix(id, u)...).WithFixes(std.Fixes...).Hint("%s", b.nameHint(id.Name, u))
	default:
		hint := b.nameHint(id.Name, u)
		if value := b.startValue(id); value != "" {
			hint = "declare it first: `let mut " + id.Name + " = " + value + ";`"
		}
		d.WithFixes(std.Fixes...).WithFixes(b.declareFixes(id, u)...).Hint("%s", hint)
	}
}

// ownVariant returns the name of the only enum in the module that has a variant with the given
// name, or "".
func (b *body) ownVariant(name string) (owner string) {
	if !isUpper(name) {
		return ""
	}
	for _, e := range b.m.home().names {
		if e.typ == nil || e.typ.Kind != types.Enum || e.typ.Variant(name) == nil {
			continue
		}
		if owner != "" {
			return ""
		}
		owner = e.typ.Name
	}
	return owner
}

// selfHint returns the hint for `self` in a function that does not declare it.
func (b *body) selfHint() string {
	if fn := b.owner(); fn != nil && fn.assoc != nil && fn.Recv == nil {
		f := b.info.File.Source
		params := edits.SelfParameter(f, fn.Decl)
		for _, p := range fn.Decl.Params {
			params += ", " + f.Slice(p.Sp)
		}
		return "declare it as the first parameter: `fn " + fn.Decl.Name.Name + "(" + params + ")`"
	}
	return "`self` is only allowed in methods that declare it as their first parameter"
}

// nearName returns the name that the program probably means, or "". known contains the names from
// which it was selected.
func (b *body) nearName(name string, u use) (near string, known suggest.Set) {
	known = b.ownNames()
	if near = known.Nearest(name); near != "" && (isUpper(name) || suggest.EditDistance(name, near) <= 1) {
		return near, known
	}
	if len(b.declarationTexts(name, u)) > 0 || foreign.Value.Hint(name) != "" {
		return "", known
	}
	if library := b.c.libraryNames(); isUpper(name) {
		known = known.And(library.all)
	} else {
		known = known.And(library.values)
	}
	if near = known.Nearest(name); near != "" && 3*suggest.EditDistance(name, near) > len(name) && !strings.HasPrefix(strings.ToLower(near), strings.ToLower(name)) {
		return "", known // more than a third of it differs, and it is not an abbreviation
	}
	return near, known
}

// builtinVariants contains the library's values whose names start with an upper-case letter.
var builtinVariants = []string{"None", "Some", "Ok", "Err"}

// isOwnName reports whether the program declares a name that is in scope.
func (b *body) isOwnName(name string) bool { return b.ownNames().Has(name) }

// nameHint returns the hint for an undeclared name without a similar name. It suggests Concerto's
// replacement for a name of another language, or else a declaration.
func (b *body) nameHint(name string, u use) string {
	if declarations := b.declarationTexts(name, u); len(declarations) > 0 {
		return "declare it outside functions: " + strings.Join(declarations, ", or ")
	}
	if hint := foreign.Value.Hint(name); hint != "" {
		return hint
	}
	switch {
	case u.method != "" && isUpper(name):
		return "declare it outside functions: " + b.declare(types.Tool, name, u.method) + ", or import it: `use module::" + name + ";`"
	case u.called && !isUpper(name):
		return "declare it: `fn " + name + "(…) { … }`, or import it with `use`"
	case isUpper(name):
		return "declare it, or import it: `use module::" + name + ";`"
	}
	return "declare it first: `let " + name + " = …;`"
}

func isUpper(name string) bool {
	r, _ := utf8.DecodeRuneInString(name)
	return unicode.IsUpper(r)
}

// declarationTexts returns the texts of declarations for a name that is used like an agent, a host,
// a tool or a store. It returns nil if the name looks like that of a variable.
func (b *body) declarationTexts(name string, u use) []string {
	if u.method != "" {
		return b.declarationOf(name, u.method)
	}
	if kind := fieldKinds[u.field]; kind != nil {
		return []string{b.declare(kind, name, "")}
	}
	switch t := hinted(u.hint).(type) {
	case *types.Basic:
		if declarable(t) {
			return []string{b.declare(t, name, "")}
		}
	case *types.HashMap:
		return []string{"`hashmap " + name + ": " + t.String() + " = HashMap::new();`"}
	case *types.Queue:
		return []string{"`queue " + name + ": " + t.String() + " = Queue::new();`"}
	}
	return nil
}

// fieldKinds maps fields of agents and hosts to the kind of declaration to which their values
// refer. It contains the fields whose type does not determine the kind.
var fieldKinds = map[string]*types.Basic{"tools": types.Tool, "knowledge": types.Ledger, "memory": types.Memory}

func declarable(t types.Type) bool {
	return t == types.Agent || t == types.Host || t == types.Tool || t == types.Memory || t == types.Ledger
}

// declarationOf returns texts of declarations of those kinds that have the called method. It
// returns nil if values of other types have the method as well.
func (b *body) declarationOf(name, method string) []string {
	if method == "listen" {
		return []string{b.declare(types.Host, name, "")}
	}
	if method == "run" && isUpper(name) {
		return []string{"`pipeline " + name + " { stage first(text: String) -> String { … } }`"}
	}
	for _, plain := range []types.Type{types.String, types.Int, types.Float, &types.Array{Elem: types.Any},
		&types.Map{Key: types.String, Value: types.Any}, &types.Option{Elem: types.Any}, &types.Result{Ok: types.Any, Err: types.Error}, types.Range} {
		if slices.Contains(b.c.methodNames(plain), method) && !isUpper(name) {
			return nil
		}
	}
	var out []string
	for _, kind := range []*types.Basic{types.Agent, types.Host, types.Memory, types.Ledger} {
		if slices.Contains(b.c.methodNames(kind), method) {
			out = append(out, b.declare(kind, name, method))
		}
	}
	return out
}

// declare returns the text of a declaration of the given kind.
func (b *body) declare(kind *types.Basic, name, method string) string {
	switch kind {
	case types.Agent:
		connection := scripted
		if m := b.c.cfg.Manifest; m != nil {
			for _, c := range sortedKeys(m.Connections) {
				if c != scripted {
					connection = c
					break
				}
			}
		}
		return "`agent " + name + " uses " + connection + " { system_prompt: \"…\" }`"
	case types.Host:
		return "`host " + name + " { connector: \"" + strings.ToLower(name) + "\", output_format: \"json\" }`"
	case types.Tool:
		if method == "" {
			method = "work"
		}
		return "`tool " + name + " { description: \"…\", fn " + method + "(self) { … } }`"
	case types.Memory:
		return "`memory " + name + ": Memory = Memory::new();`"
	}
	return "`ledger " + name + ": Ledger = Ledger::new();`"
}

// ownNames returns the names of values that the program declares or imports and that are in scope.
func (b *body) ownNames() suggest.Set {
	locals := 0
	for s := b.scope; s != nil; s = s.parent {
		locals += len(s.locals)
	}
	if !b.c.maySuggest(locals + len(b.m.home().names)) {
		return suggest.Set{}
	}
	names := make([]string, 0, locals)
	for s := b.scope; s != nil; s = s.parent {
		for _, l := range s.locals {
			names = append(names, l.Name)
		}
	}
	return suggest.NewSet(names).And(b.c.lib.namesIn(b.m).values)
}

// libraryNames returns the names of predeclared values, and the words that start expressions. The
// set all also contains the names of types.
func (c *checker) libraryNames() *scopeNames {
	if c.lib.candidates.library == nil {
		names := append([]string{"true", "false", "nil", "self", "emit", "listen", "await", "match", "loop"}, builtinVariants...)
		if c.cfg.Library != nil {
			names = append(names, c.cfg.Library.Names()...)
		}
		var values []string
		for _, n := range names {
			if !isUpper(n) || slices.Contains(builtinVariants, n) {
				values = append(values, n)
			}
		}
		c.lib.candidates.library = &scopeNames{all: suggest.NewSet(names), values: suggest.NewSet(values)}
	}
	return c.lib.candidates.library
}

// outerVariable returns a variable of the enclosing function with the given name, which a nested
// function cannot use. It returns nil if there is none.
func (b *body) outerVariable(name string) *Local {
	for m := b.m; m != nil; m = m.around {
		for s := m.vars; s != nil; s = s.parent {
			if l := findLocal(s.locals, name); l != nil {
				return l
			}
		}
	}
	return nil
}

// foreignMember handles the name of a member in another language. It returns the name of the
// corresponding method in Concerto and a hint. Either may be "".
func (b *body) foreignMember(t types.Type, name string) (method, hint string) {
	has := b.c.methodNames(t)
	plain := foreign.Plain(name)
	for _, m := range has {
		if foreign.Plain(m) == plain && m != name {
			return m, "did you mean `" + m + "`?"
		}
	}
	w := foreign.FindMember(methodFile(t), name)
	for _, m := range w.Ours {
		if m != name && slices.Contains(has, m) {
			if w.Hint != "" {
				return m, w.Hint
			}
			return m, "did you mean `" + m + "`?"
		}
	}
	if len(w.Ours) == 0 {
		return "", w.Hint
	}
	return "", ""
}

// candidateNames caches the names from which suggestions are selected. A program with many errors
// needs them often.
type candidateNames struct {
	// settled reports that all declarations outside blocks have been declared.
	settled bool
	modules map[*module]*scopeNames
	library *scopeNames
	builtin *suggest.Set // names of types

	compared int // number of comparisons with undeclared names so far
}

// mostCompared is the maximum number of comparisons with undeclared names. After that many
// comparisons, which take some tenths of a second, no more suggestions are searched. A thousand
// errors in a module with six thousand names stay below the limit.
const mostCompared = 10_000_000

// maySuggest reports whether a suggestion may be searched among the given number of names.
func (c *checker) maySuggest(names int) bool {
	if c.lib.candidates.compared += names; c.lib.candidates.compared <= mostCompared {
		return true
	}
	c.bodies.now.whole = true // the bodies that were checked earlier determine whether the limit is reached
	return false
}

// scopeNames contains the names in one scope.
type scopeNames struct{ all, values, types suggest.Set }

// namesIn returns the names that a module and its enclosing modules declare or import.
func (l *libraryUse) namesIn(m *module) *scopeNames {
	if n := l.candidates.modules[m]; n != nil {
		return n
	}
	var values, types []string
	for name, e := range m.names {
		if (e.obj != nil || e.imported != nil) && name != "main" {
			values = append(values, name)
		}
		if e.typ != nil || e.alias != nil || e.imported != nil {
			types = append(types, name)
		}
	}
	n := &scopeNames{values: suggest.NewSet(values), types: suggest.NewSet(types)}
	if m.around != nil {
		around := l.namesIn(m.around)
		n.values, n.types = n.values.And(around.values), n.types.And(around.types)
	} else if l.candidates.settled {
		if l.candidates.modules == nil {
			l.candidates.modules = map[*module]*scopeNames{}
		}
		l.candidates.modules[m] = n
	}
	return n
}

// typeNames returns the names of types that are in scope.
func (c *checker) typeNames(ts *typeScope) suggest.Set {
	if !c.maySuggest(len(ts.m.home().names)) {
		return suggest.Set{}
	}
	var params []string
	for s := ts; s != nil; s = s.parent {
		for _, p := range s.params {
			params = append(params, p.Name)
		}
	}
	if c.lib.candidates.builtin == nil {
		names := slices.AppendSeq(slices.Collect(maps.Keys(basics)), maps.Keys(constructors))
		if c.cfg.Library != nil {
			names = append(names, c.cfg.Library.Names()...)
		}
		builtin := suggest.NewSet(names)
		c.lib.candidates.builtin = &builtin
	}
	return suggest.NewSet(params).And(c.lib.namesIn(ts.m).types).And(*c.lib.candidates.builtin)
}

// unknownName returns the diagnostic for an unknown name. It suggests a similar name among names.
func unknownName(info *diag.Info, name *ast.Ident, format string, names []string) *diag.Diagnostic {
	d := info.At(name.Sp, format, name.Name)
	suggestName(d, name, names)
	return d
}

// suggestName adds a hint with a similar name among names. It returns false if there is none.
func suggestName(d *diag.Diagnostic, name *ast.Ident, names []string) bool {
	return suggestAs(d, name.Sp, name.Name, names, "%s", "did you mean `%s`?")
}

// markUsedUnsafe marks the fix of a suggestion as unsafe if the suggested name is already used.
func markUsedUnsafe(d *diag.Diagnostic, isUsed func(name string) bool) {
	for i := range d.Fixes {
		name, _, _ := strings.Cut(d.Fixes[i].Edits[0].Text, ":")
		d.Fixes[i].Safe = d.Fixes[i].Safe && !isUsed(name)
	}
}

// suggestOf adds a hint with a similar name in the set names. It returns false if there is none.
func suggestOf(d *diag.Diagnostic, name *ast.Ident, names suggest.Set) bool {
	return suggestFrom(d, name.Sp, name.Name, names, "%s", "did you mean `%s`?")
}

// suggestAs adds a hint and a fix with a similar name. text is the format of the replacement, and
// hint that of the hint. It returns false if there is no similar name.
func suggestAs(d *diag.Diagnostic, at source.Span, name string, names []string, text, hint string) bool {
	return suggestFrom(d, at, name, suggest.NewSet(names), text, hint)
}

func suggestFrom(d *diag.Diagnostic, at source.Span, name string, names suggest.Set, text, hint string) bool {
	near := names.Nearest(name)
	switch {
	case near == "":
		return false
	case text == "%s" && !isName(near): // it would have to be quoted
		d.Hint(hint, near)
	default:
		d.Repair(diag.Change(at, near, fmt.Sprintf(text, near), names.Certain(name, near)), hint, near)
	}
	return true
}

// isName reports whether s consists of characters that names may contain.
func isName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
