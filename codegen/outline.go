package codegen

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// outline fills the table of the program's own declarations. It reads the syntax trees, not the
// generated code: code that the generator omits, or that the optimiser removes or moves, counts
// where it was written.
func (g *generator) outline() {
	o := &outliner{g: g, parts: map[any]int{}, methods: map[string][]int{}, seen: map[seenUse]bool{}}
	o.declare()
	for _, fn := range g.p.Functions {
		if n, ok := o.parts[fn.Decl]; ok {
			o.enter(n, fn.Info)
			o.function(fn)
		}
	}
	for _, t := range g.p.Tools {
		if n, ok := o.parts[t]; ok {
			o.enter(n, t.Info)
			for _, f := range t.Decl.Fields {
				o.walk(f)
			}
		}
	}
	for _, p := range g.p.Pipelines {
		if n, ok := o.parts[p]; ok {
			o.pipeline(n, p)
		}
	}
	g.out.Outline = withoutIrrelevant(o.all)
}

// seenUse identifies the equal uses of a declaration. Listens are only equal at the same position.
type seenUse struct {
	part, target, by int
	kind             ir.UseKind
	method, channel  string
	constant         bool // the channel is a constant
	at               ir.Place
}

// outliner is the state of creating the outline.
type outliner struct {
	g       *generator
	all     []ir.Declaration
	parts   map[any]int      // index in all of each object, and of the function of each *ast.FnDecl
	methods map[string][]int // indices in all of the methods that calls on an Any may call, by name
	seen    map[seenUse]bool

	part int // declaration whose code is being visited
	info *sema.Info
}

func (o *outliner) declare() {
	p := o.g.p
	for i, a := range p.Agents {
		o.add(a, a.Info, &a.Decl.DeclHead, ir.Declaration{Kind: ir.DeclAgent, Index: i})
	}
	for i, h := range p.Hosts {
		o.add(h, h.Info, &h.Decl.DeclHead, ir.Declaration{Kind: ir.DeclHost, Index: i})
	}
	for i, t := range p.Tools {
		n, isOwn := o.add(t, t.Info, &t.Decl.DeclHead, ir.Declaration{Kind: ir.DeclTool, Index: i})
		for _, fn := range t.Methods {
			if isOwn {
				o.parts[fn.Decl] = n
			}
		}
	}
	for i, s := range p.Stores {
		o.add(s, s.Info, &s.Decl.DeclHead, ir.Declaration{Kind: ir.DeclStore, Index: i})
	}
	for _, x := range p.Pipelines {
		n, isOwn := o.add(x, x.Info, &x.Decl.DeclHead, ir.Declaration{Kind: ir.DeclPipeline, Name: x.Name})
		for _, s := range x.Stages {
			if isOwn {
				o.append(x.Info, s.Decl.Name.Sp, ir.Declaration{Kind: ir.DeclStage, Name: s.Name, Index: n})
			}
		}
	}
	for _, fn := range p.Functions {
		if _, exists := o.parts[fn.Decl]; exists || fn.IsTest() || fn.IsEval() {
			continue
		}
		if n, generated := o.g.numbers.functions[fn]; generated {
			o.add(fn.Decl, fn.Info, &fn.Decl.DeclHead, ir.Declaration{Kind: ir.DeclFunction, Name: fn.Name, Index: n})
		}
	}
	for _, d := range p.Dynamic {
		if n, isOwn := o.parts[d.Fn.Decl]; isOwn && !slices.Contains(o.methods[d.Name], n) {
			o.methods[d.Name] = append(o.methods[d.Name], n)
		}
	}
}

// add adds the declaration of object, unless it belongs to the library.
func (o *outliner) add(object any, info *sema.Info, h *ast.DeclHead, d ir.Declaration) (n int, isOwn bool) {
	if info.Library {
		return 0, false
	}
	d.Public = h.Pub
	o.parts[object] = o.append(info, h.Name.Sp, d)
	return o.parts[object], true
}

