// Package driver loads, checks and compiles programs for the command line, tests and embedding.
// load.go finds the entry file and its manifest; the other files parse, check and generate code.
//
// The package reads files and uses nothing else outside the process. Messages show a file with the
// path that the user wrote. The IR contains the path relative to the project's root, so it does not
// depend on the location of the project.
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
	"github.com/concerto-lang/concerto/internal/compile/pkg"
	"github.com/concerto-lang/concerto/internal/engine/packages/pkgcache"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/sema"
)

// Request specifies the program to load. Path is a .conc file, or a directory with a manifest. If
// Path is empty, the nearest manifest is used, in Dir or a directory above it. A relative path is
// relative to Dir.
type Request struct {
	Path string
	Dir  string
	// Inline, if not nil, is the program's text, loaded as if it were a file in Dir. Path is then
	// ignored.
	Inline *Inline
	// Tests includes the @test functions in the program.
	Tests bool
	// Evals includes the @eval functions in the program.
	Evals bool
	// Called means that functions of the program are provided as tools.
	Called bool
	// Overlay maps absolute paths to texts that replace the files on disk.
	Overlay map[string][]byte
	// Sources, if not nil, replaces the files on disk and Overlay.
	Sources Sources
	// Parsed means that Sources has already parsed the files. They are then not parsed in parallel.
	Parsed bool
	// Seen, if not nil, is called with the absolute path of each file before the file is accessed,
	// even if it does not exist. Calls are never concurrent.
	Seen func(path string)
	// Loaded, if not nil, is called with the paths of the entry and of the manifest as users see
	// them. manifest is "" if there is none. isCached means that the program is in the cache, and
	// is not compiled.
	Loaded func(entry, manifest string, isCached bool)
	// Plain disables all optimisations, so that each instruction belongs to one source line.
	Plain bool
	// Previous, if not nil, contains the results of an earlier check of the program. Checking
	// replaces them with its own results.
	Previous *Previous
	// Mock means that all connections are mocked in the run. Connections may then be missing, and
	// need no API key.
	Mock bool
	// Data checks the datasets that evals name; nil checks none.
	Data CheckData
	// DenyWarnings means that warnings count as errors.
	DenyWarnings bool
	// AnyParty means that an application can give a run its models and hosts. A program without a
	// manifest may then use connections and hosts of any name.
	AnyParty bool
	// Stopped, if not nil, stops Build when it returns true. The program is then nil.
	Stopped func() bool
	// Packages determines how the packages of the project are found.
	Packages PackageSource
	// Programs is the directory of the cache of compiled programs; "" disables the cache.
	Programs string
}

// CheckData checks the datasets that the evals of a program name.
type CheckData func(p *sema.Program, read ReadData, l *diag.List)

// ReadData reads a dataset. Its path is relative to the source file that names it.
type ReadData func(from *source.File, path string) (*source.File, error)

// Previous contains results that one check passes to the next. The zero value is valid.
type Previous struct {
	// Bodies contains the results for function bodies, which are reused while they are valid; see
	// sema.Config.
	Bodies *sema.Bodies

	loading  sync.Mutex
	packages map[string]*moduleLoader // by the hashes of packages
}

// Sources provides source files and their syntax trees. It is safe for concurrent use. Paths are
// absolute.
type Sources interface {
	// Read reads the file at path. The file's name in messages is name. The error wraps
	// fs.ErrNotExist if the file does not exist.
	Read(path, name string) (*source.File, error)
	// IsFile reports whether a file exists.
	IsFile(path string) bool
	// Parse returns the syntax tree of a file that Read has returned.
	Parse(f *source.File) (*ast.File, diag.List)
}

