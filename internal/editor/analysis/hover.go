package analysis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/editor/doc"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// Hover is the Markdown description of the name or keyword at a position.
type Hover struct {
	Span source.Span
	Text string
}

// Hover returns the description of the name or keyword at a position, or nil.
func (s *Snapshot) Hover(ctx context.Context, path string, pos source.Pos) *Hover {
	if isManifest(path) {
		return s.hoverKey(path, pos)
	}
	f := s.checkFile(ctx, path)
	if f == nil {
		return nil
	}
	nodes := f.nodesAt(pos)
	if h := f.hoverHandler(nodes, pos); h != nil {
		return h
	}
	if h := f.hoverSetting(nodes, pos); h != nil {
		return h
	}
	var parts []string
	var at source.Span
	for _, r := range f.refsAt(pos) {
		if text := f.describe(r.Def); text != "" && !slices.Contains(parts, text) {
			parts, at = append(parts, text), r.At
			if here := f.instanceAt(nodes, r); here != "" {
				parts[len(parts)-1] += "\n\nHere: `" + here + "`"
			}
		}
	}
	if len(parts) > 0 {
		return &Hover{at, strings.Join(parts, "\n\n---\n\n")}
	}
	return f.hoverWord(pos)
}

// fence returns a Markdown code block of Concerto code.
func fence(code string) string { return "```concerto\n" + strings.TrimRight(code, "\n") + "\n```" }

// describe returns the Markdown description of a declaration.
func (f *checkedFile) describe(d *sema.Def) string {
	switch d.Kind {
	case sema.DefBuiltin:
		return topic(d.Name)
	case sema.DefDecorator:
		return f.decoratorText(d.Name)
	case sema.DefVariant:
		if d.Info == nil {
			return variantText(d)
		}
	case sema.DefConnection, sema.DefConnector:
		return f.describeSection(d)
	}
	head := f.heading(d)
	if head == "" {
		return ""
	}
	parts := []string{fence(head)}
	if text := docOf(d); text != "" {
		parts = append(parts, text)
	}
	if settings := f.settings(d); settings != "" {
		parts = append(parts, settings)
	}
	return strings.Join(parts, "\n\n")
}

// decoratorText describes a decorator with its arguments and an example.
func (f *checkedFile) decoratorText(name string) string {
	topics, _ := doc.Find("@" + name)
	for _, t := range topics {
		if t.Name != "@"+name {
			continue
		}
		if c := f.decoratorCallee(name); c != nil {
			params := make([]string, len(c.params))
			for i, p := range c.params {
				params[i] = p.text
			}
			t.Signature = c.name + "(" + strings.Join(params, ", ") + ")"
		}
		text := topicText(t)
		if t.Example != "" {
			text += "\n\n" + fence(t.Example)
		}
		return text
	}
	return ""
}

// instanceAt returns the types with which a generic function or type is used by the reference r,
// or "". nodes are the nodes that contain the reference.
func (f *checkedFile) instanceAt(nodes []ast.Node, r sema.Ref) string {
	if f.info == nil {
		return ""
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		switch n := nodes[i].(type) {
		case *ast.Call:
			if n.Fn.Span().Contains(r.At) {
				return f.callInstance(r.Def, f.info.Call(n), n.Args, nil, n)
			}
		case *ast.MethodCall:
			if n.Name.Sp.Contains(r.At) {
				return f.callInstance(r.Def, f.info.Call(n), n.Args, n.Recv, n)
			}
		case *ast.StructLit:
			if t, ok := types.Resolve(f.info.TypeOf(n)).(*types.Named); ok && n.Path.Sp.Contains(r.At) && len(t.Args) > 0 {
				return typeText(t)
			}
		}
	}
	return ""
}

// callInstance returns the types of the arguments and of the result of a call, if the called
// function or its type is generic.
func (f *checkedFile) callInstance(d *sema.Def, call *sema.Call, args []*ast.Arg, recv, whole ast.Expr) string {
	fn, ok := d.Node.(*ast.FnDecl)
	if !ok || call == nil || call.Fn == nil || len(call.Fn.Generics) == 0 && len(fn.Generics) == 0 {
		return ""
	}
	var given []string
	for _, a := range call.Args {
		if a.Kind == sema.ArgWritten && a.Index < len(args) {
			given = append(given, typeText(f.info.TypeOf(args[a.Index].Value)))
		}
	}
	text := fn.Name.Name + "(" + strings.Join(given, ", ") + ") -> " + typeText(f.info.TypeOf(whole))
	if recv != nil {
		text = typeText(f.info.TypeOf(recv)) + "." + text
	}
	return text
}

