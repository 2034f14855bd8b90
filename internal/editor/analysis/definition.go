package analysis

import (
	"context"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// Definition returns the declaration of the name at a position. The declaration is in a program, in
// the manifest or in a text of the library. A library text has no path (see PathOf).
func (s *Snapshot) Definition(ctx context.Context, path string, pos source.Pos) []Location {
	f := s.checkFile(ctx, path)
	if f == nil {
		return s.manifestReferences(ctx, path, pos, false)
	}
	out := []Location{}
	for _, r := range f.refsAt(pos) {
		if l, ok := f.res.locate(r.Def); ok && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	if t := f.textAt(pos); t != nil && len(out) == 0 {
		return []Location{t.to}
	}
	return out
}

// TypeDefinition returns the declaration of the type of the expression at a position.
func (s *Snapshot) TypeDefinition(ctx context.Context, path string, pos source.Pos) []Location {
	out := []Location{}
	f := s.checkFile(ctx, path)
	if f == nil || f.info == nil {
		return out
	}
	for _, r := range f.refsAt(pos) {
		t := r.Def.Type
		if fn, ok := r.Def.Object.(*sema.Function); ok {
			t = fn.Result
		}
		for _, d := range f.res.typeDefs(t) {
			if l, ok := f.res.locate(d); ok && !slices.Contains(out, l) {
				out = append(out, l)
			}
		}
	}
	return out
}

// typeDefs returns the declarations of a type, or of the types that it is composed of.
func (r *result) typeDefs(t types.Type) []*sema.Def {
	if t == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.prog.TypeDefs(t)
}

// locate returns the location of a declaration's name.
func (r *result) locate(d *sema.Def) (Location, bool) {
	switch d.Kind {
	case sema.DefConnection, sema.DefConnector:
		return r.manifestLocation(d)
	}
	if d.Info == nil {
		return Location{}, false
	}
	if d.Info.Library {
		return libraryLocation(d)
	}
	return Location{d.Info.File.Source, d.At}, true
}

// manifestLocation returns the location of a connection's or connector's section in the manifest.
func (r *result) manifestLocation(d *sema.Def) (Location, bool) {
	if r.input == nil || r.input.Manifest == nil {
		return Location{}, false
	}
	m := r.input.Manifest
	for _, x := range sections(m) {
		if x.kind == d.Kind && x.name == d.Name {
			return Location{m.File, x.at}, true
		}
	}
	return Location{}, false
}

// section is a section of a manifest whose name programs can use.
type section struct {
	kind sema.DefKind
	name string
	at   source.Span // span of the name in the section's header
}

func sections(m *manifest.Manifest) []section {
	var all []section
	for _, c := range m.Connections {
		all = append(all, section{sema.DefConnection, c.Name, c.At[""].Key})
	}
	for _, h := range m.Hosts {
		all = append(all, section{sema.DefConnector, h.Name, h.At[""].Key})
	}
	return all
}

// libraryLocation returns the location of a declaration in its library file.
func libraryLocation(d *sema.Def) (Location, bool) {
	text, ok := stdlib.Text(d.Info.File.Source.Name)
	if !ok || d.File != nil || d.Node == nil {
		return Location{text, source.Span{}}, ok
	}
	return Location{text, source.Span{Start: d.At.Start, End: d.At.Start + source.Pos(len(d.Name))}}, true
}

// manifestReferences returns the references of all programs to the manifest section at a position.
// If decl is set, it returns only the references in host declarations.
func (s *Snapshot) manifestReferences(ctx context.Context, path string, pos source.Pos, decl bool) []Location {
	out := []Location{}
	m, at := s.sectionAt(path, pos)
	if m == nil {
		return append(out, s.manifestNameReferences(ctx, path, pos, decl)...)
	}
	if decl {
		out = append(out, Location{m.File, at.at})
	}
	for _, r := range s.roots() {
		if r.manifest == s.realPath(path) {
			out = append(out, s.findUses(ctx, r, map[identity]bool{{name: at.name, kind: at.kind}: true}, &spelling{names: []string{at.name}}, true)...)
		}
	}
	return sortDistinct(out)
}

// sectionNameAt returns the section whose name is at a position of the manifest, or nil.
func (s *Snapshot) sectionNameAt(path string, pos source.Pos) (*manifest.Manifest, section) {
	m, x := s.sectionAt(path, pos)
	if m == nil || pos < x.at.Start || pos > x.at.End {
		return nil, section{}
	}
	return m, x
}

// sectionAt returns the section whose header contains a position.
func (s *Snapshot) sectionAt(path string, pos source.Pos) (*manifest.Manifest, section) {
	t, err := s.text(s.realPath(path))
	if err != nil || !isManifest(path) {
		return nil, section{}
	}
	m, _ := manifest.Parse(t.file)
	for _, x := range sections(m) {
		if f := t.file; f.LineOf(x.at.Start) == f.LineOf(clamp(f, pos)) && strings.HasPrefix(strings.TrimSpace(string(f.Line(f.LineOf(x.at.Start)))), "[") {
			return m, x
		}
	}
	return nil, section{}
}
