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
	Sync  string       // "" means SyncOutput
	Now   func() int64 // Unix milliseconds; nil means the machine's clock
	Owner Owner        // the process that runs the run; N is ignored
	// MaxBytes limits the journal; 0 means no limit.
	MaxBytes int64
	// SegmentBytes is the size from which a new file is begun; 0 means the variable of that name.
	SegmentBytes int64
}

// SegmentBytes is the default size from which a new file is begun. Tests set it.
var SegmentBytes int64 = 16 << 20

// When records are synced: before anything is sent, also before the program receives a result, or
// only at the end.
const (
	SyncOutput = "output"
	SyncEvery  = "every"
	SyncNever  = "never"
)

// Level is the required durability of records.
type Level uint8

// The levels.
const (
	Written Level = iota // in the file: they survive the process
	Synced               // on the disk: they survive a power failure
)

// syncWithin limits how long written records may be unsynced.
const syncWithin = time.Second

// blobSize is the size from which a value is stored in a file of its own.
const blobSize = 256 << 10

// ErrFull means that the journal has reached its limit.
var ErrFull = errors.New("the journal has reached max_journal_mb")

// Writer appends to a run's journal. Append must be called from one goroutine, the other methods
// from any.
type Writer struct {
	dir     *Directory
	options Options
	unlock  func() error

	ahead
	files

	written atomic.Uint64 // the last record in the file
	synced  atomic.Uint64
	syncing sync.Mutex
	late    chan struct{} // signals that something must be synced within syncWithin
	ended   chan struct{}
	ending  sync.WaitGroup
}

// ahead contains what is not yet written.
type ahead struct {
	mu     sync.Mutex
	parts  []part // the last one grows
	out    []byte
	broken error // a record could not be encoded, or a blob not written
	s      uint64
	chain  string
	last   int64 // time of the last record
	filled int64 // size of the last part's file, including unwritten records
	ends   []end // of the complete files
	// dropping means that files are being dropped; named contains the blobs named since.
	dropping bool
	named    map[string]bool
	total    int64 // of all files, including unwritten records
}

// files contains the open files.
type files struct {
	io      sync.Mutex
	file    File
	outFile File
	past    []File // earlier segments, which may be being synced
	segment int
	size    int64 // of the file's complete records
	outSize int64
	bytes   int64 // of all files
}

// part contains the unwritten records of one file.
type part struct {
	segment int
	lines   []byte
}

// writer opens the files after a history.
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

// openOut opens the output file, and cuts off an incomplete last line.
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

// Append adds a record and returns its number. The next Flush writes it.
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

// add encodes a record.
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

// At returns the place of the last appended record, and the size of the journal including it.
func (w *Writer) At() (at From, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return From{w.s, w.chain}, w.total
}

// Time returns the current time, but never one before the last record's.
func (w *Writer) Time() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return max(w.options.Now(), w.last)
}

// Out adds a line of the run's output. The next Flush writes it after the records.
func (w *Writer) Out(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = append(append(w.out, line...), '\n')
}

// Flush writes everything that was appended. After an error nothing is lost, and Flush can be
// repeated.
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

// write writes what was appended.
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

// requeue queues the parts that could not be written for the next attempt.
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

// putPart appends to a file of the journal, and creates it if it is the next one.
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

// appendAll appends all of a text to a file, or nothing.
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

// next begins a new file of the journal.
func (w *Writer) next(segment int) error {
	if err := w.file.Sync(); err != nil {
		return err
	}
	file, size, err := w.dir.files.Append(SegmentName(segment))
	if err != nil {
		return err
	}
	if size > 0 {
		err = file.Truncate(0) // left by an earlier attempt
	}
	if err = errors.Join(err, w.dir.files.SyncDir(".")); err != nil {
		return errors.Join(err, file.Close())
	}
	w.past = append(w.past, w.file)
	w.file, w.segment, w.size = file, segment, 0
	return nil
}

// sync syncs the records up to s; one sync serves all waiting callers.
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

// Synced returns the last synced record.
func (w *Writer) Synced() uint64 { return w.synced.Load() }

// SyncLater starts a sync in the background.
func (w *Writer) SyncLater() {
	if w.options.Sync == SyncNever {
		return
	}
	w.ending.Go(func() { _ = w.sync(w.written.Load()) }) // the next Flush returns a permanent error
}

// syncLate syncs what was written, after a delay.
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
			_ = w.sync(w.written.Load()) // the next Flush returns a permanent error
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

// Close closes the files and unlocks the run. It does not flush.
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
