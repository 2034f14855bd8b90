package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/process/lockfile"
	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// syncWithin is the delay between a write and the sync that includes it. Together with the duration
// of the sync, it is below 100 ms.
const syncWithin = 50 * time.Millisecond

// File is the file of a log. Write appends to the file.
type File interface {
	io.ReadWriteCloser
	Sync() error
	Truncate(size int64) error
}

// Options configures a log. The zero value is valid.
type Options struct {
	What     string           // name of the log in messages; "" means "audit log"
	Bare     bool             // do not write the records `open` and `close`
	Version  string           // version of the program in the record `open`
	Run      string           // id of the run in the records `open` and `close`
	SyncEach bool             // sync each record before Append returns
	Verify   int64            // verify only the records in so many bytes at the end of the file; 0 means all
	Now      func() time.Time // returns the current time; nil means time.Now
	Wrap     func(File) File  // replaces the file; used by tests
	Disk     disk.Disk        // the disk with the file; nil means the real one
	// Owned means that no person has named the file: it cannot belong to another program.
	Owned bool
	// Store, if not nil, opens the log in another store than a file. Only one process may write it.
	// Each call returns a reader at the beginning of the log.
	Store func() (File, error)
}

// LockedError means that another process is writing the log.
type LockedError struct {
	What, File string
	PID        int // id of the process; 0 if it is unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s %s is being written by another process", e.What, e.File)
	}
	return fmt.Sprintf("%s %s is being written by process %d", e.What, e.File, e.PID)
}

// auditLog is the default name of a log in messages.
const auditLog = "audit log"

// Log is a log that is open for writing. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	path    string
	file    File
	o       Options
	head    Head
	size    int64
	changes int64       // number of changes of the file
	synced  int64       // number of changes that are on the disk; -1 if the existing content may not be
	torn    int64       // bytes of the incomplete last line that Open removed
	timer   *time.Timer // running if a record is not synced; it starts the sync
	syncing sync.Mutex  // held during a background sync; must be acquired before mu
	broken  error       // error that prevents further writes; nil if there is none
}

// ErrClosed is the error of Append after Close.
var ErrClosed = errors.New("the audit log is closed")

// Open opens or creates a log, and writes a record `open`. If the last line is incomplete, Open
// removes it and records the number of its bytes. The error is a *LockedError, a *BrokenError, or
// an error of the file.
func Open(path string, o Options) (*Log, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.What == "" {
		o.What = auditLog
	}
	l := &Log{path: path, o: o, head: start}
	if o.Store != nil {
		var err error
		if l.file, err = o.Store(); err != nil {
			return nil, fmt.Errorf("open %s: %w", o.What, err)
		}
		if err := l.readExisting(); err != nil {
			return nil, err
		}
		return l, l.begin()
	}
	files, name := locate(o.Disk, path)
	f, err := files.Open(name, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, openError(path, o.What, err)
	}
	l.file = f
	if err = lock(f, path, o.What); err == nil {
		err = l.readExisting()
	}
	if l.size > 0 {
		l.synced = -1 // the process before may have died before it synced what it wrote
	}
	if err == nil && l.size == 0 {
		if err = files.SyncDir("."); err != nil {
			err = fmt.Errorf("open %s %s: %w", o.What, path, err)
		}
	}
	if err == nil {
		err = l.begin()
	}
	if err != nil {
		_ = f.Close() // the first error is returned
		return nil, err
	}
	return l, nil
}

// Reader returns a reader at the beginning of the log.
func (l *Log) Reader() (io.ReadCloser, error) {
	if l.o.Store != nil {
		return l.o.Store()
	}
	files, name := locate(l.o.Disk, l.path)
	return files.Open(name, os.O_RDONLY, 0)
}

// locate returns the directory of a log, and its name there.
func locate(d disk.Disk, path string) (disk.Files, string) {
	return d.At(filepath.Dir(path)), filepath.Base(path)
}

// lock locks an open log until it is closed.
func lock(f disk.File, path, what string) error {
	err := f.Lock()
	if held, ok := errors.AsType[*lockfile.HeldError](err); ok {
		pid, _ := strconv.Atoi(held.PID) // 0 if it is unknown
		return &LockedError{what, path, pid}
	}
	if err != nil {
		return fmt.Errorf("lock %s %s: %w", what, path, err)
	}
	return nil
}

// openError returns the error for a log that could not be opened. what is the log's name in
// messages.
func openError(path, what string, err error) error {
	if errors.Is(err, userfile.ErrNotRegular) {
		return fmt.Errorf("open %s: %s is %w", what, path, userfile.ErrNotRegular)
	}
	return fmt.Errorf("open %s: %w", what, err)
}

func (l *Log) readExisting() error {
	if l.o.Wrap != nil {
		l.file = l.o.Wrap(l.file)
	}
	c := reader{in: bufio.NewReaderSize(l.file, 1<<16), name: l.path, head: start, owned: l.o.Owned}
	if err := l.skip(&c); err != nil {
		return err
	}
	for {
		_, err := c.next()
		if err == io.EOF {
			break
		}
		if t := (tornError{}); errors.As(err, &t) {
			l.torn = t.bytes
			break
		}
		if err != nil {
			return err
		}
	}
	l.head, l.size = c.head, c.size
	if l.torn > 0 {
		l.changes++
		if err := l.file.Truncate(l.size); err != nil {
			return fmt.Errorf("cut the torn line of %s %s: %w", l.o.What, l.path, err)
		}
	}
	return nil
}

