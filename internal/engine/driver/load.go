// Package driver loads, checks and generates programs for the command line, tests and embedding: it
// finds the entry file and its manifest (load.go), then parses, checks and generates.
//
// It reads files and uses nothing else outside the process. Users see a file by the path that they
// gave. The program knows it by the path relative to the project's root, and so does not depend on
// the location of the project.
package driver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/codegen"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Request specifies the program to load. Path is a .conc file, or a directory with a manifest; ""
// is the nearest manifest from Dir upwards. A relative path starts at Dir.
type Request struct {
	Path string
	Dir  string
	// Inline, if not nil, is the program itself, as if it were in a file in Dir. Path is then
	// ignored.
	Inline *Inline
	// Tests includes the @test functions in the program.
	Tests bool
	// Called means that functions of the program become tools.
	Called bool
	// Overlay maps absolute paths to texts that replace the files on the disk.
	Overlay map[string][]byte
	// Sources, if not nil, replaces the disk and Overlay.
	Sources Sources
	// Seen, if not nil, is called with the absolute path of each file before it is accessed, even
	// if it does not exist; one call at a time.
	Seen func(path string)
	// Loaded, if not nil, is called with the entry and the manifest in the user's form; the latter
	// is "" if there is none.
	Loaded func(entry, manifest string)
	// Plain disables all optimisations, so that the program corresponds to its lines.
	Plain bool
	// Previous, if not nil, contains the results of an earlier check of the program, and receives
	// those of this one.
	Previous *Previous
	// Mock means that the program is run with every connection mocked: connections may be missing,
	// and need no key.
	Mock bool
}

// Previous contains results of a check for the next one. The zero value is for the first.
type Previous struct {
	// Bodies contains the results for the bodies of functions, which are reused while they are
	// valid; see sema.Config.
	Bodies *sema.Bodies
}

// Sources provides files and their syntax trees. It is safe for concurrent use. Paths are absolute.
type Sources interface {
	// Read returns a file under the name that users see. The error wraps fs.ErrNotExist if there is
	// none.
	Read(path, name string) (*source.File, error)
	// IsFile reports whether a file exists.
	IsFile(path string) bool
	// Parse returns the tree of a file that Read has returned.
	Parse(f *source.File) (*ast.File, diag.List)
}

// Input contains the sources of a program.
type Input struct {
	// the file with main, named as the user sees it; nil if it could not be loaded
	Entry     *source.File
	EntryName string             // its path relative to Root, with slashes
	Root      string             // absolute: the manifest's directory, or the entry's without one
	Manifest  *manifest.Manifest // nil without one
	// Scripts contains, by connection, the replies that scripted connections load from files, as
	// JSON arrays.
	Scripts map[string]json.RawMessage
	// Passes selects the optimisations that Build applies. Load selects all of them, or none for
	// tests, whose coverage counts the lines as they are written.
	Passes optimize.Set
	// Diagnostics contains the findings in the manifest and the scripts.
	Diagnostics diag.List

	// nil means optimize.Program; a test replaces it to break the program
	passes    func(*ir.Program, optimize.Set)
	generated func(*ir.Program) // a test sets it to break the generated program
	tests     bool
	chosen    codegen.ManifestData // Called and Debugged of the request
	seen      func(path string)
	overlay   map[string][]byte
	sources   Sources
	previous  *Previous
	mock      bool
	line      string            // see sema.Config
	names     map[string]string // of source files: names relative to Root by the names that users see
	dir       string            // Request.Dir, absolute
	absolute  bool              // the user gave an absolute path
}

// PathError means that a path leads to no program.
type PathError struct {
	Path    string // as the user gave it
	Message string
	Hint    string // the next step
}

