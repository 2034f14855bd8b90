package codegen

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// The state of a program is often a struct in a variant of an enum:
//
//	match self.state {
//	    State::Busy(b) => { let mut next = b; next.turns += 1; self.state = State::Busy(next); }
//	    …
//	}
//
// Without further knowledge, the payload has two holders after the match, the variant and b. It is
// marked as shared, and the change of next copies it, with everything in it. The analysis in this
// file finds the arms that may claim the payload: their variables hold it without a mark. In such
// an arm, code that can change the payload runs only if the place of the variant is overwritten
// afterwards, and nothing reads the place before that. An error in between must not be caught by
// code that still has access to the place.

// claim is a place whose payload an arm of a match claims, seen from one function.
type claim struct {
	g    *generator
	info *sema.Info // of the function
	root *sema.Local
	path []pathStep // from the variable root to the place
	in   []*sema.Function
}

// pathStep is a step of a path: to a slot of a block, or to an element of a collection.
type pathStep struct {
	slot  int         // number of the slot, or -1 for an element
	index *sema.Local // immutable variable that contains the index, or nil
	n     int64       // the index if index is nil, or -1 if the analysis does not know it
}

// chainOf returns the path to the value of e, and the variable at its start. The variable is nil if
// e is another expression.
func chainOf(info *sema.Info, e ast.Expr) (root *sema.Local, path []pathStep) {
	switch x := e.(type) {
	case *ast.ParenExpr:
		if info.Conv(x) == nil {
			return chainOf(info, x.X)
		}
	case *ast.PathExpr:
		root, _ = info.Object(x).(*sema.Local)
		return root, nil
	case *ast.FieldExpr:
		root, path = chainOf(info, x.X)
		if s := info.Select(x); s != nil && s.Kind == sema.SelectField {
			return root, append(path, pathStep{slot: s.Field.Index})
		}
		return root, append(path, pathStep{slot: -1, n: -1})
	case *ast.TupleIndex:
		root, path = chainOf(info, x.X)
		return root, append(path, pathStep{slot: x.Index})
	case *ast.IndexExpr:
		root, path = chainOf(info, x.X)
		if n, ok := info.TupleElement(x); ok {
			return root, append(path, pathStep{slot: n})
		}
		return root, append(path, elementStep(info, x.Index))
	default: // the others are no places
	}
	return nil, nil
}

// elementStep returns the step to the element with an index.
func elementStep(info *sema.Info, index ast.Expr) pathStep {
	s := pathStep{slot: -1, n: -1}
	switch x := unparen(info, index).(type) {
	case *ast.IntLit:
		s.n = int64(x.Value)
	case *ast.PathExpr:
		if l, ok := info.Object(x).(*sema.Local); ok && !l.Mut && !l.Late && !l.Cell && types.Resolve(l.Type) == types.Int {
			s.index = l
		}
	default: // the index is not known
	}
	return s
}

// leadsPast reports whether a path leads to another part of the value than the place: neither to
// the place, nor to a part of it or a value that contains it.
func (t *claim) leadsPast(path []pathStep) bool {
	for i := range min(len(path), len(t.path)) {
		if a, b := path[i].slot, t.path[i].slot; a >= 0 && b >= 0 && a != b {
			return true
		}
	}
	return false
}

// leadsTo reports whether the path is the beginning of the path to the place.
func (t *claim) leadsTo(path []pathStep) bool {
	if len(path) > len(t.path) {
		return false
	}
	for i, s := range path {
		if s != t.path[i] || s.slot < 0 && s.index == nil && s.n < 0 {
			return false
		}
	}
	return true
}

