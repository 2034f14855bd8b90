// Package stdlib is the library of Concerto (spec/std); its API promises
// nothing. Its .conc files hold the declarations and the functions written in
// Concerto; the Go files hold natives. The checker gets the declarations
// through Library, which parses each when a program first uses it; the VM finds
// the natives through Native.
//
// Invariants: a Go function runs no code of the program, and touches nothing
// but its arguments and what it may know of its run; for effects on the world
// it asks (vm.Args.Ask). A function that takes a closure, or runs between
// effects, is written in Concerto. Declarations marked @native or @effect and
// registered functions match one to one.
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

// Library gives the library in the form that the checker takes. All callers
// share the parsed files, which are immutable; it is safe for concurrent use.
func Library() sema.Library { return library{} }

type library struct{}

// Prelude is a file that declares the global name, or nil.
func (library) Prelude(name string) *ast.File {
	if f := preludeFile(name); f != nil {
		if f.whole {
			name = ""
		}
		return load(f.name, name)
	}
	return nil
}

// Methods gives a file with the methods of that name of a built-in type, with
// all its methods when the name is "", or nil.
func (library) Methods(typ, name string) *ast.File {
	for i := range files {
		if files[i].methods == typ {
			return load(files[i].name, name)
		}
	}
	return nil
}

// Module is the file of std::name, or nil.
func (library) Module(name string) *ast.File {
	for i := range files {
		if files[i].module == name {
			return load(files[i].name, "")
		}
	}
	return nil
}

// Names lists the global names that programs may use.
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

// Modules lists the modules of std.
func (library) Modules() []string {
	var names []string
	for i := range files {
		if m := files[i].module; m != "" {
			names = append(names, m)
		}
	}
	return names
}

// internal says whether a name is the library's own.
func internal(name string) bool { return len(name) > 2 && name[:2] == "__" }

// What has been loaded: the texts of files (func() *text by file name), and
// trees (func() *ast.File by key).
var texts, trees sync.Map

// key names a slice of a file: what declares name, or with "" all of it.
type key struct{ file, name string }

// once gives what build gives at the first call for k, built by that call alone.
func once[K comparable, V any](all *sync.Map, k K, build func() V) V {
	f, ok := all.Load(k)
	if !ok {
		f, _ = all.LoadOrStore(k, sync.OnceValue(build))
	}
	return f.(func() V)()
}

// load gives the tree of a file, or of the part of the file that declares name;
// nil when nothing does.
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

// Text is the whole text of a file of the library, by the name that its places bear: a
// tree that a program uses may be of a part of it. Ok says whether there is such a file.
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