func (o *outliner) append(info *sema.Info, name source.Span, d ir.Declaration) int {
	at := info.File.Source.Position(name.Start)
	d.File, d.At = o.g.file(info), ir.Place{Line: at.Line, Column: at.Column}
	o.all = append(o.all, d)
	return len(o.all) - 1
}

// enter makes n the declaration to which the visited code belongs.
func (o *outliner) enter(n int, info *sema.Info) { o.part, o.info = n, info }

func (o *outliner) function(fn *sema.Function) {
	for _, d := range fn.Decorations {
		o.called(d.Fn, fn.Decl.Name.Sp)
	}
	for _, p := range fn.Decl.Params {
		o.optional(p.Default)
	}
	if fn.Decl.Body != nil {
		o.walk(fn.Decl.Body)
	}
}

// pipeline visits the stages of a pipeline, whose entries follow entry n of the pipeline. The
// defaults of the pipeline's parameters belong to the first stage.
func (o *outliner) pipeline(n int, p *sema.Pipeline) {
	for i, s := range p.Stages {
		o.enter(n+1+i, p.Info)
		for _, q := range p.Decl.Params {
			if i == 0 {
				o.optional(q.Default)
			}
		}
		for _, d := range s.Decorations {
			o.called(d.Fn, s.Decl.Name.Sp)
		}
		for _, q := range s.Decl.Params {
			o.optional(q.Default)
		}
		if s.Decl.Body != nil {
			o.walk(s.Decl.Body)
		}
		o.optional(s.Decl.Value)
	}
}

func (o *outliner) optional(e ast.Expr) {
	if e != nil {
		o.walk(e)
	}
}

// walk visits code of the current declaration.
func (o *outliner) walk(n ast.Node) {
	switch n := n.(type) {
	case ast.Decl, *ast.MockStmt:
		return // a declaration in a block has an entry of its own
	case *ast.PathExpr:
		o.named(o.info.Object(n), n.Sp, "")
		return
	case *ast.MethodCall:
		o.chain(n)
		return
	case *ast.ListenExpr:
		o.listen(n)
		return
	case *ast.EmitExpr:
		kind := ir.UseEmit
		if n.Await {
			kind = ir.UseAwait
		}
		o.use(ir.Use{Kind: kind, Target: -1, By: -1, Channel: o.constantText(n.Channel)}, n.Span())
	case *ast.ForExpr:
		if s := o.info.Source(n.Iter); s != nil {
			for _, fn := range []*sema.Function{s.Next, s.Close, s.Leave} {
				o.called(fn, n.Iter.Span())
			}
		}
	case *ast.Question:
		o.leaves(o.info.Question(n), n.Span())
	case *ast.ThrowExpr:
		o.leaves(o.info.Throw(n), n.Span())
	case *ast.StructLit:
		o.defaults(n)
	}
	ast.Children(n, o.walk)
}

// leaves notes the functions that convert an error on its way out of a function.
func (o *outliner) leaves(l *sema.Leave, at source.Span) {
	for ; l != nil; l = l.Next {
		o.called(l.Convert, at)
	}
}

// defaults visits the defaults of the fields that a literal omits.
func (o *outliner) defaults(n *ast.StructLit) {
	lit := o.info.Struct(n)
	if lit == nil {
		return
	}
	here := o.info
	for _, f := range lit.Fields {
		if f.Index < 0 && !f.Rest && f.Default != nil && !f.Info.Library {
			o.info = f.Info
			o.walk(f.Default)
			o.info = here
		}
	}
}

