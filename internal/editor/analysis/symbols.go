package analysis

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// SymbolKind is the kind of a symbol.
type SymbolKind uint8

// The values of SymbolKind.
const (
	FunctionSymbol SymbolKind = iota
	MethodSymbol
	TestSymbol
	StructSymbol
	SchemaSymbol
	EnumSymbol
	TraitSymbol
	AliasSymbol
	ImplSymbol
	FieldSymbol
	VariantSymbol
	ConstSymbol
	ModuleSymbol
	AgentSymbol
	HostSymbol
	ToolSymbol
	StoreSymbol
	PipelineSymbol
	StageSymbol
	HandlerSymbol
)

// Symbol is a declaration of a document with its nested declarations.
type Symbol struct {
	Name     string
	Detail   string // signature, or type as written
	Kind     SymbolKind
	File     *source.File
	Span     source.Span // span of the whole declaration
	NameSpan source.Span
	Children []Symbol
	// Container is the name of the enclosing declaration, or ""; for a test it is "test". It is
	// only set by WorkspaceSymbols.
	Container string
}

// Symbols returns the declarations of a document, in the order of the text.
func (s *Snapshot) Symbols(path string) []Symbol {
	tree := s.tree(path)
	if tree == nil {
		return []Symbol{}
	}
	o := outline{tree.Source}
	return o.decls(tree.Decls)
}

// WorkspaceSymbols returns the declarations of all documents whose names contain the letters of a
// query in order, or all declarations for "". Names that begin with the query come first.
func (s *Snapshot) WorkspaceSymbols(query string) []Symbol {
	out := []Symbol{}
	for _, p := range s.Files() {
		if isManifest(p) {
			continue
		}
		var add func(all []Symbol, in string)
		add = func(all []Symbol, in string) {
			for _, y := range all {
				if y.Container = in; y.Kind == TestSymbol {
					y.Container = "test"
				}
				inner := y.Children
				y.Children = nil
				if rank(y.Name, query) < noMatch {
					out = append(out, y)
				}
				add(inner, y.Name)
			}
		}
		add(s.Symbols(p), "")
	}
	slices.SortStableFunc(out, func(a, b Symbol) int { return rank(a.Name, query) - rank(b.Name, query) })
	return out
}

const noMatch = 4

// rank returns how well a name matches a query. A lower rank is a better match.
func rank(name, query string) int {
	n, q := strings.ToLower(name), strings.ToLower(query)
	switch {
	case strings.HasPrefix(name, query):
		return 0
	case strings.HasPrefix(n, q):
		return 1
	case strings.Contains(n, q):
		return 2
	}
	for _, r := range q {
		i := strings.IndexRune(n, r)
		if i < 0 {
			return noMatch
		}
		n = n[i+len(string(r)):]
	}
	return 3
}

// outline creates the symbols of a file.
type outline struct{ file *source.File }

func (o outline) decls(decls []ast.Decl) []Symbol {
	out := []Symbol{}
	for _, d := range decls {
		if y, ok := o.decl(d); ok {
			out = append(out, y)
		}
	}
	return out
}

func (o outline) symbol(n ast.Node, name *ast.Ident, k SymbolKind) Symbol {
	return Symbol{Name: name.Name, Kind: k, File: o.file, Span: n.Span(), NameSpan: name.Sp, Children: []Symbol{}}
}

