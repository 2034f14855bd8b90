package tests

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
)

// Of what a failing test put out the last lines are shown.
const maxRecord = 20

// writeResult writes a test's result as text: a line when it passed, unless
// --quiet; when it failed what went wrong, and what the test had put out by then.
//
//	ok    numbers :: halves (halves)
//	FAIL  wrong_sum
//	      main.conc:20:5: error: RuntimeError: assertion failed: 4 does not equal 512
func writeResult(a *console.Console, r engine.TestResult) {
	if a.Quiet && r.Failure == nil {
		return
	}
	name := r.Name
	if r.Name != r.Function {
		name += " (" + r.Function + ")"
	}
	if a.Verbose > 0 {
		name += " in " + took(r.Took)
	}
	var b bytes.Buffer
	if r.Failure == nil {
		fmt.Fprintf(&b, "%s  %s\n", paint(a, "ok  ", "32"), name)
		if a.Verbose > 0 {
			tellRecord(a, &b, r, len(r.Record.Emits))
		}
	} else {
		fmt.Fprintf(&b, "%s  %s\n", paint(a, "FAIL", "31;1"), name)
		var failure bytes.Buffer
		place := r.Failure.Place
		if place.Line == 0 {
			place = testPlace(r.Test)
		}
		console.WriteFailure(&failure, failureTitle(r.Failure), place, r.Failure.Trace, a.TTY.OutColor)
		if r.Seed != nil {
			fmt.Fprintf(&failure, "random numbers of seed %d: `concerto test --seed %d` draws the same\n", *r.Seed, *r.Seed)
		}
		limit := maxRecord
		if a.Verbose > 0 {
			limit = len(r.Record.Emits)
		}
		tellRecord(a, &failure, r, limit)
		b.WriteString(console.Indent(failure.String(), "      "))
	}
	// A closed reader is noticed when the summary is written.
	_, _ = a.Stdout.Write(b.Bytes())
}

// failureTitle is what went wrong in a line, or in several.
func failureTitle(f *engine.TestFailure) string {
	if f.Kind == "" {
		return f.Message
	}
	return f.Kind + ": " + f.Message
}

// tellRecord writes what a test put out, of its emits the last ones.
func tellRecord(a *console.Console, b *bytes.Buffer, r engine.TestResult, emits int) {
	if n := len(r.Record.Emits); n > 0 {
		b.WriteString("emitted:\n")
		if n > emits {
			fmt.Fprintf(b, "  … %d more …\n", n-emits)
		}
		for _, e := range r.Record.Emits[max(n-emits, 0):] {
			if text := console.PayloadText(e.Channel, e.Payload, a.TTY.Out); text != "" {
				b.WriteString(console.Printable(fmt.Sprintf("  [%s] %s\n", e.Channel, text), a.TTY.Out))
			}
		}
	}
	if r.Record.Output != "" {
		b.WriteString("printed:\n" + console.Indent(console.Printable(strings.TrimSuffix(r.Record.Output, "\n")+"\n", a.TTY.Out), "  "))
	}
	if len(r.Record.Log) > 0 {
		b.WriteString("logged:\n" + console.Indent(console.Printable(strings.Join(r.Record.Log, "\n")+"\n", a.TTY.Out), "  "))
	}
}

// writeSummary ends the text of a run of tests.
func writeSummary(a *console.Console, r *testReport) {
	failed := r.failed()
	switch {
	case len(r.Results) == 0:
		fmt.Fprintf(a.Stdout, "no tests: write `@test fn name() { … }`\n")
	case failed > 0:
		fmt.Fprintf(a.Stdout, "\n%d passed, %s in %s\n", len(r.Results)-failed, paint(a, fmt.Sprintf("%d failed", failed), "31;1"), took(r.Took))
	default:
		fmt.Fprintf(a.Stdout, "\n%d passed in %s\n", len(r.Results), took(r.Took))
	}
	if r.Coverage != nil {
		r.Coverage.tell(a.Stdout)
	}
}

// took is a duration as people read it.
func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// paint returns text in a colour of the terminal, when stdout takes colours.
func paint(a *console.Console, text, code string) string {
	if !a.TTY.OutColor {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
