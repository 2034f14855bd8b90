package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// DamagedError means that a run's directory was changed or is incomplete. Reading changes nothing.
type DamagedError struct {
	Where string // the file and line
	Why   string
	Next  string // what to do, if not to fork the run before the damage
}

// RestoreAdvice is the advice for a missing file without which a run cannot be resumed.
const RestoreAdvice = "put the file back from a copy of the directory: otherwise the run cannot be resumed"

func (e *DamagedError) Error() string { return fmt.Sprintf("damaged: %s: %s", e.Where, e.Why) }

// NewerFormatError means that a newer version has written a directory.
type NewerFormatError struct{ Format int }

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("made by a newer version: the journal's format is %d, and this concerto reads %d", e.Format, Format)
}

// ErrNoRun means that a directory contains no run.
var ErrNoRun = errors.New("it contains no run: it has no journal with a start record")

// History is the content of a journal.
type History struct {
	// Records contains all records or, if it was read from a place, those after it, preceded by the
	// first one and those of a few kinds.
	Records  []*Record
	N        uint64        // number of records in the journal
	Head     *Head         // of dropped records; nil if there are none
	Damage   *DamagedError // why there are no more; see Good
	last     *Record
	ends     []end           // of all files but the last
	onRecord func(r *Record) // receives each record; may be nil
	from     From
	ran      ran
	skimmed  Record // a record that was not read completely
	text     []byte
	// The line of the last record, and the hash of the record before it.
	lastLine  []byte
	lastAfter string
	// Torn is the number of bytes after the last complete record of the last file. They are cut off
	// when the run is resumed.
	Torn int
	// Segment is the number of the last file, and Size the size of its records in bytes.
	Segment int
	Size    int64
	Bytes   int64 // of the records in all files
}

// end is the end of a file of the journal.
type end struct {
	segment int
	s       uint64 // its last record
	size    int64
}

// Start returns the first record's Start, which every history has.
func (h *History) Start() *Start { return h.Records[0].Start }

// Last returns the last record.
func (h *History) Last() *Record { return h.last }

// Synced returns the last record that is known to be on the disk according to the records read, or
// 0.
func (h *History) Synced() uint64 {
	for _, r := range slices.Backward(h.Records) {
		if r.Y {
			return r.S - 1
		}
	}
	return 0
}

// At returns the place of the last record.
func (h *History) At() From { return From{h.N, h.last.H} }

// From is a place in a journal: a record and its hash. The zero value is the beginning.
type From struct {
	S uint64
	H string
}

// ErrOtherRecord means that a journal has a different record at a place.
var ErrOtherRecord = errors.New("the journal has another record there")

// SegmentName returns the name of the n-th file of a journal.
func SegmentName(n int) string { return fmt.Sprintf("journal-%06d.ndjson", n) }

// segments returns the numbers of the existing files.
func segments(files Files) (all []int, err error) {
	names, err := files.List(".")
	for _, name := range names {
		n := 0
		if _, err := fmt.Sscanf(name, "journal-%06d.ndjson", &n); err == nil && SegmentName(n) == name {
			all = append(all, n)
		}
	}
	return all, err
}