func variantText(d *sema.Def) string {
	if d.Type != nil {
		return fence(d.Name + ": " + typeText(d.Type))
	}
	return fence(map[string]string{"Some": "Some(T): Option<T>", "None": "None: Option<T>", "Ok": "Ok(T): Result<T, E>", "Err": "Err(E): Result<T, E>"}[d.Name])
}

// typeText returns a type in source syntax.
func typeText(t types.Type) string {
	if t == nil || types.Resolve(t) == types.Bad {
		return "_"
	}
	return types.Full(t).String()
}

// heading returns the source text that declares d.
func (f *checkedFile) heading(d *sema.Def) string {
	switch n := d.Node.(type) {
	case *ast.FnDecl:
		return memberComment(d) + f.functionText(d, n)
	case *ast.ConstDecl:
		return f.constantText(d, n)
	case *ast.FieldDecl:
		return fmt.Sprintf("%s.%s: %s", d.Owner, d.Name, typeText(d.Type))
	case *ast.Variant:
		return d.Owner + "::" + oneLine(d.Info.File.Source.Slice(n.Span()))
	case *ast.StructDecl, *ast.SchemaDecl, *ast.EnumDecl, *ast.TypeDecl, *ast.TraitDecl, *ast.StoreDecl:
		return declarationText(d, n.(ast.Decl))
	case *ast.AgentDecl:
		if n.Uses != nil {
			return "agent " + d.Name + " uses " + n.Uses.Name
		}
		return "agent " + d.Name
	case *ast.HostDecl:
		return "host " + d.Name
	case *ast.ToolDecl:
		return "tool " + d.Name
	case *ast.McpDecl:
		return "mcp " + d.Name
	case *ast.PipelineDecl:
		p, _ := d.Object.(*sema.Pipeline)
		return "pipeline " + d.Name + pipelineText(p)
	}
	switch d.Kind {
	case sema.DefModule:
		return "mod " + d.Name
	case sema.DefStage:
		return "stage " + d.Name + ": " + typeText(d.Type)
	case sema.DefParam:
		return d.Name + ": " + typeText(d.Type)
	case sema.DefVariable:
		if l, ok := d.Object.(*sema.Local); ok && l.Mut {
			return "let mut " + d.Name + ": " + typeText(d.Type)
		}
		return "let " + d.Name + ": " + typeText(d.Type)
	case sema.DefTypeParam:
		return oneLine(d.Info.File.Source.Slice(d.Node.Span()))
	case sema.DefLabel:
		return d.Name + ":"
	}
	return ""
}

// memberComment returns a comment with the name of the type that a method belongs to.
func memberComment(d *sema.Def) string {
	if d.Owner == "" {
		return ""
	}
	return "// " + d.Owner + "\n"
}

func (f *checkedFile) functionText(d *sema.Def, n *ast.FnDecl) string {
	if n.Signature.End <= n.Signature.Start {
		return "fn " + d.Name
	}
	text := oneLine(d.Info.File.Source.Slice(n.Signature))
	if n.Pub && !strings.HasPrefix(text, "pub ") {
		text = "pub " + text
	}
	return text
}

func pipelineText(p *sema.Pipeline) string {
	if p == nil {
		return ""
	}
	var parts []string
	for _, x := range p.Params {
		parts = append(parts, x.Name+": "+typeText(x.Type))
	}
	text := "(" + strings.Join(parts, ", ") + ")"
	if p.Result != nil {
		text += " -> " + typeText(p.Result)
	}
	return text
}

// constantText returns the declaration of a constant. If the value is not visible in the text, it
// is added as a comment.
func (f *checkedFile) constantText(d *sema.Def, n *ast.ConstDecl) string {
	text := "const " + d.Name + ": " + typeText(d.Type)
	if n.Value == nil {
		return text
	}
	written := oneLine(d.Info.File.Source.Slice(n.Value.Span()))
	text += " = " + written
	if k, ok := d.Object.(*sema.Const); ok {
		if v := valueText(k.Value); v != "" && v != written {
			text += " // " + v
		}
	}
	return text
}