func (o outline) decl(d ast.Decl) (Symbol, bool) {
	if im, ok := d.(*ast.ImplDecl); ok {
		return o.impl(im)
	}
	h := d.Head()
	if h.Name == nil || h.Name.Missing() {
		return Symbol{}, false
	}
	y := o.symbol(d, h.Name, 0)
	switch d := d.(type) {
	case *ast.FnDecl:
		return o.function(d, FunctionSymbol), true
	case *ast.StructDecl:
		y.Kind, y.Children = StructSymbol, o.fields(d.Fields)
	case *ast.SchemaDecl:
		y.Kind, y.Children = SchemaSymbol, o.fields(d.Fields)
	case *ast.EnumDecl:
		y.Kind, y.Children = EnumSymbol, o.variants(d.Variants)
	case *ast.TraitDecl:
		y.Kind, y.Children = TraitSymbol, o.methods(d.Methods)
	case *ast.TypeDecl:
		y.Kind, y.Detail = AliasSymbol, o.text(d.Type)
	case *ast.ConstDecl:
		y.Kind, y.Detail = ConstSymbol, o.text(d.Type)
	case *ast.ModDecl:
		y.Kind, y.Children = ModuleSymbol, o.decls(d.Decls)
	case *ast.AgentDecl:
		y.Kind = AgentSymbol
	case *ast.HostDecl:
		y.Kind = HostSymbol
	case *ast.ToolDecl:
		y.Kind, y.Children = ToolSymbol, append(o.fields(d.Fields), o.methods(d.Methods)...)
	case *ast.McpDecl:
		y.Kind, y.Children = ToolSymbol, o.methods(d.Methods)
	case *ast.StoreDecl:
		y.Kind, y.Detail = StoreSymbol, o.text(d.Type)
	case *ast.PipelineDecl:
		y.Kind = PipelineSymbol
		for _, st := range d.Stages {
			if st.Name == nil || st.Name.Missing() {
				continue
			}
			z := o.symbol(st, st.Name, StageSymbol)
			z.Children = o.handlers(st)
			y.Children = append(y.Children, z)
		}
	default:
		return Symbol{}, false
	}
	return y, true
}

// text returns the source text of a type.
func (o outline) text(t ast.Type) string {
	if t == nil {
		return ""
	}
	return o.file.Slice(t.Span())
}

func (o outline) impl(d *ast.ImplDecl) (Symbol, bool) {
	if d.Target == nil || o.text(d.Target) == "" {
		return Symbol{}, false
	}
	name := "impl " + o.text(d.Target)
	if d.Trait != nil {
		name = "impl " + o.text(d.Trait) + " for " + o.text(d.Target)
	}
	return Symbol{Name: name, Kind: ImplSymbol, File: o.file, Span: d.Sp, NameSpan: d.Target.Span(), Children: o.methods(d.Methods)}, true
}

func (o outline) fields(fields []*ast.FieldDecl) []Symbol {
	out := []Symbol{}
	for _, f := range fields {
		if f.Name == nil || f.Name.Missing() {
			continue
		}
		y := o.symbol(f, f.Name, FieldSymbol)
		y.Detail = o.text(f.Type)
		out = append(out, y)
	}
	return out
}

func (o outline) variants(vs []*ast.Variant) []Symbol {
	out := []Symbol{}
	for _, v := range vs {
		if v.Name != nil && !v.Name.Missing() {
			out = append(out, o.symbol(v, v.Name, VariantSymbol))
		}
	}
	return out
}

func (o outline) methods(ms []*ast.FnDecl) []Symbol {
	out := []Symbol{}
	for _, m := range ms {
		if m.Name != nil && !m.Name.Missing() {
			out = append(out, o.function(m, MethodSymbol))
		}
	}
	return out
}

func (o outline) function(d *ast.FnDecl, k SymbolKind) Symbol {
	if isTest(d) {
		k = TestSymbol
	}
	y := o.symbol(d, d.Name, k)
	y.Detail = signature(o.file, d)
	y.Children = o.handlers(d)
	return y
}

// signature returns the declaration of a function after its name, on one line.
func signature(f *source.File, d *ast.FnDecl) string {
	if d.Signature.End < d.Name.Sp.End {
		return ""
	}
	return strings.Join(strings.Fields(f.Slice(source.Span{Start: d.Name.Sp.End, End: d.Signature.End})), " ")
}

// handlers returns the handlers of all `listen`s in a node.
func (o outline) handlers(n ast.Node) []Symbol {
	out := []Symbol{}
	ast.Inspect(n, func(n ast.Node) bool {
		if h, ok := n.(*ast.Handler); ok && h.Type != nil && h.Type.Value != "" {
			out = append(out, Symbol{Name: `"` + h.Type.Value + `"`, Kind: HandlerSymbol, File: o.file, Span: h.Sp, NameSpan: h.Type.Sp, Children: []Symbol{}})
		}
		return true
	})
	return out
}
