package engine

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/disk"
)

// errDead is the error of each call of a process that has crashed. No such call has an effect.
var errDead = errors.New("the simulated process is dead")

// outcome is what a crash leaves of the operation during which it happens, and of what was not
// synced.
type outcome int

const (
	crashBefore  outcome = iota // the process dies before the operation, and everything else stays on the disk
	crashAfter                  // the process dies after it
	powerNone                   // the power fails after it: only what was synced remains
	powerAll                    // the same, and everything was written in time
	powerPrefix                 // the same, and a part was: prefixes of files, and any of the names
	powerTorn                   // like powerPrefix, and the rest of a file's last block is zeros
	outcomeCount = iota
)

var outcomeNames = [outcomeCount]string{"crash before", "crash after", "power cut, nothing unsynced stays", "power cut, everything stays", "power cut, a part stays", "power cut, a torn block"}

// simDisk is a disk with the files of one run. It counts the operations that change something, and
// kills the process at one of them.
type simDisk struct {
	path string // a real directory for what the run does not store through disk.Files: its lock and its ledger

	mu      sync.Mutex
	files   map[string]*simFile // as processes see them
	entries map[string]*simFile // names that survive a power cut
	count   int
	at      int // operation at which the process dies; 0 for none
	how     outcome
	died    string // the operation at which the process has died
	die     func()
	random  *rand.Rand
}

type simFile struct{ data, synced []byte }

func newSimDisk(path string) *simDisk {
	return &simDisk{path: path, files: map[string]*simFile{}, entries: map[string]*simFile{}, random: rand.New(rand.NewPCG(1, 2))}
}

// change performs an operation of a process, unless the process dies before it.
func (v *simView) change(name string, do func() error) error {
	d := v.disk
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.process.isDead() {
		return errDead
	}
	d.count++
	dies := d.count == d.at
	if dies {
		d.died = name
	}
	if dies && d.how == crashBefore {
		d.die()
		return errDead
	}
	err := do()
	if !dies {
		return err
	}
	d.die()
	if d.how >= powerNone {
		d.cut()
	}
	return errDead
}

// cut replaces the files by those that remain after a power cut.
func (d *simDisk) cut() {
	names := maps.Clone(d.entries)
	maps.Copy(names, d.files)
	left := map[string]*simFile{}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		now, was := d.files[n], d.entries[n]
		f := was
		if now != was && (d.how == powerAll || d.how > powerAll && d.random.IntN(2) == 0) {
			f = now
		}
		if f != nil {
			left[n] = d.remains(f)
		}
	}
	d.files, d.entries = left, maps.Clone(left)
}

// remains returns a file as it is after a power cut.
func (d *simDisk) remains(f *simFile) *simFile {
	data := slices.Clone(f.synced)
	grown := len(f.data) > len(f.synced) && slices.Equal(f.data[:len(f.synced)], f.synced)
	switch {
	case d.how == powerAll:
		data = slices.Clone(f.data)
	case d.how > powerAll && grown:
		n := len(f.synced) + d.random.IntN(len(f.data)-len(f.synced)+1)
		data = slices.Clone(f.data[:n])
		if d.how == powerTorn {
			data = append(data, make([]byte, len(f.data)-n)...)
		}
	case d.how > powerAll && d.random.IntN(2) == 0:
		data = slices.Clone(f.data)
	}
	return &simFile{data: data, synced: slices.Clone(data)}
}

// simView is the disk as one process uses it. It implements disk.Files.
type simView struct {
	disk.Files // the real directory
	disk       *simDisk
	process    *simProcess
}

func (v *simView) Path(name string) string {
	return filepath.Join(v.disk.path, filepath.FromSlash(name))
}

func (v *simView) Dir(string) error { return nil }

func (v *simView) Append(name string) (disk.File, int64, error) {
	h := &simHandle{view: v, name: name}
	err := v.change("open "+name, func() error {
		if h.file = v.disk.files[name]; h.file == nil {
			h.file = &simFile{}
			v.disk.files[name] = h.file
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	return h, int64(len(h.file.data)), nil
}

func (v *simView) Read(name string) ([]byte, error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if v.process.isDead() {
		return nil, errDead
	}
	f := v.disk.files[name]
	if f == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return slices.Clone(f.data), nil
}

func (v *simView) List(dir string) (names []string, err error) {
	v.disk.mu.Lock()
	defer v.disk.mu.Unlock()
	if v.process.isDead() {
		return nil, errDead
	}
	for n := range v.disk.files {
		if filepath.Dir(n) == dir {
			names = append(names, filepath.Base(n))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Put is two operations, because the power may fail between the renaming and the sync.
func (v *simView) Put(name string, text []byte) error {
	err := v.change("rename to "+name, func() error {
		v.disk.files[name] = &simFile{data: slices.Clone(text), synced: slices.Clone(text)}
		return nil
	})
	if err != nil {
		return err
	}
	return v.SyncDir(filepath.Dir(name))
}

func (v *simView) Make(name string, text []byte) error {
	err := v.change("link "+name, func() error {
		if v.disk.files[name] != nil {
			return &fs.PathError{Op: "link", Path: name, Err: fs.ErrExist}
		}
		v.disk.files[name] = &simFile{data: slices.Clone(text), synced: slices.Clone(text)}
		return nil
	})
	if err != nil {
		return err
	}
	return v.SyncDir(filepath.Dir(name))
}

func (v *simView) Remove(name string) error {
	return v.change("remove "+name, func() error { delete(v.disk.files, name); return nil })
}

func (v *simView) SyncDir(dir string) error {
	return v.change("sync directory "+dir, func() error {
		for n := range v.disk.entries {
			if filepath.Dir(n) == dir && v.disk.files[n] == nil {
				delete(v.disk.entries, n)
			}
		}
		for n, f := range v.disk.files {
			if filepath.Dir(n) == dir {
				v.disk.entries[n] = f
			}
		}
		return nil
	})
}

// simHandle is an open file.
type simHandle struct {
	disk.File // nil: the journal only appends
	view      *simView
	file      *simFile
	name      string
}

func (h *simHandle) Write(b []byte) (int, error) {
	err := h.view.change("write "+h.name, func() error { h.file.data = append(h.file.data, b...); return nil })
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

func (h *simHandle) Sync() error {
	return h.view.change("sync "+h.name, func() error { h.file.synced = slices.Clone(h.file.data); return nil })
}

func (h *simHandle) Truncate(size int64) error {
	return h.view.change("truncate "+h.name, func() error { h.file.data = h.file.data[:size]; return nil })
}

func (h *simHandle) Close() error { return nil }
