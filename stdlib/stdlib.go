// Package stdlib is the library of Concerto (spec/std). The compatibility promise does not cover
// it. Its .conc files contain the declarations and the functions written in Concerto; the Go files
// contain natives. The checker gets the declarations through Library, which parses each when a
// program first uses it; the VM finds the natives through Native.
//
// Invariants: a Go function runs no code of the program, and accesses only its arguments and the
// state that it has stored for its run; for effects it returns a request (vm.Args.Ask). A function
// that takes a closure, or runs between effects, is written in Concerto. Declarations marked
// @native or @effect and registered functions match one to one.
package stdlib

import (
	"embed"
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
// immutable; it is safe for concurrent use.
func Library() sema.Library { return library{} }

type library struct{}

// Prelude returns the file that declares the global name, or nil.
func (library) Prelude(name string) *ast.File {
	if f := preludeFile(name); f != nil {
		if f.whole {
			name = ""
		}
		return load(f.name, name)
	}
	return nil
}

// Methods returns a file with the methods of that name of a built-in type, with all its methods if
// the name is "", or nil.
func (library) Methods(typ, name string) *ast.File {
	for i := range files {
		if files[i].methods == typ {
			return load(files[i].name, name)
		}
	}
	return nil
}

// Module returns the file of std::name, or nil.
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

// internal reports whether a name is internal to the library.
func internal(name string) bool { return len(name) > 2 && name[:2] == "__" }

// The loaded files: texts (func() *text by file name) and trees (func() *ast.File by key).
var texts, trees sync.Map

// key identifies a slice of a file: the declarations of name, or the whole file if name is "".
type key struct{ file, name string }

// once returns the result of build for k. Only the first call for k runs build.
func once[K comparable, V any](all *sync.Map, k K, build func() V) V {
	f, ok := all.Load(k)
	if !ok {
		f, _ = all.LoadOrStore(k, sync.OnceValue(build))
	}
	return f.(func() V)()
}

// load returns the tree of a file, or of the part of the file that declares name; nil if nothing
// declares it.
func load(file, name string) *ast.File {
	return once(&trees, key{file, name}, func() *ast.File {
		all := textOf(file)
		part := all.all
		if name != "" {
			part = all.slice(name)
		}
		if part == nil {
			return nil
		}
		tree, diags := parser.Parse(source.NewFile("std/"+file, part))
		if diags.HasErrors() {
			panic("stdlib: " + file + " does not parse")
		}
		return tree
	})
}

// textOf reads a library file.
func textOf(file string) *text {
	return once(&texts, file, func() *text {
		all, err := sources.ReadFile(file)
		if err != nil {
			panic("stdlib: " + err.Error())
		}
		return layout(all)
	})
}

// Text returns the whole text of a file of the library, by the name in source positions: a tree
// that a program uses may contain only a part of it. ok reports whether the file exists.
func Text(name string) (text *source.File, ok bool) {
	file, ok := strings.CutPrefix(name, "std/")
	if !ok {
		return nil, false
	}
	for i := range files {
		if files[i].name == file {
			return once(&whole, file, func() *source.File { return source.NewFile(name, textOf(file).all) }), true
		}
	}
	return nil, false
}

var whole sync.Map // of *source.File, by file
