package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
)

// storeKind says how a kind of store is declared.
type storeKind struct {
	typ     string // the name of its type, which makes it: HashMap::new()
	example string // the declaration behind the name
	forms   string // the calls that make it, for a diagnostic
	takes   int    // the arguments that new takes at most
}

var storeKinds = map[ast.StoreKind]storeKind{
	ast.HashMapStore: {typ: "HashMap", example: "HashMap<String, Int> = HashMap::new();", forms: "`HashMap::new()`"},
	ast.LedgerStore:  {typ: "Ledger", example: "Ledger = Ledger::new();", forms: "`Ledger::new()`"},
	ast.MemoryStore:  {typ: "Memory", example: "Memory = Memory::new();", forms: "`Memory::new()` or `Memory::new(n)`", takes: 1},
}

// fits says whether t is the type of stores of this kind.
func (k storeKind) fits(t types.Type) bool {
	if _, ok := t.(*types.HashMap); ok {
		return k.typ == "HashMap"
	}
	return t == basics[k.typ] && t != nil
}

// defineStore checks a store declaration (spec/12-stores.md).
func (c *checker) defineStore(m *module, s *Store) {
	k := storeKinds[s.Kind]
	s.Type = c.resolve(&typeScope{m: m}, s.Decl.Type)
	if s.Type != types.Bad && !k.fits(s.Type) {
		c.report(m, diag.Mismatch.At(s.Decl.Type.Span(), "a %s's type is `%s`, not `%s`", s.Kind, k.typ, s.Type).
			Hint("write `%s %s: %s`", s.Kind, s.Name, k.example))
		s.Type = types.Bad
		return
	}
	x := unparen(s.Decl.Value)
	if call, ok := x.(*ast.MethodCall); ok && call.Name.Name == "with_persistence" {
		c.persistence(m, s, call)
		x = unparen(call.Recv)
	}
	call, ok := x.(*ast.Call)
	if !ok || !isPath(call.Fn, k.typ, "new") || len(call.Args) > k.takes {
		c.report(m, diag.StoreValue.At(s.Decl.Value.Span(), "a %s is made by %s", s.Kind, k.forms).
			By(diag.Offer(diag.Replace(s.Decl.Value.Span(), k.typ+"::new()"), "Write `%s::new()`", k.typ)).Hint("write `%s %s: %s`", s.Kind, s.Name, k.example))
		return
	}
	if len(call.Args) == 1 {
		s.Window = c.storeWindow(m, call.Args[0].Value)
	}
}

// isPath says whether e is the path of these two names.
func isPath(e ast.Expr, first, second string) bool {
	p, ok := e.(*ast.PathExpr)
	return ok && len(p.Segments) == 2 && p.Segments[0].Name == first && p.Segments[1].Name == second
}

// storeWindow is how many messages a memory keeps.
func (c *checker) storeWindow(m *module, e ast.Expr) int64 {
	b := c.constBody(m)
	b.checkAs(e, types.Int, reason{})
	b.finish()
	n, isInt := c.evaluate(m, e, types.Int).(int64)
	if isInt && n <= 0 {
		c.report(m, diag.ConfigValue.At(e.Span(), "a memory keeps at least 1 message").Hint("leave the number out to keep all"))
	}
	return n
}
