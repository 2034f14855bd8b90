package rundir

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// syncWithin limits the time between a write and its sync.
const syncWithin = time.Second

// writer is the journal.Writer of a directory. It is also a journal.OutTruncater
// and a journal.EndPreparer.
type writer struct {
	dir          *Directory
	options      journal.Options
	segmentBytes int64 // see Directory.SegmentBytes
	unlock       func() error

	ahead
	files
	consumed consumedAnswers

	written atomic.Uint64 // number of the last record in the file
	synced  atomic.Uint64
	syncing sync.Mutex
	late    chan struct{} // receives a value when records must be synced within syncWithin
	ended   chan struct{}
	ending  sync.WaitGroup
}

// ahead contains everything that is not written.
type ahead struct {
	mu     sync.Mutex
	parts  []part // records by file; the last part grows
	out    []byte
	blobs  []journal.Blob // values that the records in parts name
	broken error          // error of encoding a record; nil if there was none
	chain  journal.Chain
	filled int64 // size of the last part's file, including unwritten records
	total  int64 // size of all files, including unwritten records
}

// files contains the open files of a run.
type files struct {
	io      sync.Mutex
	file    disk.File
	outFile disk.File
	past    []disk.File // earlier journal files, which a sync may still use
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

// writer returns a writer that appends after a history. h is nil for a new run.
func (d *Directory) writer(h *journal.History, o journal.Options) (*writer, error) {
	if o.Sync == "" {
		o.Sync = journal.SyncOutput
	}
	w := &writer{dir: d, options: o, segmentBytes: d.SegmentBytes, late: make(chan struct{}, 1), ended: make(chan struct{})}
	if w.segmentBytes == 0 {
		w.segmentBytes = SegmentBytes
	}
	w.chain, w.segment = journal.NewChain(h, o.Now), 1
	if h != nil {
		w.written.Store(h.N)
		last := len(h.Segments) - 1
		w.segment, w.size, w.filled = h.Segments[last].N, h.Segments[last].Size, h.Segments[last].Size
		w.bytes, w.total = h.Bytes, h.Bytes
	}
	w.parts = []part{{segment: w.segment}}
	var err error
	var size int64
	if w.file, size, err = d.files.Append(journal.SegmentName(w.segment)); err != nil {
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
func (w *writer) openOut() error {
	_, torn, err := w.dir.Out()
	if err != nil {
		return err
	}
	if w.outFile, w.outSize, err = w.dir.files.Append(journal.OutFile); err != nil || torn == 0 {
		return err
	}
	w.outSize -= int64(torn)
	if err := w.outFile.Truncate(w.outSize); err != nil {
		return errors.Join(err, w.outFile.Close())
	}
	return nil
}

// Append adds a record and returns its number. The next Flush writes the record.
func (w *writer) Append(r *journal.Record) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.chain.At().S
	}
	if b, ok := r.TakeBlob(); ok {
		w.blobs = append(w.blobs, b)
	}
	w.add(r)
	if w.filled >= w.segmentBytes && w.broken == nil {
		full := w.parts[len(w.parts)-1].segment
		w.parts, w.filled = append(w.parts, part{segment: full + 1}), 0
		w.add(&journal.Record{RecordKind: journal.KSegment})
	}
	return w.chain.At().S
}

// add encodes a record and adds it to the last part.
func (w *writer) add(r *journal.Record) {
	p := &w.parts[len(w.parts)-1]
	before := len(p.lines)
	p.lines, w.broken = w.chain.Append(p.lines, r, w.synced.Load())
	w.filled += int64(len(p.lines) - before)
	w.total += int64(len(p.lines) - before)
}

// At returns the position after the last appended record, and the size of the journal up to there.
func (w *writer) At() (at journal.From, bytes int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain.At(), w.total
}

// Time returns the current time in Unix milliseconds, or the time of the last record if that is
// later.
func (w *writer) Time() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.chain.Time()
}

// ConsumeAnswer removes an answer, when the records are on the disk.
func (w *writer) ConsumeAnswer(id string) {
	at, _ := w.At()
	w.consumed.add(id, at.S)
}

// Out adds a line to the run's output. The next Flush writes it after the records.
func (w *writer) Out(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out = append(append(w.out, line...), '\n')
}

// Flush writes everything that was added: first the large values, then the records that name them,
// then the output. At last it removes the consumed answers whose records are on the disk. After an
// error the rest is retained, and the caller may call Flush again.
func (w *writer) Flush(level journal.Level) error {
	w.mu.Lock()
	s := w.chain.At().S
	idle := len(w.parts[len(w.parts)-1].lines) == 0 && len(w.parts) == 1 && len(w.out) == 0 && w.broken == nil
	w.mu.Unlock()
	var err error
	if !idle || w.written.Load() < s {
		err = w.write()
	}
	if err == nil && level == journal.Synced && w.options.Sync != journal.SyncNever {
		err = w.sync(s)
	}
	if err == nil {
		err = w.removeConsumed()
	}
	return err
}

