package durable

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// output numbers the run's output, and stores it in the run's directory.
type output struct {
	have    []string // the existing lines
	n       int64    // number of lines put out, including repeated ones
	started bool
	sum     [sha256.Size]byte // a hash chain of the lines put out

	mu      sync.Mutex
	printed int64      // number of lines known to be printed
	noted   int64      // the same according to the journal
	queue   []printing // lines not known to be printed
	noting  bool       // a goroutine waits for them
	left    bool       // no more notes: the run has ended or was suspended
}

// printing is a line that was put out: it is printed when at bytes are written.
type printing struct{ n, at int64 }

// printChannel is the channel under which printed text is stored.
const printChannel = "print"

type outLine struct {
	N       int64           `json:"n"`
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// VerifyOut checks the run's output: its lines are numbered without a gap, match the snapshots, and
// none is missing that cannot be written again. It returns how many bytes at the end are an
// incomplete line. The error is a *journal.DamagedError, or one of the file.
func (s *Stored) VerifyOut() (torn int, err error) {
	states, err := s.states()
	if err != nil {
		return 0, err
	}
	lines, torn, err := s.Dir.Out() // after the snapshots, which cannot contain more lines
	if err != nil {
		return 0, err
	}
	o, last := output{}, s.History.Last()
	for i, text := range lines {
		var line outLine
		at := fmt.Sprintf("%s:%d", journal.OutFile, i+1)
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			return torn, &journal.DamagedError{Where: at, Why: "not a line of output: " + err.Error()}
		}
		if line.N != int64(i)+1 {
			return torn, &journal.DamagedError{Where: at, Why: fmt.Sprintf("its number is %d", line.N)}
		}
		o.addToSum([]byte(text))
		for _, state := range states {
			if state.Out == line.N && !bytes.Equal(o.sum[:], state.OutSum) {
				return torn, &journal.DamagedError{Where: at, Why: "the run has written different output before this line"}
			}
		}
	}
	o.n = int64(len(lines))
	o.readPrinted(s.History)
	least := int64(0)
	switch {
	case s.Code() != nil && last.D != "": // older versions wrote none
		if o.n >= last.N && o.digest() != last.D {
			return torn, &journal.DamagedError{Where: journal.OutFile, Why: "the run has written different output", Next: journal.RestoreAdvice}
		}
		least = last.N
	case s.Code() != nil:
		least = o.printed
	case s.History.Head != nil && len(states) > 0: // it resumes from one of them
		least = slices.MinFunc(states, func(a, b *State) int { return cmp.Compare(a.Out, b.Out) }).Out
	}
	if o.n < least {
		return torn, &journal.DamagedError{Where: journal.OutFile, Why: fmt.Sprintf("it has %d lines, but the run has written %d", o.n, least), Next: journal.RestoreAdvice}
	}
	return torn, nil
}

// putOut puts out a line. It stores the line before print prints it with its number, unless it is
// known to be printed; print may be nil.
func (o *output) putOut(r *Run, channel string, payload json.RawMessage, print func(n int64) error) error {
	o.readPrinted(r.c.History)
	o.n++
	line, err := jsonwrite.Encode(outLine{o.n, channel, payload})
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

// enqueue adds the last line to those that are being printed.
func (o *output) enqueue(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := printing{n: o.n}
	if r.c.World != nil {
		p.at, _ = r.c.World.OutputProgress()
	}
	o.queue = append(o.queue, p)
}

// addToSum adds a line to the sum.
func (o *output) addToSum(line []byte) { o.sum = sha256.Sum256(append(o.sum[:], line...)) }

// digest returns the beginning of the sum, in hex, or "" without output.
func (o *output) digest() string {
	if o.n == 0 {
		return ""
	}
	return hex.EncodeToString(o.sum[:16])
}

// readPrinted reads from the journal what was printed.
func (o *output) readPrinted(h *journal.History) {
	if o.started || h == nil {
		return
	}
	o.started = true // set by a snapshot
	for _, x := range h.Records {
		if x.K == journal.KOut {
			o.printed = x.N
		}
	}
	o.noted = o.printed
}

// recordPrinted appends the record of how much is printed, if the journal does not contain it.
func (o *output) recordPrinted(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.noteLocked(r)
}

// lastNote is like note, at the end or suspension of the run: no such record follows.
func (o *output) lastNote(r *Run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.noteLocked(r)
	o.left = true
}

func (o *output) noteLocked(r *Run) {
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
	if o.printed > o.noted {
		o.noted = o.printed
		r.c.Writer.Append(&journal.Record{K: journal.KOut, Owner: journal.Owner{N: o.printed}})
	}
}

// noteLater notes what is being printed when it is, while the run waits.
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

// storeLine writes the line that the run puts out to the file, unless it is there.
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
	// An earlier process has put out other lines, of which the journal lacks the cause.
	if err := o.truncate(r, at); err != nil {
		return err
	}
	r.c.Writer.Out([]byte(line))
	return nil
}

// truncate truncates the file to at most keep lines.
func (o *output) truncate(r *Run, lines int) error {
	more := len(o.have) - lines
	if more <= 0 {
		return nil
	}
	size := int64(0)
	for _, line := range o.have[:lines] {
		size += int64(len(line)) + 1
	}
	o.have = o.have[:lines]
	if err := r.c.Writer.TruncateOut(size); err != nil {
		return &Unwritable{err}
	}
	o.mu.Lock()
	o.printed, o.noted = min(o.printed, int64(lines)), min(o.noted, int64(lines))
	o.mu.Unlock()
	r.c.Remark(fmt.Sprintf("removed %[2]d lines that are not in the journal from %[1]s: they are written again", journal.OutFile, more))
	return nil
}

// printed returns printed text as an emit's payload, without the newline that println adds.
func printed(p *effect.Print) (json.RawMessage, error) { return jsonwrite.Encode(p.Text) }
