package journal

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Options configures a Writer.
type Options struct {
	Sync  string       // one of the Sync constants; "" means SyncOutput
	Now   func() int64 // returns Unix milliseconds; nil means the system clock
	Owner Owner        // process that runs the run; its N is ignored
	// MaxBytes limits the size of the journal; 0 means no limit.
	MaxBytes int64
	// SegmentBytes is the size of a file after which the next file begins; 0 means the variable
	// SegmentBytes.
	SegmentBytes int64
}

// SegmentBytes is the default of Options.SegmentBytes. Tests change it.
var SegmentBytes int64 = 16 << 20

// The times at which records are synced: before anything is sent (output), also before the program
// receives a result (every), or only at the end (never).
const (
	SyncOutput = "output"
	SyncEvery  = "every"
	SyncNever  = "never"
)

// Level is the durability that records must have.
type Level uint8

// The levels of durability.
const (
	Written Level = iota // in the file, so that records survive the exit of the process
	Synced               // on the disk, so that records survive a power failure
)

// syncWithin limits the time between a write and its sync.
const syncWithin = time.Second

// blobSize is the size in bytes from which a value is stored in a separate file.
const blobSize = 256 << 10

// ErrFull means that the journal has reached its maximum size.
var ErrFull = errors.New("the journal has reached max_journal_mb")

// Writer appends records to the journal of a run. Append must be called by one goroutine. The other
// methods may be called by any goroutine.
type Writer struct {
	dir     *Directory
	options Options
	unlock  func() error

	ahead
	files

	written atomic.Uint64 // number of the last record in the file
	synced  atomic.Uint64
	syncing sync.Mutex
	late    chan struct{} // receives a value when records must be synced within syncWithin
	ended   chan struct{}
	ending  sync.WaitGroup
}

// ahead contains the records and lines that are not written.
type ahead struct {
	mu     sync.Mutex
	parts  []part // records by file; the last part grows
	out    []byte
	broken error // error of encoding a record or of writing a blob; nil if there was none
	s      uint64
	chain  string
	last   int64 // time of the last record in Unix milliseconds
	filled int64 // size of the last part's file, including unwritten records
	ends   []end // ends of the complete files
	// dropping means that a drop is in progress. named contains the blobs that records have named
	// since it started.
	dropping bool
	named    map[string]bool
	total    int64 // size of all files, including unwritten records
}

// files contains the open files of a run.
type files struct {
	io      sync.Mutex
	file    File
	outFile File
	past    []File // earlier journal files, which a sync may still use
	segment int
	size    int64 // size of the complete records in the file
	outSize int64
	bytes   int64 // size of the records in all files
}

// part contains the unwritten records of one journal file.
type part struct {
	segment int
	lines   []byte
}

// writer returns a Writer that appends after a history.
func (d *Directory) writer(h *History, o Options) (*Writer, error) {
	if o.Sync == "" {
		o.Sync = SyncOutput
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = SegmentBytes
	}
	if o.Now == nil {
		o.Now = func() int64 { return time.Now().UnixMilli() }
	}
	w := &Writer{dir: d, options: o, ahead: ahead{chain: zeroHash}, files: files{segment: h.Segment, size: h.Size, bytes: h.Bytes}, late: make(chan struct{}, 1), ended: make(chan struct{})}
	if h.N > 0 {
		w.s, w.chain, w.last = h.N, h.Last().H, h.Last().T
		w.written.Store(w.s)
	}
	w.parts, w.filled, w.total, w.ends = []part{{segment: h.Segment}}, h.Size, h.Bytes, slices.Clone(h.ends)
	var err error
	var size int64
	if w.file, size, err = d.files.Append(SegmentName(w.segment)); err != nil {
		return nil, err
	}
	if size > w.size {
		if err := w.file.Truncate(w.size); err != nil {
			return nil, errors.Join(err, w.file.Close())
		}
	}
	if err := w.openOut(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	w.ending.Go(w.syncLate)
	return w, nil
}

// openOut opens the output file and removes an incomplete last line.
func (w *Writer) openOut() error {
	_, torn, err := w.dir.Out()
	if err != nil {
		return err
	}
	if w.outFile, w.outSize, err = w.dir.files.Append(OutFile); err != nil || torn == 0 {
		return err
	}
	w.outSize -= int64(torn)
	if err := w.outFile.Truncate(w.outSize); err != nil {
		return errors.Join(err, w.outFile.Close())
	}
	return nil
}

// Append adds a record and returns its number. The next Flush writes the record.
func (w *Writer) Append(r *Record) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.s
	}
	if len(r.V) > blobSize && r.K != KStart {
		sum := hexsum.SHA256(r.V)
		if err := w.dir.files.Put(blobs+"/"+sum, r.V); err != nil {
			w.broken = err
			return w.s
		}
		r.Blob, r.V = sum, nil
		if w.named != nil {
			w.named[sum] = true
		}
	}
	w.add(r)
	if w.filled >= w.options.SegmentBytes && w.broken == nil {
		full := w.parts[len(w.parts)-1].segment
		w.ends = append(w.ends, end{full, w.s, w.filled})
		w.parts, w.filled = append(w.parts, part{segment: full + 1}), 0
		w.add(&Record{K: KSegment})
	}
	return w.s
}

// add encodes a record and adds it to the last part.
func (w *Writer) add(r *Record) {
	r.S, r.T = w.s+1, max(w.options.Now(), w.last)
	r.Y = w.s > 0 && w.synced.Load() == w.s
	p := &w.parts[len(w.parts)-1]
	before := len(p.lines)
	lines, h, err := r.append(p.lines, w.chain)
	if err != nil {
		w.broken = err
		return
	}
	p.lines, w.chain, w.s, w.last = lines, h, r.S, r.T
	w.filled += int64(len(lines) - before)
	w.total += int64(len(lines) - before)
}

