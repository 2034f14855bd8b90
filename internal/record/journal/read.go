package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Damaged says that a run's directory is not as it was written. Nothing was changed.
type Damaged struct {
	Where string // the file, and the line in it
	Why   string
	Next  string // what can be done, where it is not to fork the run before that
}

// PutBack is what can be done about a file without which a run cannot be gone on with.
const PutBack = "put the file back from a copy of the directory: otherwise the run cannot be gone on with"

func (e *Damaged) Error() string { return fmt.Sprintf("damaged: %s: %s", e.Where, e.Why) }

// Newer says that a newer version has written a directory.
type Newer struct{ Format int }

func (e *Newer) Error() string {
	return fmt.Sprintf("made by a newer version: the journal's format is %d, and this concerto reads %d", e.Format, Format)
}

// ErrNoRun says that a directory holds no run.
var ErrNoRun = errors.New("it holds no run: there is no journal with a start record in it")

// History is what a journal holds.
type History struct {
	// Records are all of them or, of one that was read from a place, those behind it, and before
	// them the first and those of few kinds.
	Records []*Record
	N       uint64   // how many the journal has had
	Head    *Head    // of those that are not kept; nil when all are
	Damage  *Damaged // why there are no more; see Good
	last    *Record
	ends    []end           // of the files but for the last
	hear    func(r *Record) // is told of each record; nil for nobody
	from    From
	ran     ran
	skimmed Record // one that is not read whole
	text    []byte
	// The last record's line, and the hash of the one before it.
	lastLine  []byte
	lastAfter string
	// Torn is how many bytes behind the last record of the last file are no record, and are
	// cut off when the run is gone on with.
	Torn int
	// Segment is the last file's number, and Size that of its records, in bytes.
	Segment int
	Size    int64
	Bytes   int64 // of all files' records
}

// end is where a file of the journal ends.
type end struct {
	segment int
	s       uint64 // its last record
	size    int64
}

// Start is the first record's; the history has one.
func (h *History) Start() *Start { return h.Records[0].Start }

// Last is the last record.
func (h *History) Last() *Record { return h.last }

// Synced is the last record of which the records read say that the disk had it; 0 when they say
// nothing.
func (h *History) Synced() uint64 {
	for _, r := range slices.Backward(h.Records) {
		if r.Y {
			return r.S - 1
		}
	}
	return 0
}

// At is where it ends.
func (h *History) At() From { return From{h.N, h.last.H} }

// From is a place in a journal: a record, and its hash. The zero value is its beginning.
type From struct {
	S uint64
	H string
}

// ErrElsewhere says that a journal has no such record as a place says.
var ErrElsewhere = errors.New("the journal has another record there")

// SegmentName is the name of the n-th file of a journal.
func SegmentName(n int) string { return fmt.Sprintf("journal-%06d.ndjson", n) }

// segments are the numbers of the journal's files that are there.
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

// read reads a journal and verifies the whole chain. While it does, the process that runs the run may drop its first
// files.
func read(files Files, from From) (*History, error) {
	h, err := readAll(files, from)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Good reads as Read does, and of a journal that is damaged the records before that.
func (d *Directory) Good() (*History, error) {
	h, err := readAll(d.files, From{})
	if damaged, ok := errors.AsType[*Damaged](err); ok && h != nil && h.last != nil {
		h.Damage, err = damaged, nil
	}
	return h, err
}

// readAll gives what it could read with its error.
func readAll(files Files, from From) (*History, error) {
	for {
		head, err := readHead(files)
		if err != nil {
			return nil, err
		}
		h, err := readBehind(files, head, from)
		damaged, is := errors.AsType[*Damaged](err)
		if !is {
			return h, err
		}
		if now, nerr := readHead(files); nerr != nil || !now.After(head) {
			if head != nil {
				damaged.Next = PutBack // a fork would have to be played from its beginning
			}
			return h, err
		}
	}
}

// readBehind reads the files that are kept.
func readBehind(files Files, head *Head, from From) (*History, error) {
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
		return nil, ErrElsewhere
	}
	if _, err := h.files(files, first, max(last, first), chain); err != nil {
		return h, err
	}
	switch {
	case h.N == 0:
		return nil, ErrNoRun
	case h.last == nil:
		return nil, &Damaged{Where: SegmentName(first), Why: "it has no record"}
	case h.N < from.S:
		return nil, ErrElsewhere
	}
	return h, nil
}

