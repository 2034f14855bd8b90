package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/vm"
)

// With --emit-detail a run writes only JSON objects to stderr, one per line. This file defines
// them. The field level contains one of the levels of the log.

// message is a record of a message of the command.
type message struct {
	T       float64 `json:"t"` // seconds since the run began
	Level   string  `json:"level"`
	Message string  `json:"message"`
	Hint    string  `json:"hint,omitempty"`
}

// failure is a record of an uncaught error.
type failure struct {
	T         float64 `json:"t"` // seconds since the run began
	Level     string  `json:"level"`
	Kind      string  `json:"kind"`
	Message   string  `json:"message"`
	Hint      string  `json:"hint,omitempty"`
	Panic     bool    `json:"panic,omitempty"`
	Unawaited bool    `json:"unawaited,omitempty"` // the error of a task that was not awaited
	File      string  `json:"file,omitempty"`
	Line      int     `json:"line,omitempty"`
	Column    int     `json:"column,omitempty"`
	Trace     []call  `json:"trace,omitempty"`
	Task      int64   `json:"task,omitempty"`
}

// call is one entry of a stack trace. An entry with Left > 0 represents that many omitted calls,
// and its other fields are empty. If a repeated cycle of calls begins with this entry, Cycle is the
// number of calls in the cycle, and Times the number of repetitions.
type call struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Cycle    int    `json:"cycle,omitempty"`
	Times    int    `json:"times,omitempty"`
	Left     int    `json:"left,omitempty"`
}

func (a *Console) failureRecord(e *vm.Uncaught) failure {
	f := failure{
		T: a.elapsed(), Level: "error", Kind: e.Kind, Message: e.Message, Hint: e.Hint, Panic: e.Panic, Unawaited: e.Task,
		File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Task: e.Number,
	}
	for _, p := range e.Trace {
		f.Trace = append(f.Trace, callOf(p))
	}
	return f
}

func callOf(p vm.Place) call {
	return call{p.Function, p.File, p.Line, p.Column, p.Cycle, p.Times, p.Left}
}

// elapsed returns the time since the run began, in seconds.
func (a *Console) elapsed() float64 { return float64(time.Since(a.Began).Microseconds()) / 1e6 }

// WritesRecords reports whether stderr receives records.
func (a *Console) WritesRecords() bool { return !a.Began.IsZero() }

// Notef prints a line that is neither a log line nor an error.
func (a *Console) Notef(format string, args ...any) {
	if a.WritesRecords() {
		a.writeRecord(message{a.elapsed(), "info", strings.TrimSpace(fmt.Sprintf(format, args...)), ""})
		return
	}
	fmt.Fprintf(a.Stderr, format, args...)
}

// noteNext prints a line and the next step.
func (a *Console) noteNext(text, step string) {
	if a.WritesRecords() {
		a.writeRecord(message{a.elapsed(), "info", text, step})
		return
	}
	fmt.Fprintf(a.Stderr, "%s\n  %s\n", text, step)
}

// writeRecord writes a record to stderr. It ignores write errors, because there is no other output
// that could report them.
func (a *Console) writeRecord(r any) {
	e := json.NewEncoder(a.Stderr)
	e.SetEscapeHTML(false)
	_ = e.Encode(r)
}
