// Package powercut implements a disk for tests whose power can be cut. A power cut may lose any
// part of the data that was written to a file since its last sync.
package powercut

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ncruces/go-sqlite3/vfs"
)

// Disk is an SQLite VFS that records what remains of each file after a power cut.
type Disk struct {
	vfs.VFSFilename
	synced func()

	mu    sync.Mutex
	files map[string]*content
}

// content is the content of a file at its last sync, and the steps since then in order.
type content struct {
	synced  []byte
	pending []step
}

// step is a write at an offset, or a truncation if data is nil.
type step struct {
	at   int64
	data []byte
}

// New creates a disk and registers it as an SQLite VFS. After each sync it calls synced, while
// SQLite waits. synced may be nil.
func New(name string, synced func()) *Disk {
	d := &Disk{VFSFilename: vfs.Find("os").(vfs.VFSFilename), synced: synced, files: map[string]*content{}}
	vfs.Register(name, d)
	return d
}

// Cut writes the files that remain after a power cut to a directory. Each file has its synced
// content and a random part of the later steps.
func (d *Disk) Cut(dir string, chance *rand.Rand) error {
	d.mu.Lock()
	left := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(d.files)) {
		text := slices.Clone(d.files[name].synced)
		for _, s := range d.files[name].pending {
			if chance.IntN(2) == 0 {
				text = s.applyTo(text)
			}
		}
		left[name] = text
	}
	d.mu.Unlock()
	for name, text := range left {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// applyTo applies a step to a file's content.
func (s step) applyTo(text []byte) []byte {
	end := s.at + int64(len(s.data))
	if short := end - int64(len(text)); short > 0 {
		text = append(text, make([]byte, short)...)
	}
	if s.data == nil {
		return text[:s.at]
	}
	copy(text[s.at:], s.data)
	return text
}

// OpenFilename opens a file.
func (d *Disk) OpenFilename(of *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := d.VFSFilename.OpenFilename(of, flags)
	name := of.String()
	if err != nil || name == "" { // SQLite uses files without a name as temporary files
		return f, flags, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.files[name] == nil {
		d.files[name] = &content{}
	}
	return &file{File: f, disk: d, of: d.files[name]}, flags, nil
}

// Delete deletes a file. The deletion survives a power cut.
func (d *Disk) Delete(name string, syncDir bool) error {
	d.mu.Lock()
	delete(d.files, name)
	d.mu.Unlock()
	return d.VFSFilename.Delete(name, syncDir)
}

// file is an open file of a Disk.
type file struct {
	vfs.File
	disk *Disk
	of   *content
}

// SharedMemory returns the index of the write-ahead log. It does not survive a power cut.
func (f *file) SharedMemory() vfs.SharedMemory {
	return f.File.(vfs.FileSharedMemory).SharedMemory()
}

func (f *file) record(s step) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.of.pending = append(f.of.pending, s)
}

// WriteAt implements vfs.File.
func (f *file) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	f.record(step{off, append([]byte{}, p[:n]...)})
	return n, err
}

// Truncate implements vfs.File.
func (f *file) Truncate(size int64) error {
	err := f.File.Truncate(size)
	if err == nil {
		f.record(step{at: size})
	}
	return err
}

// Sync makes all earlier writes survive a power cut.
func (f *file) Sync(flags vfs.SyncFlag) error {
	if err := f.File.Sync(flags); err != nil {
		return err
	}
	f.disk.mu.Lock()
	for _, s := range f.of.pending {
		f.of.synced = s.applyTo(f.of.synced)
	}
	f.of.pending = nil
	f.disk.mu.Unlock()
	if f.disk.synced != nil {
		f.disk.synced()
	}
	return nil
}
