package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Keeper makes what is kept of records that are dropped.
type Keeper interface {
	// Before is told what was kept of those that were dropped before, and Hear of each further one, in their order.
	Before(rest []byte) error
	Hear(r *Record)
	// Rest is what is to be kept of them all.
	Rest() ([]byte, error)
}

// Drop has the files of the journal removed that end at a record or before it, and the blobs that no other one
// names, while the run goes on. Who goes on with the run from then on has to know what the records up to there say; all
// that the disk does not have is to be Synced. It may be in vain: then it is made up for by the next.
func (w *Writer) Drop(upTo uint64, k Keeper) {
	w.mu.Lock()
	defer w.mu.Unlock()
	first := w.drops(upTo)
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
				gone := e.segment < first
				if gone {
					freed += e.size
				}
				return gone
			})
		}
		w.mu.Unlock()
		w.io.Lock()
		w.bytes -= freed
		w.io.Unlock()
	})
}

// Drops says whether Drop would remove something.
func (w *Writer) Drops(upTo uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.drops(upTo) > 0
}

// drops is the first file that is kept when those are dropped that end at a record or before it; 0 when none is to be.
func (w *Writer) drops(upTo uint64) (first int) {
	for _, e := range w.ends {
		if e.s <= upTo && !w.dropping {
			first = e.segment + 1
		}
	}
	return first
}

func (w *Writer) drop(first int, k Keeper) error {
	if err := w.closePast(); err != nil { // some systems remove no file that is open
		return err
	}
	if err := w.dir.drop(first, k); err != nil {
		return err
	}
	return w.dropBlobs(first)
}

// closePast closes the files that are not written to any more: the disk has them.
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

// drop has the journal begin with a file. At each step it may be cut off: who reads the journal ignores files before that
// of the head.
func (d *Directory) drop(first int, k Keeper) error {
	head, err := readHead(d.files)
	if err != nil {
		return err
	}
	if head == nil || head.Segment < first {
		if head, err = d.headAt(head, first, k); err != nil {
			return err
		}
		text, err := sealed(head)
		if err != nil {
			return fmt.Errorf("write %s: %w", headName, err)
		}
		if err := d.files.Put(headName, text); err != nil {
			return err
		}
	}
	return d.sweep(head)
}

// sweep removes the files before the first that is kept.
func (d *Directory) sweep(head *Head) error {
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

// headAt is the head of a journal that begins with a file, after it began as another head says.
func (d *Directory) headAt(before *Head, first int, k Keeper) (*Head, error) {
	h := &History{hear: k.Hear}
	chain, from := h.begin(before)
	if before != nil {
		if err := k.Before(before.Rest); err != nil {
			return nil, err
		}
	}
	h.from.S = 1<<64 - 1 // only what every reader needs
	if _, err := h.files(d.files, from, first-1, chain); err != nil {
		return nil, err
	}
	if h.Torn > 0 {
		return nil, &Damaged{Where: SegmentName(first - 1), Why: "it is cut off"}
	}
	rest, err := k.Rest()
	if err != nil {
		return nil, err
	}
	last := h.Last()
	return &Head{Format: Format, Segment: first, S: last.S, T: last.T, H: last.H, Ran: h.ran.before, Since: h.ran.from, Records: h.Records, Rest: rest}, nil
}

// dropBlobs removes the values that no record names from a file on.
func (w *Writer) dropBlobs(first int) error {
	all, err := w.dir.files.List(blobs)
	if err != nil || len(all) == 0 {
		return err
	}
	w.mu.Lock()
	w.named = map[string]bool{}
	w.mu.Unlock()
	if err := w.Flush(Written); err != nil { // the files have all that was named before
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

// namedFrom are the blobs that records name from a file on; there may be others, since what looks so counts.
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
