package tape

import (
	"encoding/json"
	"io"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/vm"
)

// Recorded says whether what effects of a kind give is written down. Output is made again, and
// what follows from the run itself is.
func Recorded(k effect.Kind) bool { return taped(k) }

// Request is a request as it is written down, in canonical form (RFC 8785): without the number
// of what it is about, and without what only says where in the program it was made.
func Request(r effect.Request) (json.RawMessage, error) { return requestOf(r) }

// EntryOf is what an effect gave, as an entry without its request.
func EntryOf(e int64, k effect.Kind, result effect.Result, err error, at *vm.Moment) (Entry, error) {
	x := Entry{E: e, Q: k, Err: failureOf(err), W: Written(at)}
	if err != nil {
		return x, nil
	}
	if m, ok := result.(*effect.ExchangeMessages); ok {
		x.setMessages(m.Messages)
		return x, nil
	}
	var werr error
	x.V, werr = resultOf(result)
	return x, werr
}

// Outcome is what the entry's effect gave, or the error that it failed with; opened is the
// number of what it opened. The third is why the entry cannot be read.
func (e *Entry) Outcome(opened int64) (effect.Result, error, error) { return e.outcome(opened) }

// Cause is why a run's context ended, by what was written down.
func (f *Failure) Cause() error { return f.error() }

// FailureOf writes an error down.
func FailureOf(err error) *Failure { return failureOf(err) }

// Restore puts secrets back into what the entry's effect gave.
func (e Entry) Restore(value func(name string) (string, bool)) (Entry, error) {
	t, err := (&Tape{Entries: []Entry{e}}).Restored(value)
	if err != nil {
		return e, err
	}
	return t.Entries[0], nil
}

// Differ shows in which lines two JSON values differ; "" when they do not.
func Differ(a, b []byte) string { return unified(pretty(a), pretty(b)) }

// Writer writes a tape of entries that are made elsewhere.
type Writer struct{ r *Recorder }

// Write begins a tape.
func Write(to io.Writer, h Header) *Writer { return &Writer{Record(to, h, nil)} }

// Entry writes one.
func (w *Writer) Entry(e *Entry) { w.r.write(e) }

// Flush writes what was written down of a run that has not ended.
func (w *Writer) Flush() error {
	if err := w.r.out.Flush(); w.r.err == nil {
		return err
	}
	return w.r.err
}

// End writes how the run ended.
func (w *Writer) End(code int) error { return w.r.Close(code) }
