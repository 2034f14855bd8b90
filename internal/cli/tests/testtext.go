package tests

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/uncaught"
)

// maxRecord is the maximum number of emits that are shown for a failing test.
const maxRecord = 20

// writeResult writes a test's result as text: a line if it passed, unless --quiet; otherwise the
// failure and the output of the test.
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
		name += " in " + formatDuration(r.Took)
	}
	var b bytes.Buffer
	if r.Failure == nil {
		fmt.Fprintf(&b, "%s  %s\n", paint(a, "ok  ", "32"), name)
		if a.Verbose > 0 {
			writeRecord(a, &b, r, len(r.Record.Emits))
		}
	} else {
		fmt.Fprintf(&b, "%s  %s\n", paint(a, "FAIL", "31;1"), name)
		var failure bytes.Buffer
		place := r.Failure.Place
		if place.Line == 0 {
			place = testPlace(r.Test)
		}
		uncaught.WriteFailure(&failure, failureTitle(r.Failure), place, r.Failure.Trace, a.TTY.OutColor)
		if r.Seed != nil {
			fmt.Fprintf(&failure, "random seed %d; repeat with: concerto test --seed %d\n", *r.Seed, *r.Seed)
		}
		limit := maxRecord
		if a.Verbose > 0 {
			limit = len(r.Record.Emits)
		}
		writeRecord(a, &failure, r, limit)
		b.WriteString(console.Indent(failure.String(), "      "))
	}
	// If the reader has closed the output, writing the summary reports the error.
	_, _ = a.Stdout.Write(b.Bytes())
}

// failureTitle returns the message of a failure, which may have several lines.
func failureTitle(f *engine.TestFailure) string {
	if f.Kind == "" {
		return f.Message
	}
	return f.Kind + ": " + f.Message
}

// writeRecord writes what a test printed, and its last emits.
func writeRecord(a *console.Console, b *bytes.Buffer, r engine.TestResult, emits int) {
	if n := len(r.Record.Emits); n > 0 {
		b.WriteString("emitted:\n")
		if n > emits {
			fmt.Fprintf(b, "  … %d more …\n", n-emits)
		}
		for _, e := range r.Record.Emits[max(n-emits, 0):] {
			if text := console.PayloadText(e.Channel, e.Payload, a.TTY.Out); text != "" {
				b.WriteString(console.Printable(fmt.Sprintf("  [%s] %s\n", e.Channel, text)))
			}
		}
	}
	if r.Record.Output != "" {
		b.WriteString("printed:\n" + console.Indent(console.Printable(strings.TrimSuffix(r.Record.Output, "\n")+"\n"), "  "))
	}
	if len(r.Record.Log) > 0 {
		b.WriteString("logged:\n" + console.Indent(console.Printable(strings.Join(r.Record.Log, "\n")+"\n"), "  "))
	}
}

// writeSummary writes the last lines of the text report.
func writeSummary(a *console.Console, r *testReport) {
	failed := r.failed()
	switch {
	case len(r.Results) == 0:
		fmt.Fprintln(a.Stdout, "no tests")
	case failed > 0:
		fmt.Fprintf(a.Stdout, "\n%d passed, %s in %s\n", len(r.Results)-failed, paint(a, fmt.Sprintf("%d failed", failed), "31;1"), formatDuration(r.Took))
	default:
		fmt.Fprintf(a.Stdout, "\n%d passed in %s\n", len(r.Results), formatDuration(r.Took))
	}
	if r.Coverage != nil {
		r.Coverage.writeText(a.Stdout)
	}
}

// formatDuration formats a duration for people.
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// paint returns text in a colour if stdout supports colours.
func paint(a *console.Console, text, code string) string {
	if !a.TTY.OutColor {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