func (e *PathError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

// SourceExt and IRExt are the file extensions of sources and of compiled programs.
const (
	SourceExt = ".conc"
	IRExt     = ".conc-ir"
)

// Load finds and reads what a request names. The error is a *PathError if the path is wrong,
// otherwise an error of reading. Errors in the files are in the Input's Diagnostics.
func Load(r Request) (*Input, error) {
	in, err := load(r)
	if err != nil {
		return nil, err
	}
	if r.Loaded != nil && in.Entry != nil {
		name := ""
		if in.Manifest != nil {
			name = in.Manifest.File.Name
		}
		r.Loaded(in.Entry.Name, name)
	}
	return in, nil
}

func load(r Request) (*Input, error) {
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot determine the directory %s: %w", r.Dir, err)
	}
	in := &Input{Passes: optimize.All, dir: dir, tests: r.Tests, chosen: codegen.ManifestData{Called: r.Called, Debugged: r.Plain}, mock: r.Mock, absolute: filepath.IsAbs(r.Path), Scripts: map[string]json.RawMessage{}, names: map[string]string{}, seen: r.Seen, overlay: r.Overlay, sources: r.Sources, previous: r.Previous}
	if in.seen == nil {
		in.seen = func(string) {}
	}
	in.seen = oneAtATime(in.seen)
	if r.Tests || r.Plain {
		in.Passes = optimize.None
	}
	if r.Inline != nil {
		return in, in.loadInline(r.Inline)
	}
	if r.Path == "" {
		path, ok := manifest.Locate(dir, in.isFile)
		if !ok {
			return nil, &PathError{Message: "no " + manifest.FileName + " in this directory or its parents",
				Hint: "pass a file, such as `concerto run main.conc`, or a directory with a " + manifest.FileName}
		}
		return in, in.project(path)
	}
	path := in.abs(r.Path)
	if in.isFile(path) {
		return in, in.loadFile(r.Path, path)
	}
	if m := filepath.Join(path, manifest.FileName); in.isFile(m) {
		return in, in.project(m)
	}
	switch _, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missingPathError(r.Path, path)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r.Path, cause(err))
	}
	return nil, unnamed(r.Path, path)
}

// unnamed returns the error for a directory without a manifest.
func unnamed(shown, path string) error {
	hint := "pass a file in it, or create a " + manifest.FileName + " with [project]"
	if isFile(filepath.Join(path, "main"+SourceExt)) {
		hint = "pass the file: " + filepath.ToSlash(filepath.Join(shown, "main"+SourceExt))
	}
	return &PathError{Path: shown, Message: "the directory has no " + manifest.FileName, Hint: hint}
}

// loadFile loads one source file with the nearest manifest, if there is one.
func (in *Input) loadFile(shown, path string) error {
	if filepath.Ext(path) != SourceExt {
		return &PathError{Path: shown, Message: "not a Concerto program", Hint: "the name of a program ends with " + SourceExt}
	}
	in.Root = filepath.Dir(path)
	if m, ok := manifest.Locate(in.Root, in.isFile); ok {
		if err := in.manifest(m); err != nil {
			return err
		}
	}
	return in.loadEntry(path)
}

// project loads a manifest and the entry that it names.
func (in *Input) project(path string) error {
	if err := in.manifest(path); err != nil {
		return err
	}
	name := in.Manifest.Project.Entry
	if name == "" {
		name = "main" + SourceExt
	}
	entry := filepath.Join(in.Root, filepath.FromSlash(name))
	if in.isFile(entry) {
		return in.loadEntry(entry)
	}
	if in.Diagnostics.HasErrors() {
		return nil // an unreadable manifest names no entry
	}
	p, written := in.Manifest.Project.At["entry"]
	d := diag.ManifestValue.At(p.Value, "the entry file `%s` does not exist", name).In(in.Manifest.File)
	if written {
		d.Hint("create it, or correct the path, which is relative to the manifest")
	} else {
		d.Hint("create it, or set another with `entry = \"…\"` in [project]")
	}
	in.Diagnostics.Add(d)
	return nil
}