// read reads a journal and verifies the whole chain. A running process may concurrently drop its
// first files.
func read(files Files, from From) (*History, error) {
	h, err := readAll(files, from)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// ReadUndamaged is like Read, but returns the records before the damage of a damaged journal.
func (d *Directory) ReadUndamaged() (*History, error) {
	h, err := readAll(d.files, From{})
	if damaged, ok := errors.AsType[*DamagedError](err); ok && h != nil && h.last != nil {
		h.Damage, err = damaged, nil
	}
	return h, err
}

// readAll returns what it could read together with the error.
func readAll(files Files, from From) (*History, error) {
	for {
		head, err := readHead(files)
		if err != nil {
			return nil, err
		}
		h, err := readAfter(files, head, from)
		damaged, is := errors.AsType[*DamagedError](err)
		if !is {
			return h, err
		}
		if now, nerr := readHead(files); nerr != nil || !now.After(head) {
			if head != nil {
				damaged.Next = RestoreAdvice // a fork would have to replay from the beginning
			}
			return h, err
		}
	}
}

// readAfter reads the remaining files.
func readAfter(files Files, head *Head, from From) (*History, error) {
	all, err := segments(files)
	if err != nil {
		return nil, err
	}
	last := 0
	for _, n := range all {
		last = max(last, n)
	}
	if last == 0 && head == nil {
		return nil, ErrNoRun
	}
	h := &History{from: from}
	chain, first := h.begin(head)
	if head != nil && from.S > 0 && (from.S < head.S || from.S == head.S && from.H != head.H) {
		return nil, ErrOtherRecord
	}
	if _, err := h.readFiles(files, first, max(last, first), chain); err != nil {
		return h, err
	}
	switch {
	case h.N == 0:
		return nil, ErrNoRun
	case h.last == nil:
		return nil, &DamagedError{Where: SegmentName(first), Why: "it has no record"}
	case h.N < from.S:
		return nil, ErrOtherRecord
	}
	return h, nil
}

// readFiles reads files of the journal, of which the last may be incomplete, and returns the hash
// of the last record.
func (h *History) readFiles(files Files, first, last int, chain string) (string, error) {
	for n := first; n <= last; n++ {
		text, err := files.Read(SegmentName(n))
		if errors.Is(err, fs.ErrNotExist) {
			return "", &DamagedError{Where: SegmentName(n), Why: "the file is missing"}
		}
		if err != nil {
			return "", err
		}
		if chain, err = h.readSegment(n, text, chain, n == last); err != nil {
			return "", err
		}
		if n < last {
			h.ends = append(h.ends, end{n, h.N, h.Size})
		}
	}
	return chain, nil
}

// readSegment reads a file of the journal.
func (h *History) readSegment(n int, text []byte, chain string, last bool) (string, error) {
	h.Segment, h.Size = n, 0
	for line := 1; len(text) > 0; line++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		r, err := h.parse(one, chain)
		if errors.Is(err, ErrOtherRecord) {
			return "", err
		}
		if err == nil && !whole {
			err = errors.New("the record is cut off")
		}
		if err == nil {
			err = h.checkFollows(r)
		}
		if newer := (*NewerFormatError)(nil); errors.As(err, &newer) {
			return "", err
		}
		if err != nil {
			if !last || !isTorn(one, rest) {
				return "", &DamagedError{Where: fmt.Sprintf("%s:%d", SegmentName(n), line), Why: err.Error()}
			}
			h.Torn = len(text)
			break
		}
		if h.N, h.last = r.S, r; h.isNeeded(r) {
			h.Records = append(h.Records, r)
		}
		h.ran.add(r)
		if h.onRecord != nil {
			h.onRecord(r)
		}
		h.lastLine, h.lastAfter = one, chain
		chain, text = r.H, rest
		h.Size += int64(len(one)) + 1
	}
	h.Bytes += h.Size
	return chain, h.completeLast()
}

// completeLast reads the last record of a file completely, and releases the file's text.
func (h *History) completeLast() (err error) {
	if h.last == &h.skimmed {
		h.last, err = parse(h.lastLine, h.lastAfter)
	}
	h.lastLine, h.text = nil, nil
	return err
}

// isNeeded reports whether a record belongs into the history.
func (h *History) isNeeded(r *Record) bool { return r.S > h.from.S || wholeKinds[r.K] != "" }

// parse parses a line that must follow the record with the given hash. Of a record that the history
// does not need it parses only what verification requires.
func (h *History) parse(line []byte, previous string) (*Record, error) {
	if h.N >= h.from.S || h.onRecord != nil {
		return parse(line, previous)
	}
	r := &h.skimmed
	err := skim(line, previous, r, &h.text)
	switch {
	case err == nil && r.S == h.from.S && r.H != h.from.H:
		return nil, ErrOtherRecord
	case err != nil || h.isNeeded(r):
		return parse(line, previous)
	}
	return r, nil
}

// checkFollows returns what is wrong with a record as the next one, or nil.
func (h *History) checkFollows(r *Record) error {
	switch first := h.N == 0; {
	case r.S != h.N+1:
		return fmt.Errorf("it is record %d, expected %d", r.S, h.N+1)
	case first && (r.K != KStart || r.Start == nil):
		return fmt.Errorf("a journal begins with a start record, and this is one of kind %q", r.K)
	case first && r.Format > Format:
		return &NewerFormatError{r.Format}
	}
	return nil
}

// isTorn reports whether a bad record was being written when the machine stopped: no later record
// refers to it, or it was never synced.
func isTorn(bad, rest []byte) bool {
	chained := false
	synced := false
	before := bad
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if r, err := parse(line, statedHash(before)); err == nil {
			chained, synced = true, synced || r.Y
		}
		before = line
	}
	return !chained || !synced
}

// statedHash returns the hash in a line, or "".
func statedHash(line []byte) string {
	at := bytes.LastIndex(line, hashMember)
	if at < 0 {
		return ""
	}
	h, _, _ := strings.Cut(string(line[at+len(hashMember):]), `"`)
	return h
}
