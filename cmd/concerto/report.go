package main

import (
	"fmt"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/diag"
	"github.com/concerto-lang/concerto/source"
	"github.com/concerto-lang/concerto/vm"
)

// Of a trace longer than maxTrace its beginning and its end are shown.
const (
	maxTrace  = 24
	traceHead = 12
	traceTail = 8
)

// report writes an uncaught error: what and where, the source line with a
// caret, and the calls that led there.
//
//	main.conc:3:5: error: RuntimeError: index 5 is out of range
//	  |
//	3 |     xs[i]
//	  |     ^
//	  = in inner at main.conc:3:5
//	  = in main at main.conc:8:10
func (a *app) report(e *concerto.Uncaught) {
	what := e.Kind + ": " + e.Message
	if e.Panic {
		what = "panic: " + e.Message
	}
	if e.Line == 0 {
		fmt.Fprintf(a.stderr, "error: %s\n", what)
		return
	}
	fmt.Fprintf(a.stderr, "%s: error: %s\n", at(e.Place), what)
	if e.Text != "" {
		f := source.NewFile(e.File, []byte(e.Text))
		pos := offset(f, e.Line, e.Column)
		// Nothing can be done about a stderr that takes no more.
		_ = diag.Excerpt(a.stderr, f, source.Span{Start: pos, End: pos}, diag.TextOptions{Color: a.color})
	}
	for i, p := range e.Trace {
		if len(e.Trace) > maxTrace && i >= traceHead && i < len(e.Trace)-traceTail {
			if i == traceHead {
				fmt.Fprintf(a.stderr, "  = … %d more calls …\n", len(e.Trace)-traceHead-traceTail)
			}
			continue
		}
		fmt.Fprintf(a.stderr, "  = in %s at %s\n", p.Function, at(p))
	}
}

// at is a place as FILE:LINE:COLUMN.
func at(p vm.Place) string {
	if p.Column == 0 {
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// offset is the byte offset of a line and a column that counts characters.
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
