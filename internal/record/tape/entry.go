package tape

import (
	"io"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/vm"
)

// EntryOf returns the entry for the result of an effect. The entry has no request.
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

// Restore returns a copy of the entry in which placeholders are replaced by the secrets.
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

// Differ returns the lines in which two JSON values differ, or "" if they are equal.
func Differ(a, b []byte) string { return unified(pretty(a), pretty(b)) }

// Writer writes a tape from given entries.
type Writer struct{ r *Recorder }

// Write starts a tape with its header.
func Write(to io.Writer, h Header) *Writer { return &Writer{Record(to, h, nil)} }

// Entry writes an entry.
func (w *Writer) Entry(e *Entry) { w.r.write(e) }

// Flush writes the buffered lines of a tape whose run has not ended.
func (w *Writer) Flush() error { return w.r.Flush() }

// End writes the last line with the exit code.
func (w *Writer) End(code int) error { return w.r.Close(code) }
