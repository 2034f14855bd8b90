package driver

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
)

// moduleLoader reads and parses the files of modules in parallel, before the checker requests them.
// After it has parsed a file, it starts loading the modules that the file declares. The checker
// requests files in a fixed order, so its findings do not depend on timing.
type moduleLoader struct {
	in    *Input
	pkg   *Package      // package that contains the modules; nil for the project
	slots chan struct{} // semaphore that limits the number of files being read
	mu    sync.Mutex
	files map[string]*moduleFile // keys are file names relative to the root
}

// moduleFile is a file that is being loaded. Its result is valid after done is closed.
type moduleFile struct {
	done   chan struct{}
	source *source.File
	err    error
	tree   *ast.File
	list   diag.List
	bug    any // value of a panic in the parser, or nil
}

func newModuleLoader(in *Input, p *Package) *moduleLoader {
	return &moduleLoader{in: in, pkg: p, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), files: map[string]*moduleFile{}}
}

// ahead starts to load the files of the modules that decls declare in the directory dir. The file
// of a module has one of two names; the second is used if no file has the first.
func (m *moduleLoader) ahead(dir string, decls []ast.Decl) {
	if m.in.parsed {
		return
	}
	for _, d := range decls {
		d, ok := d.(*ast.ModDecl)
		if !ok || d.Name == nil {
			continue
		}
		if d.Inline {
			m.ahead(path.Join(dir, d.Name.Name), d.Decls)
			continue
		}
		names := sema.ModuleFiles(dir, d.Name.Name)
		go func() {
			for _, name := range names {
				if f := m.loadedFile(name); !errors.Is(f.err, fs.ErrNotExist) {
					if f.tree != nil {
						m.ahead(path.Join(dir, d.Name.Name), f.tree.Decls)
					}
					return
				}
			}
		}()
	}
}

// loadedFile returns the file with a name. The first caller loads it, later callers wait.
func (m *moduleLoader) loadedFile(name string) *moduleFile {
	m.mu.Lock()
	f, begun := m.files[name]
	if !begun {
		f = &moduleFile{done: make(chan struct{})}
		m.files[name] = f
	}
	m.mu.Unlock()
	if begun {
		<-f.done
		return f
	}
	defer close(f.done)
	defer func() { f.bug = recover() }()
	m.slots <- struct{}{}
	defer func() { <-m.slots }()
	if f.source, f.err = m.read(name); f.err == nil {
		f.tree, f.list = m.parse(f.source)
	}
	return f
}

// read reads a file of the project or of the package.
func (m *moduleLoader) read(name string) (*source.File, error) {
	if m.pkg != nil {
		return m.pkg.source(m.in, name)
	}
	return m.in.readFile(filepath.Join(m.in.Root, filepath.FromSlash(name)))
}

func (m *moduleLoader) parse(f *source.File) (*ast.File, diag.List) {
	if m.pkg != nil && m.pkg.Locked != nil {
		return parser.Parse(f) // Sources has not read it
	}
	return m.in.parseFile(f)
}

// root returns the tree of the package's root module.
func (m *moduleLoader) root() (*ast.File, diag.List) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.files[""]; f != nil {
		return f.tree, f.list
	}
	f := &moduleFile{source: m.pkg.root}
	f.tree, f.list = m.parse(f.source)
	m.files[""] = f
	return f.tree, f.list
}

// openModule returns the syntax tree of a module's file for the checker, with its findings.
func (m *moduleLoader) openModule(name string) (*ast.File, diag.List, bool) {
	f := m.loadedFile(name)
	switch {
	case f.bug != nil:
		panic(f.bug)
	case errors.Is(f.err, fs.ErrNotExist):
		return nil, diag.List{}, false
	case f.err != nil:
		var l diag.List
		l.Add(diag.ModuleFile.At(source.Span{}, "%v", f.err))
		return nil, l, true
	}
	switch {
	case m.pkg == nil:
		m.in.names[f.source.Name] = name
	case m.pkg.Locked == nil: // the files of other packages have this name in messages too
		m.in.names[f.source.Name] = m.pkg.label() + name
	}
	return f.tree, f.list, true
}