// chain visits a call of a method, and the calls on which it is called: `Coder.with_context(x)
// .execute(p)` is one expression that names Coder and calls execute.
func (o *outliner) chain(last *ast.MethodCall) {
	calls := []*ast.MethodCall{last}
	root := unparen(o.info, last.Recv)
	for {
		c, ok := root.(*ast.MethodCall)
		if !ok {
			break
		}
		calls = append(calls, c)
		root = unparen(o.info, c.Recv)
	}
	slices.Reverse(calls)
	by := -1
	if path, ok := root.(*ast.PathExpr); ok {
		object := o.info.Object(path)
		o.named(object, path.Sp, calledMethod(object, calls))
		switch object.(type) {
		case *sema.Agent, *sema.Host:
			by = o.parts[object]
		}
	} else {
		o.walk(root)
	}
	for _, c := range calls {
		o.method(c)
		for _, a := range c.Args {
			if by < 0 || !o.built(by, c.Name.Name, a) {
				o.walk(a)
			}
		}
	}
}

// calledMethod returns the name of the method that an expression calls on a host or a store, after
// those that only return the host or the store with other settings.
func calledMethod(object sema.Object, calls []*ast.MethodCall) string {
	for _, c := range calls {
		name := c.Name.Name
		switch object.(type) {
		case *sema.Host:
			if !strings.HasPrefix(name, "with") && name != "resume" {
				return name
			}
		case *sema.Store:
			if name != "scope" {
				return name
			}
		default:
			return ""
		}
	}
	return ""
}

// method notes the function that a call of a method calls.
func (o *outliner) method(c *ast.MethodCall) {
	call := o.info.Call(c)
	if call == nil {
		return
	}
	if call.Kind == sema.CallAnyMethod {
		for _, n := range o.methods[call.Name] {
			o.use(ir.Use{Target: n, By: -1}, c.Name.Sp)
		}
		return
	}
	o.called(call.Fn, c.Name.Sp)
}

// built notes an argument of a method that adds tools or a memory to the agent or host by. It
// reports whether the argument names only them.
func (o *outliner) built(by int, method string, a *ast.Arg) bool {
	kind := ir.UseOffer
	elements := []ast.Expr{unparen(o.info, a.Value)}
	switch method {
	case "with_tools":
		if list, ok := elements[0].(*ast.ArrayLit); ok {
			elements = list.Elems
		}
	case "with_memory":
		kind = ir.UseMemory
	default:
		return false
	}
	whole := true
	for _, e := range elements {
		object := sema.Object(nil)
		if path, ok := unparen(o.info, e).(*ast.PathExpr); ok {
			object = o.info.Object(path)
		}
		switch targets := o.objects(object); {
		case len(targets) > 0:
			for _, n := range targets {
				o.use(ir.Use{Kind: kind, Target: n, By: by}, e.Span())
			}
		case len(elements) > 1:
			o.walk(e)
		default:
			whole = false
		}
	}
	return whole
}

// objects returns the entries of an object: those of a constant's value, if the object is one.
func (o *outliner) objects(object sema.Object) []int {
	switch x := object.(type) {
	case nil, *sema.Local, *sema.VariantRef:
		return nil
	case *sema.Const:
		var out []int
		var add func(v any)
		add = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, e := range v {
					add(e)
				}
			case *sema.ConstMap:
				for _, e := range v.Values {
					add(e)
				}
			case sema.Object:
				out = append(out, o.objects(v)...)
			}
		}
		add(x.Value)
		return out
	case *sema.Function:
		if n, isOwn := o.parts[x.Decl]; isOwn {
			return []int{n}
		}
		return nil
	}
	if n, isOwn := o.parts[object]; isOwn {
		return []int{n}
	}
	return nil
}

// named notes a name that refers to an object.
func (o *outliner) named(object sema.Object, at source.Span, method string) {
	for _, n := range o.objects(object) {
		o.use(ir.Use{Target: n, By: -1, Method: method}, at)
	}
}

// called notes a call of a function. fn may be nil.
func (o *outliner) called(fn *sema.Function, at source.Span) {
	if fn != nil {
		o.named(fn, at, "")
	}
}

