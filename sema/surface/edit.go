package surface

import (
	"bytes"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
)

// Edit describes the changes of an edit that other files can observe through surfaces.
type Edit struct {
	files   map[*ast.File]bool // new versions of the files that changed
	imports map[int]bool       // indices of the files whose imports changed
	// names contains the names whose meaning may have changed. These are the names that were
	// declared, changed or removed, and the names of all declarations whose surface contains one of
	// these names. Each part of an expression starts with a name, so an affected file contains at
	// least one of the names.
	names map[string]bool
}

// Compare compares the files of two checks. It returns nil if names cannot describe the affected
// files. This is the case if files were added or removed, if a file has syntax errors, or if
// modules or glob re-exports have changed.
func Compare(before, now []*ast.File) *Edit {
	if len(before) != len(now) {
		return nil
	}
	e := &Edit{files: map[*ast.File]bool{}, imports: map[int]bool{}, names: map[string]bool{}}
	for n, f := range now {
		old := before[n]
		if old == f {
			continue
		}
		e.files[f] = true
		if old.Source.Name != f.Source.Name || len(old.Flaws)+len(f.Flaws) > 0 || !e.compare(n, outersOf(old), outersOf(f)) {
			return nil
		}
	}
	e.addUsers(now)
	return e
}

// outer is a declaration outside of function bodies.
type outer struct {
	decl ast.Decl
	text string // surface of the declaration after the path of its module; for an inline module only the head
}

// outersOf returns the declarations of a file and of the inline modules in the file.
func outersOf(f *ast.File) (all []outer) {
	var list func(decls []ast.Decl, in string)
	list = func(decls []ast.Decl, in string) {
		for _, d := range decls {
			var b strings.Builder
			b.WriteString(in)
			m, isModule := d.(*ast.ModDecl)
			if isModule && m.Inline {
				b.Write(f.Source.Text[Start(d):m.Name.Sp.End])
			} else {
				eachPart(f, d, func(part []byte) { b.Write(part) })
			}
			all = append(all, outer{d, b.String()})
			if isModule {
				list(m.Decls, in+m.Name.Name+"::")
			}
		}
	}
	list(f.Decls, "")
	return all
}

// compare adds the differences between two versions of a file. number is the index of the file.
// compare returns false if names cannot describe the differences.
func (e *Edit) compare(number int, was, is []outer) bool {
	had, has := textsOf(was), textsOf(is)
	common := func(list []outer) (texts []string) {
		for _, o := range list {
			if had[o.text] && has[o.text] {
				texts = append(texts, o.text)
			}
		}
		return texts
	}
	moved := !slices.Equal(common(was), common(is))
	for _, o := range slices.Concat(was, is) {
		if had[o.text] && has[o.text] && !moved {
			continue
		}
		switch d := o.decl.(type) {
		case *ast.ModDecl:
			return false
		case *ast.UseDecl:
			if d.Pub && hasGlob(d.Tree) {
				return false
			}
			e.imports[number] = true
		default: // the others declare names
		}
		eachName(o.decl, func(name string) { e.names[name] = true })
	}
	return true
}

func textsOf(list []outer) map[string]bool {
	all := map[string]bool{}
	for _, o := range list {
		all[o.text] = true
	}
	return all
}

func hasGlob(t *ast.UseTree) bool {
	return t != nil && (t.Glob || slices.ContainsFunc(t.List, hasGlob))
}

// addUsers adds the names of the declarations whose surface contains a changed name, until there
// are no further ones.
func (e *Edit) addUsers(files []*ast.File) {
	for last := e.names; len(last) > 0; {
		next := map[string]bool{}
		for _, f := range files {
			if !mentionsName(f.Source.Text, last) {
				continue
			}
			eachOuter(f.Decls, func(d ast.Decl) {
				touched := false
				eachPart(f, d, func(part []byte) { touched = touched || mentionsName(part, last) })
				if !touched {
					return
				}
				eachName(d, func(name string) {
					if !e.names[name] {
						e.names[name], next[name] = true, true
					}
				})
			})
		}
		last = next
	}
}

// MayAffect reports whether the edit may change the meaning of the bodies in f. imports contains
// the indices of the files whose imports the bodies use.
func (e *Edit) MayAffect(f *ast.File, imports []int) bool {
	return e.files[f] || slices.ContainsFunc(imports, func(file int) bool { return e.imports[file] }) || mentionsName(f.Source.Text, e.names)
}

// eachOuter calls visit for declarations, and for the declarations in the inline modules among
// them.
func eachOuter(decls []ast.Decl, visit func(ast.Decl)) {
	for _, d := range decls {
		if m, ok := d.(*ast.ModDecl); ok {
			eachOuter(m.Decls, visit)
			continue
		}
		visit(d)
	}
}

// eachName calls visit for the names that a declaration declares, including the names of its
// members. For an impl it also visits the names in its types.
func eachName(d ast.Decl, visit func(string)) {
	name := func(id *ast.Ident) {
		if id != nil {
			visit(id.Name)
		}
	}
	name(d.Head().Name)
	if impl, ok := d.(*ast.ImplDecl); ok {
		for _, t := range []ast.Type{impl.Trait, impl.Target} {
			if t != nil {
				ast.Inspect(t, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						name(id)
					}
					return true
				})
			}
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FnDecl:
			name(n.Name)
			return false
		case *ast.FieldDecl:
			name(n.Name)
			return false
		case *ast.Stage:
			name(n.Name)
			return false
		case *ast.Variant:
			name(n.Name)
		case *ast.UseTree:
			name(n.Alias)
			if k := len(n.Path); k > 0 {
				name(n.Path[k-1])
			}
			if k := len(n.Path); k > 1 && n.Path[k-1].Name == "self" {
				name(n.Path[k-2])
			}
		}
		return true
	})
}

// mentionsName reports whether a text contains one of the names as a word. A word also
// contains the text before and after each of its `_`, because the tool names that models see join
// names with `_`.
func mentionsName(text []byte, names map[string]bool) bool {
	for i := 0; i < len(text); i++ {
		if !inWord[text[i]] {
			continue
		}
		from := i
		for i < len(text) && inWord[text[i]] {
			i++
		}
		if spelled(text[from:i], names) {
			return true
		}
	}
	return false
}

func spelled(word []byte, names map[string]bool) bool {
	if names[string(word)] {
		return true
	}
	for at := 0; ; at++ {
		i := bytes.IndexByte(word[at:], '_')
		if i < 0 {
			return false
		}
		if at += i; names[string(word[:at])] || names[string(word[at+1:])] {
			return true
		}
	}
}

// inWord contains the bytes that may be part of a word, including the bytes of letters beyond
// ASCII.
var inWord = func() (in [256]bool) {
	for b := range in {
		in[b] = b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
	}
	return in
}()
