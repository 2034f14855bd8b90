// Package stdlib is the standard library of Concerto (spec/std). The .conc files contain the
// declarations, and the functions that are written in Concerto. The Go files contain natives. The
// checker uses the declarations through Library, which decodes each of them when a program first
// uses it. The VM finds the natives through Native.
//
// Invariants: A native runs no code of the program. It accesses only its arguments and the state
// that it has stored for its run. To perform an effect it returns a request (vm.Args.Ask). A
// function that calls a closure, or performs several effects, is written in Concerto. For each
// declaration marked @native or @effect there is exactly one registered native, and vice versa.
package stdlib

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
)

//go:embed *.conc
var sources embed.FS

// Library returns the library for the checker. All callers share the parsed files, which are
// immutable. The library is safe for concurrent use.
func Library() sema.Library { return library{} }

type library struct{}

// Prelude returns the file that declares a global name, or nil if there is none.
func (library) Prelude(name string) *ast.File {
	if f := preludeFile(name); f != nil {
		if f.whole {
			name = ""
		}
		return load(f.name, name)
	}
	return nil
}

// Methods returns a file with the methods of a built-in type that have this name. If name is "",
// the file contains all methods of the type. It returns nil if there are none.
func (library) Methods(typ, name string) *ast.File {
	for i := range files {
		switch {
		case files[i].methods != typ:
		case name == "":
			return methodsOf(files[i].name)
		default:
			return load(files[i].name, name)
		}
	}
	return nil
}

// Module returns the file of the module std::name, or nil if there is none.
func (library) Module(name string) *ast.File {
	for i := range files {
		if files[i].module == name {
			return load(files[i].name, "")
		}
	}
	return nil
}

// Names returns the global names that programs may use.
func (library) Names() []string {
	var names []string
	for i := range files {
		for _, n := range files[i].globals {
			if !internal(n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// Modules returns the names of the modules of std.
func (library) Modules() []string {
	var names []string
	for i := range files {
		if m := files[i].module; m != "" {
			names = append(names, m)
		}
	}
	return names
}

// internal reports whether a name may only be used within the library.
func internal(name string) bool { return len(name) > 2 && name[:2] == "__" }

// Loaded files. texts contains a func() *source.File for each file name, trees a func() *ast.File
// for each key.
var texts, trees sync.Map

// key identifies a part of a file: the declarations with this name, or the whole file if name is
// "".
type key struct{ file, name string }

// once returns the result of build for k. build runs only in the first call for k.
func once[K comparable, V any](all *sync.Map, k K, build func() V) V {
	f, ok := all.Load(k)
	if !ok {
		f, _ = all.LoadOrStore(k, sync.OnceValue(build))
	}
	return f.(func() V)()
}

// load returns the syntax tree of a file, or of the part of the file that declares name. It returns
// nil if the file does not declare name.
func load(file, name string) *ast.File {
	return once(&trees, key{file, name}, func() *ast.File {
		if part := readPart(file, name); part != nil {
			return part
		}
		if name != "" {
			return nil
		}
		return parse(file)
	})
}

func parse(file string) *ast.File {
	tree, diags := parser.Parse(textOf(file))
	if diags.HasErrors() {
		panic("stdlib: " + file + " does not parse")
	}
	return tree
}

// methodsOf returns the methods in a file without its other declarations. The checker finds those
// by their names, and would declare them twice if they came with the methods.
func methodsOf(file string) *ast.File {
	return once(&methods, file, func() *ast.File {
		tree := *load(file, "")
		tree.Decls = slices.DeleteFunc(slices.Clone(tree.Decls), func(d ast.Decl) bool {
			_, isImpl := d.(*ast.ImplDecl)
			return !isImpl
		})
		return &tree
	})
}

var methods sync.Map // a func() *ast.File for each file name

// textOf returns the text of a library file.
func textOf(file string) *source.File {
	return once(&texts, file, func() *source.File {
		all, err := sources.ReadFile(file)
		if err != nil {
			panic("stdlib: " + err.Error())
		}
		return source.NewFile("std/"+file, all)
	})
}

// Text returns the text of a library file. name is the name of the file in source positions. ok
// reports whether the file exists.
func Text(name string) (text *source.File, ok bool) {
	file, ok := strings.CutPrefix(name, "std/")
	if !ok {
		return nil, false
	}
	for i := range files {
		if files[i].name == file {
			return textOf(file), true
		}
	}
	return nil, false
}

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
	for _, d := range parse(name).Decls {
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

// partsFile returns the name of the file with the parts of a .conc file.
func partsFile(file string) string { return "parts/" + strings.TrimSuffix(file, ".conc") + ".bin" }

func appendText(to []byte, text string) []byte {
	n := len(text)
	return append(append(to, byte(n>>16), byte(n>>8), byte(n)), text...)
}

// EncodedParts returns the texts of the files in parts by their names.
func EncodedParts() (map[string][]byte, error) {
	entries, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, e := range entries {
		row, err := rowOf(e.Name())
		if err != nil {
			return nil, err
		}
		tree := parse(e.Name())
		names := []string{""}
		if row.module == "" && !row.whole {
			names = namesOf(tree)
		}
		var all []byte
		for _, name := range names {
			part := *tree
			if name != "" {
				part.Decls = declarationsOf(tree, name)
			}
			all = appendText(appendText(all, name), ast.Encode(&part))
		}
		out[partsFile(e.Name())] = all
	}
	return out, nil
}

// namesOf returns the names of the declarations of a file and of the methods in it.
func namesOf(tree *ast.File) (names []string) {
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, d := range tree.Decls {
		impl, ok := d.(*ast.ImplDecl)
		if !ok {
			add(d.Head().Name.Name)
			continue
		}
		for _, m := range impl.Methods {
			add(m.Name.Name)
		}
	}
	return names
}

// declarationsOf returns the declarations with a name, and the impls of the methods with it.
func declarationsOf(tree *ast.File, name string) (decls []ast.Decl) {
	for _, d := range tree.Decls {
		impl, ok := d.(*ast.ImplDecl)
		if !ok {
			if d.Head().Name.Name == name {
				decls = append(decls, d)
			}
			continue
		}
		part := *impl
		part.Methods = slices.DeleteFunc(slices.Clone(impl.Methods), func(m *ast.FnDecl) bool { return m.Name.Name != name })
		if len(part.Methods) > 0 {
			decls = append(decls, &part)
		}
	}
	return decls
}
