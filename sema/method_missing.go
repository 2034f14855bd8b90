package sema

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// methodNames lists the methods of a type, for suggestions.
func (c *checker) methodNames(t types.Type) []string {
	t = types.Resolve(t)
	key := implKey(t)
	if known, ok := c.methods[key]; ok && known.impls == c.implCount(t) {
		return known.names
	}
	names := c.gatherMethods(t)
	if c.methods == nil {
		c.methods = map[any]methodList{}
	}
	c.methods[key] = methodList{names, c.implCount(t)} // gathering may bring some of the library's
	return names
}

// implCount is how many impls a type's methods come from.
func (c *checker) implCount(t types.Type) (n int) {
	for _, key := range []any{implKey(t), methodFile(t), "Any"} {
		n += len(c.impls[key])
	}
	return n
}

// methodList are the names of a type's methods, while it has so many impls.
type methodList struct {
	names []string
	impls int
}

func (c *checker) gatherMethods(t types.Type) []string {
	var names []string
	add := func(key any) {
		for _, im := range c.impls[key] {
			for _, fn := range im.order {
				if n := fn.Decl.Name.Name; !strings.HasPrefix(n, "__") {
					names = append(names, n)
				}
			}
		}
	}
	file := methodFile(t)
	if tool := toolOf(t); tool != nil {
		for _, fn := range tool.Methods {
			if !fn.Undeclared {
				names = append(names, fn.Decl.Name.Name)
			}
		}
		if tool.Server == "" {
			file = ""
		}
	}
	if file != "" && c.cfg.Library != nil {
		c.libraryModule(c.cfg.Library.Methods(file, ""))
	}
	if c.cfg.Library != nil {
		c.libraryModule(c.cfg.Library.Methods("Any", ""))
		add(any("Any"))
	}
	add(implKey(t))
	if file != "" && any(file) != implKey(t) {
		add(any(file))
	}
	sort.Strings(names)
	return slices.Compact(names)
}

func (b *body) unknownMethod(e *ast.MethodCall, t types.Type, fn *Function) {
	ft := types.Full(t)
	if fn != nil && fn.Recv == nil {
		d := diag.UnknownMethod.At(e.Name.Sp, "`%s` is a function of the type `%s`, not of a value", e.Name.Name, ft)
		d.FollowsFrom = selfCause(fn)
		owner := ft.String()
		if n, ok := types.Resolve(t).(*types.Named); ok {
			owner = n.Decl.Name
		}
		call := owner + "::" + e.Name.Name + "(" + b.argumentText(e.Args) + ")"
		at := source.Span{Start: e.Span().Start, End: e.Name.Sp.End}
		b.report(d.Repair(diag.Offer(diag.Replace(at, owner+"::"+e.Name.Name), "Call it as `%s`", call), "call it as `%s`", call))
		return
	}
	d := b.wantsResult(diag.UnknownMethod.At(e.Name.Sp, "`%s` has no method `%s`", ft, e.Name.Name), e.Recv, t)
	if tool := toolOf(t); tool != nil {
		d = diag.UnknownMethod.At(e.Name.Sp, "`%s` has no function `%s`", tool.Name, e.Name.Name)
	}
	if hint := b.methodWithin(e, t); hint != "" {
		b.report(d.Hint("%s", hint))
		return
	}
	if isHost(t) && slices.Contains([]string{"listen", "supervise", "subscribe", "on"}, e.Name.Name) {
		if e.Name.Name == "on" {
			d.Hint("messages are taken where the host is listened to: `listen %s.execute(…) { %s => |m| … }`", b.text(e.Recv), b.prompt(e.Args))
		} else {
			d.Hint("a host is listened to by a word before the call: `listen %s.execute(%s) { … }`", b.text(e.Recv), b.prompt(e.Args))
		}
		b.report(d)
		return
	}
	method, meant := b.meant(t, e.Name.Name)
	if meant == "" {
		suggestName(d, e.Name, b.c.methodNames(t))
	}
	if f := b.fieldOf(t, e.Name.Name); f != nil {
		d.Hint("%s", map[bool]string{
			true:  "it has a field of that name, which is called as `(x." + e.Name.Name + ")(…)`",
			false: "it has a field of that name: read it without parentheses",
		}[isFunc(f.Type)])
	}
	if len(d.Hints) == 0 {
		hint := b.methodInstead(t, e.Name.Name, meant)
		if method != "" && hint == meant {
			d.Repair(diag.Offer(diag.Replace(e.Name.Sp, method), "Change to `%s`", method), "%s", hint)
		} else {
			if rest, ok := strings.CutPrefix(hint, "leave it out"); ok {
				hint = "leave out `." + e.Name.Name + "()`" + rest
			}
			if strings.HasPrefix(hint, "leave out") && len(e.Args) == 0 {
				at := source.Span{Start: e.Recv.Span().End, End: e.Sp.End}
				d.By(diag.Offer(diag.Remove(at), "Remove `%s`", strings.TrimSpace(b.info.File.Source.Slice(at))))
			}
			d.Hint("%s", hint)
		}
	}
	b.report(d)
}