// mayRead reports whether n may read the place, or may run code that catches an error.
func (t *claim) mayRead(n ast.Node) (found bool) {
	inspect(n, func(n ast.Node) bool {
		if found {
			return false
		}
		switch x := n.(type) {
		case *ast.TryExpr, *ast.ListenExpr, *ast.AwaitAll, *ast.Race, *ast.ParallelFor, *ast.MockStmt:
			found = true
		case *ast.Closure: // a captured variable has a second holder
			found = mentions(t.info, x.Body, t.root)
			return false
		case *ast.PathExpr:
			found = t.info.Object(x) == sema.Object(t.root)
		case *ast.Assign:
			if root, path := chainOf(t.info, x.Target); root == t.root {
				found = x.Op != ast.OpNone && !t.leadsPast(path) || t.readsInIndex(x.Target) || t.mayRead(x.Value)
				return false
			}
		case *ast.MethodCall:
			if root, path := chainOf(t.info, x.Recv); root == t.root {
				found = !t.leadsPast(path) && t.calleeMayRead(t.info.Call(x), path) || t.readsInIndex(x.Recv)
				for _, a := range x.Args {
					found = found || t.mayRead(a.Value)
				}
				return false
			}
		case *ast.FieldExpr, *ast.TupleIndex, *ast.IndexExpr:
			if root, path := chainOf(t.info, x.(ast.Expr)); root == t.root {
				found = !t.leadsPast(path) || t.readsInIndex(x.(ast.Expr))
				return false
			}
		}
		return !found
	})
	return found
}

// readsInIndex reports whether an index in a path may read the place.
func (t *claim) readsInIndex(e ast.Expr) bool {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.FieldExpr:
			e = x.X
		case *ast.TupleIndex:
			e = x.X
		case *ast.IndexExpr:
			if t.mayRead(x.Index) {
				return true
			}
			e = x.X
		default:
			return false
		}
	}
}

// calleeMayRead reports whether a method may read the place. path leads to its receiver, which
// contains the place.
func (t *claim) calleeMayRead(c *sema.Call, path []pathStep) bool {
	if c == nil || c.Fn == nil || c.Kind != sema.CallFunction {
		return true
	}
	if c.Fn.Native == "Array.len" || c.Fn.Native == "Array.is_empty" {
		return len(path) >= len(t.path)
	}
	u := t.within(c.Fn, path)
	return u == nil || u.root != nil && u.mayRead(c.Fn.Decl.Body)
}

// maxClaimDepth is the maximum number of calls that the analysis follows.
const maxClaimDepth = 5

// within returns the place as seen from a method whose receiver is at the path. It returns nil if
// the method cannot be analysed.
func (t *claim) within(fn *sema.Function, path []pathStep) *claim {
	if !isPlainMethod(fn) || len(path) > len(t.path) || len(t.in) == maxClaimDepth {
		return nil
	}
	for _, f := range t.in {
		if f == fn {
			return nil
		}
	}
	return &claim{g: t.g, info: fn.Info, root: fn.Params[0].Local, path: t.path[len(path):], in: append(t.in[:len(t.in):len(t.in)], fn)}
}

// isPlainMethod reports whether a call of fn does nothing but run its body once.
func isPlainMethod(fn *sema.Function) bool {
	return fn.Native == "" && fn.Effect == "" && fn.Recv != nil && fn.Tool == nil && !fn.Async && !fn.Remote() && fn.OnUnknown == "" &&
		len(fn.Decorations) == 0 && !isGeneric(fn.Recv) && len(fn.Generics) == 0 && len(fn.Params) > 0 && fn.Decl != nil && fn.Decl.Body != nil
}

// isGeneric reports whether t is a type with type arguments.
func isGeneric(t types.Type) bool {
	named, ok := types.Resolve(t).(*types.Named)
	return !ok || len(named.Args) > 0
}

// mentions reports whether n names a variable.
func mentions(info *sema.Info, n ast.Node, l *sema.Local) (found bool) {
	inspect(n, func(n ast.Node) bool {
		if p, ok := n.(*ast.PathExpr); ok {
			found = found || info.Object(p) == sema.Object(l)
		}
		return !found
	})
	return found
}

// retains reports whether n uses the variable for more than reading its scalar fields.
func (t *claim) retains(n ast.Node, l *sema.Local) (found bool) {
	inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FieldExpr:
			if p, ok := x.X.(*ast.PathExpr); ok && t.info.Object(p) == sema.Object(l) && t.info.Conv(x) == nil && !mayShare(t.info.TypeOf(x)) {
				return false
			}
		case *ast.PathExpr:
			found = found || t.info.Object(x) == sema.Object(l)
		}
		return !found
	})
	return found
}

// leaves reports whether n may leave its block without an error.
func (t *claim) leaves(n ast.Node) (found bool) {
	inspect(n, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.ReturnExpr, *ast.BreakExpr, *ast.ContinueExpr, *ast.Question:
			found = true
		case *ast.ThrowExpr:
			leave := t.info.Throw(x)
			found = found || leave == nil || leave.Kind != sema.LeaveRaise
		}
		return !found
	})
	return found
}

