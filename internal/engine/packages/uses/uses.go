// Package uses computes what the code of a package may use: files, network hosts, variables,
// commands, models, hosts and servers (spec/46-packages.md). It follows the calls of library
// functions to the effects that they perform. The needs of an effect are those of the table of
// permissions.
package uses

import (
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/runtime/world/permit"
	"github.com/concerto-lang/concerto/sema"
)

// Found is a use with the place in the source that causes it.
type Found struct {
	Use  pkg.Use
	File *source.File
	At   source.Pos
}

// Place returns the file, line and column, such as `lib.conc:12:5`. The name of the package is not
// part of it.
func (f Found) Place() string {
	name := f.File.Name
	if _, rest, found := strings.Cut(name, ": "); found {
		name = rest
	}
	return name + ":" + f.File.Position(f.At).String()
}

// Uses returns the uses without their places.
func Uses(all []Found) []pkg.Use {
	out := make([]pkg.Use, len(all))
	for i, f := range all {
		out[i] = f.Use
	}
	return pkg.NormalizeUses(out)
}

// Analyzer computes the uses of the packages of one program. It stores what it has found out about
// library functions, so that it is not safe for concurrent use.
type Analyzer struct {
	program   *sema.Program
	functions map[*sema.Function][]need
	open      map[*sema.Function]int // depths of the functions that are being followed
}

// need is a need of a library function: a kind with a target, with the value of a parameter as the
// target, or with any target.
type need struct {
	kind   string
	target string // "" for any
	param  int    // index of the parameter, or -1
}

// New returns an Analyzer for a checked program that contains the bodies of library functions.
func New(p *sema.Program) *Analyzer {
	return &Analyzer{p, map[*sema.Function][]need{}, map[*sema.Function]int{}}
}

// Of returns the uses of a package, nil for the project itself, in the order of the source.
func (a *Analyzer) Of(p *sema.Package) []Found {
	v := &visitor{a: a}
	for _, info := range a.program.Files {
		if info.Library || info.Package() != p {
			continue
		}
		v.info = info
		for _, d := range info.File.Decls {
			v.decl(d)
		}
	}
	return append(v.found, a.declared(p)...)
}

// declared returns the uses of declarations: agents, hosts, servers, stores and caches in files.
func (a *Analyzer) declared(p *sema.Package) (out []Found) {
	isOwn := func(i *sema.Info) bool { return i != nil && !i.Library && i.Package() == p }
	add := func(i *sema.Info, at source.Span, kind, target string) {
		out = append(out, Found{useOf(kind, target), i.File.Source, at.Start})
	}
	files := func(i *sema.Info, at source.Span, all []*sema.Decoration) {
		for _, d := range all {
			if d.Name != "cache" || len(d.Args) < 2 {
				continue
			}
			if file, _ := d.Args[1].(string); file != "" {
				add(i, at, "read", file)
				add(i, at, "write", file)
			}
		}
	}
	tools := func(i *sema.Info, at source.Span, all any) {
		for _, t := range toolsIn(all) {
			if !t.Info.Library {
				continue
			}
			for _, n := range a.toolNeeds(t) {
				add(i, at, n.kind, "")
			}
		}
	}
	for _, x := range a.program.Agents {
		if !isOwn(x.Info) {
			continue
		}
		at := x.Decl.Name.Sp
		add(x.Info, at, "model", x.Connection)
		files(x.Info, at, x.Decorations)
		tools(x.Info, at, x.Fields["tools"])
		if all, ok := x.Fields["files"].([]any); ok {
			for _, f := range all {
				if file, ok := f.(string); ok {
					add(x.Info, at, "read", file)
				}
			}
		}
	}
	for _, h := range a.program.Hosts {
		if isOwn(h.Info) {
			add(h.Info, h.Decl.Name.Sp, "host", h.Connector)
			files(h.Info, h.Decl.Name.Sp, h.Decorations)
			tools(h.Info, h.Decl.Name.Sp, h.Fields["tools"])
		}
	}
	for _, t := range a.program.Tools {
		if isOwn(t.Info) && t.Server != "" {
			at := source.Span{}
			if t.Decl != nil {
				at = t.Decl.Name.Sp
			}
			add(t.Info, at, "mcp", t.Server)
		}
	}
	for _, s := range a.program.Stores {
		if isOwn(s.Info) && s.File != "" {
			add(s.Info, s.Decl.Name.Sp, "read", s.File)
			add(s.Info, s.Decl.Name.Sp, "write", s.File)
		}
	}
	for _, f := range a.program.Functions {
		if isOwn(f.Info) && f.Decl != nil && f.Decl.Name != nil && !f.IsTest() && !f.IsEval() {
			files(f.Info, f.Decl.Name.Sp, f.Decorations)
		}
	}
	for _, x := range a.program.Pipelines {
		for _, s := range x.Stages {
			if isOwn(x.Info) {
				files(x.Info, s.Decl.Span(), s.Decorations)
			}
		}
	}
	return out
}

