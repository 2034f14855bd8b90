package merge

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/runtime/workspace"
)

// home returns the directory of Concerto's files next to the manifest.
func (m *Merges) home() string { return filepath.Join(m.o.Store.Root(), ".concerto") }

// folder returns the directory of a queue's files.
func (m *Merges) folder(r *rules) string { return filepath.Join(m.home(), "merge", r.name) }

// prepare creates home with a .gitignore for its content.
func (m *Merges) prepare() error {
	if err := os.MkdirAll(m.home(), 0o755); err != nil {
		return err
	}
	ignore := filepath.Join(m.home(), ".gitignore")
	if _, err := os.Lstat(ignore); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(ignore, []byte("*\n"), 0o644)
}

// Sizes of a gate's output, in bytes: of the file, and of the end that errors contain.
const (
	maxLog = 32 << 20
)

// output writes the output of commands to a file, and stores its end. It is safe for concurrent
// use.
type output struct {
	mu   sync.Mutex
	file *os.File
	size int64
	tail workspace.Tail
	err  error // of the file
}

// newOutput creates the file.
func newOutput(path string) (*output, error) {
	f, err := os.Create(path)
	return &output{file: f, tail: workspace.Tail{Most: workspace.GateOutputSize}}, err
}

// newLog creates the log of a commit's gate.
func (m *Merges) newLog(r *rules, commit string) (*output, error) {
	if err := m.prepare(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(m.folder(r), 0o755); err != nil {
		return nil, err
	}
	return newOutput(filepath.Join(m.folder(r), commit+".log"))
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, _ = o.tail.Write(b) // has no error
	left := maxLog - o.size
	o.size += int64(len(b))
	switch {
	case o.err != nil || left < 0:
	case int64(len(b)) > left:
		_, o.err = o.file.Write(append(b[:left:left], "\n… the rest of the output is left out\n"...))
		o.size = maxLog + 1
	default:
		_, o.err = o.file.Write(b)
	}
	return len(b), nil
}

// close closes the file and returns the end of the output. The error is that of the file.
func (o *output) close() (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tail.String(), errors.Join(o.err, o.file.Close())
}
