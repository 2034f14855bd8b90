package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// DropSummary condenses records that are dropped.
type DropSummary interface {
	// Restore restores the summary that an earlier drop returned, and Add receives each further
	// record in order.
	Restore(rest []byte) error
	Add(r *Record)
	// Encode returns what to keep of all of them.
	Encode() ([]byte, error)
}

// Drop removes the journal files that end at a record or before it, and the blobs that no other
// record names, while the run continues. A process that resumes the run from then on must know the
// records up to there by other means, and everything appended must be synced. A failure is not
// reported: the next Drop tries again.
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

// CanDrop reports whether Drop would remove something.
func (w *Writer) CanDrop(upTo uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.firstRemaining(upTo) > 0
}

// firstRemaining returns the first file that remains when those up to a record are dropped, or 0 if
// none is dropped.
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

// closePast closes the files that are complete and synced.
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

// drop makes a file the beginning of the journal. It may be interrupted at any step: readers ignore
// files before the one in the head.
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

// removeDropped removes the files before the first remaining one.
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

// headAt returns the head of a journal that begins with a file; before is its earlier head.
func (d *Directory) headAt(before *Head, first int, k DropSummary) (*Head, error) {
	h := &History{onRecord: k.Add}
	chain, from := h.begin(before)
	if before != nil {
		if err := k.Restore(before.Rest); err != nil {
			return nil, err
		}
	}
	h.from.S = 1<<64 - 1 // keep only the records that every reader needs
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

// dropBlobs removes the values that no record from the given file on names.
func (w *Writer) dropBlobs(first int) error {
	all, err := w.dir.files.List(blobs)
	if err != nil || len(all) == 0 {
		return err
	}
	w.mu.Lock()
	w.named = map[string]bool{}
	w.mu.Unlock()
	// so that the files contain everything that was named before
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

// namedFrom returns the blobs that records from the given file on name. It may return too many,
// since every text of the right form counts.
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
