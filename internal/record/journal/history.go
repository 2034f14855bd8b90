package journal

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// History is the content of a journal.
type History struct {
	// Records contains all records. If the journal was read from a position, it contains the
	// records after it, and before them the start record and the earlier records of the kinds in
	// wholeKinds.
	Records []*Record
	N       uint64        // number of records in the journal
	Head    *Head         // describes the dropped records; nil if there are none
	Damage  *DamagedError // damage after the last record; nil unless the history was read by ReadUndamaged
	From    From          // position from which the journal was read
	Bytes   int64         // size of the stored records in bytes
	// Torn is the number of bytes after the last complete record. They are removed when the run is
	// resumed. Only a directory can have them.
	Torn int
	// Segments describes the files of a directory, the current one last. It is empty in other
	// stores.
	Segments []Segment
	last     *Record
	ran      ran
}

// Segment describes a file of a journal.
type Segment struct {
	N    int    // number of the file
	Last uint64 // number of the last record in the file
	Size int64  // size of the records in bytes
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

// LastPart returns the name of the part of the store that contains the last record, for messages.
func (h *History) LastPart() string {
	if len(h.Segments) == 0 {
		return "journal"
	}
	return SegmentName(h.Segments[len(h.Segments)-1].N)
}

// Owner returns the process that has run the run last.
func (h *History) Owner() Owner {
	owner := h.Records[0].Owner
	for _, r := range h.Records {
		if r.K == KResume {
			owner = r.Owner
		}
	}
	return owner
}

// Ran returns the duration for which processes have run the run. For each process, it is the time
// from its first to its last record.
func (h *History) Ran() time.Duration {
	return time.Duration(h.ran.before+h.ran.last-h.ran.from) * time.Millisecond
}

// ran measures how long processes have run a run. before is the duration of earlier processes in
// milliseconds. from and last are the times of the current process's first and last record in Unix
// milliseconds.
type ran struct{ before, from, last int64 }

// add adds the next record of the journal.
func (x *ran) add(r *Record) {
	switch r.K {
	case KStart:
		x.from = r.T
	case KResume:
		x.before, x.from = x.before+x.last-x.from, r.T
	}
	x.last = r.T
}

// From is a position in a journal, after the record with this number and hash. The zero value is
// the start of the journal.
type From struct {
	S uint64
	H string
}

// Reader builds a History from the lines of a journal, and verifies the whole chain.
type Reader struct {
	History  *History
	OnRecord func(r *Record) // called with each record; may be nil
	chain    string          // hash of the last record
	skimmed  Record          // last record that was parsed only partly
	text     []byte
	// lastLine is the line of the last record. lastAfter is the hash of the record before it.
	lastLine  []byte
	lastAfter string
}

// NewReader returns a Reader of a journal after a position. head describes the dropped records; it
// is nil if there are none. The error is ErrOtherRecord if the dropped records do not contain the
// position.
func NewReader(head *Head, from From) (*Reader, error) {
	h := &History{From: from}
	x := &Reader{History: h, chain: ZeroHash}
	if head == nil {
		return x, nil
	}
	if from.S > 0 && (from.S < head.S || from.S == head.S && from.H != head.H) {
		return nil, ErrOtherRecord
	}
	h.Head, h.N, x.chain = head, head.S, head.H
	h.Records = append(h.Records, head.Records...)
	h.ran = ran{before: head.Ran, from: head.Since, last: head.T}
	return x, nil
}

// Add adds the next line of the journal, without its newline. The error is ErrOtherRecord if the
// journal contains a different record at the Reader's position, a *NewerFormatError, or states why
// the line is not the next record. The Reader uses the line until the next call of Add or Complete.
func (x *Reader) Add(line []byte) error {
	r, err := x.parse(line)
	if err == nil {
		err = x.checkFollows(r)
	}
	if err != nil {
		return err
	}
	h := x.History
	if h.N, h.last = r.S, r; x.isNeeded(r) {
		h.Records = append(h.Records, r)
	}
	h.ran.add(r)
	h.Bytes += int64(len(line)) + 1
	if x.OnRecord != nil {
		x.OnRecord(r)
	}
	x.lastLine, x.lastAfter, x.chain = line, x.chain, r.H
	return nil
}

// Complete parses the whole last record. It must be called after the last line, and before the
// caller changes the memory of the lines.
func (x *Reader) Complete() (err error) {
	if h := x.History; h.last == &x.skimmed {
		h.last, err = Parse(x.lastLine, x.lastAfter)
	}
	x.lastLine, x.text = nil, nil
	return err
}

// isNeeded reports whether the history contains the record.
func (x *Reader) isNeeded(r *Record) bool { return r.S > x.History.From.S || wholeKinds[r.K] != "" }

// parse parses a line, which must follow the last record. If the history does not contain the
// record, parse parses only the members that verification needs.
func (x *Reader) parse(line []byte) (*Record, error) {
	from := x.History.From
	if x.History.N >= from.S || x.OnRecord != nil {
		return Parse(line, x.chain)
	}
	r := &x.skimmed
	err := skim(line, x.chain, r, &x.text)
	switch {
	case err == nil && r.S == from.S && r.H != from.H:
		return nil, ErrOtherRecord
	case err != nil || x.isNeeded(r):
		return Parse(line, x.chain)
	}
	return r, nil
}

// checkFollows returns an error if r cannot be the next record of the history.
func (x *Reader) checkFollows(r *Record) error {
	switch n := x.History.N; {
	case r.S != n+1:
		return fmt.Errorf("it is record %d, expected %d", r.S, n+1)
	case n == 0 && (r.K != KStart || r.Start == nil):
		return fmt.Errorf("a journal begins with a start record, and this is one of kind %q", r.K)
	case n == 0 && r.Format > Format:
		return &NewerFormatError{r.Format}
	}
	return nil
}

// IsTorn reports whether an invalid record is an incomplete write. This is the case if no later
// record contains its hash, or if it was not synced. rest is the text after the record.
func IsTorn(bad, rest []byte) bool {
	chained := false
	synced := false
	before := bad
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		if r, err := Parse(line, statedHash(before)); err == nil {
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

// DamagedError means that stored parts of a run were changed or are missing. Reading does not
// change them.
type DamagedError struct {
	Where string // file and line of the damage
	Why   string
	Next  string // what the user can do, if a fork before the damage does not help
}

// RestoreAdvice is the advice for a missing file that is necessary to resume a run.
const RestoreAdvice = "put the file back from a copy of the directory: otherwise the run cannot be resumed"

func (e *DamagedError) Error() string { return fmt.Sprintf("damaged: %s: %s", e.Where, e.Why) }

// NewerFormatError means that the run was written by a newer version.
type NewerFormatError struct{ Format int }

func (e *NewerFormatError) Error() string {
	return fmt.Sprintf("made by a newer version: the journal's format is %d, and this concerto reads %d", e.Format, Format)
}

// ErrNoRun means that a store does not contain the run.
var ErrNoRun = errors.New("it contains no run: it has no journal with a start record")

// ErrOtherRecord means that a journal contains a different record at a position.
var ErrOtherRecord = errors.New("the journal has another record there")
