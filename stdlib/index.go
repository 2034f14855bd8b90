package stdlib

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
)

//go:generate go run ./gen -index files.go

// file is one row of the index: a .conc file and the names that it declares. With the index, the
// library finds a name without parsing. files.go contains the rows.
type file struct {
	name    string
	methods string   // built-in type to which the impl blocks of the file add methods; "" if there are none
	module  string   // name of the module that the file defines; "" if it defines none
	globals []string // top-level declarations; empty if the file is a module
	whole   bool     // each declaration requires the whole file, because a struct needs its impls
}

// preludeFile returns the file that declares a global name, or nil if there is none.
func preludeFile(name string) *file { return preludeFiles()[name] }

var preludeFiles = sync.OnceValue(func() map[string]*file {
	n := 0
	for i := range files {
		n += len(files[i].globals)
	}
	all := make(map[string]*file, n)
	for i := range files {
		for _, n := range files[i].globals {
			if all[n] == nil {
				all[n] = &files[i]
			}
		}
	}
	return all
})

// Index returns the text of files.go: a row for each .conc file. A file is a module if its name
// begins with mod_. Otherwise it adds methods to one built-in type, or to types that it declares.
func Index() (string, error) {
	var b strings.Builder
	b.WriteString(`// Code generated from the .conc files by "make gen"; DO NOT EDIT.

package stdlib

var files = [...]file{
`)
	entries, err := sources.ReadDir(".")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		f, err := rowOf(e.Name())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\t{name: %q", f.name)
		if f.methods != "" {
			fmt.Fprintf(&b, ", methods: %q", f.methods)
		}
		if f.module != "" {
			fmt.Fprintf(&b, ", module: %q", f.module)
		}
		if f.whole {
			b.WriteString(", whole: true")
		}
		if len(f.globals) > 0 {
			b.WriteString(", globals: []string{\n")
			for _, g := range f.globals {
				fmt.Fprintf(&b, "\t\t%q,\n", g)
			}
			b.WriteString("\t}")
		}
		b.WriteString("},\n")
	}
	b.WriteString("}\n")
	return b.String(), nil
}

// rowOf reads the declarations of a file.
func rowOf(name string) (file, error) {
	f := file{name: name}
	if module, ok := strings.CutPrefix(name, "mod_"); ok {
		f.module = strings.TrimSuffix(module, ".conc")
		return f, nil
	}
	var targets []string
	for _, d := range load(name, "").Decls {
		if impl, ok := d.(*ast.ImplDecl); ok {
			targets = append(targets, targetOf(impl))
		} else {
			f.globals = append(f.globals, d.Head().Name.Name)
		}
	}
	for _, target := range targets {
		switch {
		case slices.Contains(f.globals, target):
			f.whole = true
		case f.methods == "" || f.methods == target:
			f.methods = target
		default:
			return f, fmt.Errorf("%s adds methods to %s and to %s: move one of them to another file", name, f.methods, target)
		}
	}
	if f.whole && f.methods != "" {
		return f, fmt.Errorf("%s adds methods to %s and to a type that it declares: move one of them to another file", name, f.methods)
	}
	return f, nil
}
