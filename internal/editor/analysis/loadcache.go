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

// LoadCache loads a program repeatedly from the disk, for file watchers. Unchanged texts keep their
// trees, and results of unchanged bodies are reused, as in the editor. The zero value is ready.
// Loads must not overlap; within a load files are read concurrently.
type LoadCache struct {
	retained driver.Previous

	mu      sync.Mutex
	overlay map[string][]byte
	before  map[string]*text // of the load before, by the name that users see
	now     map[string]*text
	trees   map[*source.File]*text
}

// Request returns the request for the next load: r with the sources and results of the last load.
func (a *LoadCache) Request(r driver.Request) driver.Request {
	a.before, a.now, a.trees, a.overlay = a.now, map[string]*text{}, map[*source.File]*text{}, r.Overlay
	r.Sources, r.Previous = a, &a.retained
	return r
}

// Read returns a file of the disk.
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

// IsFile reports whether there is a file.
func (a *LoadCache) IsFile(path string) bool {
	_, overlaid := a.overlay[path]
	info, err := os.Stat(path)
	return overlaid || err == nil && !info.IsDir()
}

// Parse returns the tree of a text, parsed once.
func (a *LoadCache) Parse(f *source.File) (*ast.File, diag.List) {
	a.mu.Lock()
	t := a.trees[f]
	a.mu.Unlock()
	if t == nil {
		return parser.Parse(f) // a program that is in no file
	}
	return t.parse()
}
