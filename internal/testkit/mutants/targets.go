package mutants

// Target is a package whose tests must notice changes.
type Target struct {
	Package string // its folder, from the module's root
	// Further are packages whose tests also run on mutants that survive the
	// package's own tests, as they are meant to test it.
	Further []string
}

// Targets are the packages that say what a program means.
var Targets = []Target{
	{"lexer", nil},
	{"parser", []string{"sema", "internal/compile/format"}},
	{"sema", []string{"codegen"}},
	{"internal/data/schema", []string{"stdlib", "vm"}},
	{"internal/compile/optimize", []string{"codegen", "spec"}},
	{"vm", []string{"codegen", "stdlib", "spec"}},
	{"runtime/host", nil},
}
