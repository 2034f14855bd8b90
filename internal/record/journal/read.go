package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// DamagedError means that files of a run were changed or are missing. Reading does not change
// files.
type DamagedError struct {
	Where string // file and line of the damage
	Why   string
	Next  string // what the user can do, if a fork before the damage does not help
}

// RestoreAdvice is the advice for a missing file that is necessary to resume a run.
const RestoreAdvice = "put the file back from a copy of the directory: otherwise the run cannot be resumed"

func (e *DamagedError) Error() string { return fmt.Sprintf("damaged: %s: %s", e.Where, e.Why) }

// NewerFormatError means that the directory was written by a newer version.
type NewerFormatError struct{ Format int }

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("made by a newer version: the journal's format is %d, and this concerto reads %d", e.Format, Format)
}

// ErrNoRun means that a directory contains no run.
var ErrNoRun = errors.New("it contains no run: it has no journal with a start record")

// History is the content of a journal.
type History struct {
	// Records contains all records. If the journal was read from a position, it contains the
	// records after it, and before them the start record and the earlier records of the kinds in
	// wholeKinds.
	Records  []*Record
	N        uint64        // number of records in the journal
	Head     *Head         // describes the dropped records; nil if there are none
	Damage   *DamagedError // damage after the last record; nil unless the history was read by ReadUndamaged
	last     *Record
	ends     []end           // ends of all files except the last
	onRecord func(r *Record) // called with each record; may be nil
	from     From
	ran      ran
	skimmed  Record // last record that was parsed only partly
	text     []byte
	// lastLine is the line of the last record. lastAfter is the hash of the record before it.
	lastLine  []byte
	lastAfter string
	// Torn is the number of bytes after the last complete record. They are removed when the run is
	// resumed.
	Torn int
	// Segment is the number of the last file. Size is the size of its records in bytes.
	Segment int
	Size    int64
	Bytes   int64 // size of the records in all files, in bytes
}

// end describes the end of a file of the journal.
type end struct {
	segment int
	s       uint64 // number of the last record in the file
	size    int64
}

// Start returns the content of the start record, which every history contains.
func (h *History) Start() *Start { return h.Records[0].Start }

// Last returns the last record.
func (h *History) Last() *Record { return h.last }

// Synced returns the number of the last record that is certainly on the disk, according to the
// records that were read. It returns 0 if there is none.
func (h *History) Synced() uint64 {
	for _, r := range slices.Backward(h.Records) {
		if r.Y {
			return r.S - 1
		}
	}
	return 0
}

// At returns the position after the last record.
func (h *History) At() From { return From{h.N, h.last.H} }

// From is a position in a journal, after the record with this number and hash. The zero value is
// the start of the journal.
type From struct {
	S uint64
	H string
}

// ErrOtherRecord means that a journal contains a different record at a position.
var ErrOtherRecord = errors.New("the journal has another record there")

// SegmentName returns the name of the nth file of a journal.
func SegmentName(n int) string { return fmt.Sprintf("journal-%06d.ndjson", n) }

// segments returns the numbers of the existing journal files in order.
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

// read reads a journal after a position and verifies the whole chain. It tries again if a running
// process has dropped files at the same time.
func read(files Files, from From) (*History, error) {
	h, err := readAll(files, from)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// ReadUndamaged is like Read, but if the journal is damaged, it returns the records before the
// damage.
func (d *Directory) ReadUndamaged() (*History, error) {
	h, err := readAll(d.files, From{})
	if damaged, ok := errors.AsType[*DamagedError](err); ok && h != nil && h.last != nil {
		h.Damage, err = damaged, nil
	}
	return h, err
}

// readAll reads the journal once. After an error, it also returns the records before the error.
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
				damaged.Next = RestoreAdvice // a fork is not possible, because it would have to replay the dropped records
			}
			return h, err
		}
	}
}

// readAfter reads the files after the head.
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

// readFiles reads the files first to last. Only the journal's last file may be incomplete. chain is
// the hash before the first record; the result is the hash of the last record.
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

// readSegment reads the text of the nth file. last means that the file may be incomplete. It
// returns the hash of the last record.
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

// completeLast parses the whole last record, and releases the text of the file.
func (h *History) completeLast() (err error) {
	if h.last == &h.skimmed {
		h.last, err = parse(h.lastLine, h.lastAfter)
	}
	h.lastLine, h.text = nil, nil
	return err
}

// isNeeded reports whether the history contains the record.
func (h *History) isNeeded(r *Record) bool { return r.S > h.from.S || wholeKinds[r.K] != "" }

// parse parses a line, which must follow the record with the hash previous. If the history does not
// contain the record, parse parses only the members that verification needs.
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

// checkFollows returns an error if r cannot be the next record of the history.
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

// isTorn reports whether an invalid record is an incomplete write. This is the case if no later
// record contains its hash, or if it was not synced. rest is the text after the record.
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

// statedHash returns the hash that a line contains, or "".
func statedHash(line []byte) string {
	at := bytes.LastIndex(line, hashMember)
	if at < 0 {
		return ""
	}
	h, _, _ := strings.Cut(string(line[at+len(hashMember):]), `"`)
	return h
}
