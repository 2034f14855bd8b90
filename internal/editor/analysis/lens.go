package analysis

import (
	"context"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// LensKind is the kind of a code lens.
type LensKind uint8

// The values of LensKind.
const (
	ProgramLens   LensKind = iota // `main` of the program
	TestLens                      // test function
	EvalLens                      // eval
	AnswerLens                    // summary of how the messages of a host are answered
	ReferenceLens                 // number of references to a declaration
)

// Lens is information about, or a command for, a declaration or a `listen`. Editors show it above
// the line.
type Lens struct {
	Kind LensKind
	Span source.Span // span of the name, or of the `listen`
	Name string      // name of the function or declaration
	Text string      // text of an AnswerLens
	Uses []Location  // references of a ReferenceLens, or handlers of an AnswerLens
}

// Lenses returns the code lenses of a document in the order of the text.
func (s *Snapshot) Lenses(ctx context.Context, path string) []Lens {
	f := s.checkFile(ctx, path)
	if f == nil || f.info == nil {
		return []Lens{}
	}
	out := slices.Concat([]Lens{}, f.runnableLenses(), f.answerLenses(), f.referenceLenses(ctx))
	slices.SortStableFunc(out, func(a, b Lens) int { return int(a.Span.Start - b.Span.Start) })
	return out
}

// runnableLenses returns a lens for the program's `main` and one for each test and each eval.
func (f *checkedFile) runnableLenses() []Lens {
	var out []Lens
	for _, d := range f.tree.Decls {
		fn, ok := d.(*ast.FnDecl)
		switch {
		case !ok || fn.Name == nil || fn.Name.Missing():
		case isTest(fn):
			out = append(out, Lens{Kind: TestLens, Span: fn.Name.Sp, Name: fn.Name.Name})
		case hasDecorator(fn, "eval"):
			out = append(out, Lens{Kind: EvalLens, Span: fn.Name.Sp, Name: fn.Name.Name})
		case fn.Name.Name == "main" && f.res.input != nil && f.res.input.Entry == f.text.file:
			out = append(out, Lens{Kind: ProgramLens, Span: fn.Name.Sp, Name: fn.Name.Name})
		}
	}
	return out
}

func isTest(fn *ast.FnDecl) bool { return hasDecorator(fn, "test") }

// hasDecorator reports whether a function has a decorator.
func hasDecorator(fn *ast.FnDecl, name string) bool {
	return slices.ContainsFunc(fn.Decorators, func(d *ast.Decorator) bool { return d.Name != nil && d.Name.Name == name })
}

// referencedKinds lists the kinds of declarations whose references are counted.
var referencedKinds = map[sema.DefKind]bool{
	sema.DefFunction: true, sema.DefMethod: true, sema.DefStruct: true, sema.DefSchema: true, sema.DefEnum: true, sema.DefAlias: true, sema.DefTrait: true,
	sema.DefConst: true, sema.DefAgent: true, sema.DefHost: true, sema.DefTool: true, sema.DefStore: true, sema.DefPipeline: true,
}

// referenceLenses returns a lens for each counted declaration of a file. It finds the references of
// all declarations in one pass.
func (f *checkedFile) referenceLenses(ctx context.Context) []Lens {
	index, wanted, traits := map[identity]int{}, map[identity]bool{}, traitImpls(f.tree)
	var out []Lens
	for _, r := range f.refs() {
		id := identityOf(r.Def)
		if _, twice := index[id]; twice || !r.Decl || !referencedKinds[r.Def.Kind] || needsNoCount(r.Def, traits) {
			continue
		}
		index[id], wanted[id] = len(out), true
		out = append(out, Lens{Kind: ReferenceLens, Span: r.At, Name: r.Def.Name, Uses: []Location{}})
	}
	for _, r := range f.s.rootsSharing(f, wanted) {
		res, err := f.s.check(ctx, r)
		if err != nil {
			return nil
		}
		for _, i := range res.own {
			for _, ref := range res.refs(i) {
				if at, ok := index[identityOf(ref.Def)]; ok && !ref.Decl {
					out[at].Uses = append(out[at].Uses, Location{i.File.Source, ref.At})
				}
			}
		}
	}
	for i := range out {
		out[i].Uses = sortDistinct(out[i].Uses)
	}
	return out
}

// needsNoCount reports whether a declaration normally has no references: a test, an eval, a @guard
// function, the program's `main`, or a method that implements a trait method.
func needsNoCount(d *sema.Def, traits []source.Span) bool {
	fn, ok := d.Node.(*ast.FnDecl)
	return ok && (isTest(fn) || hasDecorator(fn, "eval") || hasDecorator(fn, "guard") || d.Kind == sema.DefFunction && d.Name == "main" || slices.ContainsFunc(traits, func(s source.Span) bool { return s.Contains(d.At) }))
}

// traitImpls returns the spans of the trait implementations in a file.
func traitImpls(tree *ast.File) (out []source.Span) {
	ast.InspectFile(tree, func(n ast.Node) bool {
		im, ok := n.(*ast.ImplDecl)
		if ok && im.Trait != nil {
			out = append(out, im.Sp)
		}
		return !ok
	})
	return out
}

// answerLenses returns lenses on each `listen` and host declaration that show how messages are
// answered.
func (f *checkedFile) answerLenses() []Lens {
	var out []Lens
	for _, d := range f.tree.Decls {
		h, ok := d.(*ast.HostDecl)
		if !ok || h.Name == nil || h.Name.Missing() {
			continue
		}
		out = append(out, f.hostAnswerLens(h))
	}
	for _, l := range f.res.listens(f.info) {
		out = append(out, Lens{AnswerLens, l.expr.Head, l.host.Name, f.describeAnswers(l.host, l.handlerTypes()), l.places()})
	}
	return out
}

// answerableMessages returns the message types of a host that expect an answer. It includes the
// types that only handlers can answer.
func (f *checkedFile) answerableMessages(h *sema.Host) []*hostmsg.Message {
	var sent []string
	if f.res.input != nil && f.res.input.Manifest != nil {
		sent = f.res.input.MessageTypes(h.Connector)
	}
	var out []*hostmsg.Message
	for _, typ := range hostmsg.Types((*hostmsg.Message).Waits) {
		m := hostmsg.Lookup(typ)
		if m.Unhandled != hostmsg.ByTools && len(sent) > 0 && !slices.Contains(sent, typ) || m.Unhandled == hostmsg.ByTools && len(h.Tools) == 0 {
			continue // the host does not send this type
		}
		out = append(out, m)
	}
	return out
}

// describeAnswers describes how the messages of a host are answered, as in `question: the handler ·
// approval: approval_default`.
func (f *checkedFile) describeAnswers(h *sema.Host, handled map[string]string) string {
	var parts []string
	for _, m := range f.answerableMessages(h) {
		by, ok := handled[m.Type]
		if !ok {
			by = f.describeDefault(h, m)
		}
		parts = append(parts, m.Type+": "+by)
	}
	return strings.Join(parts, " · ")
}

// describeDefault describes how a message without a handler is answered.
func (f *checkedFile) describeDefault(h *sema.Host, m *hostmsg.Message) string {
	switch {
	case m.Unhandled == hostmsg.ByTools:
		return "its tools"
	case m.Default != "" && (h.Fields[m.Default] != nil || f.hasSectionKey(h, m.Default)):
		return m.Default
	}
	return "nobody"
}

// hasSectionKey reports whether the manifest section of a host contains a key.
func (f *checkedFile) hasSectionKey(h *sema.Host, key string) bool {
	return slices.ContainsFunc(f.writtenSectionSettings(h), func(x setting) bool { return x.name == key })
}

// hostAnswerLens returns a lens for a declared host. It describes how all `listen`s of the program
// together answer the host's messages, as in `question: main, ask · approval: nobody`.
func (f *checkedFile) hostAnswerLens(decl *ast.HostDecl) Lens {
	out := Lens{Kind: AnswerLens, Span: decl.Name.Sp, Name: decl.Name.Name, Text: "no `listen` answers it"}
	var host *sema.Host
	by := map[string]string{}
	for _, i := range f.res.own {
		for _, l := range f.res.listens(i) {
			if l.host.Name != decl.Name.Name || l.host.Info.File.Source.Name != f.text.file.Name {
				continue
			}
			host = l.host
			out.Uses = append(out.Uses, l.places()...)
			for typ := range l.handlerTypes() {
				if !slices.Contains(strings.Split(by[typ], ", "), l.function) {
					by[typ] = strings.TrimPrefix(by[typ]+", "+l.function, ", ")
				}
			}
		}
	}
	if host != nil {
		out.Text = f.describeAnswers(host, by)
	}
	return out
}

// listenSite is a `listen` on a declared host, with the function that contains it.
type listenSite struct {
	expr     *ast.ListenExpr
	host     *sema.Host
	file     *source.File
	function string
}

// listens returns the `listen`s of a file.
func (r *result) listens(info *sema.Info) (out []listenSite) {
	if info = r.info(info.File.Source); info == nil {
		return nil
	}
	function := ""
	named := func(id *ast.Ident) {
		if id != nil {
			function = id.Name
		}
	}
	ast.InspectFile(info.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FnDecl:
			named(n.Name)
		case *ast.Stage:
			named(n.Name)
		case *ast.ListenExpr:
			if d := info.Listen(n); d != nil && d.Host != nil {
				out = append(out, listenSite{n, d.Host, info.File.Source, function})
			}
		}
		return true
	})
	return out
}

// handlerTypes maps the message types that have a handler to the handler's description: the name of
// the handler function, or "the handler".
func (l *listenSite) handlerTypes() map[string]string {
	out := map[string]string{}
	for _, h := range l.expr.Handlers {
		if h.Type == nil {
			continue
		}
		out[h.Type.Value] = "the handler"
		if p, ok := h.Value.(*ast.PathExpr); ok {
			out[h.Type.Value] = l.file.Slice(p.Span())
		}
	}
	return out
}

// places returns the locations of the handlers' message types.
func (l *listenSite) places() []Location {
	out := []Location{}
	for _, h := range l.expr.Handlers {
		if h.Type != nil {
			out = append(out, Location{l.file, h.Type.Sp})
		}
	}
	return out
}
