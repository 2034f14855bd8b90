package analysis

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// spelling is the set of texts by which declarations can be referenced. The search for references
// skips files that contain none of the texts.
type spelling struct {
	names []string
	all   bool // references may be spelled in other ways, such as `super`
}

// ownsSelf lists the kinds of declarations that `Self` can refer to.
var ownsSelf = map[sema.DefKind]bool{sema.DefStruct: true, sema.DefSchema: true, sema.DefEnum: true, sema.DefTrait: true, sema.DefAlias: true,
	sema.DefAgent: true, sema.DefHost: true, sema.DefTool: true, sema.DefPipeline: true}

// mayAppearIn reports whether a text may refer to the declarations. A derived name such as
// `Tool_function` contains the name itself.
func (p *spelling) mayAppearIn(text []byte) bool {
	return p.all || slices.ContainsFunc(p.names, func(n string) bool { return bytes.Contains(text, []byte(n)) })
}

// spellingOf returns how the declarations are spelled in some roots, including the aliases of
// imports.
func (s *Snapshot) spellingOf(ctx context.Context, roots []*root, refs []sema.Ref) *spelling {
	p := &spelling{}
	for _, r := range refs {
		p.all = p.all || r.Def.Kind == sema.DefModule
		p.names = append(p.names, r.Def.Name)
		if ownsSelf[r.Def.Kind] {
			p.names = append(p.names, "Self")
		}
	}
	var own []*sema.Info
	for _, r := range roots {
		if res, err := s.check(ctx, r); err == nil {
			own = append(own, res.own...)
		}
	}
	for changed := !p.all; changed; {
		changed = false
		for _, i := range own {
			if text := i.File.Source.Text; !p.mayAppearIn(text) || !bytes.Contains(text, []byte("as")) {
				continue
			}
			eachAlias(i.File, func(name, alias string) {
				if slices.Contains(p.names, name) && !slices.Contains(p.names, alias) {
					p.names, changed = append(p.names, alias), true
				}
			})
		}
	}
	return p
}

// eachAlias calls visit for each alias that a file's imports declare.
func eachAlias(f *ast.File, visit func(name, alias string)) {
	var tree func(t *ast.UseTree, last string)
	tree = func(t *ast.UseTree, last string) {
		for _, id := range t.Path {
			if id.Name != "self" {
				last = id.Name
			}
		}
		if t.Alias != nil {
			visit(last, t.Alias.Name)
		}
		for _, sub := range t.List {
			tree(sub, last)
		}
	}
	ast.InspectFile(f, func(n ast.Node) bool {
		if d, ok := n.(*ast.UseDecl); ok && d.Tree != nil {
			tree(d.Tree, "")
		}
		return true
	})
}

// byNameAlone lists the kinds of declarations whose names have no meaning beyond identifying the
// declaration.
var byNameAlone = map[sema.DefKind]bool{sema.DefFunction: true, sema.DefStruct: true, sema.DefEnum: true, sema.DefAlias: true,
	sema.DefTrait: true, sema.DefConst: true, sema.DefVariable: true}

// isFresh reports whether a new name occurs in no program and not in the library, and begins like
// the old name. A rename to a fresh name cannot change the meaning of a program.
func (s *Snapshot) isFresh(r *renameTarget, name string) bool {
	if name == "main" || r.alias || r.ref.Short || !byNameAlone[r.ref.Def.Kind] || outsideUse(r.ref.Def) != "" || formOf(name) != formOf(r.text) {
		return false
	}
	for _, p := range s.Files() {
		if f := s.File(p); f != nil && bytes.Contains(f.Text, []byte(name)) {
			return false
		}
	}
	return !isLibraryName(r.file, name)
}

// formOf returns the prefix of a name that determines how the parser and checker treat the name.
func formOf(name string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(name, "_"))
	form := name[:min(2, len(name)-len(strings.TrimLeft(name, "_")))]
	if unicode.IsUpper(first) {
		form += "A"
	}
	return form
}

// isLibraryName reports whether the library declares a name.
func isLibraryName(f *checkedFile, name string) bool {
	f.res.mu.Lock()
	prelude := f.res.prog.Prelude(f.info)
	f.res.mu.Unlock()
	if slices.ContainsFunc(prelude, func(n sema.Named) bool { return n.Name == name }) {
		return true
	}
	lib := stdlib.Library()
	return slices.ContainsFunc(lib.Modules(), func(module string) bool {
		return module == name || slices.ContainsFunc(lib.Module(module).Decls, func(d ast.Decl) bool {
			return d.Head().Name != nil && d.Head().Name.Name == name
		})
	})
}
