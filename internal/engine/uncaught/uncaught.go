// Package uncaught prints the error of a run that the program did not catch, for the command line
// and the playground.
package uncaught

import (
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/vm"
)

// Write writes an uncaught error: its message and place, the source line with a caret, and the
// trace.
//
//	main.conc:3:5: error: RuntimeError: index 5 is out of range
//	  |
//	3 |     xs[i]
//	  |     ^
//	  = in inner at main.conc:3:5
//	  = in main at main.conc:8:10
//
// It then writes the errors of tasks that were not awaited. It ignores errors of w.
func Write(w io.Writer, e *vm.Uncaught, color bool) {
	what := e.Kind + ": " + e.Message
	if e.Panic {
		what = "panic: " + e.Message
	}
	WriteFailure(w, what, e.Place, e.Trace, color)
	if e.Hint != "" {
		_, _ = fmt.Fprintln(w, terminal.Escape("  = hint: "+e.Hint))
	}
	if e.Task {
		_, _ = fmt.Fprintln(w, "  = in a task that was not awaited")
	}
	for _, o := range e.Others {
		Write(w, o, color)
	}
}

// WriteFailure writes an error's message with its place, source line and trace. It always escapes
// control characters, because a log may be read on a terminal later. It ignores errors of w,
// because w is the last output for reports.
func WriteFailure(w io.Writer, what string, place vm.Place, trace []vm.Place, color bool) {
	writef := func(format string, args ...any) {
		_, _ = io.WriteString(w, terminal.Escape(fmt.Sprintf(format, args...)))
	}
	if place.Line == 0 {
		writef("error: %s\n", what)
		return
	}
	writef("%s: error: %s\n", position(place), what)
	if place.Text != "" {
		f := source.NewFile(place.File, []byte(place.Text))
		pos := offset(f, place.Line, place.Column)
		_ = diag.Excerpt(w, f, source.Span{Start: pos, End: pos}, diag.TextOptions{Color: color})
	}
	for i := 0; i < len(trace); i++ {
		switch p := trace[i]; {
		case p.Left > 0:
			writef("  = … %s more calls …\n", diag.Thousands(p.Left))
		case p.Cycle == 1:
			writef("  = in %s at %s, %s times\n", p.Function, position(p), diag.Thousands(p.Times))
		case p.Cycle > 1:
			writef("  = %s times:\n", diag.Thousands(p.Times))
			for _, q := range trace[i : i+p.Cycle] {
				writef("      in %s at %s\n", q.Function, position(q))
			}
			i += p.Cycle - 1
		default:
			writef("  = in %s at %s\n", p.Function, position(p))
		}
	}
}

// position formats a place as FILE:LINE:COLUMN.
func position(p vm.Place) string {
	if p.Column == 0 {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// offset returns the byte offset of a line and column. The column is counted in characters.
func offset(f *source.File, line, column int) source.Pos {
	if line > f.Lines() {
		return source.Pos(len(f.Text))
	}
	text := string(f.Line(line))
	n := 0
	for i := range text {
		if n++; n >= column {
			return f.LineStart(line) + source.Pos(i)
		}
	}
	return f.LineStart(line) + source.Pos(len(text))
}
