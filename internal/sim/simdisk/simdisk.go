// Package simdisk simulates the disk of one machine for tests: processes that use it can be killed
// at each operation that changes something, the power can fail there, and operations can fail.
//
// Files have the content that processes see, and the content that would survive a power cut. Names
// are the same: they survive when their directory is synced. A read does not count as an operation.
package simdisk

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
)

// ErrDead is the error of each call of a dead process. No such call has an effect.
var ErrDead = errors.New("the simulated process is dead")

// Process is a process that uses a disk.
type Process interface {
	IsDead() bool
	Crash() // makes IsDead return true
}

// Outcome is what happens at the operation of a Fault.
type Outcome int

// The outcomes. A power cut happens after the operation, and kills all processes.
const (
	CrashBefore Outcome = iota // the process dies before the operation
	CrashAfter                 // the process dies after the operation
	PowerNone                  // power cut: only what was synced remains
	PowerAll                   // power cut: everything was written in time
	PowerPart                  // power cut: a part of it was
	PowerTorn                  // power cut: a part of it was, and the last blocks of files are incomplete
	Outcomes    = iota         // the number of outcomes
)

func (o Outcome) String() string {
	return [Outcomes]string{"crash before", "crash after", "power cut, nothing unsynced remains", "power cut, everything remains", "power cut, a part remains", "power cut, torn blocks"}[o]
}

// Fault is the death of a process at an operation.
type Fault struct {
	At      int // number of the operation, from 1; 0 for none
	Outcome Outcome
}

// Failure is an error of several operations.
type Failure struct {
	From, For int // number of the first operation, from 1, and how many fail; 0 for none
	// Err is the error. With ENOSPC, only operations fail that need space.
	Err syscall.Errno
}

// Options configures a Disk. The zero value is valid for a disk without SQLite databases.
type Options struct {
	Seed    uint64 // selects what remains after a power cut
	Faults  []Fault
	Failure Failure
	// Scratch is a real directory for the memory that connections to a database share.
	Scratch string
	// Observe, if not nil, is called with the name of each operation and the process that performs
	// it. It must not use the disk.
	Observe func(p Process, operation string)
}

// Disk is a simulated disk. It is safe for concurrent use. Close must be called.
type Disk struct {
	options Options

	mu         sync.Mutex
	names      map[string]*inode // by path, as processes see them
	durable    map[string]*inode // the names that survive a power cut
	changes    []change          // of names that do not survive a power cut yet, in order
	operations []string
	died       string
	random     *rand.Rand
	views      []*View
	inodes     int // number of inodes so far
	shared     int // number of shared memories so far
}

// inode is a file or a directory.
type inode struct {
	id       int
	dir      bool
	data     []byte
	synced   []byte  // the content that survives a power cut
	pending  []step  // since the last sync, in order
	anywhere bool    // blocks reach the disk in any order; otherwise those of a file are appended
	changed  int     // number of the last operation on it
	lock     *handle // holds the lock of the whole file
	base     database
}

// step is a write at an offset, or a truncation if data is nil.
type step struct {
	at   int64
	data []byte
}

func (s step) applyTo(text []byte) []byte {
	if s.data == nil {
		if s.at <= int64(len(text)) {
			return text[:s.at]
		}
		return append(text, make([]byte, s.at-int64(len(text)))...)
	}
	if short := s.at + int64(len(s.data)) - int64(len(text)); short > 0 {
		text = append(text, make([]byte, short)...)
	}
	copy(text[s.at:], s.data)
	return text
}

// change is a change of names that happens completely or not at all.
type change map[string]*inode

// New returns an empty disk with the root directory.
func New(o Options) *Disk {
	root := &inode{dir: true}
	return &Disk{options: o, names: map[string]*inode{"/": root}, durable: map[string]*inode{"/": root}, random: rand.New(rand.NewPCG(o.Seed, 1))}
}

