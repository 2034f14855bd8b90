package rundir

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"

	"github.com/concerto-lang/concerto/internal/process/disk"
	"github.com/concerto-lang/concerto/internal/record/journal"
)

// headName is the name of a file in the directories of runs whose first records an earlier version
// has removed.
const headName = "head.json"

// segments returns the numbers of the existing journal files in order.
func segments(files disk.Files) (all []int, err error) {
	names, err := files.List(".")
	for _, name := range names {
		n := 0
		if _, err := fmt.Sscanf(name, "journal-%06d.ndjson", &n); err == nil && journal.SegmentName(n) == name {
			all = append(all, n)
		}
	}
	return all, err
}

// Read reads and verifies the journal of a run, which may be in progress.
func (d *Directory) Read() (*journal.History, error) {
	h, err := d.read()
	if err != nil {
		return nil, err
	}
	return h, nil
}

// ReadUndamaged is like Read, but if the journal is damaged, it returns the records before the
// damage.
func (d *Directory) ReadUndamaged() (*journal.History, error) {
	h, err := d.read()
	if damaged, ok := errors.AsType[*journal.DamagedError](err); ok && h != nil && h.N > 0 {
		h.Damage, err = damaged, nil
	}
	return h, err
}

// read reads the journal. After an error, it also returns the records before the error.
func (d *Directory) read() (*journal.History, error) {
	if _, err := d.files.Read(headName); !errors.Is(err, fs.ErrNotExist) {
		return nil, cmp.Or(err, journal.ErrDropped)
	}
	all, err := segments(d.files)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, journal.ErrNoRun
	}
	r := journal.NewReader()
	err = readFiles(r, d.files, all[len(all)-1])
	if err == nil && r.History.N == 0 {
		return nil, journal.ErrNoRun
	}
	return r.History, err
}

// readFiles reads the files up to the last one, which alone may be incomplete.
func readFiles(r *journal.Reader, files disk.Files, last int) error {
	for n := 1; n <= last; n++ {
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
		if newer := (*journal.NewerFormatError)(nil); errors.As(err, &newer) {
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
	h.Segments = append(h.Segments, journal.Segment{N: n, Size: h.Bytes - before})
	return nil
}