// methodWithin is the repair of a call whose method the receiver lacks, but what
// it holds has.
func (b *body) methodWithin(e *ast.MethodCall, t types.Type) string {
	has := func(t types.Type) bool { return b.c.method(t, e.Name.Name) != nil }
	inner := held(t)
	if inner == nil {
		return ""
	}
	x, rest := b.operand(e.Recv), "."+e.Name.Name+"(…)"
	if len(e.Args) == 0 {
		rest = "." + e.Name.Name + "()"
	}
	switch types.Resolve(t).(type) {
	case *types.Task:
		if has(inner) {
			return "`await` it first: `" + x + ".await" + rest + "`"
		}
		if in := held(inner); in != nil && has(in) {
			return "`await` it first: `" + x + ".await?" + rest + "`"
		}
	case *types.Option:
		if has(inner) {
			return "it may be None: write `" + x + "?" + rest + "`, `??` for a default, or `.map(|x| x" + rest + ")`"
		}
	case *types.Result:
		if has(inner) {
			return "it may be an Err: write `" + x + "?" + rest + "`"
		}
	}
	return ""
}

// methodInstead finds a repair for a method that is not there; meant is what
// other languages mean by its name.
func (b *body) methodInstead(t types.Type, name, meant string) string {
	if isOwnTool(t) && b.c.method(t, name) != nil {
		return "only an MCP server has `" + name + "`: a declaration with `mcp`"
	}
	if tool := toolOf(t); tool != nil && tool.Server != "" {
		return "declare it in `mcp " + tool.Name + "`, or end that with `..` for all of the server's functions"
	} else if tool != nil {
		return "declare it in `tool " + tool.Name + "`"
	}
	if meant != "" {
		return meant
	}
	if a, ok := t.(*types.Array); ok {
		if _, tasks := types.Resolve(a.Elem).(*types.Task); tasks {
			return "its elements are tasks: `parallel for x in … { … }` gives an array of values"
		}
	}
	if t == types.Int && b.c.method(types.Float, name) != nil {
		return "a Float has it: `(… as Float)." + name + "(…)`"
	}
	if n, ok := t.(*types.Named); ok && !n.Decl.Library {
		return "declare it: `impl " + n.Decl.Name + " { fn " + name + "(self) { … } }`"
	}
	if names := b.c.methodNames(t); len(names) > 0 && len(names) <= 12 {
		return "its methods are " + listed(names)
	}
	return "`concerto doc " + strings.TrimSuffix(methodFile(t), "") + "` lists its methods"
}

// traitWith names a trait that has a method, for a hint.
func (c *checker) traitWith(method string) string {
	best := ""
	for _, t := range c.traits {
		if t.methods[method] != nil && (best == "" || t.trait.Name < best) {
			best = t.trait.Name
		}
	}
	if best == "" {
		return "Trait"
	}
	return best
}

// selfCause names the mistake of a method that uses `self` and does not declare it.
func selfCause(fn *Function) string {
	return "self of " + fn.Info.File.Source.Name + ":" + strconv.Itoa(int(fn.Decl.Name.Sp.Start))
}

// argumentText are the arguments of a call as written, or `…` where that is long.
func (b *body) argumentText(args []*ast.Arg) string {
	if len(args) == 0 {
		return ""
	}
	var texts []string
	for _, a := range args {
		texts = append(texts, b.info.File.Source.Slice(a.Sp))
	}
	if s := strings.Join(texts, ", "); len(s) <= shortText && !strings.ContainsAny(s, "\n`") {
		return s
	}
	return "…"
}
