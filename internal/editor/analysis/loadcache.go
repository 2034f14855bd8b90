package analysis

import (
	"bytes"
	"os"
	"sync"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
)

// LoadCache loads a program repeatedly from the disk, for file watchers. It reuses the syntax trees
// of unchanged texts and the check results of unchanged function bodies. The zero value is ready to
// use. Calls must not overlap, but one load may read files concurrently.
type LoadCache struct {
	retained driver.Previous

	mu      sync.Mutex
	overlay map[string][]byte
	before  map[string]*text // texts of the previous load, by the names that diagnostics show
	now     map[string]*text
	trees   map[*source.File]*text
}

// Request returns the request for the next load. It is r with the sources and results of the
// previous load.
func (a *LoadCache) Request(r driver.Request) driver.Request {
	a.before, a.now, a.trees, a.overlay = a.now, map[string]*text{}, map[*source.File]*text{}, r.Overlay
	r.Sources, r.Previous = a, &a.retained
	return r
}

// Read reads a file from the disk.
func (a *LoadCache) Read(path, name string) (*source.File, error) {
	b, overlaid := a.overlay[path]
	if !overlaid {
		var err error
		if b, err = userfile.Read(path, userfile.MaxText); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.before[name]
	if t == nil || !bytes.Equal(t.file.Text, b) {
		t = &text{file: source.NewFile(name, b)}
	}
	a.now[name], a.trees[t.file] = t, t
	return t.file, nil
}

// IsFile reports whether a file exists.
func (a *LoadCache) IsFile(path string) bool {
	_, overlaid := a.overlay[path]
	info, err := os.Stat(path)
	return overlaid || err == nil && !info.IsDir()
}

// Parse returns the syntax tree of a file. Each text is parsed only once.
func (a *LoadCache) Parse(f *source.File) (*ast.File, diag.List) {
	a.mu.Lock()
	t := a.trees[f]
	a.mu.Unlock()
	if t == nil {
		return parser.Parse(f) // the program is in no file
	}
	return t.parse()
}