// manifest reads the manifest and the scripts that it names. The manifest's directory becomes the
// root.
func (in *Input) manifest(path string) error {
	f, err := in.readFile(path)
	if err != nil {
		return err
	}
	in.Root = filepath.Dir(path)
	in.Manifest, in.Diagnostics = manifest.Parse(f)
	for _, c := range in.Manifest.Connections {
		if c.Script != "" && c.Provider == "scripted" {
			in.script(c)
		}
	}
	return nil
}

// script reads the replies of a scripted connection.
func (in *Input) script(c *manifest.Connection) {
	path := filepath.FromSlash(c.Script)
	if !filepath.IsAbs(path) {
		path = filepath.Join(in.Root, path)
	}
	f, err := in.readFile(path)
	if err != nil {
		in.Diagnostics.Add(diag.ManifestValue.At(c.At["script"].Value, "could not read script `%s`: %v", c.Script, errors.Unwrap(err)).
			In(in.Manifest.File).Hint("the path is relative to the manifest"))
		return
	}
	replies, l := manifest.ParseScript(f)
	in.Diagnostics.Append(l)
	in.Scripts[c.Name] = replies
}

func (in *Input) loadEntry(path string) error {
	f, err := in.readFile(path)
	if err != nil {
		return err
	}
	in.Entry, in.EntryName = f, in.Name(path)
	in.names[f.Name] = in.EntryName
	return nil
}

// Name returns a file's path relative to the root, with slashes, by which the program knows it. For
// a file outside the root, which only an unusual manifest can name, it begins with "..".
func (in *Input) Name(path string) string {
	rel, err := filepath.Rel(in.Root, path)
	if err != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(rel)
}

// Read reads another source file of the program, by its name relative to the
// root.
func (in *Input) Read(name string) (*source.File, error) {
	f, err := in.readFile(filepath.Join(in.Root, filepath.FromSlash(name)))
	if err == nil {
		in.names[f.Name] = name
	}
	return f, err
}

// readFile reads a file. Its name is the one that the user sees: relative to the working directory,
// or absolute if the user wrote it so.
func (in *Input) readFile(path string) (*source.File, error) {
	shown := path
	if rel, err := filepath.Rel(in.dir, path); err == nil && !in.absolute {
		shown = rel
	}
	shown = filepath.ToSlash(shown)
	in.seen(path)
	if in.sources != nil {
		f, err := in.sources.Read(path, shown)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", shown, cause(err))
		}
		return f, nil
	}
	text, overlaid := in.overlay[path]
	if !overlaid {
		var err error
		if text, err = userfile.Read(path, userfile.MaxText); err != nil {
			return nil, fmt.Errorf("read %s: %w", shown, cause(err))
		}
	}
	return source.NewFile(shown, text), nil
}

// oneAtATime makes a function safe for concurrent use.
func oneAtATime(f func(string)) func(string) {
	var mu sync.Mutex
	return func(s string) {
		mu.Lock()
		defer mu.Unlock()
		f(s)
	}
}

func (in *Input) isFile(path string) bool {
	in.seen(path)
	if in.sources != nil {
		return in.sources.IsFile(path)
	}
	_, overlaid := in.overlay[path]
	return overlaid || isFile(path)
}

func (in *Input) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.dir, path)
}

// missingPathError returns the error for a path that does not exist, with the most similar one.
func missingPathError(shown, path string) error {
	e := &PathError{Path: shown, Message: "no such file or directory", Hint: "check the path, which is relative to the working directory"}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return e
	}
	var names []string
	for _, x := range entries {
		if x.IsDir() || strings.HasPrefix(filepath.Ext(x.Name()), SourceExt) {
			names = append(names, x.Name())
		}
	}
	if near := suggest.Nearest(filepath.Base(path), names); near != "" {
		e.Hint = "did you mean " + filepath.ToSlash(filepath.Join(filepath.Dir(shown), near)) + "?"
	}
	return e
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// cause returns an error of package os without the operation and the path, which the message
// already contains.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