func (o *outliner) listen(e *ast.ListenExpr) {
	u := ir.Use{Kind: ir.UseListen, Target: -1, By: -1}
	l := o.info.Listen(e)
	if l.Host != nil {
		u.Target = o.parts[l.Host]
	}
	for _, h := range l.Handlers {
		at := o.info.File.Source.Position(h.At.Start)
		named := ir.NamedHandler{Type: h.Type, Function: -1, At: ir.Place{Line: at.Line, Column: at.Column}}
		if h.Fn != nil {
			if n := o.objects(h.Fn); len(n) > 0 {
				named.Function = n[0]
			}
		}
		u.Handlers = append(u.Handlers, named)
	}
	o.use(u, e.Span())
	o.walk(e.Call)
	for _, h := range e.Handlers {
		o.walk(h.Value)
	}
}

// constantText returns the value of a channel's name, or nil if only the run determines it.
func (o *outliner) constantText(e ast.Expr) *string {
	switch e := unparen(o.info, e).(type) {
	case *ast.StringLit:
		return &e.Value
	case *ast.PathExpr:
		if k, ok := o.info.Object(e).(*sema.Const); ok {
			if s, ok := k.Value.(string); ok {
				return &s
			}
		}
	default: // the others are no constants
	}
	return nil
}

// use adds a use to the current declaration, unless it has an equal one.
func (o *outliner) use(u ir.Use, at source.Span) {
	p := o.info.File.Source.Position(at.Start)
	u.At = ir.Place{Line: p.Line, Column: p.Column}
	key := seenUse{part: o.part, target: u.Target, by: u.By, kind: u.Kind, method: u.Method}
	if u.Channel != nil {
		key.channel, key.constant = *u.Channel, true
	}
	if u.Kind == ir.UseListen {
		key.at = u.At
	}
	if !o.seen[key] {
		o.seen[key] = true
		o.all[o.part].Uses = append(o.all[o.part].Uses, u)
	}
}

// withoutIrrelevant removes the functions that lead to no declaration of another kind, except main
// and the handlers of listens.
func withoutIrrelevant(all []ir.Declaration) []ir.Declaration {
	keep := relevant(all)
	to := make([]int, len(all))
	n := 0
	for i := range all {
		to[i] = -1
		if keep[i] {
			to[i] = n
			n++
		}
	}
	moved := func(i int) int {
		if i < 0 {
			return -1
		}
		return to[i]
	}
	var out []ir.Declaration
	for i, d := range all {
		if !keep[i] {
			continue
		}
		if d.Kind == ir.DeclStage {
			d.Index = to[d.Index]
		}
		var uses []ir.Use
		for _, u := range d.Uses {
			if u.Target >= 0 && to[u.Target] < 0 {
				continue
			}
			u.Target, u.By = moved(u.Target), moved(u.By)
			for h := range u.Handlers {
				u.Handlers[h].Function = moved(u.Handlers[h].Function)
			}
			uses = append(uses, u)
		}
		d.Uses = uses
		out = append(out, d)
	}
	return out
}

// relevant reports for each declaration whether the outline contains it.
func relevant(all []ir.Declaration) []bool {
	keep := make([]bool, len(all))
	callers := make([][]int, len(all))
	var found []int
	mark := func(n int) {
		if !keep[n] {
			keep[n] = true
			found = append(found, n)
		}
	}
	for i := range all {
		d := &all[i]
		if d.Kind != ir.DeclFunction || d.Name == "main" {
			mark(i)
		}
		for _, u := range d.Uses {
			if u.Kind == ir.UseNames && all[u.Target].Kind == ir.DeclFunction {
				callers[u.Target] = append(callers[u.Target], i)
			} else {
				mark(i)
			}
			for _, h := range u.Handlers {
				if h.Function >= 0 {
					mark(h.Function)
				}
			}
		}
	}
	for len(found) > 0 {
		n := found[len(found)-1]
		found = found[:len(found)-1]
		for _, c := range callers[n] {
			mark(c)
		}
	}
	return keep
}
