package analysis

import (
	"context"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// textRef is a string in a program that names something: a model alias, a message type or a
// function of a tool.
type textRef struct {
	at Location // location of the string's content, without the quotes
	to Location // location of the declaration
}

// texts returns the strings of a file that name something.
func (r *result) texts(i *sema.Info) []textRef {
	t := textRefs{res: r, file: i.File.Source}
	if r.input != nil {
		t.manifest = r.input.Manifest
	}
	for _, l := range r.listens(i) {
		for _, h := range l.expr.Handlers {
			t.addMessage(h.Type, l.host.Connector)
		}
	}
	ast.InspectFile(i.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AgentDecl:
			t.addAgent(n)
		case *ast.StringLit:
			t.addTool(n)
		}
		return true
	})
	return t.list
}

// textRefs collects the strings of a file that name something.
type textRefs struct {
	res      *result
	file     *source.File
	manifest *manifest.Manifest // nil if the program has no manifest
	list     []textRef
}

func (t *textRefs) add(lit *ast.StringLit, to Location) {
	if lit.Sp.End-lit.Sp.Start >= 2 {
		t.list = append(t.list, textRef{Location{t.file, source.Span{Start: lit.Sp.Start + 1, End: lit.Sp.End - 1}}, to})
	}
}

// addAgent adds the model of an agent if it is an alias.
func (t *textRefs) addAgent(n *ast.AgentDecl) {
	if t.manifest == nil {
		return
	}
	name := connectionName(t.file, n)
	for _, f := range n.Fields {
		lit, ok := f.Value.(*ast.StringLit)
		if !ok || f.Name == nil || f.Name.Name != "model" {
			continue
		}
		if x := t.manifest.Connection(name); x != nil && x.Models[lit.Value] != "" {
			t.add(lit, aliasLocation(t.manifest.File, x, lit.Value))
		}
	}
}

// connectionName returns the name of an agent's connection.
func connectionName(f *source.File, n *ast.AgentDecl) (name string) {
	if n.Uses != nil {
		name = n.Uses.Name
	}
	for _, x := range n.Fields {
		if x.Name != nil && x.Name.Name == "provider" && x.Value != nil {
			name = f.Slice(x.Value.Span())
		}
	}
	return name
}

// aliasLocation returns the location of an alias in a connection: its key in the section of models,
// or else the whole `models` value.
func aliasLocation(f *source.File, x *manifest.Connection, alias string) Location {
	for n := 1; n <= f.Lines(); n++ {
		key, _, isKey := strings.Cut(string(f.Line(n)), "=")
		if name := strings.TrimSpace(key); isKey && strings.Trim(name, `"'`) == alias && sectionOf(f, n) == "connections."+x.Name+".models" {
			start := f.LineStart(n) + source.Pos(strings.Index(key, name))
			return Location{f, source.Span{Start: start, End: start + source.Pos(len(name))}}
		}
	}
	at := x.At["models"].Value
	if i := strings.Index(f.Slice(at), alias); i >= 0 {
		at = source.Span{Start: at.Start + source.Pos(i), End: at.Start + source.Pos(i+len(alias))}
	}
	return Location{f, at}
}

// addMessage adds the message type of a handler if the host's section of the manifest lists it.
func (t *textRefs) addMessage(lit *ast.StringLit, connector string) {
	if lit == nil || t.manifest == nil {
		return
	}
	for _, h := range t.manifest.Hosts {
		if h.Name != connector {
			continue
		}
		at := h.At["message_types"].Value
		if i := strings.Index(t.manifest.File.Slice(at), `"`+lit.Value+`"`); i >= 0 {
			start := at.Start + source.Pos(i) + 1
			t.add(lit, Location{t.manifest.File, source.Span{Start: start, End: start + source.Pos(len(lit.Value))}})
		}
	}
}

// addTool adds a string that contains the name by which models call a tool's function.
func (t *textRefs) addTool(lit *ast.StringLit) {
	if to, ok := t.res.toolFunctions()[lit.Value]; ok {
		t.add(lit, to)
	}
}

// toolFunctions returns the functions of the program's tools. The keys are the names that models
// use.
func (r *result) toolFunctions() map[string]Location {
	r.toolsOnce.Do(func() {
		r.tools = map[string]Location{}
		for _, i := range r.own {
			ast.InspectFile(i.File, func(n ast.Node) bool {
				x, ok := n.(*ast.ToolDecl)
				if ok && x.Name != nil {
					for _, m := range x.Methods {
						if m.Name != nil {
							r.tools[x.Name.Name+"_"+m.Name.Name] = Location{i.File.Source, m.Name.Sp}
						}
					}
				}
				_, isModule := n.(*ast.ModDecl)
				return isModule
			})
		}
	})
	return r.tools
}

// isToolFunction reports whether a declaration is a function of one of the program's tools.
func isToolFunction(d *sema.Def) bool {
	fn, ok := d.Object.(*sema.Function)
	return ok && fn.Tool != nil && !d.Info.Library
}

// textAt returns the string at a position if it names something, or nil.
func (f *checkedFile) textAt(pos source.Pos) *textRef {
	if f.info == nil {
		return nil
	}
	for _, t := range f.res.texts(f.info) {
		if t.at.Span.Start <= pos && pos <= t.at.Span.End {
			return &t
		}
	}
	return nil
}

// textReferences returns the strings in all programs that refer to a location.
func (s *Snapshot) textReferences(ctx context.Context, to Location) (out []Location) {
	path := pathOfName(to.File.Name)
	for _, r := range s.roots() {
		if !r.files[path] && r.manifest != path {
			continue
		}
		res, err := s.check(ctx, r)
		if err != nil {
			return nil
		}
		for _, i := range res.own {
			for _, t := range res.texts(i) {
				if t.to.File.Name == to.File.Name && t.to.Span == to.Span {
					out = append(out, t.at)
				}
			}
		}
	}
	return out
}

// manifestNameReferences returns the strings of programs that refer to the manifest name at a
// position, or nil if there are none. With decl it includes the name itself.
func (s *Snapshot) manifestNameReferences(ctx context.Context, path string, pos source.Pos, decl bool) []Location {
	real := s.realPath(path)
	for _, r := range s.roots() {
		if r.manifest != real {
			continue
		}
		res, err := s.check(ctx, r)
		if err != nil {
			return nil
		}
		for _, i := range res.own {
			for _, t := range res.texts(i) {
				if pathOfName(t.to.File.Name) == real && t.to.Span.Start <= pos && pos <= t.to.Span.End {
					out := s.textReferences(ctx, t.to)
					if decl {
						out = append(out, t.to)
					}
					return sortDistinct(out)
				}
			}
		}
	}
	return nil
}