// At returns the position after the last appended record, and the size of the journal up to there.
func (w *Writer) At() (at From, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return From{w.s, w.chain}, w.total
}

// Time returns the current time in Unix milliseconds, or the time of the last record if that is
// later.
func (w *Writer) Time() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.options.Now(), w.last)
}

// Out adds a line to the run's output. The next Flush writes it after the records.
func (w *Writer) Out(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = append(append(w.out, line...), '\n')
}

// Flush writes everything that was added. After an error the unwritten records are retained, and
// the caller may call Flush again.
func (w *Writer) Flush(level Level) error {
	w.mu.Lock()
	s := w.s
	idle := len(w.parts[len(w.parts)-1].lines) == 0 && len(w.parts) == 1 && len(w.out) == 0 && w.broken == nil
	w.mu.Unlock()
	if !idle || w.written.Load() < s {
		if err := w.write(); err != nil {
			return err
		}
	}
	if level != Synced || w.options.Sync == SyncNever {
		return nil
	}
	return w.sync(s)
}

// write writes all unwritten records and lines.
func (w *Writer) write() error {
	w.io.Lock()
	defer w.io.Unlock()
	w.mu.Lock()
	parts, out, s, err := w.parts, w.out, w.s, w.broken
	w.parts, w.out = []part{{segment: parts[len(parts)-1].segment}}, nil
	w.mu.Unlock()
	for err == nil && len(parts) > 0 {
		if err = w.putPart(&parts[0]); err == nil {
			parts = parts[1:]
		}
	}
	if err == nil {
		if err = w.appendAll(w.outFile, &w.outSize, out); err == nil {
			out = nil
		}
	}
	if err != nil {
		w.requeue(parts, out)
		return err
	}
	if s > w.written.Load() {
		w.written.Store(s)
		select {
		case w.late <- struct{}{}:
		default:
		}
	}
	return nil
}

// requeue adds the parts that could not be written before the unwritten ones, for the next attempt.
func (w *Writer) requeue(parts []part, out []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(parts) > 0 {
		last := &parts[len(parts)-1]
		last.lines = append(last.lines, w.parts[0].lines...)
		w.parts = append(parts, w.parts[1:]...)
	}
	w.out = append(out, w.out...)
}

// putPart appends a part to its journal file. It creates the file if it is the next one.
func (w *Writer) putPart(p *part) error {
	if p.segment != w.segment {
		if err := w.next(p.segment); err != nil {
			return err
		}
	}
	if w.options.MaxBytes > 0 && w.bytes+int64(len(p.lines)) > w.options.MaxBytes {
		return ErrFull
	}
	if err := w.appendAll(w.file, &w.size, p.lines); err != nil {
		return err
	}
	w.bytes += int64(len(p.lines))
	return nil
}

// appendAll appends a text to a file. If that fails, it truncates the file to its previous size.
func (w *Writer) appendAll(f File, size *int64, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Truncate(*size))
	}
	*size += int64(len(text))
	return nil
}

// next starts the journal file with a number.
func (w *Writer) next(segment int) error {
	if err := w.file.Sync(); err != nil {
		return err
	}
	file, size, err := w.dir.files.Append(SegmentName(segment))
	if err != nil {
		return err
	}
	if size > 0 {
		err = file.Truncate(0) // removes the text of a failed attempt
	}
	if err = errors.Join(err, w.dir.files.SyncDir(".")); err != nil {
		return errors.Join(err, file.Close())
	}
	w.past = append(w.past, w.file)
	w.file, w.segment, w.size = file, segment, 0
	return nil
}

// sync syncs the records up to s. Concurrent callers share one sync.
func (w *Writer) sync(s uint64) error {
	if w.synced.Load() >= s {
		return nil
	}
	w.syncing.Lock()
	defer w.syncing.Unlock()
	if w.synced.Load() >= s {
		return nil
	}
	upTo := w.written.Load()
	w.io.Lock()
	file, out := w.file, w.outFile
	w.io.Unlock()
	if err := errors.Join(file.Sync(), out.Sync()); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	w.synced.Store(upTo)
	return nil
}

// Synced returns the number of the last synced record.
func (w *Writer) Synced() uint64 { return w.synced.Load() }

// SyncLater starts a sync in the background.
func (w *Writer) SyncLater() {
	if w.options.Sync == SyncNever {
		return
	}
	w.ending.Go(func() { _ = w.sync(w.written.Load()) }) // the error is permanent and the next Flush returns it
}

// syncLate syncs the written records after a delay.
func (w *Writer) syncLate() {
	for {
		select {
		case <-w.ended:
			return
		case <-w.late:
		}
		select {
		case <-w.ended:
			return
		case <-time.After(syncWithin):
		}
		if w.options.Sync != SyncNever {
			_ = w.sync(w.written.Load()) // the error is permanent and the next Flush returns it
		}
	}
}

// OutSize returns the size of the output file.
func (w *Writer) OutSize() int64 {
	w.io.Lock()
	defer w.io.Unlock()
	return w.outSize
}

// TruncateOut truncates the output file to a size.
func (w *Writer) TruncateOut(size int64) error {
	w.io.Lock()
	defer w.io.Unlock()
	if err := w.outFile.Truncate(size); err != nil {
		return err
	}
	w.outSize = size
	return nil
}

// Close closes the files and releases the lock of the run. It does not flush.
func (w *Writer) Close() error {
	close(w.ended)
	w.ending.Wait()
	err := errors.Join(w.file.Close(), w.outFile.Close())
	for _, f := range w.past {
		err = errors.Join(err, f.Close())
	}
	if w.unlock != nil {
		err = errors.Join(err, w.unlock())
	}
	return err
}