// toolsIn returns the tools in the value of a field.
func toolsIn(value any) (out []*sema.Tool) {
	switch v := value.(type) {
	case *sema.Tool:
		return []*sema.Tool{v}
	case []any:
		for _, x := range v {
			out = append(out, toolsIn(x)...)
		}
	case []*sema.Tool:
		return v
	}
	return out
}

// useOf returns the use of a target, or of any target if it is "".
func useOf(kind, target string) pkg.Use {
	target = strings.NewReplacer("\n", " ", "\r", " ").Replace(target)
	if target == "" {
		return pkg.Use(kind)
	}
	return pkg.Use(kind + ":" + target)
}

// visitor collects the calls of a package's code.
type visitor struct {
	a     *Analyzer
	info  *sema.Info
	found []Found
	skip  map[ast.Node]bool // receivers of calls of tools, which are counted with the call
}

// site is a call in the source.
type site struct {
	call     *sema.Call
	at       source.Span
	args     []*ast.Arg
	receiver ast.Expr
	piped    ast.Expr // left side of the |> that passes an argument, or nil
}

// calls calls visit with each call in a part of the source, and with each function that is used as
// a value: any call of it may follow. enter decides which nodes are visited.
func calls(info *sema.Info, part ast.Node, enter func(ast.Node) bool, visit func(site)) {
	piped, called := map[ast.Expr]ast.Expr{}, map[ast.Expr]bool{}
	ast.Inspect(part, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Pipe:
			piped[n.Call] = n.X
			switch n.Call.(type) {
			case *ast.Call, *ast.MethodCall: // visited below
			default: // `x |> f`, whose detail is stored under the id of f
				called[n.Call] = true
				visit(site{call: info.Call(n.Call), at: n.Call.Span(), piped: n.X})
			}
		case *ast.PathExpr:
			if fn, ok := info.Object(n).(*sema.Function); ok && !called[n] {
				visit(site{call: &sema.Call{Fn: fn}, at: n.Sp})
			}
		case *ast.Call:
			called[n.Fn] = true
			visit(site{info.Call(n), n.Sp, n.Args, nil, piped[n]})
		case *ast.MethodCall:
			visit(site{info.Call(n), n.Sp, n.Args, n.Recv, piped[n]})
		}
		return enter(n)
	})
}

// decl visits a declaration, unless it is a test.
func (v *visitor) decl(d ast.Decl) {
	calls(v.info, d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FnDecl:
			return !slices.ContainsFunc(n.Decorators, func(x *ast.Decorator) bool { return x.Name != nil && (x.Name.Name == "test" || x.Name.Name == "eval") })
		case *ast.PathExpr:
			if t, ok := v.info.Object(n).(*sema.Tool); ok && t.Info.Library && !v.skip[n] {
				for _, x := range v.a.toolNeeds(t) {
					v.add(x.kind, "", n.Sp)
				}
			}
		}
		return true
	}, v.call)
}

func (v *visitor) add(kind, target string, at source.Span) {
	v.found = append(v.found, Found{useOf(kind, target), v.info.File.Source, at.Start})
}

// call adds the needs of a call of a library function.
func (v *visitor) call(s site) {
	c := s.call
	if c == nil || c.Fn == nil || !c.Fn.Info.Library {
		return
	}
	if s.receiver != nil && c.Kind == sema.CallTool {
		if v.skip == nil {
			v.skip = map[ast.Node]bool{}
		}
		v.skip[s.receiver] = true
	}
	for _, n := range v.a.needsOf(c.Fn) {
		if n.param < 0 {
			v.add(n.kind, n.target, s.at)
			continue
		}
		e, info := s.argument(v.info, n.param)
		if list, ok := e.(*ast.ArrayLit); ok {
			for _, x := range list.Elems {
				v.add(n.kind, targetOf(info, n.kind, x), s.at)
			}
			continue
		}
		v.add(n.kind, targetOf(info, n.kind, e), s.at)
	}
}

// argument returns the expression whose value a parameter receives, and the file that contains it:
// that of the call, or of the callee for a default. The expression is nil if it is not known.
func (s *site) argument(info *sema.Info, param int) (ast.Expr, *sema.Info) {
	if param >= len(s.call.Args) {
		return nil, info
	}
	switch x := s.call.Args[param]; x.Kind {
	case sema.ArgWritten:
		if x.Index < len(s.args) {
			return s.args[x.Index].Value, info
		}
	case sema.ArgReceiver:
		return s.receiver, info
	case sema.ArgPiped:
		return s.piped, info
	case sema.ArgDefault:
		if fn := s.call.Fn; param < len(fn.Params) {
			return fn.Params[param].Default, fn.Info
		}
	}
	return nil, info
}

