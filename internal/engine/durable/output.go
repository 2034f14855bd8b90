package durable

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// output numbers the lines of the run's output and stores them.
type output struct {
	have    []string // stored lines of the output
	n       int64    // number of lines that the program has output, including those that the replay repeats
	started bool
	sum     [sha256.Size]byte // hash chain of these lines

	mu      sync.Mutex
	printed int64      // number of lines that were printed
	noted   int64      // value of printed in the journal's last record about it
	queue   []printing // lines that were passed to the printer and may not be printed yet
	noting  bool       // a goroutine waits until they are printed
	left    bool       // the run has ended or was suspended, so no further record is appended
}

// printing is line n, which is printed after the printer has written at bytes.
type printing struct{ n, at int64 }

// PrintChannel is the name of the channel for printed text in the output file.
const PrintChannel = "print"

// OutputLine is a line of the stored output.
type OutputLine struct {
	N       int64           `json:"n"`
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// VerifyOut checks the stored output. Its lines must be numbered without gaps. A line may be
// missing only if the resumed run writes it again. torn is the number of bytes of an incomplete
// line at the end. The error is a *journal.DamagedError, or an error of reading the files.
func (s *Stored) VerifyOut() (torn int, err error) {
	lines, torn, err := s.Run.Out()
	if err != nil {
		return 0, err
	}
	o, last := output{}, s.History.Last()
	for i, text := range lines {
		var line OutputLine
		at := fmt.Sprintf("%s:%d", journal.OutFile, i+1)
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			return torn, &journal.DamagedError{Where: at, Why: "not a line of output: " + err.Error()}
		}
		if line.N != int64(i)+1 {
			return torn, &journal.DamagedError{Where: at, Why: fmt.Sprintf("its number is %d", line.N)}
		}
		o.addToSum([]byte(text))
	}
	o.n = int64(len(lines))
	o.readPrinted(s.History)
	least := int64(0)
	switch {
	case s.Code() != nil && last.Digest != "": // older versions recorded no digest
		if o.n >= last.N && o.digest() != last.Digest {
			return torn, &journal.DamagedError{Where: journal.OutFile, Why: "the run has written different output", Next: journal.RestoreAdvice}
		}
		least = last.N
	case s.Code() != nil:
		least = o.printed
	}
	if o.n < least {
		return torn, &journal.DamagedError{Where: journal.OutFile, Why: fmt.Sprintf("it has %d lines, but the run has written %d", o.n, least), Next: journal.RestoreAdvice}
	}
	return torn, nil
}

// putOut stores the program's next line of output. Then it calls print with the line's number,
// unless the line was already printed. print may be nil.
func (o *output) putOut(r *Run, channel string, payload json.RawMessage, print func(n int64) error) error {
	o.readPrinted(r.c.History)
	o.n++
	line, err := jsonwrite.Encode(OutputLine{o.n, channel, payload})
	if err != nil {
		return err
	}
	line = r.clean(line)
	if err := o.storeLine(r, string(line)); err != nil {
		return err
	}
	o.addToSum(line)
	if print == nil || r.c.Trial || o.isPrinted(o.n) {
		return nil
	}
	if r.live {
		if err := r.flushJournal(journal.Written); err != nil {
			return err
		}
	}
	if err := print(o.n); err != nil {
		return err
	}
	o.enqueue(r)
	return nil
}

func (o *output) isPrinted(n int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return n <= o.printed
}

// enqueue adds the last line to the queue of lines that may not be printed yet.
func (o *output) enqueue(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := printing{n: o.n}
	if r.c.World != nil {
		p.at, _ = r.c.World.OutputProgress()
	}
	o.queue = append(o.queue, p)
}

// addToSum adds a line to the hash chain.
func (o *output) addToSum(line []byte) { o.sum = sha256.Sum256(append(o.sum[:], line...)) }

// digest returns the first 16 bytes of the hash chain in hex, or "" without output.
func (o *output) digest() string {
	if o.n == 0 {
		return ""
	}
	return hex.EncodeToString(o.sum[:16])
}

// readPrinted sets the number of printed lines from the journal.
func (o *output) readPrinted(h *journal.History) {
	if o.started || h == nil {
		return
	}
	o.started = true
	for _, x := range h.Records {
		if x.RecordKind == journal.KOut {
			o.printed = x.N
		}
	}
	o.noted = o.printed
}

// recordPrinted appends a record with the number of printed lines, unless the journal contains that
// number.
func (o *output) recordPrinted(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.noteLocked(r, "")
}

// lastNote is like recordPrinted, at the end of the run or of its process. by is By of the record,
// which is always appended if by is not "". It prevents further records.
func (o *output) lastNote(r *Run, by string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.noteLocked(r, by)
	o.left = true
}

func (o *output) noteLocked(r *Run, by string) {
	if o.left || r.c.Trial {
		return
	}
	var written int64
	if len(o.queue) > 0 && r.c.World != nil {
		_, written = r.c.World.OutputProgress()
	}
	for len(o.queue) > 0 && o.queue[0].at <= written {
		o.printed, o.queue = o.queue[0].n, o.queue[1:]
	}
	if o.printed > o.noted || by != "" {
		o.noted = o.printed
		r.c.Writer.Append(&journal.Record{RecordKind: journal.KOut, Owner: journal.Owner{By: by, N: o.printed}})
	}
}

// noteLater starts a goroutine that waits until the queued lines are printed, and then appends a
// record about it. It is called when the run waits.
func (o *output) noteLater(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 || o.noting || o.left {
		return
	}
	o.noting = true
	go func() {
		err := r.flushOutput()
		o.mu.Lock()
		o.noting = false
		o.mu.Unlock()
		if err == nil {
			_ = r.flushJournal(journal.Written) // an error suspends the run
		}
	}()
}

// storeLine stores the current line of the output, unless it is already stored.
func (o *output) storeLine(r *Run, line string) error {
	at := int(o.n) - 1
	held := at < len(o.have)
	switch {
	case held && o.have[at] == line:
		return nil
	case held && r.c.Trial:
		return divergedOutput(o.n)
	case held && !r.live:
		return &journal.DamagedError{Where: fmt.Sprintf("%s:%d", journal.OutFile, o.n), Why: "the run has written different output there"}
	case r.c.Trial:
		return nil
	}
	// An earlier process has output different lines, and the journal does not contain the effects
	// that caused them.
	if err := o.truncate(r, at); err != nil {
		return err
	}
	r.c.Writer.Out(line)
	return nil
}

// truncate shortens the stored output to at most the given number of lines.
func (o *output) truncate(r *Run, lines int) error {
	more := len(o.have) - lines
	if more <= 0 {
		return nil
	}
	w, ok := r.c.Writer.(journal.OutTruncater)
	if !ok {
		return &journal.DamagedError{Where: fmt.Sprintf("%s:%d", journal.OutFile, lines+1), Why: "the journal does not account for this line"}
	}
	o.have = o.have[:lines]
	if err := w.TruncateOut(lines); err != nil {
		return &Unwritable{err}
	}
	o.mu.Lock()
	o.printed, o.noted = min(o.printed, int64(lines)), min(o.noted, int64(lines))
	o.mu.Unlock()
	r.c.Remark(fmt.Sprintf("removed %[2]d lines that are not in the journal from %[1]s: they are written again", journal.OutFile, more))
	return nil
}

// printed returns printed text as JSON, without the newline that println adds.
func printed(p *effect.Print) (json.RawMessage, error) { return jsonwrite.Encode(p.Text) }
