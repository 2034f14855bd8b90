package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// DropSummary summarises records before they are dropped.
type DropSummary interface {
	// Restore sets the summary that an earlier drop has stored. Add adds the next record.
	Restore(rest []byte) error
	Add(r *Record)
	// Encode returns the summary of all records as JSON.
	Encode() ([]byte, error)
}

// Drop removes, in the background, the journal files whose records all have numbers up to upTo, and
// the blobs that no remaining record names. The run continues during the removal. All records must
// be synced. A process that resumes the run later needs another source for the dropped records,
// such as a snapshot. If removing fails, the next Drop tries again.
func (w *Writer) Drop(upTo uint64, k DropSummary) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.firstRemaining(upTo)
	if first == 0 {
		return
	}
	w.dropping = true
	w.ending.Go(func() {
		err := w.drop(first, k)
		freed := int64(0)
		w.mu.Lock()
		w.dropping = false
		if err == nil {
			w.ends = slices.DeleteFunc(w.ends, func(e end) bool {
				dropped := e.segment < first
				if dropped {
					freed += e.size
				}
				return dropped
			})
		}
		w.mu.Unlock()
		w.io.Lock()
		w.bytes -= freed
		w.io.Unlock()
	})
}

// CanDrop reports whether Drop would remove a file.
func (w *Writer) CanDrop(upTo uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.firstRemaining(upTo) > 0
}

// firstRemaining returns the number of the first file that remains if the records up to upTo are
// dropped, or 0 if no file can be dropped.
func (w *Writer) firstRemaining(upTo uint64) (first int) {
	for _, e := range w.ends {
		if e.s <= upTo && !w.dropping {
			first = e.segment + 1
		}
	}
	return first
}

func (w *Writer) drop(first int, k DropSummary) error {
	if err := w.closePast(); err != nil { // some systems cannot remove open files
		return err
	}
	if err := w.dir.drop(first, k); err != nil {
		return err
	}
	return w.dropBlobs(first)
}

// closePast closes the files before the current one.
func (w *Writer) closePast() (err error) {
	w.syncing.Lock()
	defer w.syncing.Unlock()
	w.io.Lock()
	defer w.io.Unlock()
	for _, f := range w.past {
		err = errors.Join(err, f.Close())
	}
	w.past = nil
	return err
}

// drop makes the file first the start of the journal. An interruption at any point is harmless,
// because readers ignore files before the one that the head names.
func (d *Directory) drop(first int, k DropSummary) error {
	head, err := readHead(d.files)
	if err != nil {
		return err
	}
	if head == nil || head.Segment < first {
		if head, err = d.headAt(head, first, k); err != nil {
			return err
		}
		text, err := seal(head)
		if err != nil {
			return fmt.Errorf("write %s: %w", headName, err)
		}
		if err := d.files.Put(headName, text); err != nil {
			return err
		}
	}
	return d.removeDropped(head)
}

// removeDropped removes the files before the one that the head names.
func (d *Directory) removeDropped(head *Head) error {
	all, err := segments(d.files)
	if err != nil || head == nil {
		return err
	}
	for _, n := range all {
		if n < head.Segment {
			if err := d.files.Remove(SegmentName(n)); err != nil {
				return err
			}
		}
	}
	return d.files.SyncDir(".")
}

// headAt returns the head of a journal that starts with the file first. before is the previous
// head, or nil.
func (d *Directory) headAt(before *Head, first int, k DropSummary) (*Head, error) {
	h := &History{onRecord: k.Add}
	chain, from := h.begin(before)
	if before != nil {
		if err := k.Restore(before.Rest); err != nil {
			return nil, err
		}
	}
	h.from.S = 1<<64 - 1 // retain only the records that every reader needs
	if _, err := h.readFiles(d.files, from, first-1, chain); err != nil {
		return nil, err
	}
	if h.Torn > 0 {
		return nil, &DamagedError{Where: SegmentName(first - 1), Why: "it is cut off"}
	}
	rest, err := k.Encode()
	if err != nil {
		return nil, err
	}
	last := h.Last()
	return &Head{Format: Format, Segment: first, S: last.S, T: last.T, H: last.H, Ran: h.ran.before, Since: h.ran.from, Records: h.Records, Rest: rest}, nil
}

// dropBlobs removes the values that no record in the file first or a later file names.
func (w *Writer) dropBlobs(first int) error {
	all, err := w.dir.files.List(blobs)
	if err != nil || len(all) == 0 {
		return err
	}
	w.mu.Lock()
	w.named = map[string]bool{}
	w.mu.Unlock()
	// writes all records, so that the files contain the names of all blobs so far
	if err := w.Flush(Written); err != nil {
		return err
	}
	names, err := w.namedFrom(first)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, sum := range all {
		if names[sum] || w.named[sum] || strings.HasPrefix(sum, ".") {
			continue
		}
		if err := w.dir.files.Remove(blobs + "/" + sum); err != nil {
			return err
		}
	}
	w.named = nil
	return w.dir.files.SyncDir(blobs)
}

var blobMember = []byte(`"blob":"`)

// namedFrom returns the names of blobs that occur in the file first or a later file. A text that
// only looks like the name of a blob is included too.
func (w *Writer) namedFrom(first int) (map[string]bool, error) {
	names := map[string]bool{}
	for n := first; ; n++ {
		text, err := w.dir.files.Read(SegmentName(n))
		if errors.Is(err, fs.ErrNotExist) {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		for {
			_, rest, found := bytes.Cut(text, blobMember)
			if !found {
				break
			}
			sum, rest, _ := bytes.Cut(rest, []byte(`"`))
			names[string(sum)], text = true, rest
		}
	}
}
