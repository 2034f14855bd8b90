package concerto

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// Program is a program that was checked and compiled. It can be run any number of times, also
// concurrently.
type Program struct {
	engine   *engine.Program
	warnings []Diagnostic
}

// Load checks and compiles the program at a path, without running it: a file whose name ends in
// .conc, a directory with a Concerto.toml, or "" for the nearest Concerto.toml from the working
// directory up. The error is ErrNotFound, or ErrSource with the diagnostics.
func Load(path string) (*Program, error) { return compile(driver.Request{Path: path, Dir: "."}) }

// LoadFS is Load for a file system, such as an embed.FS. The path has slashes and is relative to
// the root of the file system. The relative paths of the manifest start at Options.ProjectDir when
// the program runs.
func LoadFS(files fs.FS, name string) (*Program, error) {
	if name == "" {
		name = "."
	}
	info, err := fs.Stat(files, name)
	if err != nil {
		return nil, &Error{Kind: ErrNotFound, Message: name + ": no such file or directory", cause: err}
	}
	if info.IsDir() {
		if _, err := fs.Stat(files, path.Join(name, manifest.FileName)); err != nil {
			return nil, &Error{Kind: ErrNotFound, Message: name + ": the directory has no " + manifest.FileName, cause: err}
		}
	}
	root, err := filepath.Abs(string(filepath.Separator))
	if err != nil {
		return nil, convert(err)
	}
	return compile(driver.Request{Path: filepath.FromSlash(name), Dir: root, Sources: driver.FromFS(files, root)})
}

// LoadSource is Load for the text of a program. Diagnostics show name in place of a file's name. No
// manifest is read.
func LoadSource(name, source string) (*Program, error) {
	return compile(driver.Request{Dir: ".", Inline: &driver.Inline{Name: name, Text: []byte(source), Alone: true}})
}

func compile(r driver.Request) (*Program, error) {
	p, found, err := engine.CompileSource(r)
	if err != nil {
		return nil, convert(err)
	}
	all := diagnostics(found)
	if p == nil {
		return nil, sourceError(all)
	}
	return &Program{engine: p, warnings: all}, nil
}

// LoadIR loads a compiled program: a .conc-ir file, or what Program.IR returned. The error is
// ErrInvalidIR, or ErrVersion when another version has compiled it.
func LoadIR(ir []byte) (*Program, error) {
	p, err := engine.Load(ir)
	if err != nil {
		return nil, convert(err)
	}
	return &Program{engine: p}, nil
}

// IR returns the compiled program in the form that LoadIR reads. The same sources always compile to
// the same bytes.
func (p *Program) IR() []byte { return p.engine.Encode() }

// Warnings returns the warnings of the check, in the order of the files and places.
func (p *Program) Warnings() []Diagnostic { return p.warnings }

// Requirement is something outside of the run that a program may use.
type Requirement struct {
	// Kind is a field of Permissions in lower case: "read", "write", "net", "env", "run" or "host".
	Kind string
	// Name is the file, network host, command or host; "" means all of the kind.
	Name string
	// Detail is what it is used for, such as "the models of connection claude".
	Detail string
}

// Requirements returns the files, network hosts, commands and hosts that the program may use, each
// once. They are read from its code and its manifest; what neither mentions the program cannot use.
func (p *Program) Requirements() []Requirement {
	var all []Requirement
	for _, a := range p.engine.Asks() {
		all = append(all, Requirement{strings.TrimPrefix(permit.Kinds[a.Kind].Flag, "allow-"), a.Name, a.Detail})
	}
	return all
}

// Diagnostic is an error or a warning in the sources of a program.
type Diagnostic struct {
	// Code identifies the kind, such as "E0301". `concerto explain` explains it.
	Code string
	// Message describes the error.
	Message string
	// Hints say what to do about it.
	Hints []string
	// Warning reports that the program can be run in spite of it.
	Warning bool
	// File is the file's name, as the path to the program was written.
	File string
	// Line and Column are where the marked text begins, EndLine and EndColumn where it ends. All
	// count from 1, columns in characters.
	Line, Column, EndLine, EndColumn int
}

// String returns the diagnostic in one line: file:line:column: severity[code]: message.
func (d Diagnostic) String() string {
	severity := "error"
	if d.Warning {
		severity = "warning"
	}
	return Place{File: d.File, Line: d.Line, Column: d.Column}.String() + ": " + severity + "[" + d.Code + "]: " + d.Message
}

// diagnostics converts what the compiler found.
func diagnostics(found diag.List) []Diagnostic {
	var all []Diagnostic
	for _, d := range found.Sorted() {
		x := Diagnostic{Code: d.Info.Code, Message: d.Message, Hints: d.Hints, Warning: d.Severity() == diag.Warning}
		if d.File != nil {
			from, to := d.File.Position(d.Span.Start), d.File.Position(d.Span.End)
			x.File, x.Line, x.Column, x.EndLine, x.EndColumn = d.File.Name, from.Line, from.Column, to.Line, to.Column
		}
		all = append(all, x)
	}
	return all
}

// sourceError is the error of a program whose check found errors.
func sourceError(all []Diagnostic) error {
	e := &Error{Kind: ErrSource, Diagnostics: all, cause: errors.New("the program has errors")}
	for _, d := range all {
		if !d.Warning {
			e.Code, e.Message, e.Place = d.Code, d.Message, Place{File: d.File, Line: d.Line, Column: d.Column}
			if len(d.Hints) > 0 {
				e.Hint = d.Hints[0]
			}
			break
		}
	}
	return e
}
