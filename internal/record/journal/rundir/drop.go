package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// Drop removes, in the background, the journal files whose records all have numbers up to upTo, and
// the blobs that no remaining record names. The run continues during the removal. All records must
// be synced. A process that resumes the run later needs another source for the dropped records,
// such as a snapshot. If removing fails, the next Drop tries again.
func (w *writer) Drop(upTo uint64, k journal.DropSummary) {
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
			w.ends = slices.DeleteFunc(w.ends, func(e journal.Segment) bool {
				dropped := e.N < first
				if dropped {
					freed += e.Size
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
func (w *writer) CanDrop(upTo uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.firstRemaining(upTo) > 0
}

// firstRemaining returns the number of the first file that remains if the records up to upTo are
// dropped, or 0 if no file can be dropped.
func (w *writer) firstRemaining(upTo uint64) (first int) {
	for _, e := range w.ends {
		if e.Last <= upTo && !w.dropping {
			first = e.N + 1
		}
	}
	return first
}

func (w *writer) drop(first int, k journal.DropSummary) error {
	if err := w.closePast(); err != nil { // some systems cannot remove open files
		return err
	}
	if err := w.dir.drop(first, k); err != nil {
		return err
	}
	return w.dropBlobs(first)
}

// closePast closes the files before the current one.
func (w *writer) closePast() (err error) {
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
func (d *Directory) drop(first int, k journal.DropSummary) error {
	head, err := readHead(d.files)
	if err != nil {
		return err
	}
	if head == nil || head.Segment < first {
		if head, err = d.headAt(head, first, k); err != nil {
			return err
		}
		text, err := journal.Seal(head)
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
func (d *Directory) removeDropped(head *journal.Head) error {
	all, err := segments(d.files)
	if err != nil || head == nil {
		return err
	}
	for _, n := range all {
		if n < head.Segment {
			if err := d.files.Remove(journal.SegmentName(n)); err != nil {
				return err
			}
		}
	}
	return d.files.SyncDir(".")
}

// headAt returns the head of a journal that starts with the file first. before is the previous
// head, or nil.
func (d *Directory) headAt(before *journal.Head, first int, k journal.DropSummary) (*journal.Head, error) {
	r, err := journal.NewReader(before, journal.From{})
	if err != nil {
		return nil, err
	}
	r.OnRecord = k.Add
	from := 1
	if before != nil {
		from = before.Segment
		if err := k.Restore(before.Rest); err != nil {
			return nil, err
		}
	}
	h := r.History
	h.From.S = 1<<64 - 1 // retain only the records that every reader needs
	if err := readFiles(r, d.files, from, first-1); err != nil {
		return nil, err
	}
	if h.Torn > 0 {
		return nil, &journal.DamagedError{Where: journal.SegmentName(first - 1), Why: "it is cut off"}
	}
	rest, err := k.Encode()
	if err != nil {
		return nil, err
	}
	return journal.NewHead(h, first, rest), nil
}

// dropBlobs removes the values that no record in the file first or a later file names.
func (w *writer) dropBlobs(first int) error {
	all, err := w.dir.files.List(blobs)
	if err != nil || len(all) == 0 {
		return err
	}
	w.mu.Lock()
	w.named = map[string]bool{}
	w.mu.Unlock()
	// writes all records, so that the files contain the names of all blobs so far
	if err := w.Flush(journal.Written); err != nil {
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
func (w *writer) namedFrom(first int) (map[string]bool, error) {
	names := map[string]bool{}
	for n := first; ; n++ {
		text, err := w.dir.files.Read(journal.SegmentName(n))
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