// Input is a loaded program.
type Input struct {
	// entry file, with the path that the user sees; nil if it could not be loaded
	Entry     *source.File
	EntryName string             // path of the entry relative to Root, with slashes
	Root      string             // absolute path of the manifest's directory, or of the entry's directory without a manifest
	Manifest  *manifest.Manifest // nil if there is no manifest
	// Scripts maps the names of scripted connections to the replies that were loaded from their
	// files, as JSON arrays.
	Scripts map[string]json.RawMessage
	// Passes selects the optimisations that Build applies. Load selects all of them. For tests,
	// Load selects none, because coverage counts the lines as they are written.
	Passes optimize.Set
	// Graph is the graph of the project's packages, and Packages contains them, each after those
	// that it requires. Graph is nil without packages.
	Graph    *pkg.Graph
	Packages []*Package
	// Diagnostics contains the findings in the manifest, in the scripts and about packages.
	Diagnostics diag.List

	cache           pkgcache.Cache
	packagesFailed  bool            // the packages are not available, which was reported
	isLenient       bool            // the manifest is assumed to declare all hosts and servers
	checkedPackages []*sema.Package // those of the last check, in the order of Packages
	// optimisation passes; nil means optimize.Program, and tests insert faulty passes
	passes    func(*ir.Program, optimize.Set)
	generated func(*ir.Program) // called with the generated program; tests use it to insert invalid code
	checks    checkOptions
	data      CheckData
	chosen    codegen.ManifestData // the request's Called and Debugged
	seen      func(path string)
	reads     *readLog // nil without Request.Programs
	overlay   map[string][]byte
	sources   Sources
	parsed    bool
	previous  *Previous
	mock      bool
	line      string            // sema.Config.Line
	names     map[string]string // path that users see, mapped to the path relative to Root
	dir       string            // Request.Dir, absolute
	absolute  bool              // the user wrote an absolute path
}

// checkOptions are options of a check.
type checkOptions struct {
	withTests bool        // the program includes the files with its tests
	evals     bool        // the program includes its @eval functions
	tests     bool        // the program includes its @test functions
	denies    bool        // warnings count as errors
	stopped   func() bool // Request.Stopped
	anyParty  bool        // Request.AnyParty
}

// testSuffix ends the name of a file that contains the tests of another file.
const testSuffix = "_test" + SourceExt

