package mutants

// Target is a package whose tests must detect changes.
type Target struct {
	Package string // folder of the package, relative to the module's root
	// Further lists packages whose tests also cover this package. They run on mutants that survive
	// the package's own tests.
	Further []string
}

// Targets lists the packages that define the meaning of programs.
var Targets = []Target{
	{"lexer", nil},
	{"parser", []string{"sema", "internal/compile/format"}},
	{"sema", []string{"codegen"}},
	{"internal/data/schema", []string{"stdlib", "vm"}},
	{"internal/compile/optimize", []string{"codegen", "spec"}},
	{"vm", []string{"codegen", "stdlib", "spec"}},
	{"runtime/host", nil},
}