// skip moves a reader at the beginning of the file to the first record that is verified.
func (l *Log) skip(c *reader) error {
	f, ok := l.file.(io.ReadSeeker)
	if !ok || l.o.Verify == 0 {
		return nil
	}
	size, err := f.Seek(0, io.SeekEnd)
	from := max(size-l.o.Verify, 0)
	if err == nil {
		_, err = f.Seek(from, io.SeekStart)
	}
	if err != nil || from == 0 {
		return err
	}
	part, err := c.readLine() // of a record
	if err == nil {
		var whole []byte
		if whole, err = c.readLine(); err == nil {
			return c.trust(whole, from+int64(len(part)))
		}
	}
	if err != io.EOF { // otherwise, the end has fewer than two records
		return err
	}
	_, err = f.Seek(0, io.SeekStart)
	c.in.Reset(f)
	return err
}

// begin writes the record `open`.
func (l *Log) begin() error {
	if l.o.Bare {
		return nil
	}
	text, err := json.Marshal(map[string]any{"version": l.o.Version, "torn_bytes": l.torn})
	if err != nil {
		return err
	}
	_, err = l.Append(l.ownRecord(KindOpen, text))
	return err
}

// ownRecord returns a record about the log itself.
func (l *Log) ownRecord(kind string, data json.RawMessage) Record {
	return Record{Run: l.o.Run, Kind: kind, Actor: Actor{Type: "runtime", Name: "concerto"}, Data: data}
}

// Append writes a record. After an error the log contains no part of the record, and the caller
// must not perform the recorded action. The next Append tries again, unless the end of the log is
// unknown.
func (l *Log) Append(r Record) (Line, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return Line{}, l.broken
	}
	at := r.At
	if at.IsZero() {
		at = l.o.Now()
	}
	line, err := r.line(l.head, at)
	if err != nil {
		return line, err
	}
	if err := l.write(line.Text[:len(line.Text)+1]); err != nil {
		return line, err
	}
	l.head = Head{line.Seq, line.Hash}
	if l.o.SyncEach {
		return line, l.sync()
	}
	if l.timer == nil {
		l.timer = time.AfterFunc(syncWithin, l.syncSoon)
	}
	return line, nil
}

func (l *Log) write(text []byte) error {
	l.changes++
	n, err := l.file.Write(text)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err == nil {
		l.size += int64(n)
		return nil
	}
	err = fmt.Errorf("write %s %s: %w", l.o.What, l.path, err)
	if n > 0 {
		if undo := l.file.Truncate(l.size); undo != nil {
			l.broken = errors.Join(err, undo)
			return l.broken
		}
	}
	return err
}

// Sync writes all appended records to the disk.
func Sync(l *Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	return l.sync()
}

func (l *Log) sync() error {
	if l.synced == l.changes {
		return l.broken
	}
	if err := l.file.Sync(); err != nil {
		l.markUnsynced(err)
		return l.broken
	}
	l.synced = l.changes
	return l.broken
}

// syncSoon syncs the log without blocking Append. It runs when the timer expires.
func (l *Log) syncSoon() {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	l.timer = nil
	broken, upTo := l.broken, l.changes
	isSynced := l.synced == upTo
	l.mu.Unlock()
	if broken != nil || isSynced {
		return
	}
	err := l.file.Sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.markUnsynced(err)
	} else {
		l.synced = max(l.synced, upTo)
	}
}

// markUnsynced makes further writes fail, because after a failed sync the content of the disk is
// unknown.
func (l *Log) markUnsynced(err error) {
	l.broken = fmt.Errorf("sync %s %s: %w", l.o.What, l.path, err)
}

// HasRecord reports whether a log contains a record of this run and kind about a call. If the log
// cannot be read, it returns false.
func HasRecord(l *Log, run, kind, call string) bool {
	f, err := l.Reader()
	if err != nil {
		return false
	}
	defer f.Close()
	for line, err := range Lines(f, l.path) {
		if err != nil {
			return false
		}
		if line.Run == run && line.Kind == kind && callOf(line.Subject) == call {
			return true
		}
	}
	return false
}

// callOf returns the id of the call that a record's subject names, or "".
func callOf(about json.RawMessage) string {
	var s struct {
		Call string `json:"call"`
	}
	_ = json.Unmarshal(about, &s) // a subject without a call leaves s empty
	return s.Call
}

// Head returns the hash and the number of the last record.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Torn returns the number of bytes of the incomplete line that Open removed.
func (l *Log) Torn() int64 { return l.torn }

// Cut removes all records after a position that Lines has returned.
func (l *Log) Cut(after Position) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	l.changes++
	if err := l.file.Truncate(after.size); err != nil {
		return fmt.Errorf("cut %s %s: %w", l.o.What, l.path, err)
	}
	l.head, l.size = after.head, after.size
	if after.line == 0 {
		l.head = start
	}
	return nil
}

// Path returns the path of the log.
func (l *Log) Path() string { return l.path }

// Close writes a record `close` and releases the lock.
func (l *Log) Close() error {
	var err error
	if !l.o.Bare {
		_, err = l.Append(l.ownRecord(KindClose, nil))
	}
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if errors.Is(l.broken, ErrClosed) {
		return nil
	}
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if err == nil {
		err = l.sync()
	}
	l.broken = ErrClosed
	return errors.Join(err, l.file.Close())
}