// MkdirAll creates a directory that survives power cuts. It is no operation of a process.
func (d *Disk) MkdirAll(path string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; d.names[path] == nil; path = filepath.Dir(path) {
		n := d.newInode()
		n.dir = true
		d.names[path], d.durable[path] = n, n
	}
}

// Operations returns the names of the operations so far, in order.
func (d *Disk) Operations() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.operations)
}

// Died returns the operation at which a process has died last; "" for none.
func (d *Disk) Died() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.died
}

// FaultAfter adds a fault at the n-th operation from now.
func (d *Disk) FaultAfter(n int, o Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.options.Faults = append(d.options.Faults, Fault{len(d.operations) + n, o})
}

// FailAfter lets n operations fail, the first of them after some others.
func (d *Disk) FailAfter(after, n int, err syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.options.Failure = Failure{len(d.operations) + after, n, err}
}

// StopFaults lets all later operations succeed.
func (d *Disk) StopFaults() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.options.Faults, d.options.Failure = nil, Failure{}
}

// Paths returns the sorted paths of all files, as processes see them.
func (d *Disk) Paths() (all []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for path, n := range d.names {
		if !n.dir {
			all = append(all, path)
		}
	}
	slices.Sort(all)
	return all
}

// Close makes the VFSes of the disk unknown to SQLite.
func (d *Disk) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.views {
		v.unregister()
	}
}

// View returns the disk as a process uses it.
func (d *Disk) View(p Process) *View {
	v := &View{disk: d, process: p}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.views = append(d.views, v)
	return v
}

func (d *Disk) newInode() *inode {
	d.inodes++
	return &inode{id: d.inodes}
}

// need is whether an operation needs space on the disk.
type need bool

const (
	space   need = true
	nothing need = false
)

// operate performs an operation that changes something, unless the process dies before it, or it
// fails.
func (v *View) operate(name string, n need, do func()) error {
	d := v.disk
	if v.process.IsDead() {
		return ErrDead
	}
	d.operations = append(d.operations, name)
	if d.options.Observe != nil {
		d.options.Observe(v.process, name)
	}
	at := len(d.operations)
	fault := slices.IndexFunc(d.options.Faults, func(f Fault) bool { return f.At == at })
	if fault >= 0 {
		d.died = name
	}
	if fault >= 0 && d.options.Faults[fault].Outcome == CrashBefore {
		v.process.Crash()
		return ErrDead
	}
	if f := d.options.Failure; at >= f.From && at < f.From+f.For && (f.Err != syscall.ENOSPC || n == space) {
		return f.Err
	}
	do()
	if fault < 0 {
		return nil
	}
	v.process.Crash()
	if o := d.options.Faults[fault].Outcome; o >= PowerNone {
		d.cut(o)
	}
	return ErrDead
}

// rename changes names.
func (d *Disk) rename(c change) {
	c.applyTo(d.names)
	d.changes = append(d.changes, c)
}

// Cut cuts the power now.
func (d *Disk) Cut(o Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut(o)
}

// cut kills all processes, and replaces names and files by those that remain after a power cut.
func (d *Disk) cut(o Outcome) {
	for _, v := range d.views {
		v.process.Crash()
	}
	for _, c := range d.changes {
		if o == PowerAll || o > PowerAll && d.random.IntN(2) == 0 {
			c.applyTo(d.durable)
		}
	}
	d.changes = nil
	names := map[string]*inode{}
	remains := map[*inode]*inode{}
	for _, path := range d.sorted() {
		n := d.durable[path]
		if parent := names[filepath.Dir(path)]; path != "/" && (parent == nil || !parent.dir) {
			continue // the name of its directory was lost
		}
		if remains[n] == nil {
			remains[n] = d.remainsOf(n, o)
		}
		names[path] = remains[n]
	}
	d.names, d.durable = names, maps.Clone(names)
}