// removeConsumed removes the answers whose records are on the disk. Before that, a power cut could
// leave neither the answer nor the record, also because other processes sync the directory of the
// answers.
func (w *writer) removeConsumed() error {
	s := w.synced.Load()
	if w.options.Sync == journal.SyncNever {
		s = w.written.Load()
	}
	return w.consumed.removeUpTo(s, w.dir.DropAnswer)
}

// write writes all unwritten values, records and lines.
func (w *writer) write() error {
	w.io.Lock()
	defer w.io.Unlock()
	w.mu.Lock()
	parts, out, blobs, s, err := w.parts, w.out, w.blobs, w.chain.At().S, w.broken
	w.parts, w.out, w.blobs = []part{{segment: parts[len(parts)-1].segment}}, nil, nil
	w.mu.Unlock()
	for err == nil && len(blobs) > 0 {
		if err = w.putBlob(blobs[0]); err == nil {
			blobs = blobs[1:]
		}
	}
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
		w.requeue(blobs, parts, out)
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

// requeue adds the values and parts that could not be written before the unwritten ones, for the
// next attempt.
func (w *writer) requeue(blobs []journal.Blob, parts []part, out []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blobs = append(blobs, w.blobs...)
	if len(parts) > 0 {
		last := &parts[len(parts)-1]
		last.lines = append(last.lines, w.parts[0].lines...)
		w.parts = append(parts, w.parts[1:]...)
	}
	w.out = append(out, w.out...)
}

// putBlob stores a large value in a file.
func (w *writer) putBlob(b journal.Blob) error {
	return w.dir.files.Put(blobs+"/"+b.Sum, b.Data)
}

// PutProgram stores another program of the run in a file, atomically.
func (w *writer) PutProgram(name string, program []byte) error {
	return w.dir.files.Put(name, program)
}

// putPart appends a part to its journal file. It creates the file if it is the next one.
func (w *writer) putPart(p *part) error {
	if p.segment != w.segment {
		if err := w.next(p.segment); err != nil {
			return err
		}
	}
	if w.options.MaxBytes > 0 && w.bytes+int64(len(p.lines)) > w.options.MaxBytes {
		return journal.ErrFull
	}
	if err := w.appendAll(w.file, &w.size, p.lines); err != nil {
		return err
	}
	w.bytes += int64(len(p.lines))
	return nil
}

// appendAll appends a text to a file. If that fails, it truncates the file to its previous size.
func (w *writer) appendAll(f disk.File, size *int64, text []byte) error {
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
func (w *writer) next(segment int) error {
	if err := w.file.Sync(); err != nil {
		return err
	}
	file, size, err := w.dir.files.Append(journal.SegmentName(segment))
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
func (w *writer) sync(s uint64) error {
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
	err := file.Sync()
	if err == nil {
		err = out.Sync()
	}
	if err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	w.synced.Store(upTo)
	return w.removeConsumed()
}

// syncRemovals syncs the removal of answers.
func (w *writer) syncRemovals() error {
	if !w.consumed.unsynced.Swap(false) {
		return nil
	}
	err := w.dir.files.SyncDir(answers)
	if err != nil {
		w.consumed.unsynced.Store(true)
	}
	return err
}

// PrepareEnd writes and syncs everything that was added, and tidies up the directory.
func (w *writer) PrepareEnd() error {
	w.dir.removeTemporaries()
	level := journal.Written
	if w.consumed.any() {
		level = journal.Synced // an answer is removed after the record that contains it
	}
	if err := w.Flush(level); err != nil || w.options.Sync == journal.SyncNever {
		return err
	}
	w.syncing.Lock()
	defer w.syncing.Unlock()
	if err := errors.Join(w.outFile.Sync(), w.syncRemovals()); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}

// Synced returns the number of the last synced record.
func (w *writer) Synced() uint64 { return w.synced.Load() }

// SyncLater starts a sync in the background.
func (w *writer) SyncLater() {
	if w.options.Sync == journal.SyncNever {
		return
	}
	w.ending.Go(func() { _ = w.sync(w.written.Load()) }) // the error is permanent and the next Flush returns it
}

// syncLate syncs the written records after a delay.
func (w *writer) syncLate() {
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
		if w.options.Sync != journal.SyncNever {
			_ = w.sync(w.written.Load()) // the error is permanent and the next Flush returns it
		}
	}
}

// TruncateOut removes all lines of output after the first n.
func (w *writer) TruncateOut(n int) error {
	lines, _, err := w.dir.Out()
	if err != nil {
		return err
	}
	size := int64(0)
	for _, line := range lines[:min(n, len(lines))] {
		size += int64(len(line)) + 1
	}
	w.io.Lock()
	defer w.io.Unlock()
	if err := w.outFile.Truncate(size); err != nil {
		return err
	}
	w.outSize = size
	return nil
}

// Close closes the files and releases the lock of the run. It does not flush.
func (w *writer) Close() error {
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
