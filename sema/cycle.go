package sema

import (
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// reference is the first position at which one file uses a declaration of another file.
type reference struct {
	from *module
	at   source.Span
}

// fileUses records which files of the program use which other files. first contains the first
// position for each pair of files.
type fileUses struct {
	first     map[*Info]map[*Info]reference
	handingOn bool // a `pub use` is being resolved
}

// noteReference records that the file of m uses a declaration in the file of in. Files must not
// depend on each other in a cycle, so that a file can be initialised before the files that use it.
func (c *checker) noteReference(m, in *module, at source.Span) {
	if m.info == in.info || m.info.Library || in.info.Library {
		return
	}
	c.bodies.noteFileUse(m, in, at)
	c.uses.note(m, in.info, at)
}

// note records that the file of m uses the file in.
func (u *fileUses) note(m *module, in *Info, at source.Span) {
	uses := u.first[m.info]
	if uses == nil {
		uses = map[*Info]reference{}
		u.first[m.info] = uses
	}
	if _, ok := uses[in]; !ok {
		uses[in] = reference{m, at}
	}
}

// noteUse records that the file of m uses the file that declares e. The file does not depend on
// modules that only re-export e. A `pub use` does not depend on the declarations that it
// re-exports.
func (c *checker) noteUse(m *module, e *entity, at source.Span) {
	if e != nil && e.module == nil && e.mod != nil && !c.uses.handingOn {
		c.noteReference(m, e.mod, at)
	}
}

// fileCycles reports each cycle of dependencies between files once.
func (c *checker) fileCycles() {
	state := map[*Info]uint8{}
	var stack []*Info
	var visit func(i *Info)
	visit = func(i *Info) {
		state[i] = 1
		stack = append(stack, i)
		uses := c.uses.first[i]
		used := slices.SortedFunc(maps.Keys(uses), func(x, y *Info) int { return c.bodies.number[x] - c.bodies.number[y] })
		for _, next := range used {
			switch state[next] {
			case 0:
				visit(next)
			case 1:
				c.reportCycle(stack[slices.Index(stack, next):], uses[next])
			}
		}
		stack = stack[:len(stack)-1]
		state[i] = 2
	}
	for _, i := range c.prog.Files {
		if state[i] == 0 && !i.Library {
			visit(i)
		}
	}
}

func (c *checker) reportCycle(files []*Info, last reference) {
	var names []string
	for _, i := range files {
		names = append(names, i.File.Source.Name)
	}
	names = append(names, files[0].File.Source.Name)
	c.report(last.from, diag.FileCycle.At(last.at, "cyclic dependency between files: %s", strings.Join(names, " → ")).
		Hint("move the shared declarations into another file"))
}

// reportEndless reports types that have no finite value, because each value contains another value
// of the type: `struct P { p: P }`. A struct is finite if all its fields are; an enum is finite if
// all fields of one variant are. The loop marks types as finite until nothing changes. It visits
// the types of fields first, so that a chain of types takes one iteration.
func (c *checker) reportEndless() {
	finite := map[*types.Decl]bool{}
	for changed := true; changed; {
		changed = false
		asked := map[*types.Decl]bool{}
		var ask func(d *types.Decl) bool
		ask = func(d *types.Decl) bool {
			if !finite[d] && !asked[d] {
				asked[d] = true
				if finiteDecl(d, ask) {
					finite[d], changed = true, true
				}
			}
			return finite[d]
		}
		for _, d := range c.decls {
			ask(d)
		}
	}
	structs := map[*module]map[*ast.DeclHead]*ast.StructDecl{}
	for _, d := range c.decls {
		if !finite[d] {
			o := originOf(d)
			if structs[o.mod] == nil {
				structs[o.mod] = o.mod.structs()
			}
			c.report(o.mod, diag.EndlessType.At(o.head.Name.Sp, "recursive type `%s` has infinite size", d.Name).
				WithFixes(c.optionalFieldFix(o.mod, structs[o.mod][o.head])...).Hint("end the recursion with `Option<%s>`, `Array<%s>` or a variant without a value of the type", d.Name, d.Name))
		}
	}
}

func finiteDecl(d *types.Decl, finite func(*types.Decl) bool) bool {
	if d.Kind != types.Enum {
		return finiteFields(d.Fields, finite)
	}
	for _, v := range d.Variants {
		if finiteFields(v.Fields, finite) {
			return true
		}
	}
	return len(d.Variants) == 0 // an enum without variants is reported elsewhere
}

func finiteFields(fields []*types.Field, finite func(*types.Decl) bool) bool {
	for _, f := range fields {
		if !finiteType(f.Type, finite) {
			return false
		}
	}
	return true
}

func finiteType(t types.Type, finite func(*types.Decl) bool) bool {
	switch x := types.Resolve(t).(type) {
	case *types.Named:
		return x.Decl.Library || finite(x.Decl)
	case *types.Tuple:
		for _, e := range x.Elems {
			if !finiteType(e, finite) {
				return false
			}
		}
	}
	return true
}
