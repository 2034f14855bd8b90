// Package stdlib is the library of Concerto: declarations, and what Concerto
// says well, in .conc files; pure leaves in Go beside them (spec/std). The
// checker is handed the files through Library, each parsed when a program first
// uses something in it; the VM is handed the functions through Natives.
//
// Invariants: a Go function never calls the VM and touches nothing but its
// arguments; whatever takes a closure or runs between effects is Concerto.
// Declarations marked @native and registered functions match one to one, but
// for those of package vm, which look into its own values.
package stdlib

import (
	"embed"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/diag"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/vm"
)

//go:embed *.conc
var sources embed.FS

// Library gives the library as the checker wants it. All callers share the
// parsed files, which are immutable; it is safe for concurrent use.
func Library() sema.Library { return library{} }

type library struct{}

// Prelude is the file that declares the global name, or nil.
func (library) Prelude(name string) *ast.File { return load(preludeFile(name)) }

// Methods is the file with the methods of a built-in type, or nil.
func (library) Methods(typ string) *ast.File {
	for i := range files {
		if files[i].methods == typ {
			return load(&files[i])
		}
	}
	return nil
}

// Module is the file of std::name, or nil.
func (library) Module(name string) *ast.File {
	for i := range files {
		if files[i].module == name {
			return load(&files[i])
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

// parsed holds the files that have been asked for, by name.
var parsed sync.Map // string to func() *ast.File

// load gives a file's tree, parsed at the first call; nil for nil.
func load(f *file) *ast.File {
	if f == nil {
		return nil
	}
	once, ok := parsed.Load(f.name)
	if !ok {
		once, _ = parsed.LoadOrStore(f.name, sync.OnceValue(func() *ast.File {
			tree, diags := parse(f.name)
			if diags.HasErrors() {
				panic("stdlib: " + f.name + " does not parse")
			}
			return tree
		}))
	}
	return once.(func() *ast.File)()
}

// parse reads and parses one library file. Its name is how diagnostics and
// traces show it: "std/array.conc".
func parse(name string) (*ast.File, diag.List) {
	text, err := sources.ReadFile(name)
	if err != nil {
		panic("stdlib: " + err.Error())
	}
	return parser.Parse(source.NewFile("std/"+name, text))
}

// native is a Go function with the name it is registered under.
type native struct {
	name string
	f    vm.Native
}

// Natives gives the library's Go functions by registered name: `Type.method`
// for methods, `module.f` for a module's, the plain name for others. The map is
// the caller's own.
func Natives() map[string]vm.Native {
	m := make(map[string]vm.Native, 192)
	for _, table := range [][]native{
		preludeNatives, intNatives, floatNatives, stringNatives, arrayNatives, mapNatives, optionNatives, resultNatives,
		rangeNatives, errorNatives, jsonNatives, mathNatives, timeNatives, shapeNatives, agentNatives,
	} {
		for _, n := range table {
			m[n.name] = n.f
		}
	}
	return m
}
