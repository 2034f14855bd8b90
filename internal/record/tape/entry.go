package tape

import (
	"io"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/vm"
)

// EntryOf returns the entry for an effect's result, without its request.
func EntryOf(e int64, k effect.Kind, result effect.Result, err error, at *vm.Moment) (Entry, error) {
	x := Entry{E: e, Q: k, Err: FailureOf(err), W: Written(at)}
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

// Restore returns a copy of the entry with the secrets in it.
func (e Entry) Restore(value func(name string) (string, bool)) Entry {
	e.R, e.V = secret.RestoreJSON(e.R, value), secret.RestoreJSON(e.V, value)
	cloned := false
	for n, line := range e.Lines {
		if now := secret.Restore(line, value); now != line {
			if !cloned {
				e.Lines, cloned = slices.Clone(e.Lines), true
			}
			e.Lines[n] = now
		}
	}
	if e.Err != nil {
		e.Err = e.Err.restore(value)
	}
	return e
}

// Differ returns the lines in which two JSON values differ, or "".
func Differ(a, b []byte) string { return unified(pretty(a), pretty(b)) }

// Writer writes a tape from existing entries.
type Writer struct{ r *Recorder }

// Write begins a tape.
func Write(to io.Writer, h Header) *Writer { return &Writer{Record(to, h, nil)} }

// Entry writes an entry.
func (w *Writer) Entry(e *Entry) { w.r.write(e) }

// Flush writes the buffered lines of a run that has not ended.
func (w *Writer) Flush() error {
	if err := w.r.out.Flush(); w.r.err == nil {
		return err
	}
	return w.r.err
}

// End writes how the run ended.
func (w *Writer) End(code int) error { return w.r.Close(code) }
