// Package sema checks the names, the types and the control flow of a parsed program. It does not
// modify the tree. It writes its results to tables that are indexed by node. It receives external
// information as configuration: it does not know the format of the manifest or the location of the
// library, and performs no IO.
package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Config contains the input of a check except the program's files.
type Config struct {
	// Name is the program's name.
	Name string
	// Library provides the declarations of the library. It is nil for a program that is checked
	// without the library, as in tests.
	Library Library
	// Manifest contains the declarations in the manifest. It is nil without a manifest.
	Manifest *Manifest
	// Dir is the directory of the entry file, relative to the root of the program. Open reads and
	// parses the file of a module; its name is relative to the same root. found is false if the
	// file does not exist. If Open is nil, `mod x;` is an error.
	Dir  string
	Open func(name string) (file *ast.File, list diag.List, found bool)
	// Packages contains the packages that the program uses, each after those that it requires. Deps
	// contains those that the project itself requires, by their keys.
	Packages []*Package
	Deps     map[string]Dep
	// FindPackage returns the address of a package that a project could require under a name, and
	// the fix that adds it to the manifest. ok is false if no package is known. It may be nil.
	FindPackage func(name string) (address string, fix diag.Fix, ok bool)
	// LibraryBodiesUpToLines is the maximum number of lines in a program for which the check
	// includes the bodies of library functions. These bodies contain no errors, but generating code
	// requires their results. 0 means no limit, and NoLibraryBodies that the check includes none of
	// them.
	LibraryBodiesUpToLines int
	// Bodies contains the results of an earlier check, or is empty for the first check. If the
	// program has more lines than that, the check reuses the valid results. Program.Bodies returns
	// the results for the next check. Program.Complete fills the tables of a file whose results
	// were reused. If Bodies is nil, no results are recorded.
	Bodies *Bodies
	// TestFiles, if not nil, returns the files with the tests of a module's file, and of the entry
	// file for "". Names are relative to the root. They see the private names of the module.
	TestFiles func(file string) []string
	// Tests reports that the program includes @test functions and mocks.
	Tests bool
	// Evals reports that the program includes @eval functions and mocks.
	Evals bool
	// AnyConnection allows agents to use connections that the manifest does not declare. It is set
	// if a mock answers for all connections.
	AnyConnection bool
	// AnyHost allows hosts that the manifest does not declare. It is set if a run receives its
	// hosts from an application.
	AnyHost bool
	// Line is the name of a variable, or "". The closure that is assigned to the variable contains
	// code that runs directly. An error that leaves this closure is raised, as in main.
	Line string
	// Stopped is called between statements, unless it is nil. If it returns true, the check stops,
	// and Check returns a nil Program.
	Stopped func() bool
}

// NoLibraryBodies is the value of Config.LibraryBodiesUpToLines for a check without the bodies of
// library functions.
const NoLibraryBodies = -1

// Library provides the files of the library, which are parsed when they are needed. The methods
// find a file by a name that it declares.
type Library interface {
	// Prelude returns the file that declares a function, type or schema which needs no import. It
	// returns nil if there is none.
	Prelude(name string) *ast.File
	// Methods returns a file that declares the methods with the given name for a built-in type such
	// as "String", "Array" or "Agent". If name is "", the file declares all methods of the type.
	// Methods returns nil if there is no such file.
	Methods(typ, name string) *ast.File
	// Module returns the file of the module std::name, or nil.
	Module(name string) *ast.File
	// Names returns the names of the prelude without those of types, for suggestions.
	Names() []string
	// Modules returns the names of the modules of std.
	Modules() []string
}

// Manifest contains the information of the manifest that the checker needs.
type Manifest struct {
	// Unread reports that the text of the manifest could not be read, or has unknown keys. The
	// checker then assumes that the manifest contains every declaration.
	Unread bool
	// File is the name of the manifest in diagnostics.
	File string
	// Source is the text of the manifest, which fixes modify. It may be nil.
	Source *source.File
	// Connections contains the sections [connections.X] by X.
	Connections map[string]ManifestConnection
	// Hosts contains the sections [hosts.X] by X.
	Hosts map[string]ManifestHost
	// Mcp contains the X of each section [mcp.X].
	Mcp map[string]bool
}

// ManifestConnection describes a connection for the checker.
type ManifestConnection struct {
	DefaultModel string
	// Scripted reports that agents with this connection need no model.
	Scripted bool
	Aliases  map[string]string
	Fallback []string // connections that are called after this one has failed
	// Endpoint determines the API of the requests.
	Endpoint models.Endpoint
}

// ManifestHost describes a host's section for the checker.
type ManifestHost struct {
	// OutputFormat is the format of the lines that the host writes: "json", "text", or "", which
	// means text. The declaration of the host may override it.
	OutputFormat string
	// MessageTypes contains the types of messages that the host sends. It is nil if the section
	// does not declare them.
	MessageTypes []string
	// Found contains the keys that the section sets, and those whose default values apply. Assumed
	// contains only the latter.
	Found   map[string]bool
	Assumed []string
	// Gate reports that the section or [workspace] has the commands of a gate.
	Gate bool
	// Detaches reports that background work continues after the end of an exchange.
	Detaches bool
}

// Check checks the program's files, and the parts of the library that the program uses. The first
// file is the entry file. The Program is complete if the list contains no errors.
func Check(cfg Config, files ...*ast.File) (p *Program, l diag.List) {
	c := newChecker(cfg)
	if cfg.Stopped != nil {
		defer func() {
			if r := recover(); r == stop {
				p, l = nil, diag.List{}
			} else if r != nil {
				panic(r)
			}
		}()
	}
	c.program(files)
	c.cfg.Stopped = nil // queries of the program cannot be stopped
	c.diags.Merge()
	return c.prog, c.diags
}

// stop is the panic value with which checkStop ends a check.
var stop = new(struct{ _ int })

// checkStop panics with stop if Config.Stopped returns true.
func (c *checker) checkStop() {
	if c.cfg.Stopped != nil && c.cfg.Stopped() {
		panic(stop)
	}
}