// overwrites reports whether n is an assignment to the place.
func (t *claim) overwrites(n ast.Node) bool {
	if s, ok := n.(*ast.ExprStmt); ok {
		n = s.X
	}
	x, ok := n.(*ast.Assign)
	if !ok || x.Op != ast.OpNone {
		return false
	}
	root, path := chainOf(t.info, x.Target)
	return root == t.root && len(path) == len(t.path) && t.leadsTo(path)
}

// isReplaced reports whether the place is overwritten after each use of the variable l in body that
// may retain its value.
func (t *claim) isReplaced(body ast.Node, l *sema.Local) bool {
	nodes := []ast.Node{body}
	switch x := body.(type) {
	case *ast.BlockExpr:
		return t.isReplaced(x.Block, l)
	case *ast.Block:
		nodes = nodes[:0]
		for _, s := range x.Stmts {
			nodes = append(nodes, s)
		}
		if x.Tail != nil {
			nodes = append(nodes, x.Tail)
		}
	}
	for i, n := range nodes {
		if t.retains(n, l) && !t.isReplacedBy(nodes[i:]) && !t.isReplacedIn(n, l) {
			return false
		}
	}
	return true
}

// isReplacedBy reports whether the nodes overwrite the place.
func (t *claim) isReplacedBy(nodes []ast.Node) bool {
	for _, n := range nodes {
		if t.leaves(n) {
			return false
		}
		if t.overwrites(n) {
			return true
		}
	}
	return false
}

// isReplacedIn reports whether n, a part of which retains the value of l, overwrites the place
// after that part.
func (t *claim) isReplacedIn(n ast.Node, l *sema.Local) bool {
	if s, ok := n.(*ast.ExprStmt); ok {
		n = s.X
	}
	switch x := n.(type) {
	case *ast.BlockExpr:
		return t.isReplaced(x.Block, l)
	case *ast.IfExpr:
		if let, ok := x.Cond.(*ast.LetCond); ok {
			if !t.isReplacedInArm(let.X, let.Pattern, x.Then, l) {
				return false
			}
		} else if t.retains(x.Cond, l) {
			return false
		}
		return t.isReplaced(x.Then, l) && (x.Else == nil || t.isReplaced(x.Else, l))
	case *ast.MatchExpr:
		for _, a := range x.Arms {
			if a.Guard != nil || !t.isReplacedInArm(x.Subject, a.Pattern, a.Body, l) || !t.isReplaced(a.Body, l) {
				return false
			}
		}
		return true
	case *ast.MethodCall:
		return t.isReplacedByCallee(x, l)
	}
	return false
}

// isReplacedInArm reports the same as isReplaced for the variables that a pattern binds to parts of
// l. body is the code in which the variables live, and x the expression that is matched.
func (t *claim) isReplacedInArm(x ast.Expr, p ast.Pattern, body ast.Node, l *sema.Local) bool {
	if !t.retains(x, l) {
		return true
	}
	if q, ok := unparen(t.info, x).(*ast.PathExpr); !ok || t.info.Object(q) != sema.Object(l) {
		return false
	}
	ok := true
	eachBound(t.info, p, func(v *sema.Local) {
		ok = ok && !v.Cell && (!mayShare(v.Type) || t.isReplaced(body, v))
	})
	return ok
}

// eachBound calls visit for each variable that a pattern binds.
func eachBound(info *sema.Info, p ast.Pattern, visit func(*sema.Local)) {
	var each func(n ast.Node)
	each = func(n ast.Node) {
		if q, ok := n.(ast.Pattern); ok {
			if l, ok := info.Object(q).(*sema.Local); ok {
				visit(l)
			}
		}
		ast.Children(n, each)
	}
	each(p)
}

