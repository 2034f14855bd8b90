package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/vm"
)

// With --emit-detail everything that a run writes to stderr is a JSON object on
// a line, with the levels of the log.

// message is a record of the command itself.
type message struct {
	T       float64 `json:"t"` // in seconds
	Level   string  `json:"level"`
	Message string  `json:"message"`
	Hint    string  `json:"hint,omitempty"`
}

// failure is a record of an error that nothing caught.
type failure struct {
	T         float64 `json:"t"` // in seconds
	Level     string  `json:"level"`
	Kind      string  `json:"kind"`
	Message   string  `json:"message"`
	Hint      string  `json:"hint,omitempty"`
	Panic     bool    `json:"panic,omitempty"`
	Unawaited bool    `json:"unawaited,omitempty"` // of a task that nobody awaited
	File      string  `json:"file,omitempty"`
	Line      int     `json:"line,omitempty"`
	Column    int     `json:"column,omitempty"`
	Trace     []call  `json:"trace,omitempty"`
	Task      int64   `json:"task,omitempty"`
}

// call is one call of a trace, or, as Left, the number of calls that the trace
// leaves out. When a call begins a cycle, Cycle is how many calls the cycle has,
// and Times how often it was repeated.
type call struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Cycle    int    `json:"cycle,omitempty"`
	Times    int    `json:"times,omitempty"`
	Left     int    `json:"left,omitempty"`
}

func (a *Console) failure(e *vm.Uncaught) failure {
	f := failure{
		T: a.since(), Level: "error", Kind: e.Kind, Message: e.Message, Hint: e.Hint, Panic: e.Panic, Unawaited: e.Task,
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

// since is the time since the run began, in seconds.
func (a *Console) since() float64 { return float64(time.Since(a.Began).Microseconds()) / 1e6 }

// WritesRecords reports whether stderr takes records.
func (a *Console) WritesRecords() bool { return !a.Began.IsZero() }

// Notef writes a line that is neither of the log nor an error.
func (a *Console) Notef(format string, args ...any) {
	if a.WritesRecords() {
		a.record(message{a.since(), "info", strings.TrimSpace(fmt.Sprintf(format, args...)), ""})
		return
	}
	fmt.Fprintf(a.Stderr, format, args...)
}

// record writes one record to stderr. A failed write is ignored: there is
// nowhere to report it.
func (a *Console) record(r any) {
	e := json.NewEncoder(a.Stderr)
	e.SetEscapeHTML(false)
	_ = e.Encode(r)
}
