// Package sema checks a parsed program: names, types, flow; its API promises nothing. It reads the tree
// without touching it and writes tables keyed by node. What it needs from
// outside comes as configuration: it knows neither the manifest's format nor
// where the library lives, and performs no IO.
package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Config is what checking needs besides the file.
type Config struct {
	// Name is the program's name.
	Name string
	// Library gives the library's declarations; nil for a program without one
	// (tests).
	Library Library
	// Manifest says what the manifest declares; nil when there is none.
	Manifest *Manifest
	// Dir is the entry file's folder, relative to the root of the program;
	// Open reads and parses the file of a module by its name relative to that
	// root, found being false when there is none. Nil refuses `mod x;`.
	Dir  string
	Open func(name string) (file *ast.File, list diag.List, found bool)
	// Most bounds what is checked beside the program itself: when the program
	// has more lines, the bodies of library functions, which hold no mistakes
	// but which code is generated from, are left unchecked. 0 is no bound.
	Most int
	// Bodies, when not nil, is what an earlier check has found in bodies, an empty one for the first:
	// what of it still holds is taken over where the program has more than Most lines, and
	// Program.Bodies is there for the next check. Program.Complete then gives a file's tables.
	Bodies *Bodies
	// Tests says that @test functions and mocks are generated.
	Tests bool
	// AnyConnection lets agents use connections that the manifest does not have:
	// something else answers for all of them.
	AnyConnection bool
	// Line is the name of a variable whose closure is a line that is run by itself: errors that
	// leave it are raised, as in main. "" for none.
	Line string
	// Stopped, when not nil, is asked between statements whether to stop; Check then
	// gives no program.
	Stopped func() bool
}

// Library hands out the library's files, each parsed when first asked for.
// Files are keyed by what they declare.
type Library interface {
	// Prelude is the file that declares the global name (a function, type or
	// schema that needs no import), or nil.
	Prelude(name string) *ast.File
	// Methods is a file with the methods of that name of a built-in type
	// ("String", "Array", "Agent", …), with all of them when name is "", or nil.
	Methods(typ, name string) *ast.File
	// Module is the file of std::name, or nil.
	Module(name string) *ast.File
	// Names lists all global names and, for a type, none; for suggestions.
	Names() []string
	// Modules lists the modules of std.
	Modules() []string
}

// Manifest is what the checker needs to know of Concerto.toml.
type Manifest struct {
	// Unread says that its text could not be read, so that nothing is known to be
	// missing in it.
	Unread bool
	// File is its name as diagnostics show it.
	File string
	// Source is its text, which fixes add to; nil where nobody has it.
	Source *source.File
	// Connections maps each [connections.X] to its model aliases.
	Connections map[string]ManifestConnection
	// Hosts maps each [hosts.X].
	Hosts map[string]ManifestHost
	// Mcp names each [mcp.X].
	Mcp map[string]bool
}

// ManifestConnection is a connection as the checker sees it.
type ManifestConnection struct {
	DefaultModel string
	// Scripted says that the connection needs no model.
	Scripted bool
	Aliases  map[string]string
}

// ManifestHost is a host's section as the checker sees it.
type ManifestHost struct {
	// OutputFormat is the form of the host's lines, where the declaration says
	// nothing: "json", "text", or "" for text.
	OutputFormat string
	// MessageTypes is nil when not declared.
	MessageTypes []string
	// Given has the section's keys.
	Given map[string]bool
}

// Check checks the user's files, the entry file first, and what of the
// library they use. The Program is complete when the list has no errors.
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
	c.diags.Merge()
	return c.prog, c.diags
}

// stop is what leaves a check that is to stop.
var stop = new(struct{ _ int })

// goOn leaves the check if it is to stop.
func (c *checker) goOn() {
	if c.cfg.Stopped != nil && c.cfg.Stopped() {
		panic(stop)
	}
}
