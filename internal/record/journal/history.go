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
	Records []*Record
	N       uint64        // number of records in the journal
	Damage  *DamagedError // damage after the last record; nil unless the history was read by ReadUndamaged
	Bytes   int64         // size of the stored records in bytes
	// Torn is the number of bytes after the last complete record. They are removed when the run is
	// resumed. Only a directory can have them.
	Torn int
	// Segments describes the files of a directory, the current one last. It is empty in other
	// stores.
	Segments []Segment
	ran      ran
}

// Segment describes a file of a journal.
type Segment struct {
	N    int   // number of the file
	Size int64 // size of the records in bytes
}

// Start returns the content of the start record, which every history contains.
func (h *History) Start() *Start { return h.Records[0].Start }

// Last returns the last record.
func (h *History) Last() *Record { return h.Records[len(h.Records)-1] }

// Synced returns the number of the last record that is certainly on the disk, according to the
// records that were read. It returns 0 if there is none.
func (h *History) Synced() uint64 {
	for _, r := range slices.Backward(h.Records) {
		if r.Synced {
			return r.Seq - 1
		}
	}
	return 0
}

// At returns the position after the last record.
func (h *History) At() From { return From{h.N, h.Last().Hash} }

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
		if r.RecordKind == KResume {
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
	switch r.RecordKind {
	case KStart:
		x.from = r.Time
	case KResume:
		x.before, x.from = x.before+x.last-x.from, r.Time
	}
	x.last = r.Time
}

// From is a position in a journal, after the record with this number and hash. The zero value is
// the start of the journal.
type From struct {
	S uint64
	H string
}

// Reader builds a History from the lines of a journal, and verifies the whole chain.
type Reader struct {
	History *History
	chain   string // hash of the last record
}

// NewReader returns a Reader of a journal.
func NewReader() *Reader { return &Reader{History: &History{}, chain: ZeroHash} }

// Add adds the next line of the journal, without its newline. The error is a *NewerFormatError, or
// states why the line is not the next record.
func (x *Reader) Add(line []byte) error {
	r, err := Parse(line, x.chain)
	if err == nil {
		err = x.checkFollows(r)
	}
	if err != nil {
		return err
	}
	h := x.History
	h.N, x.chain = r.Seq, r.Hash
	h.Records = append(h.Records, r)
	h.ran.add(r)
	h.Bytes += int64(len(line)) + 1
	return nil
}

// checkFollows returns an error if r cannot be the next record of the history.
func (x *Reader) checkFollows(r *Record) error {
	switch n := x.History.N; {
	case r.Seq != n+1:
		return fmt.Errorf("it is record %d, expected %d", r.Seq, n+1)
	case n == 0 && (r.RecordKind != KStart || r.Start == nil):
		return fmt.Errorf("a journal begins with a start record, and this is one of kind %q", r.RecordKind)
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
			chained, synced = true, synced || r.Synced
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

// ErrDropped means that an earlier version of Concerto has removed the beginning of a journal.
var ErrDropped = errors.New(`an earlier version of Concerto has removed the beginning of the journal ([run] history = "snapshot")`)
