package sema

import (
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// storeKind describes a kind of store.
type storeKind struct {
	typ     string // name of the type; HashMap::new() creates a store
	example string // text after the name in an example declaration
	forms   string // calls that create a store, for a diagnostic
}

// storeParameter is a parameter of the function that creates a store. Its argument is a constant.
type storeParameter struct {
	name string
	typ  types.Type
}

// storeParameters returns the parameters of the function that creates a store of a kind.
func storeParameters(kind ast.StoreKind) []storeParameter {
	switch kind {
	case ast.MemoryStore:
		return []storeParameter{{"n", types.Int}, {"trim", types.Int}}
	case ast.QueueStore:
		return []storeParameter{{"max_attempts", types.Int}, {"retry_seconds", types.Float}}
	}
	return nil
}

var storeKinds = map[ast.StoreKind]storeKind{
	ast.HashMapStore: {typ: "HashMap", example: "HashMap<String, Int> = HashMap::new();", forms: "`HashMap::new()`"},
	ast.LedgerStore:  {typ: "Ledger", example: "Ledger = Ledger::new();", forms: "`Ledger::new()`"},
	ast.MemoryStore:  {typ: "Memory", example: "Memory = Memory::new();", forms: "`Memory::new()`, `Memory::new(n)` or `Memory::new(n, trim: m)`"},
	ast.QueueStore:   {typ: "Queue", example: "Queue<String> = Queue::new();", forms: "`Queue::new()` or `Queue::new(max_attempts: n, retry_seconds: s)`"},
}

// fits reports whether t is the type of stores of this kind.
func (k storeKind) fits(t types.Type) bool {
	if _, ok := t.(*types.HashMap); ok {
		return k.typ == "HashMap"
	}
	if _, ok := t.(*types.Queue); ok {
		return k.typ == "Queue"
	}
	return t == basics[k.typ] && t != nil
}

// defineStore checks a store declaration (spec/12-stores.md).
func (c *checker) defineStore(m *module, s *Store) {
	k := storeKinds[s.Kind]
	s.Type = c.resolve(&typeScope{m: m}, s.Decl.Type)
	if s.Type != types.Bad && !k.fits(s.Type) {
		c.report(m, diag.Mismatch.At(s.Decl.Type.Span(), "the type of a %s must be `%s`, not `%s`", s.Kind, k.typ, s.Type).
			Hint("write `%s %s: %s`", s.Kind, s.Name, k.example))
		s.Type = types.Bad
		return
	}
	x := unparen(s.Decl.Value)
	if call, ok := x.(*ast.MethodCall); ok && call.Name.Name == "with_persistence" {
		c.persistence(m, s, call)
		x = unparen(call.Recv)
	}
	c.checkStoredTypes(m, s)
	call, ok := x.(*ast.Call)
	if !ok || !isPath(call.Fn, k.typ, "new") || len(call.Args) > len(storeParameters(s.Kind)) {
		c.report(m, diag.StoreValue.At(s.Decl.Value.Span(), "a %s must be created with %s", s.Kind, k.forms).
			WithFixes(diag.UnsafeFix(diag.Replace(s.Decl.Value.Span(), k.typ+"::new()"), "Write `%s::new()`", k.typ)).Hint("write `%s %s: %s`", s.Kind, s.Name, k.example))
		return
	}
	args, ok := c.storeArguments(m, s, call)
	switch {
	case !ok:
	case s.Kind == ast.QueueStore:
		c.queueSettings(m, s, args)
	case s.Kind == ast.MemoryStore:
		c.memorySettings(m, s, args)
	}
}

// isPath reports whether e is the path first::second.
func isPath(e ast.Expr, first, second string) bool {
	p, ok := e.(*ast.PathExpr)
	return ok && len(p.Segments) == 2 && p.Segments[0].Name == first && p.Segments[1].Name == second
}

// storeArgument is an argument of the function that creates a store. value is nil if it has an
// error, which has been reported.
type storeArgument struct {
	at    source.Span
	value any
}

// storeArguments evaluates the arguments of the call that creates a store, by the names of their
// parameters.
func (c *checker) storeArguments(m *module, s *Store, call *ast.Call) (args map[string]storeArgument, ok bool) {
	k, parameters := storeKinds[s.Kind], storeParameters(s.Kind)
	args = map[string]storeArgument{}
	for i, a := range call.Args {
		at := i
		if a.Name != nil {
			at = slices.IndexFunc(parameters, func(p storeParameter) bool { return p.name == a.Name.Name })
		}
		if _, twice := args[parameters[max(at, 0)].name]; at < 0 || twice {
			var known []string
			for _, p := range parameters {
				known = append(known, "`"+p.name+": "+p.typ.String()+"`")
			}
			c.report(m, diag.StoreValue.At(a.Value.Span(), "a %s must be created with %s", s.Kind, k.forms).
				WithFixes(diag.UnsafeFix(diag.Replace(call.Span(), k.typ+"::new()"), "Write `%s::new()`", k.typ)).
				Hint("the arguments are %s", strings.Join(known, " and ")))
			return nil, false
		}
		p := parameters[at]
		b := c.constBody(m)
		b.checkAs(a.Value, p.typ, reason{})
		b.finish()
		args[p.name] = storeArgument{a.Value.Span(), c.evaluate(m, a.Value, p.typ)}
	}
	return args, true
}

// memorySettings checks the arguments of Memory::new.
func (c *checker) memorySettings(m *module, s *Store, args map[string]storeArgument) {
	window, trim := args["n"], args["trim"]
	var isInt bool
	if s.Window, isInt = window.value.(int64); isInt && s.Window <= 0 {
		c.report(m, diag.ConfigValue.At(window.at, "a memory must hold at least 1 message").Hint("remove the number to keep all messages"))
	}
	if s.Trim, isInt = trim.value.(int64); isInt && (s.Trim < 1 || s.Trim > s.Window) {
		c.report(m, diag.ConfigValue.At(trim.at, "`trim` must be between 1 and the maximum number of messages").Hint("write `Memory::new(n, trim: n / 2)` with numbers"))
	}
}

// defaultFile is the name of the file for `with_persistence()` without an argument.
const defaultFile = "stores.db"

// storePlace identifies a store in a file by the file, the kind and the name.
type storePlace struct {
	file, name string
	kind       ast.StoreKind
}

// persistence checks the call `.with_persistence("file")` in the declaration of a store.
func (c *checker) persistence(m *module, s *Store, call *ast.MethodCall) {
	if len(call.Args) > 1 || len(call.TypeArgs) > 0 || len(call.Args) == 1 && call.Args[0].Name != nil {
		c.report(m, diag.StoreValue.At(call.Span(), "`with_persistence` takes a file name, or no argument for `%s`", defaultFile).
			Hint("write `.with_persistence(\"%s\")`", defaultFile))
		return
	}
	s.File = defaultFile
	if len(call.Args) == 1 {
		e := call.Args[0].Value
		b := c.constBody(m)
		b.checkAs(e, types.String, reason{})
		b.finish()
		file, ok := c.evaluate(m, e, types.String).(string)
		if !ok {
			s.File = ""
			return
		}
		if s.File = file; strings.Trim(file, " /\\") == "" || strings.ContainsRune(file, 0) {
			c.report(m, diag.ConfigValue.At(e.Span(), "the file name of a store must not be empty").Hint("write a file name, or remove the argument to use `%s`", defaultFile))
			return
		}
	}
	c.reportDuplicateStore(m, s, call)
}

// reportDuplicateStore reports a second store with the same kind, name and file. The two stores
// would share their entries.
func (c *checker) reportDuplicateStore(m *module, s *Store, call *ast.MethodCall) {
	place := storePlace{path.Clean(strings.ReplaceAll(s.File, "\\", "/")), s.Name, s.Kind}
	if _, ok := c.places[place]; ok {
		c.report(m, diag.StorePlace.At(call.Name.Sp, "file `%s` already contains another %s `%s`", s.File, s.Kind, s.Name).
			Hint("rename one of them, or use another file"))
		return
	}
	if c.places == nil {
		c.places = map[storePlace]bool{}
	}
	c.places[place] = true
}

// queueSettings checks the arguments of Queue::new.
func (c *checker) queueSettings(m *module, s *Store, args map[string]storeArgument) {
	s.MaxAttempts, s.RetrySeconds = 3, 1
	attempts, retry := args["max_attempts"], args["retry_seconds"]
	if n, ok := attempts.value.(int64); ok {
		if s.MaxAttempts = n; n < 1 {
			c.report(m, diag.ConfigValue.At(attempts.at, "`max_attempts` must be at least 1").Hint("remove it for 3 attempts"))
			s.MaxAttempts = 1
		}
	}
	if n, ok := retry.value.(float64); ok {
		if s.RetrySeconds = n; !(n >= 0 && n <= maxRetrySeconds) {
			c.report(m, diag.ConfigValue.At(retry.at, "`retry_seconds` must be between 0 and %d", int(maxRetrySeconds)).Hint("remove it for 1.0"))
			s.RetrySeconds = 1
		}
	}
}

// maxRetrySeconds is the longest time after which a failed task is tried again.
const maxRetrySeconds = 300

// checkStoredTypes reports values that are not data: those of a hashmap in a file, and those of a
// queue, which is data in memory too, so that it can move to a file.
func (c *checker) checkStoredTypes(m *module, s *Store) {
	if q, ok := s.Type.(*types.Queue); ok {
		if part := unstorableType(q.Elem, map[*types.Decl]bool{}); part != nil {
			c.report(m, diag.StoreType.At(s.Decl.Type.Span(), "a queue cannot store values of type `%s`", part).
				Hint("store data instead: numbers, strings, and arrays, maps, tuples, structs and enums of them"))
		}
		return
	}
	h, ok := s.Type.(*types.HashMap)
	if !ok || s.File == "" {
		return
	}
	if part := unstorableType(h.Value, map[*types.Decl]bool{}); part != nil {
		c.report(m, diag.StoreType.At(s.Decl.Type.Span(), "a hashmap with a file cannot store values of type `%s`", part).
			WithFixes(inMemoryFix(s)...).Hint("store data instead, or remove `with_persistence` to keep the hashmap in memory"))
	}
}

// unstorableType returns a type within t whose values cannot be stored in a file, or nil. seen
// contains the declarations that have been visited.
func unstorableType(t types.Type, seen map[*types.Decl]bool) types.Type {
	all := func(ts ...types.Type) types.Type {
		for _, t := range ts {
			if part := unstorableType(t, seen); part != nil {
				return part
			}
		}
		return nil
	}
	switch t := types.Resolve(t).(type) {
	case *types.Basic:
		switch t {
		case types.Int, types.Float, types.String, types.Bool, types.Nil, types.Any, types.Never, types.Bad:
			return nil
		}
	case *types.Union:
		return nil
	case *types.Array:
		return all(t.Elem)
	case *types.Option:
		return all(t.Elem)
	case *types.Map:
		return all(t.Key, t.Value)
	case *types.Tuple:
		return all(t.Elems...)
	case *types.Result:
		return all(t.Ok, t.Err)
	case *types.Named:
		if t.Decl.Kind == types.ErrorStruct {
			return t
		}
		if part := all(t.Args...); part != nil || seen[t.Decl] {
			return part
		}
		seen[t.Decl] = true
		return all(memberTypes(t.Decl)...)
	case *types.Param:
		if !types.IsTrait(t) {
			return nil // the caller visits the type arguments
		}
	}
	return t
}

// memberTypes returns the types of all fields in a declaration.
func memberTypes(d *types.Decl) []types.Type {
	var out []types.Type
	for _, f := range d.Fields {
		out = append(out, f.Type)
	}
	for _, v := range d.Variants {
		for _, f := range v.Fields {
			out = append(out, f.Type)
		}
	}
	return out
}