// isReplacedByCallee reports whether x is a call that passes the variable l to a method which
// overwrites the place after each use of the argument that may retain its value.
func (t *claim) isReplacedByCallee(x *ast.MethodCall, l *sema.Local) bool {
	c := t.info.Call(x)
	root, path := chainOf(t.info, x.Recv)
	if c == nil || c.Fn == nil || c.Kind != sema.CallFunction || !c.Fn.MutSelf || root != t.root || !t.leadsTo(path) {
		return false
	}
	u := t.within(c.Fn, path)
	if u == nil {
		return false
	}
	params := map[*sema.Local]*sema.Local{} // parameter by the variable that is its argument
	for k, a := range c.Args {
		if a.Kind == sema.ArgReceiver {
			continue
		}
		if a.Kind != sema.ArgWritten {
			return false
		}
		value, p := x.Args[a.Index].Value, c.Fn.Params[k].Local
		if v, ok := value.(*ast.PathExpr); ok && t.info.Conv(v) == nil {
			if v, ok := t.info.Object(v).(*sema.Local); ok && (p == nil || !p.Cell) && params[v] == nil {
				params[v] = p
				continue
			}
		}
		if mentions(t.info, value, l) {
			return false
		}
	}
	u.path = nil
	for _, s := range t.path[len(path):] {
		if s.index != nil {
			if s.index = params[s.index]; s.index == nil || s.index.Mut {
				return false
			}
		}
		u.path = append(u.path, s)
	}
	p, passed := params[l]
	return passed && (p == nil || u.root != nil && u.isReplaced(c.Fn.Decl.Body, p))
}

// claimFrom returns the place of a matched expression whose payload the arms of the match may
// claim. It returns nil if no arm may claim it.
func (f *builder) claimFrom(e ast.Expr) *claim {
	if f.declared == nil || f.depth > 0 || f.info != f.declared.Info || f.g.manifest.Debugged || f.g.manifest.Grows || f.info.Conv(e) != nil {
		return nil
	}
	named, ok := types.Resolve(f.info.TypeOf(e)).(*types.Named)
	if !ok || named.Decl.Kind != types.Enum || !f.isPlace(e) {
		return nil
	}
	root, path := chainOf(f.info, e)
	if root == nil || len(path) == 0 {
		return nil
	}
	x := f.vars[root]
	t := &claim{g: f.g, info: f.info, root: root, path: path, in: []*sema.Function{f.declared}}
	if x == nil || x.cell || x.spill || x.captured || !t.leadsTo(path) || !f.g.hidesErrors(f.declared, root, e.Span()) {
		return nil
	}
	return t
}

// isValid reports whether an arm may claim the payload of the variant that its pattern matches.
func (t *claim) isValid(p ast.Pattern, body ast.Node) bool {
	v, ok := p.(*ast.VariantPat)
	if t == nil || !ok || t.info.Variant(v) == nil || t.info.Variant(v).Variant == nil {
		return false
	}
	any := false
	for _, q := range v.Elems {
		switch q.(type) {
		case *ast.WildPat:
		case *ast.NamePat:
			l, ok := t.info.Object(q).(*sema.Local)
			if !ok || l.Cell {
				return false
			}
			if mayShare(l.Type) {
				any = true
				if !t.isReplaced(body, l) {
					return false
				}
			}
		default:
			return false
		}
	}
	return any && !t.mayRead(body)
}

// matchClaimed generates the match of an arm that claims the payload of the variant in the place
// subject. match generates the match of a pattern against the value of this place.
func (f *builder) matchClaimed(subject ast.Expr, p *ast.VariantPat, match func(ast.Pattern, *label), fail *label) {
	ref := f.info.Variant(p)
	variant := *p
	variant.Elems = make([]ast.Pattern, len(p.Elems))
	for i := range variant.Elems {
		variant.Elems[i] = &ast.WildPat{}
	}
	match(&variant, fail)
	defer f.at(p.Span().Start)()
	defer f.free(f.top)
	place := f.placeOf(subject)
	v := val{reg: f.ownPlace(place, len(place.steps)), class: ir.Full, owned: true, fresh: true}
	f.matchPayload(ref, p.Parts(len(ref.Variant.Fields)), v, types.Resolve(f.info.TypeOf(subject)).(*types.Named), fail)
}

// hidesErrors reports whether no code can read the variable l of fn after an error in the code at
// the span has been caught.
func (g *generator) hidesErrors(fn *sema.Function, l *sema.Local, at source.Span) bool {
	if l.Cell || fn.OnUnknown != "" || len(fn.Decorations) > 0 {
		return false
	}
	if g.guards == nil {
		g.findGuards()
	}
	for _, s := range g.guards.of[fn] {
		if s.Contains(at) && !s.Contains(l.At) {
			return false
		}
	}
	if !fn.MutSelf || fn.Params[0].Local != l {
		return true
	}
	return isPlainMethod(fn) && g.callersHideErrors(fn)
}