// files reads files of the journal, of which the last may be torn, and gives the hash of the last record.
func (h *History) files(files Files, first, last int, chain string) (string, error) {
	for n := first; n <= last; n++ {
		text, err := files.Read(SegmentName(n))
		if errors.Is(err, fs.ErrNotExist) {
			return "", &Damaged{Where: SegmentName(n), Why: "the file is missing"}
		}
		if err != nil {
			return "", err
		}
		if chain, err = h.segment(n, text, chain, n == last); err != nil {
			return "", err
		}
		if n < last {
			h.ends = append(h.ends, end{n, h.N, h.Size})
		}
	}
	return chain, nil
}

// segment reads a file of the journal.
func (h *History) segment(n int, text []byte, chain string, last bool) (string, error) {
	h.Segment, h.Size = n, 0
	for line := 1; len(text) > 0; line++ {
		one, rest, whole := bytes.Cut(text, []byte("\n"))
		r, err := h.parse(one, chain)
		if errors.Is(err, ErrElsewhere) {
			return "", err
		}
		if err == nil && !whole {
			err = errors.New("the record is cut off")
		}
		if err == nil {
			err = h.follows(r)
		}
		if newer := (*Newer)(nil); errors.As(err, &newer) {
			return "", err
		}
		if err != nil {
			if !last || !torn(one, rest) {
				return "", &Damaged{Where: fmt.Sprintf("%s:%d", SegmentName(n), line), Why: err.Error()}
			}
			h.Torn = len(text)
			break
		}
		if h.N, h.last = r.S, r; h.needs(r) {
			h.Records = append(h.Records, r)
		}
		h.ran.add(r)
		if h.hear != nil {
			h.hear(r)
		}
		h.lastLine, h.lastAfter = one, chain
		chain, text = r.H, rest
		h.Size += int64(len(one)) + 1
	}
	h.Bytes += h.Size
	return chain, h.wholeLast()
}

// wholeLast reads the last record of a file whole, and lets go of the file's text.
func (h *History) wholeLast() (err error) {
	if h.last == &h.skimmed {
		h.last, err = parse(h.lastLine, h.lastAfter)
	}
	h.lastLine, h.text = nil, nil
	return err
}

// needs says whether a record is among those of the history.
func (h *History) needs(r *Record) bool { return r.S > h.from.S || wholeKinds[r.K] != "" }

// parse reads a line that is to follow a record with the hash that is given. Of one that the
// history does not need it reads as little as says that it follows.
func (h *History) parse(line []byte, previous string) (*Record, error) {
	if h.N >= h.from.S || h.hear != nil {
		return parse(line, previous)
	}
	r := &h.skimmed
	err := skim(line, previous, r, &h.text)
	switch {
	case err == nil && r.S == h.from.S && r.H != h.from.H:
		return nil, ErrElsewhere
	case err != nil || h.needs(r):
		return parse(line, previous)
	}
	return r, nil
}

// follows says what is wrong with a record that belongs behind those read.
func (h *History) follows(r *Record) error {
	switch first := h.N == 0; {
	case r.S != h.N+1:
		return fmt.Errorf("it is record %d, and %d was to come", r.S, h.N+1)
	case first && (r.K != KStart || r.Start == nil):
		return fmt.Errorf("a journal begins with a start record, and this is one of kind %q", r.K)
	case first && r.Format > Format:
		return &Newer{r.Format}
	}
	return nil
}

// torn says whether a bad record is what was being written when the machine stopped: nothing
// behind it follows the record before it as that says, or the disk was never told of it.
func torn(bad, rest []byte) bool {
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

// statedHash is the hash that a line says to have; "" without one.
func statedHash(line []byte) string {
	at := bytes.LastIndex(line, hashMember)
	if at < 0 {
		return ""
	}
	h, _, _ := strings.Cut(string(line[at+len(hashMember):]), `"`)
	return h
}
