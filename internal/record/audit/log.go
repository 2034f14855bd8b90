package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/process/userfile"
)

// syncWithin bounds how long a record may be written and not on the disk: with the
// time that the disk takes it stays below 100 ms.
const syncWithin = 50 * time.Millisecond

// File is what a log writes to; an *os.File is one. Write appends.
type File interface {
	io.ReadWriteCloser
	Sync() error
	Truncate(size int64) error
}

// Options are how a log is written. The zero value will do.
type Options struct {
	What     string           // what messages call it; "": audit log
	Bare     bool             // it has no records of its own
	Version  string           // of the program, for the record `open`
	Run      string           // of the records `open` and `close`
	SyncEach bool             // every record is on the disk when Append returns
	Now      func() time.Time // nil: the clock
	Wrap     func(File) File  // nil: the file as it is; tests have disks fill up
}

// LockedError is a log that another process writes.
type LockedError struct {
	What, File string
	PID        int // 0 when the system does not say
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s %s is being written by another process", e.What, e.File)
	}
	return fmt.Sprintf("%s %s is being written by process %d", e.What, e.File, e.PID)
}

// auditLog is what messages call a log that is called nothing else.
const auditLog = "audit log"

// Log is a log that is being written. Safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	path    string
	file    File
	o       Options
	head    Head
	size    int64
	torn    int64       // bytes of a line that were cut off
	timer   *time.Timer // runs while something is not synced
	syncing sync.Mutex  // held before mu, by who syncs beside those who write
	broken  error       // why nothing can be written any more
}

// ErrClosed is the error of a log that was closed.
var ErrClosed = errors.New("the audit log is closed")

// Open takes a log over, or makes a new one, and writes a record `open`. A last line
// that was torn is cut off, and counted in that record. Its error is a *LockedError, a
// *BrokenError, or that of the file.
func Open(path string, o Options) (*Log, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.What == "" {
		o.What = auditLog
	}
	f, err := userfile.OpenLog(path, 0o600)
	if err != nil {
		return nil, openError(path, o.What, err)
	}
	l := &Log{path: path, file: f, o: o, head: start}
	if err := l.takeOver(f); err != nil {
		_ = f.Close() // the first error tells more
		return nil, err
	}
	return l, nil
}

// openError returns the error of a log that could not be opened. what is the log's name in
// messages.
func openError(path, what string, err error) error {
	if errors.Is(err, userfile.ErrNotRegular) {
		return fmt.Errorf("open %s: %s is %w", what, path, userfile.ErrNotRegular)
	}
	return fmt.Errorf("open %s: %w", what, err)
}

func (l *Log) takeOver(f *os.File) error {
	if err := lock(f, l.o.What); err != nil {
		return err
	}
	if l.o.Wrap != nil {
		l.file = l.o.Wrap(f)
	}
	c := reader{in: bufio.NewReaderSize(l.file, 1<<16), name: l.path, head: start}
	for {
		_, err := c.next()
		if err == io.EOF {
			break
		}
		if t := (torn{}); errors.As(err, &t) {
			l.torn = t.bytes
			break
		}
		if err != nil {
			return err
		}
	}
	l.head, l.size = c.head, c.size
	if l.torn > 0 {
		if err := l.file.Truncate(l.size); err != nil {
			return fmt.Errorf("cut the torn line of %s %s: %w", l.o.What, l.path, err)
		}
	}
	if l.size == 0 {
		if err := syncDir(filepath.Dir(l.path)); err != nil {
			return fmt.Errorf("open %s %s: %w", l.o.What, l.path, err)
		}
	}
	if l.o.Bare {
		return nil
	}
	text, err := json.Marshal(map[string]any{"version": l.o.Version, "torn_bytes": l.torn})
	if err != nil {
		return err
	}
	_, err = l.Append(l.own(KindOpen, text))
	return err
}

// own is a record of the log's own.
func (l *Log) own(kind string, data json.RawMessage) Record {
	return Record{Run: l.o.Run, Kind: kind, Actor: Actor{Type: "runtime", Name: "concerto"}, Data: data}
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Append writes a record. After an error nothing of it is in the log, and what it was
// to precede must not happen; the next Append tries again, unless the log's end is
// not known any more.
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

// Sync has the disk have all that was appended to a log.
func Sync(l *Log) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	return l.sync()
}

func (l *Log) sync() error {
	if err := l.file.Sync(); err != nil {
		l.unsynced(err)
	}
	return l.broken
}

// syncSoon does not hold up those who write meanwhile: what they write is synced by
// the next.
func (l *Log) syncSoon() {
	l.syncing.Lock()
	defer l.syncing.Unlock()
	l.mu.Lock()
	l.timer = nil
	broken := l.broken
	l.mu.Unlock()
	if broken != nil {
		return
	}
	if err := l.file.Sync(); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unsynced(err)
	}
}

// unsynced is for good: after a failure nobody knows what the disk has.
func (l *Log) unsynced(err error) {
	l.broken = fmt.Errorf("sync %s %s: %w", l.o.What, l.path, err)
}

// Stands says whether a record of a run and kind stands in a log that is about a call. What
// cannot be read is taken for not there.
func Stands(l *Log, run, kind, call string) bool {
	f, err := os.Open(l.path)
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

// callOf is the call that a record is about; "" for none.
func callOf(about json.RawMessage) string {
	var s struct {
		Call string `json:"call"`
	}
	_ = json.Unmarshal(about, &s) // of another form: of none
	return s.Call
}

// Head is the last record.
func (l *Log) Head() Head {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// Torn is how many bytes of a line that was torn off were cut when the log was opened.
func (l *Log) Torn() int64 { return l.torn }

// Cut takes off what stands behind a position of the log, which Lines has given.
func (l *Log) Cut(behind Position) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return l.broken
	}
	if err := l.file.Truncate(behind.size); err != nil {
		return fmt.Errorf("cut %s %s: %w", l.o.What, l.path, err)
	}
	l.head, l.size = behind.head, behind.size
	if behind.line == 0 {
		l.head = start
	}
	return nil
}

// Path is where the log is.
func (l *Log) Path() string { return l.path }

// Close writes a record `close` and gives the log free.
func (l *Log) Close() error {
	var err error
	if !l.o.Bare {
		_, err = l.Append(l.own(KindClose, nil))
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
