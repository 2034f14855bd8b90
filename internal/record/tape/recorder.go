package tape

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// Recorder writes a tape. It is a vm.Durable and its vm.Journal.
type Recorder struct {
	vm.NotDurable
	vm.NoJournal
	out   *bufio.Writer
	clean func(text []byte) []byte // replaces secrets in JSON
	err   error                    // first error of writing
	// opened contains, for each exchange, stream or call, the effect that opened it. The key
	// contains the number that the performer has assigned to the object.
	opened map[objectKey]int64
}

// objectKey identifies an exchange, stream or call. Numbers are unique within a family
// (effect.Kind.Family).
type objectKey struct {
	family string
	n      int64
}

// Record starts a tape with its header. clean replaces secrets in JSON; nil leaves it unchanged.
func Record(w io.Writer, h Header, clean func(text []byte) []byte) *Recorder {
	r := continueTape(w, clean)
	h.Tape, h.Engine = Version, VMVersion
	r.write(h)
	return r
}

// continueTape returns a Recorder that appends entries to a tape which already has a header.
func continueTape(w io.Writer, clean func(text []byte) []byte) *Recorder {
	if clean == nil {
		clean = func(text []byte) []byte { return text }
	}
	return &Recorder{out: bufio.NewWriterSize(w, 64<<10), clean: clean, opened: map[objectKey]int64{}}
}

// write writes a value as a line of JSON.
func (r *Recorder) write(v any) {
	if r.err != nil {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		r.err = fmt.Errorf("write a tape: %w", err)
		return
	}
	if _, err := r.out.Write(append(r.clean(text), '\n')); err != nil {
		r.err = fmt.Errorf("write the tape: %w", err)
	}
}

// Close writes the last line with the exit code, and returns the first error. It does not close the
// underlying writer.
func (r *Recorder) Close(code int) error {
	r.write(struct {
		End End `json:"end"`
	}{End{Code: code}})
	if err := r.out.Flush(); r.err == nil && err != nil {
		r.err = fmt.Errorf("write the tape: %w", err)
	}
	return r.err
}

// Flush writes the buffered lines.
func (r *Recorder) Flush() error {
	if err := r.out.Flush(); r.err == nil {
		return err
	}
	return r.err
}

// Journal implements vm.Durable.
func (r *Recorder) Journal() vm.Journal { return r }

// EffectEnded records the result of an effect.
func (r *Recorder) EffectEnded(e int64, q effect.Request, result effect.Result, err error, at *vm.Moment) {
	k := q.Kind()
	if !Recorded(k) {
		return
	}
	x := Entry{E: e, Q: k, Err: FailureOf(err), W: Written(at)}
	r.recordRequest(&x, q)
	if n, ok := result.(effect.Numbered); ok && err == nil {
		r.opened[objectKey{k.Family(), *n.Number()}] = e
	}
	if m, ok := result.(*effect.ExchangeMessages); ok && err == nil {
		x.setMessages(m.Messages)
	} else if err == nil {
		v, werr := resultOf(result)
		if werr != nil {
			r.err = werr
			return
		}
		x.V = v
	}
	r.write(&x)
}

// recordRequest sets the request in an entry.
func (r *Recorder) recordRequest(x *Entry, q effect.Request) {
	text, err := Request(q)
	if err != nil {
		r.err = err
		return
	}
	if n, ok := q.(effect.Numbered); ok {
		x.Of = r.opened[objectKey{x.Q.Family(), *n.Number()}]
	}
	if string(text) != "{}" {
		x.R = text
	}
}

// EffectDeferred records that an effect could not be performed at once.
func (r *Recorder) EffectDeferred(e int64, q effect.Request, at vm.Moment) {
	x := Entry{E: e, Place: PlaceWaits, Q: q.Kind(), W: Written(&at)}
	r.recordRequest(&x, q)
	r.write(&x)
}

// MemoryExceeded records that the run exceeded its memory limit at a moment.
func (r *Recorder) MemoryExceeded(at vm.Moment) { r.write(&Entry{Place: PlaceMemory, W: Written(&at)}) }

// ContextEnded records that the run's context has ended.
func (r *Recorder) ContextEnded(cause error, at *vm.Moment) {
	f := FailureOf(cause)
	if errors.Is(cause, context.DeadlineExceeded) {
		f.Kind = broken
	}
	r.write(&Entry{Place: PlaceOver, Err: f, W: Written(at)})
}

// Written returns the recorded form of a moment, or nil for nil.
func Written(at *vm.Moment) *[2]int64 {
	if at == nil {
		return nil
	}
	return &[2]int64{at.Consumed, at.Ticks}
}