// targetOf returns the target that an argument determines, or "" if it may be any.
func targetOf(info *sema.Info, kind string, e ast.Expr) string {
	if e == nil {
		return ""
	}
	text, whole, ok := constantText(info, e)
	if !ok || text == "" {
		return ""
	}
	switch kind {
	case "net":
		return hostOf(text, whole)
	case "read":
		if strings.ContainsAny(text, `*?[\`) { // a pattern, whose directories are known
			if !whole {
				return ""
			}
			return permit.PatternDir(text)
		}
	}
	if !whole {
		return ""
	}
	if kind == "read" || kind == "write" {
		return path.Clean(strings.ReplaceAll(text, `\`, "/"))
	}
	return text
}

// constantText returns the text of a string literal, of a constant of one, or of the part of an
// interpolation before its first expression. whole reports that it is the whole text.
func constantText(info *sema.Info, e ast.Expr) (text string, whole, ok bool) {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.StringLit:
			return x.Value, true, true
		case *ast.InterpLit:
			if len(x.Texts) == 0 {
				return "", false, false
			}
			return x.Texts[0], len(x.Exprs) == 0, true
		case *ast.PathExpr:
			c, isConst := info.Object(x).(*sema.Const)
			if !isConst {
				return "", false, false
			}
			text, ok := c.Value.(string)
			return text, true, ok
		default:
			return "", false, false
		}
	}
}

// hostOf returns the network host of an address. If the text is only its beginning, a slash must
// follow the host, so that it is complete.
func hostOf(text string, whole bool) string {
	_, rest, found := strings.Cut(text, "://")
	if !found || !whole && !strings.ContainsAny(rest, "/?#") {
		return ""
	}
	u, err := url.Parse(text)
	if err != nil {
		end := strings.IndexAny(rest, "/?#")
		if end < 0 {
			return ""
		}
		if u, err = url.Parse(text[:len(text)-len(rest)+end]); err != nil {
			return ""
		}
	}
	host := strings.ToLower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && host != "" {
		host += ":" + port
	}
	return host
}

// toolNeeds returns the needs of all functions of a library tool, with any target.
func (a *Analyzer) toolNeeds(t *sema.Tool) (out []need) {
	for _, m := range t.Methods {
		for _, n := range a.needsOf(m) {
			if n = (need{n.kind, "", -1}); !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// attaching maps the native functions that determine files for a later request to the parameters
// with their paths.
var attaching = map[string]string{"Agent.with_files": "paths"}

// needsOf returns the needs of a library function, in terms of its parameters.
func (a *Analyzer) needsOf(fn *sema.Function) []need {
	out, _ := a.follow(fn)
	return out
}

// follow returns the needs of a library function. lowest is the depth of the outermost function
// being followed that fn calls. The needs of a function that calls one of these are not complete
// until the outer one is, so they are not stored.
func (a *Analyzer) follow(fn *sema.Function) (out []need, lowest int) {
	if known, found := a.functions[fn]; found {
		return known, len(a.open)
	}
	if depth, found := a.open[fn]; found {
		return nil, depth
	}
	depth := len(a.open)
	a.open[fn] = depth
	lowest = depth
	defer func() {
		delete(a.open, fn)
		if lowest >= depth {
			a.functions[fn] = out
		}
	}()
	add := func(n need) {
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if fn.Effect != "" {
		static, _ := permit.StaticNeeds(effect.Kind(fn.Effect))
		for _, s := range static {
			add(need{strings.TrimPrefix(permit.Kinds[s.Kind].Flag, "allow-"), "", paramNamed(fn, s.Param)})
		}
	}
	if param := attaching[fn.Native]; param != "" {
		add(need{"read", "", paramNamed(fn, param)})
	}
	if fn.Decl != nil && fn.Decl.Body != nil && fn.Effect == "" && fn.Native == "" && fn.Info.Checked() {
		calls(fn.Info, fn.Decl.Body, func(ast.Node) bool { return true }, func(s site) {
			if s.call == nil || s.call.Fn == nil {
				return
			}
			needs, low := a.follow(s.call.Fn)
			lowest = min(lowest, low)
			for _, n := range needs {
				if n.param < 0 {
					add(n)
					continue
				}
				e, info := s.argument(fn.Info, n.param)
				if i := parameterOf(fn, e); i >= 0 {
					add(need{n.kind, "", i})
				} else {
					add(need{n.kind, targetOf(info, n.kind, e), -1})
				}
			}
		})
	}
	return out, lowest
}

func paramNamed(fn *sema.Function, name string) int {
	return slices.IndexFunc(fn.Params, func(p *sema.Param) bool { return name != "" && p.Name == name })
}

// parameterOf returns the index of the parameter that an expression is, or -1.
func parameterOf(fn *sema.Function, e ast.Expr) int {
	x, ok := e.(*ast.PathExpr)
	if !ok {
		return -1
	}
	local, ok := fn.Info.Object(x).(*sema.Local)
	if !ok {
		return -1
	}
	return slices.IndexFunc(fn.Params, func(p *sema.Param) bool { return p.Local == local })
}