func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case int64, float64, bool:
		return fmt.Sprint(v)
	}
	return ""
}

// maxShownLines is the maximum number of lines of a declaration that a hover shows.
const maxShownLines = 24

// declarationText returns a declaration's text without decorators, shortened if it is long.
func declarationText(d *sema.Def, n ast.Decl) string {
	text := d.Info.File.Source.Slice(n.Span())
	if h := n.Head(); len(h.Decorators) > 0 {
		text = d.Info.File.Source.Slice(source.Span{Start: h.Decorators[len(h.Decorators)-1].Sp.End, End: n.Span().End})
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for len(lines) > 0 && strings.HasPrefix(strings.TrimSpace(lines[0]), "///") {
		lines = lines[1:]
	}
	if len(lines) > maxShownLines {
		lines = append(lines[:maxShownLines:maxShownLines], "    …", "}")
	}
	return strings.Join(lines, "\n")
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// docOf returns the doc comment of a declaration.
func docOf(d *sema.Def) string {
	switch n := d.Node.(type) {
	case ast.Decl:
		return strings.TrimSpace(n.Head().Doc)
	case *ast.FieldDecl:
		return strings.TrimSpace(n.Doc)
	case *ast.Variant:
		return strings.TrimSpace(n.Doc)
	case *ast.Stage:
		return strings.TrimSpace(n.Doc)
	}
	return ""
}

// topic returns the text that `concerto doc` shows for a name, or "".
func topic(name string) string {
	topics, group := doc.Find(name)
	for _, t := range topics {
		if t.Name == name || len(topics) == 1 {
			return topicText(t)
		}
	}
	if group != nil && group.Intro != "" {
		return fence(name) + "\n\n" + group.Intro
	}
	return ""
}

func topicText(t doc.Topic) string {
	head := t.Name
	if t.Signature != "" {
		head = t.Signature
	}
	return fence(head) + "\n\n" + t.Doc
}

// hoverWord returns the hover of a keyword.
func (f *checkedFile) hoverWord(pos source.Pos) *Hover {
	t, ok := tokenAt(f.text.file, pos)
	if !ok {
		return nil
	}
	word := f.text.file.Slice(t)
	topics, _ := doc.Find(word)
	for _, x := range topics {
		if x.Name == word {
			return &Hover{t, topicText(x)}
		}
	}
	return nil
}

// tokenAt returns the span of the word at a position of a program.
func tokenAt(file *source.File, pos source.Pos) (source.Span, bool) {
	toks, _, _ := lexer.Lex(file)
	for _, t := range toks {
		if t.Start <= pos && pos <= t.End && t.End > t.Start && isLetter(file.Text[t.Start]) {
			return t.Span(), true
		}
	}
	return source.Span{}, false
}

func isLetter(b byte) bool { return b == '_' || b|0x20 >= 'a' && b|0x20 <= 'z' || b >= 0x80 }

// hoverHandler returns the hover of a handler's message type. It lists the fields of the message
// and explains the effect of the reply.
func (f *checkedFile) hoverHandler(nodes []ast.Node, pos source.Pos) *Hover {
	for _, n := range nodes {
		h, ok := n.(*ast.Handler)
		if !ok || h.Type == nil || pos < h.Type.Sp.Start || pos > h.Type.Sp.End {
			continue
		}
		m := hostmsg.Lookup(h.Type.Value)
		if !m.IsKnown() {
			return &Hover{h.Type.Sp, fence(`"`+h.Type.Value+`"`) + "\n\nA custom message of the host. The handler's parameter contains its members."}
		}
		text := fence(`"`+m.Type+`"`+payloadText(m)) + "\n\n" + m.Doc
		if m.Waits() {
			text += "\n\nThe host waits for the handler's result, which is the answer."
		}
		return &Hover{h.Type.Sp, text}
	}
	return nil
}

func payloadText(m *hostmsg.Message) string {
	if m.Schema != "" {
		return " => |m: " + m.Schema + "|"
	}
	if len(m.Members) > 0 {
		return " => |m| // " + strings.Join(m.Members, ", ")
	}
	return ""
}
