package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/runtime/journal"
)

// output numbers what the run puts out, and keeps it in the run's directory.
type output struct {
	have    []string // the lines that were there
	n       int64    // how many were put out, also again
	shown   int64    // how many are known to be printed
	noted   int64    // what the journal says of that
	started bool
	sum     [sha256.Size]byte // of the lines that were put out, as a chain
}

// printChannel is the channel under which printed text is kept.
const printChannel = "print"

type outLine struct {
	N       int64           `json:"n"`
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// show puts out a line. print prints it, with its number, unless it is known to be printed; nil
// when nobody prints it. It is kept before it is printed.
func (o *output) show(r *Run, channel string, payload json.RawMessage, print func(n int64) error) error {
	o.start(r)
	o.n++
	line, err := marshal(outLine{o.n, channel, payload})
	if err != nil {
		return err
	}
	line = r.clean(line)
	if err := o.keep(r, string(line)); err != nil {
		return err
	}
	o.add(line)
	if o.n <= o.shown || print == nil || r.c.Trial {
		return nil
	}
	if r.live {
		if err := r.flush(journal.Written); err != nil {
			return err
		}
	}
	if err := print(o.n); err != nil {
		return err
	}
	o.shown = o.n
	return nil
}

// add takes a line into the sum.
func (o *output) add(line []byte) { o.sum = sha256.Sum256(append(o.sum[:], line...)) }

// start learns from the journal what was printed.
func (o *output) start(r *Run) {
	if o.started || r.c.History == nil {
		return
	}
	o.started = true // what a snapshot says of it stands already
	for _, x := range r.c.History.Records {
		if x.K == journal.KOut {
			o.shown = x.N
		}
	}
	o.noted = o.shown
}

// note appends the record of how much is printed, if there is more than the journal says.
func (o *output) note(r *Run) {
	if o.shown > o.noted {
		o.noted = o.shown
		r.c.Writer.Append(&journal.Record{K: journal.KOut, Owner: journal.Owner{N: o.shown}})
	}
}

// keep has the file hold the line that the run puts out, unless it holds it already.
func (o *output) keep(r *Run, line string) error {
	at := int(o.n) - 1
	held := at < len(o.have)
	switch {
	case held && o.have[at] == line:
		return nil
	case held && r.c.Trial:
		return &Strayed{Output: o.n}
	case held && !r.live:
		return &journal.Damaged{Where: fmt.Sprintf("%s:%d", journal.OutFile, o.n), Why: "the run has put out something else there"}
	case r.c.Trial:
		return nil
	}
	// Other lines were put out by a process of which the journal has less than it had done.
	if err := o.cut(r, at); err != nil {
		return err
	}
	r.c.Writer.Out([]byte(line))
	return nil
}

// cut leaves so many lines in the file, at most.
func (o *output) cut(r *Run, keep int) error {
	more := len(o.have) - keep
	if more <= 0 {
		return nil
	}
	size := int64(0)
	for _, line := range o.have[:keep] {
		size += int64(len(line)) + 1
	}
	o.have = o.have[:keep]
	if err := r.c.Writer.CutOut(size); err != nil {
		return &Unwritable{err}
	}
	o.shown = min(o.shown, int64(keep))
	r.c.Remark(fmt.Sprintf("%s was cut back by %d lines that the journal does not account for: they are put out again", journal.OutFile, more))
	return nil
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// printed is printed text as an emit's payload, without the newline that println adds.
func printed(p *effect.Print) (json.RawMessage, error) { return marshal(p.Text) }