// PathError means that a path does not lead to a program.
type PathError struct {
	Path    string // path that the user wrote
	Message string
	Hint    string // what the user can do next
	// IsUnlike reports that no file or directory has this name or a similar one.
	IsUnlike bool
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

// Load finds and reads the program of a request. The error is a *PathError if the path is wrong,
// otherwise an error of reading a file. Errors in the files are in the Input's Diagnostics.
func Load(r Request) (*Input, error) {
	in, err := load(r)
	if err != nil {
		return nil, err
	}
	if err := in.loadPackages(r.Packages); err != nil {
		return nil, err
	}
	if r.Loaded != nil && in.Entry != nil {
		name := ""
		if in.Manifest != nil {
			name = in.Manifest.File.Name
		}
		r.Loaded(in.Entry.Name, name, false)
	}
	return in, nil
}

// newInput returns an Input into which nothing is loaded.
func newInput(r Request) (*Input, error) {
	dir, err := filepath.Abs(r.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot determine the directory %s: %w", r.Dir, err)
	}
	in := &Input{Passes: optimize.All, dir: dir, checks: checkOptions{withTests: r.Tests, tests: r.Tests, evals: r.Evals, denies: r.DenyWarnings, stopped: r.Stopped, anyParty: r.AnyParty}, data: r.Data, chosen: codegen.ManifestData{Called: r.Called, Debugged: r.Plain}, mock: r.Mock, absolute: filepath.IsAbs(r.Path), Scripts: map[string]json.RawMessage{}, names: map[string]string{}, seen: r.Seen, overlay: r.Overlay, sources: r.Sources, cache: r.Packages.Cache, parsed: r.Parsed, previous: r.Previous}
	if in.seen == nil {
		in.seen = func(string) {}
	}
	in.seen = oneAtATime(in.seen)
	if r.Programs != "" {
		in.reads = &readLog{}
	}
	if r.Tests || r.Plain {
		in.Passes = optimize.None
	}
	return in, nil
}

func load(r Request) (*Input, error) {
	in, err := newInput(r)
	if err != nil {
		return nil, err
	}
	if r.Inline != nil {
		return in, in.loadInline(r.Inline)
	}
	if r.Path == "" {
		path, ok := manifest.LocateProject(in.dir, in.exists)
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
	if m := filepath.Join(path, manifest.FileName); in.exists(m) {
		return in, in.project(m)
	}
	switch _, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missingPathError(r.Path, path)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", r.Path, userfile.Cause(err))
	}
	return nil, unnamed(r.Path, path)
}

// unnamed returns the error for a directory without a manifest, when the user gave no path.
func unnamed(shown, path string) error {
	hint := "pass a file in it, or create a " + manifest.FileName + " with [project]"
	if isFile(filepath.Join(path, "main"+SourceExt)) {
		hint = "pass the file: " + filepath.ToSlash(filepath.Join(shown, "main"+SourceExt))
	}
	return &PathError{Path: shown, Message: "the directory has no " + manifest.FileName, Hint: hint}
}

// loadFile loads a source file and the nearest manifest, if there is one.
func (in *Input) loadFile(shown, path string) error {
	if filepath.Ext(path) != SourceExt {
		return &PathError{Path: shown, Message: "not a Concerto program", Hint: "the name of a program ends with " + SourceExt}
	}
	in.Root = filepath.Dir(path)
	if m, ok := manifest.Locate(in.Root, in.exists); ok {
		if err := in.manifest(m); err != nil {
			return err
		}
	}
	return in.loadEntry(path)
}

// project loads a manifest and its entry file.
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
		return nil // the entry is not known because the manifest could not be parsed
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

// manifest reads the manifest and its script files. The manifest's directory becomes the root.
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

// script reads the file with the replies of a scripted connection.
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

// Name returns a file's path relative to the root, with slashes. The IR contains this path. It
// begins with ".." for a file outside the root, which only an unusual manifest can name.
func (in *Input) Name(path string) string {
	rel, err := filepath.Rel(in.Root, path)
	if err != nil {
		return filepath.Base(path)
	}
	return filepath.ToSlash(rel)
}

// Read reads a source file by its path relative to the root.
func (in *Input) Read(name string) (*source.File, error) {
	f, err := in.readFile(filepath.Join(in.Root, filepath.FromSlash(name)))
	if err == nil {
		in.names[f.Name] = name
	}
	return f, err
}

// readFile reads a file by its absolute path. The file's name in messages is relative to the
// working directory, or absolute if the user wrote an absolute path.
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
			return nil, fmt.Errorf("read %s: %w", shown, userfile.Cause(err))
		}
		return f, nil
	}
	text, overlaid := in.overlay[path]
	if !overlaid {
		var err error
		if text, err = userfile.Read(path, userfile.MaxText); err != nil {
			in.reads.add(readText, path, "")
			return nil, fmt.Errorf("read %s: %w", shown, userfile.Cause(err))
		}
	}
	if in.reads != nil {
		in.reads.add(readText, path, hashOf(text))
	}
	return source.NewFile(shown, text), nil
}

// oneAtATime returns a function that calls f under a mutex.
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
	found := overlaid || isFile(path)
	in.reads.add(readFile, path, yes(found))
	return found
}

// exists is isFile, and also true for a directory. A directory with the name of a manifest is
// thereby reported, and not taken for no manifest.
func (in *Input) exists(path string) bool {
	if in.isFile(path) {
		return true
	}
	found := in.sources == nil && isAny(path)
	in.reads.add(readAny, path, yes(found))
	return found
}

func (in *Input) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in.dir, path)
}

// missingPathError returns the error for a path that does not exist. Its hint names the most
// similar existing path.
func missingPathError(shown, path string) error {
	e := &PathError{Path: shown, Message: "no such file or directory", IsUnlike: true, Hint: "check the path, which is relative to the working directory"}
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
		e.Hint, e.IsUnlike = "did you mean "+filepath.ToSlash(filepath.Join(filepath.Dir(shown), near))+"?", false
	}
	return e
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
