// Package driver is the one way from a path to a checked and generated program,
// for the command line, tests and embedding alike: it finds the entry file and
// its manifest (load.go), then parses, checks and generates.
//
// It reads files and nothing else outside of the process. Users see a file by
// the path that they gave. The program knows it by the path relative to the
// project's root, and so does not depend on where the project is.
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

// Request says what to load. Path is a .conc file, or a directory with a
// manifest; "" is the nearest manifest from Dir up. A relative path starts at
// Dir.
type Request struct {
	Path string
	Dir  string
	// Given, when not nil, is the program itself, as if it were in a file in Dir.
	// Path is then ignored.
	Given *Given
	// Tests makes the @test functions part of the program.
	Tests bool
	// Called says that tools are made of the program's functions.
	Called bool
	// Overlay are texts of files by their absolute paths, which count instead of the
	// disk's.
	Overlay map[string][]byte
	// Sources, when not nil, are asked for all files instead of the disk and Overlay.
	Sources Sources
	// Seen, when not nil, is called with the absolute path of each file just
	// before the file is looked at, also when it does not exist; one call at a
	// time.
	Seen func(path string)
	// Loaded, when not nil, is called with the entry and the manifest as the user
	// sees them; the latter is "" when there is none.
	Loaded func(entry, manifest string)
	// Plain leaves out all optimisations: the program is as it was written, for those who look at
	// each line.
	Plain bool
	// Kept, when not nil, is what an earlier check of the program has left for this one, and gets what this one
	// leaves for the next.
	Kept *Kept
	// Mock says that the program is run with every connection mocked: connections
	// may be missing, and need no key.
	Mock bool
}

// Kept is what checks of a program leave for the next one. The zero value is for the first.
type Kept struct {
	// Bodies is what was found in the bodies of functions, to be taken over where it still holds; see sema.Config.
	Bodies *sema.Bodies
}

// Sources are files as somebody keeps them, and their trees; safe for concurrent use. Paths are absolute.
type Sources interface {
	// Read gives a file under the name that users see. The error wraps fs.ErrNotExist when
	// there is none.
	Read(path, name string) (*source.File, error)
	// IsFile says whether there is a file.
	IsFile(path string) bool
	// Parse gives the tree of a file that Read has given.
	Parse(f *source.File) (*ast.File, diag.List)
}

// Input is a program's sources as found.
type Input struct {
	Entry     *source.File       // the file with main, named as the user sees it; nil when it cannot be had
	EntryName string             // its path relative to Root, with slashes
	Root      string             // absolute: the manifest's directory, or the entry's without one
	Manifest  *manifest.Manifest // nil without one
	// Scripts are the replies that scripted connections take from files, as JSON
	// arrays, by connection.
	Scripts map[string]json.RawMessage
	// Passes are the optimisations that Build applies. Load chooses all; for
	// tests none, as their coverage counts the lines as they are written.
	Passes optimize.Set
	// Diagnostics are the manifest's and the scripts'.
	Diagnostics diag.List

	passes    func(*ir.Program, optimize.Set) // optimize.Program when nil; a test's breaks the program
	generated func(*ir.Program)               // a test's breaks what was generated
	tests     bool
	chosen    codegen.ManifestData // Called and Debugged, as the request says
	seen      func(path string)
	overlay   map[string][]byte
	sources   Sources
	kept      *Kept
	mock      bool
	line      string            // as sema.Config has it
	names     map[string]string // of source files: as users see them, to relative to Root
	dir       string            // Request.Dir, absolute
	absolute  bool              // the user gave an absolute path
}

// PathError says that a path leads to no program.
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

// SourceExt and IRExt end the names of source files and of compiled programs.
const (
	SourceExt = ".conc"
	IRExt     = ".conc-ir"
)

// Load finds and reads what a request names. The error is a *PathError when the
// path is wrong, else an error of reading. Mistakes within the files are in the
// Input's Diagnostics.
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
	in := &Input{Passes: optimize.All, dir: dir, tests: r.Tests, chosen: codegen.ManifestData{Called: r.Called, Debugged: r.Plain}, mock: r.Mock, absolute: filepath.IsAbs(r.Path), Scripts: map[string]json.RawMessage{}, names: map[string]string{}, seen: r.Seen, overlay: r.Overlay, sources: r.Sources, kept: r.Kept}
	if in.seen == nil {
		in.seen = func(string) {}
	}
	in.seen = oneAtATime(in.seen)
	if r.Tests || r.Plain {
		in.Passes = optimize.None
	}
	if r.Given != nil {
		return in, in.given(r.Given)
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
		return in, in.file(r.Path, path)
	}
	if m := filepath.Join(path, manifest.FileName); in.isFile(m) {
		return in, in.project(m)
	}
	switch _, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing(r.Path, path)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r.Path, cause(err))
	}
	return nil, unnamed(r.Path, path)
}

// unnamed is the error for a directory without a manifest.
func unnamed(shown, path string) error {
	hint := "pass a file in it, or create a " + manifest.FileName + " with [project]"
	if isFile(filepath.Join(path, "main"+SourceExt)) {
		hint = "pass the file: " + filepath.ToSlash(filepath.Join(shown, "main"+SourceExt))
	}
	return &PathError{Path: shown, Message: "the directory has no " + manifest.FileName, Hint: hint}
}

// file loads one source file with the manifest above it, if there is one.
func (in *Input) file(shown, path string) error {
	if filepath.Ext(path) != SourceExt {
		return &PathError{Path: shown, Message: "not a Concerto program", Hint: "the name of a program ends with " + SourceExt}
	}
	in.Root = filepath.Dir(path)
	if m, ok := manifest.Locate(in.Root, in.isFile); ok {
		if err := in.manifest(m); err != nil {
			return err
		}
	}
	return in.entry(path)
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
		return in.entry(entry)
	}
	if in.Diagnostics.HasErrors() {
		return nil // a manifest that cannot be read names no entry
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

// manifest reads the manifest and the scripts that it names. The manifest's
// directory becomes the root.
func (in *Input) manifest(path string) error {
	f, err := in.read(path)
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
	f, err := in.read(path)
	if err != nil {
		in.Diagnostics.Add(diag.ManifestValue.At(c.At["script"].Value, "could not read script `%s`: %v", c.Script, errors.Unwrap(err)).
			In(in.Manifest.File).Hint("the path is relative to the manifest"))
		return
	}
	replies, l := manifest.ParseScript(f)
	in.Diagnostics.Append(l)
	in.Scripts[c.Name] = replies
}

func (in *Input) entry(path string) error {
	f, err := in.read(path)
	if err != nil {
		return err
	}
	in.Entry, in.EntryName = f, in.Name(path)
	in.names[f.Name] = in.EntryName
	return nil
}

// Name is a file's path relative to the root, with slashes, by which the program
// knows it. For a file outside the root, to which only an unusual entry in a
// manifest leads, it begins with "..".
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
	f, err := in.read(filepath.Join(in.Root, filepath.FromSlash(name)))
	if err == nil {
		in.names[f.Name] = name
	}
	return f, err
}

// read reads a file. Its name is the one that the user sees: relative to the
// working directory, or absolute when the user wrote it so.
func (in *Input) read(path string) (*source.File, error) {
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

// missing is the error for a path that is not there, with the nearest one.
func missing(shown, path string) error {
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

// cause removes what package os puts around an error: the operation and the
// path, which our own message names.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