// callersHideErrors reports whether no code can read the receiver of a method after an error in the
// method has been caught.
func (g *generator) callersHideErrors(fn *sema.Function) bool {
	if hides, ok := g.guards.hides[fn]; ok {
		return hides
	}
	g.guards.hides[fn] = true // for recursive calls
	hides := !g.guards.unknown[fn] && len(g.guards.calls[fn]) > 0
	for _, c := range g.guards.calls[fn] {
		hides = hides && c.root != nil && g.hidesErrors(c.in, c.root, c.at)
	}
	if !hides {
		clear(g.guards.hides) // results that assumed the opposite
		g.guards.unknown[fn] = true
	}
	g.guards.hides[fn] = hides
	return hides
}

// guards contains what the program does around calls of methods that change their receiver.
type guards struct {
	of      map[*sema.Function][]source.Span // code whose errors may be caught, or that runs concurrently
	calls   map[*sema.Function][]methodCall
	unknown map[*sema.Function]bool // methods with callers that the analysis does not know
	hides   map[*sema.Function]bool // results of callersHideErrors
}

// methodCall is a call of a method that changes its receiver.
type methodCall struct {
	in   *sema.Function
	root *sema.Local // variable that contains the receiver, or nil
	at   source.Span
}

// findGuards fills g.guards.
func (g *generator) findGuards() {
	g.guards = &guards{map[*sema.Function][]source.Span{}, map[*sema.Function][]methodCall{}, map[*sema.Function]bool{}, map[*sema.Function]bool{}}
	for _, d := range g.p.Dynamic {
		g.guards.unknown[d.Fn] = true
	}
	for _, fn := range g.p.Functions {
		if fn.Decl != nil && fn.Decl.Body != nil && fn.Native == "" && fn.Effect == "" {
			g.findGuardsIn(fn.Info, fn, fn.Decl.Body)
		}
	}
	for _, info := range g.p.Files {
		if !info.Library && info.Checked() {
			for _, d := range info.File.Decls {
				g.findGuardsIn(info, nil, d)
			}
		}
	}
}

// findGuardsIn records the calls in the body of fn, or in a declaration outside of bodies.
func (g *generator) findGuardsIn(info *sema.Info, fn *sema.Function, n ast.Node) {
	switch x := n.(type) {
	case *ast.FnDecl: // its body is visited for each function that is generated from it
		ast.Children(x, func(c ast.Node) {
			if c != ast.Node(x.Body) {
				g.findGuardsIn(info, nil, c)
			}
		})
		return
	case *ast.TryExpr:
		g.guards.of[fn] = append(g.guards.of[fn], x.Body.Span())
	case *ast.ListenExpr, *ast.Closure, *ast.AwaitAll, *ast.Race, *ast.ParallelFor:
		g.guards.of[fn] = append(g.guards.of[fn], n.Span())
	case *ast.ForExpr:
		if s := info.Source(x.Iter); s != nil {
			g.guards.unknown[s.Next], g.guards.unknown[s.Close], g.guards.unknown[s.Leave] = true, true, true
		}
		if m := info.Iterator(x.Iter); m != nil {
			g.guards.unknown[m] = true
		}
	}
	if e, ok := n.(ast.Expr); ok {
		g.noteCall(info, fn, e)
	}
	ast.Children(n, func(c ast.Node) { g.findGuardsIn(info, fn, c) })
}

// noteCall records e if it is a call of a method that changes its receiver, or refers to one.
func (g *generator) noteCall(info *sema.Info, fn *sema.Function, e ast.Expr) {
	if p, ok := e.(*ast.PathExpr); ok {
		if m, ok := info.Object(p).(*sema.Function); ok && m.MutSelf {
			g.guards.unknown[m] = true
		}
	}
	c := info.Call(e)
	if c == nil || c.Fn == nil || !c.Fn.MutSelf {
		return
	}
	x, ok := e.(*ast.MethodCall)
	if !ok || fn == nil || c.Kind != sema.CallFunction {
		g.guards.unknown[c.Fn] = true
		return
	}
	root, _ := chainOf(info, x.Recv)
	g.guards.calls[c.Fn] = append(g.guards.calls[c.Fn], methodCall{fn, root, x.Sp})
}