// sorted returns the durable paths: a directory before its files, and files in the order of their
// creation, because names may be random.
func (d *Disk) sorted() []string {
	all := make([]string, 0, len(d.durable))
	for path := range d.durable {
		all = append(all, path)
	}
	slices.SortFunc(all, func(a, b string) int {
		if n := strings.Count(a, "/") - strings.Count(b, "/"); n != 0 {
			return n
		}
		if n := d.durable[a].id - d.durable[b].id; n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return all
}

func (c change) applyTo(names map[string]*inode) {
	for path, n := range c {
		if n == nil {
			delete(names, path)
		} else {
			names[path] = n
		}
	}
}

// sector is the number of bytes that a disk writes at once.
const sector = 512

// remainsOf returns a file as it is after a power cut.
func (d *Disk) remainsOf(n *inode, o Outcome) *inode {
	left := d.newInode()
	left.dir, left.anywhere, left.changed = n.dir, n.anywhere, n.changed
	switch part := d.random.IntN(3); {
	case o == PowerNone || o > PowerAll && part == 0:
		left.data = slices.Clone(n.synced)
	case o == PowerAll || part == 1:
		left.data = slices.Clone(n.data)
	case n.anywhere:
		left.data = d.someOf(n, o)
	default:
		left.data = d.prefixOf(n, o)
		if short := len(n.data) - len(left.data); o == PowerTorn && short > 0 {
			left.data = append(left.data, make([]byte, short)...)
		}
	}
	left.synced = slices.Clone(left.data)
	return left
}

// someOf applies some of the steps of a file.
func (d *Disk) someOf(n *inode, o Outcome) []byte {
	text := slices.Clone(n.synced)
	for _, s := range n.pending {
		if d.random.IntN(2) == 0 {
			continue
		}
		if o == PowerTorn && s.data != nil && d.random.IntN(2) == 0 {
			s.data = s.data[:d.random.IntN(len(s.data)/sector+1)*sector]
		}
		text = s.applyTo(text)
	}
	return text
}

// prefixOf applies some of the first steps of a file, and a part of the next one: whole sectors if
// blocks are torn.
func (d *Disk) prefixOf(n *inode, o Outcome) []byte {
	text := slices.Clone(n.synced)
	if len(n.pending) == 0 {
		return text
	}
	count := d.random.IntN(len(n.pending) + 1)
	for _, s := range n.pending[:count] {
		text = s.applyTo(text)
	}
	if count < len(n.pending) && n.pending[count].data != nil {
		s := n.pending[count]
		end := s.at + int64(d.random.IntN(len(s.data)+1))
		if o == PowerTorn {
			end = max(end/sector*sector, s.at)
		}
		s.data = s.data[:end-s.at]
		text = s.applyTo(text)
	}
	return text
}

// sync makes the content of a file survive a power cut.
func (n *inode) sync() { n.synced, n.pending = slices.Clone(n.data), nil }

// syncDir makes the names in a directory survive a power cut.
func (d *Disk) syncDir(dir string) {
	d.changes = slices.DeleteFunc(d.changes, func(c change) bool {
		for path := range c {
			if filepath.Dir(path) == dir {
				c.applyTo(d.durable)
				return true
			}
		}
		return false
	})
}

// label returns a path without the random part of the name of a temporary file.
func label(path string) string {
	base := filepath.Base(path)
	if strings.HasPrefix(base, disk.TemporaryPrefix) {
		base = disk.TemporaryPrefix
	}
	return fmt.Sprintf("%s/%s", filepath.Base(filepath.Dir(path)), base)
}

// info describes an inode.
type info struct {
	name string
	size int64
	dir  bool
	at   int
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) IsDir() bool        { return i.dir }
func (i info) Sys() any           { return nil }
func (i info) ModTime() time.Time { return time.Unix(0, int64(i.at)) }

func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}

// OnlyProcess is a Process of which nothing else is simulated.
type OnlyProcess struct{ dead atomic.Bool }

// IsDead reports whether the process has crashed.
func (p *OnlyProcess) IsDead() bool { return p.dead.Load() }

// Crash makes IsDead return true.
func (p *OnlyProcess) Crash() { p.dead.Store(true) }
