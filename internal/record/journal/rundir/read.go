package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

// headName is the name of the file with the head. It exists if the first files of the journal were
// dropped.
const headName = "head.json"

func badHead(why string) error {
	return &journal.DamagedError{Where: headName, Why: why, Next: journal.RestoreAdvice}
}

// readHead reads the head of a journal. It returns nil if the journal is complete.
func readHead(files Files) (*journal.Head, error) {
	text, err := files.Read(headName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h, err := journal.ParseHead(text)
	if newer := (*journal.NewerFormatError)(nil); errors.As(err, &newer) {
		return nil, newer
	}
	if err != nil {
		return nil, badHead(err.Error())
	}
	return h, nil
}

// segments returns the numbers of the existing journal files in order.
func segments(files Files) (all []int, err error) {
	names, err := files.List(".")
	for _, name := range names {
		n := 0
		if _, err := fmt.Sscanf(name, "journal-%06d.ndjson", &n); err == nil && journal.SegmentName(n) == name {
			all = append(all, n)
		}
	}
	return all, err
}

// read reads a journal after a position and verifies the whole chain. It tries again if a running
// process has dropped files at the same time.
func read(files Files, from journal.From) (*journal.History, error) {
	h, err := readAll(files, from)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// ReadUndamaged is like Read, but if the journal is damaged, it returns the records before the
// damage.
func (d *Directory) ReadUndamaged() (*journal.History, error) {
	h, err := readAll(d.files, journal.From{})
	if damaged, ok := errors.AsType[*journal.DamagedError](err); ok && h != nil && h.Last() != nil {
		h.Damage, err = damaged, nil
	}
	return h, err
}

// readAll reads the journal once. After an error, it also returns the records before the error.
func readAll(files Files, from journal.From) (*journal.History, error) {
	for {
		head, err := readHead(files)
		if err != nil {
			return nil, err
		}
		h, err := readAfter(files, head, from)
		damaged, is := errors.AsType[*journal.DamagedError](err)
		if !is {
			return h, err
		}
		if now, nerr := readHead(files); nerr != nil || !now.After(head) {
			if head != nil {
				damaged.Next = journal.RestoreAdvice // a fork is not possible, because it would have to replay the dropped records
			}
			return h, err
		}
	}
}

// readAfter reads the files after the head.
func readAfter(files Files, head *journal.Head, from journal.From) (*journal.History, error) {
	all, err := segments(files)
	if err != nil {
		return nil, err
	}
	last := 0
	for _, n := range all {
		last = max(last, n)
	}
	if last == 0 && head == nil {
		return nil, journal.ErrNoRun
	}
	r, err := journal.NewReader(head, from)
	if err != nil {
		return nil, err
	}
	first := 1
	if head != nil {
		first = head.Segment
	}
	h := r.History
	if err := readFiles(r, files, first, max(last, first)); err != nil {
		return h, err
	}
	switch {
	case h.N == 0:
		return nil, journal.ErrNoRun
	case h.Last() == nil:
		return nil, &journal.DamagedError{Where: journal.SegmentName(first), Why: "it has no record"}
	case h.N < from.S:
		return nil, journal.ErrOtherRecord
	}
	return h, nil
}

// readFiles reads the files first to last. Only the journal's last file may be incomplete.
func readFiles(r *journal.Reader, files Files, first, last int) error {
	for n := first; n <= last; n++ {
		text, err := files.Read(journal.SegmentName(n))
		if errors.Is(err, fs.ErrNotExist) {
			return &journal.DamagedError{Where: journal.SegmentName(n), Why: "the file is missing"}
		}
		if err != nil {
			return err
		}
		if err := readSegment(r, n, text, n == last); err != nil {
			return err
		}
	}
	return nil
}

// readSegment reads the text of the nth file. last means that the file may be incomplete.
func readSegment(r *journal.Reader, n int, text []byte, last bool) error {
	h := r.History
	before := h.Bytes
	for line := 1; len(text) > 0; line++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		err := journal.ErrCut
		if whole {
			err = r.Add(one)
		}
		if newer := (*journal.NewerFormatError)(nil); errors.Is(err, journal.ErrOtherRecord) || errors.As(err, &newer) {
			return err
		}
		if err != nil {
			if !last || !journal.IsTorn(one, rest) {
				return &journal.DamagedError{Where: fmt.Sprintf("%s:%d", journal.SegmentName(n), line), Why: err.Error()}
			}
			h.Torn = len(text)
			break
		}
		text = rest
	}
	h.Segments = append(h.Segments, journal.Segment{N: n, Last: h.N, Size: h.Bytes - before})
	return r.Complete()
}
