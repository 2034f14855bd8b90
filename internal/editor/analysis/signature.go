package analysis

import (
	"context"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// Signature is the signature of the call at a position, with the parameter that is being written.
type Signature struct {
	Label  string        // signature as text, as in `area(width: Int, height: Int = 1) -> Int`
	Params []source.Span // ranges of the parameters in Label
	Active int           // index of the parameter at the position, or -1 if there is none
	Doc    string        // documentation as Markdown
}

// callee describes the parameters of a called function, type or decorator.
type callee struct {
	name, result, doc string
	params            []parameter
	given             map[string]bool // parameters that have an argument
	active            int
}

type parameter struct {
	name, typ, text string
	t               types.Type
}

// Signature returns the signature of the call around a position, or nil if there is no call.
func (s *Snapshot) Signature(ctx context.Context, path string, pos source.Pos) *Signature {
	f := s.checkFile(ctx, path)
	if f == nil {
		return nil
	}
	c := f.callAt(pos)
	if c == nil {
		return nil
	}
	out := &Signature{Active: c.active, Doc: c.doc, Params: []source.Span{}}
	var b strings.Builder
	b.WriteString(c.name + "(")
	for i, p := range c.params {
		if i > 0 {
			b.WriteString(", ")
		}
		start := source.Pos(b.Len())
		b.WriteString(p.text)
		out.Params = append(out.Params, source.Span{Start: start, End: source.Pos(b.Len())})
	}
	b.WriteString(")")
	if c.result != "" {
		b.WriteString(" -> " + c.result)
	}
	out.Label = b.String()
	return out
}

// callAt returns the callee of the innermost call whose parentheses contain pos.
func (f *checkedFile) callAt(pos source.Pos) *callee {
	open, commas, name := f.openCall(clamp(f.text.file, pos))
	if open < 0 || f.info == nil {
		return nil
	}
	var c *callee
	var args []*ast.Arg
	for _, n := range nodesAt(f.tree, open) {
		switch n := n.(type) {
		case *ast.Decorator:
			if n.Name != nil && n.Name.Sp.End <= open {
				c, args = f.decoratorCallee(n.Name.Name), n.Args
			}
		case *ast.Call:
			if n.Fn != nil && n.Fn.Span().End <= open {
				if x := f.calleeOf(n); x != nil {
					c, args = x, n.Args
				}
			}
		case *ast.MethodCall:
			if n.Name != nil && n.Name.Sp.End <= open {
				if x := f.methodCallee(n); x != nil {
					c, args = x, n.Args
				}
			}
		}
	}
	if c == nil {
		return nil
	}
	c.given = map[string]bool{}
	for i, a := range args {
		switch {
		case a.Name != nil && (pos < a.Name.Sp.Start || pos > a.Name.Sp.End):
			c.given[a.Name.Name] = true
		case a.Name == nil && i < min(commas, len(c.params)):
			c.given[c.params[i].name] = true
		}
	}
	c.active = commas
	for i, p := range c.params {
		if p.name == name && name != "" {
			c.active = i
		}
	}
	if c.active >= len(c.params) {
		c.active = -1
	}
	return c
}

// openCall returns the innermost parenthesis that is open at a position, the number of commas after
// it, and the name of the argument at the position, or "".
func (f *checkedFile) openCall(pos source.Pos) (open source.Pos, commas int, name string) {
	toks, _, _ := lexer.Lex(f.text.file)
	n := 0
	for n < len(toks) && toks[n].End <= pos && toks[n].Kind != lexer.EOF {
		n++
	}
	depth := 0
	for i := n - 1; i >= 0; i-- {
		switch toks[i].Kind {
		case lexer.RParen, lexer.RBracket, lexer.RBrace:
			depth++
		case lexer.LBracket, lexer.LBrace:
			if depth--; depth < 0 { // the position is in a list or a block, not in a call
				return -1, 0, ""
			}
		case lexer.LParen:
			if depth--; depth < 0 {
				return toks[i].Start, commas, name
			}
		case lexer.Comma:
			if depth == 0 {
				commas++
			}
		case lexer.Colon:
			if depth == 0 && commas == 0 && i > 0 && toks[i-1].Kind == lexer.Ident {
				name = f.text.file.Slice(toks[i-1].Span())
			}
		}
	}
	return -1, 0, ""
}

// calleeOf returns the callee of a call.
func (f *checkedFile) calleeOf(n *ast.Call) *callee {
	if d := f.info.Call(n); d != nil && d.Fn != nil {
		return f.functionCallee(d.Fn, false)
	}
	if p, ok := n.Fn.(*ast.PathExpr); ok && len(p.Segments) > 0 {
		last := p.Segments[len(p.Segments)-1]
		for _, r := range f.refsAt(last.Sp.Start) {
			switch o := r.Def.Object.(type) {
			case *sema.Function:
				return f.functionCallee(o, false)
			case *sema.VariantRef:
				return variantCallee(last.Name, o)
			}
		}
	}
	if t, ok := types.Resolve(f.info.TypeOf(n.Fn)).(*types.Func); ok {
		c := &callee{name: f.text.file.Slice(n.Fn.Span()), result: resultText(t.Result)}
		for _, p := range t.Params {
			c.params = append(c.params, parameter{typ: typeText(p), text: typeText(p), t: knownType(p)})
		}
		return c
	}
	return nil
}

func variantCallee(name string, v *sema.VariantRef) *callee {
	if v.Variant == nil {
		return nil
	}
	c := &callee{name: name, result: typeText(v.Type)}
	for _, x := range v.Variant.Fields {
		c.params = append(c.params, parameter{typ: typeText(x.Type), text: typeText(x.Type), t: knownType(x.Type)})
	}
	return c
}

func (f *checkedFile) methodCallee(n *ast.MethodCall) *callee {
	if d := f.info.Call(n); d != nil && d.Fn != nil {
		return f.functionCallee(d.Fn, true)
	}
	for _, r := range f.refsAt(n.Name.Sp.Start) {
		if fn, ok := r.Def.Object.(*sema.Function); ok {
			return f.functionCallee(fn, true)
		}
	}
	return nil
}

// decoratorCallee returns the parameters of a decorator, or nil if the library does not describe
// it.
func (f *checkedFile) decoratorCallee(name string) *callee {
	f.res.mu.Lock()
	defer f.res.mu.Unlock()
	params := f.res.prog.DecoratorParams(f.info, name)
	if params == nil {
		return nil
	}
	c := &callee{name: "@" + name, doc: topic("@" + name)}
	for _, p := range params {
		x := parameter{name: p.Name, typ: typeText(p.Type), t: knownType(p.Type)}
		x.text = x.name + ": " + x.typ
		c.params = append(c.params, x)
	}
	return c
}

// functionCallee returns the parameters of a function. For a method, the label contains the
// receiver's type before the name.
func (f *checkedFile) functionCallee(fn *sema.Function, method bool) *callee {
	if fn.Decl == nil || fn.Decl.Name == nil {
		return nil
	}
	c := &callee{name: fn.Decl.Name.Name, result: resultText(fn.Result), doc: strings.TrimSpace(fn.Decl.Doc)}
	params := map[string]*sema.Param{}
	for _, p := range fn.Params {
		params[p.Name] = p
	}
	for _, p := range fn.Decl.Params {
		if p.IsSelf && method || p.Name == nil {
			continue
		}
		x := parameter{name: p.Name.Name}
		if of := params[p.Name.Name]; of != nil {
			x.typ, x.t = typeText(of.Type), knownType(of.Type)
		}
		x.text = x.name + ": " + x.typ
		if p.Default != nil {
			x.text += " = " + oneLine(fn.Info.File.Source.Slice(p.Default.Span()))
		}
		c.params = append(c.params, x)
	}
	return c
}

func resultText(t types.Type) string {
	if t == nil || types.Resolve(t) == types.Nil {
		return ""
	}
	return typeText(t)
}
