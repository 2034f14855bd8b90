// Package sema checks a parsed program: names, types and control flow. Its API is not covered by
// the compatibility promise. It does not modify the tree, but writes tables indexed by node. It
// receives external information as configuration: it does not know the manifest's format or the
// library's location, and performs no IO.
package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// Config is the input of a check besides the files.
type Config struct {
	// Name is the program's name.
	Name string
	// Library provides the library's declarations. It is nil for a program without one (tests).
	Library Library
	// Manifest contains the manifest's declarations, or is nil.
	Manifest *Manifest
	// Dir is the entry file's directory, relative to the root of the program. Open reads and parses
	// the file of a module by its name relative to that root; found is false if it does not exist.
	// If Open is nil, `mod x;` is an error.
	Dir  string
	Open func(name string) (file *ast.File, list diag.List, found bool)
	// Most is the number of program lines from which the check skips the bodies of library
	// functions, which contain no errors but which are needed to generate code. 0 means no limit.
	Most int
	// Bodies, if not nil, is the result of an earlier check, or an empty one at first. Valid
	// results are reused if the program has more than Most lines, and Program.Bodies returns the
	// result for the next check. Program.Complete then fills a file's tables.
	Bodies *Bodies
	// Tests reports that code for @test functions and mocks is generated.
	Tests bool
	// AnyConnection allows agents to use connections that the manifest does not declare, because a
	// mock answers for all of them.
	AnyConnection bool
	// Line is the name of a variable whose closure is executed by itself: errors that leave it are
	// raised, as in main. It is "" if there is none.
	Line string
	// Stopped, if not nil, is called between statements. If it returns true, the check stops, and
	// Check returns no program.
	Stopped func() bool
}

// Library provides the library's files, which are parsed on demand. Files are indexed by their
// declarations.
type Library interface {
	// Prelude returns the file that declares the global name (a function, type or schema that needs
	// no import), or nil.
	Prelude(name string) *ast.File
	// Methods returns a file with the methods with a name of a built-in type ("String", "Array",
	// "Agent", …), with all of them if name is "", or nil.
	Methods(typ, name string) *ast.File
	// Module returns the file of std::name, or nil.
	Module(name string) *ast.File
	// Names returns all global names, without types, for suggestions.
	Names() []string
	// Modules returns the modules of std.
	Modules() []string
}

// Manifest is the information from Concerto.toml that the checker needs.
type Manifest struct {
	// Unread reports that the text was not readable, so that no declaration counts as missing.
	Unread bool
	// File is its name in diagnostics.
	File string
	// Source is its text, which fixes modify, or nil.
	Source *source.File
	// Connections maps each [connections.X] to its model aliases.
	Connections map[string]ManifestConnection
	// Hosts maps each [hosts.X].
	Hosts map[string]ManifestHost
	// Mcp contains the name of each [mcp.X].
	Mcp map[string]bool
}

// ManifestConnection is the checker's view of a connection.
type ManifestConnection struct {
	DefaultModel string
	// Scripted reports that the connection needs no model.
	Scripted bool
	Aliases  map[string]string
}

// ManifestHost is the checker's view of a host's section.
type ManifestHost struct {
	// OutputFormat is the format of the host's lines unless the declaration sets it: "json",
	// "text", or "" for text.
	OutputFormat string
	// MessageTypes is nil if not declared.
	MessageTypes []string
	// Found contains the section's keys.
	Found map[string]bool
}

// Check checks the user's files, the entry file first, and the parts of the library that they use.
// The Program is complete if the list has no errors.
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

// stop is the panic value that ends a stopped check.
var stop = new(struct{ _ int })

// checkStop panics with stop if the check must stop.
func (c *checker) checkStop() {
	if c.cfg.Stopped != nil && c.cfg.Stopped() {
		panic(stop)
	}
}
