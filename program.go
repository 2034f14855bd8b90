package concerto

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// Program is a checked and compiled program. It can be run any number of times, also concurrently.
type Program struct {
	engine   *engine.Program
	warnings []Diagnostic
	limit    engine.Limit // of a run without Options.Permissions
	// callable compiles the program so that its functions can be called; nil after LoadIR.
	callable func() (*engine.Program, error)
}

// Load checks and compiles the program at a path, without running it. The path is a file whose name
// ends in .conc, or a directory with a Concerto.toml. If the path is "", Load uses the nearest
// Concerto.toml in the working directory or its parents. The error is ErrNotFound, or ErrSource
// with the diagnostics.
func Load(path string) (*Program, error) { return LoadContext(context.Background(), path) }

// LoadContext is like Load, and stops when ctx ends. The error is then the cause of that end.
func LoadContext(ctx context.Context, path string) (*Program, error) {
	return compile(ctx, driver.Request{Path: path, Dir: "."})
}

// LoadFS checks and compiles a program in a file system, such as an embed.FS. The path name has
// slashes and is relative to the root of the file system. When the program runs, the relative paths
// in the manifest start at Options.ProjectDir.
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
	return compile(context.Background(), driver.Request{Path: filepath.FromSlash(name), Dir: root, Sources: driver.FromFS(files, root)})
}

// LoadSource checks and compiles the text of a program. Diagnostics show name as the name of the
// file. No manifest is read: its agents use Options.Model, and its hosts are those of
// Options.Hosts.
func LoadSource(name, source string) (*Program, error) {
	return compile(context.Background(), driver.Request{Dir: ".", Inline: &driver.Inline{Name: name, Text: []byte(source), Alone: true}})
}

func compile(ctx context.Context, r driver.Request) (*Program, error) {
	r.AnyParty, r.Stopped = true, func() bool { return ctx.Err() != nil }
	limit := engine.Nothing
	r.Loaded = func(_, manifest string, _ bool) {
		if manifest != "" {
			limit = engine.Configured
		}
	}
	p, found, err := engine.CompileSource(r)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, convert(err)
	case p == nil:
		return nil, sourceError(diagnostics(found))
	}
	r.Called, r.Stopped = true, nil
	return &Program{engine: p, warnings: diagnostics(found), limit: limit, callable: sync.OnceValues(func() (*engine.Program, error) {
		p, found, err := engine.CompileSource(r)
		if err == nil && p == nil {
			return nil, sourceError(diagnostics(found)) // the files have changed
		}
		return p, convert(err)
	})}, nil
}

// LoadIR loads a compiled program, which is the content of a .conc-ir file or the result of
// Program.IR. The error is ErrInvalidIR, or ErrVersion if another version has compiled the program.
func LoadIR(ir []byte) (*Program, error) {
	p, err := engine.Load(ir)
	if err != nil {
		return nil, convert(err)
	}
	return &Program{engine: p, limit: engine.Nothing}, nil
}

// IR returns the compiled program in the form that LoadIR reads. Equal sources always compile to
// equal bytes.
func (p *Program) IR() []byte { return p.engine.Encode() }

// Warnings returns the warnings of the check, in the order of files and places.
func (p *Program) Warnings() []Diagnostic { return p.warnings }

// Requirement is a resource outside of the run that a program may use.
type Requirement struct {
	// Kind is a field of Permissions in lower case: "read", "write", "net", "env", "run" or "host".
	Kind string
	// Name is the name of the file, network host, environment variable, command or host. "" means
	// all resources of the kind.
	Name string
	// Detail describes the purpose of the resource, such as "the models of connection claude".
	Detail string
}

// Requirements returns the resources that the program may use, each once. It derives them from the
// code and the manifest. The program cannot use any other resource.
func (p *Program) Requirements() []Requirement {
	var all []Requirement
	for _, a := range p.engine.Asks() {
		all = append(all, Requirement{kindName(a.Kind), a.Name, a.Detail})
	}
	return all
}

// Diagnostic is an error or a warning in the sources of a program.
type Diagnostic struct {
	// Code identifies the kind of diagnostic, such as "E0301". `concerto explain` explains it.
	Code string
	// Message describes the error.
	Message string
	// Hints contains suggestions for a correction.
	Hints []string
	// Labels marks further places that explain the diagnostic.
	Labels []Label
	// Fixes contains corrections as edits of the sources.
	Fixes []Fix
	// Warning is set if the program can be run in spite of the diagnostic.
	Warning bool
	// File is the name of the file. It has the form in which the path to the program was written.
	File string
	// Line and Column are the start of the marked text, EndLine and EndColumn its end. All of them
	// count from 1, and columns are counted in characters.
	Line, Column, EndLine, EndColumn int
}

// Label is a text about a place in a source.
type Label struct {
	// Text explains the place.
	Text string
	// Place is the start of the marked text.
	Place Place
}

// Fix is a correction.
type Fix struct {
	// Title describes the correction, such as "Insert `;`".
	Title string
	// Safe is set if this is the only possible correction, so that it can be applied without a
	// question.
	Safe bool
	// Edits contains the changes, in the order of the files and places.
	Edits []Edit
}

// Edit replaces a part of a source.
type Edit struct {
	// File is the name of the file, in the form of Diagnostic.File.
	File string
	// Start and End are byte offsets in the file. They are equal for an insertion.
	Start, End int
	// Text replaces the bytes between Start and End.
	Text string
}

// String returns the diagnostic in one line: file:line:column: severity[code]: message.
func (d Diagnostic) String() string {
	severity := "error"
	if d.Warning {
		severity = "warning"
	}
	return Place{File: d.File, Line: d.Line, Column: d.Column}.String() + ": " + severity + "[" + d.Code + "]: " + d.Message
}

// diagnostics converts the diagnostics of the compiler.
func diagnostics(found diag.List) []Diagnostic {
	var all []Diagnostic
	for _, d := range found.Sorted() {
		x := Diagnostic{Code: d.Info.Code, Message: d.Message, Hints: d.Hints, Warning: d.Severity() == diag.Warning}
		if d.File != nil {
			from, to := d.File.Position(d.Span.Start), d.File.Position(d.Span.End)
			x.File, x.Line, x.Column, x.EndLine, x.EndColumn = d.File.Name, from.Line, from.Column, to.Line, to.Column
		}
		for _, l := range d.Labels {
			at := cmp.Or(l.File, d.File)
			place := Place{}
			if at != nil {
				p := at.Position(l.Span.Start)
				place = Place{File: at.Name, Line: p.Line, Column: p.Column}
			}
			x.Labels = append(x.Labels, Label{l.Text, place})
		}
		for _, f := range d.Fixes {
			fix := Fix{Title: f.Title, Safe: f.Safe}
			for _, e := range f.Edits {
				edit := Edit{Start: int(e.Span.Start), End: int(e.Span.End), Text: e.Text}
				if at := cmp.Or(e.File, d.File); at != nil {
					edit.File = at.Name
				}
				fix.Edits = append(fix.Edits, edit)
			}
			x.Fixes = append(x.Fixes, fix)
		}
		all = append(all, x)
	}
	return all
}

// sourceError returns the error of a program for which the check reported errors.
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
