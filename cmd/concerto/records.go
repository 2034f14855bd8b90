package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto"
)

// With --emit-detail all that a run says on stderr is a JSON object a line, with
// a level as the log's.

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

// call is a call of a trace, or how many are left out of it. One that begins a
// cycle says how many calls that has, and how often it was repeated.
type call struct {
	Function string `json:"function,omitempty"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Cycle    int    `json:"cycle,omitempty"`
	Times    int    `json:"times,omitempty"`
	Left     int    `json:"left,omitempty"`
}

func (a *app) failure(e *concerto.Uncaught) failure {
	f := failure{
		T: a.since(), Level: "error", Kind: e.Kind, Message: e.Message, Hint: e.Hint, Panic: e.Panic, Unawaited: e.Task,
		File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Task: e.Number,
	}
	for _, p := range e.Trace {
		f.Trace = append(f.Trace, callOf(p))
	}
	return f
}

func callOf(p concerto.Place) call {
	return call{p.Function, p.File, p.Line, p.Column, p.Cycle, p.Times, p.Left}
}

// since is the time since the run began, in seconds.
func (a *app) since() float64 { return float64(time.Since(a.began).Microseconds()) / 1e6 }

// records says whether stderr takes records.
func (a *app) records() bool { return !a.began.IsZero() }

// note writes a line that is neither of the log nor an error.
func (a *app) note(format string, args ...any) {
	if a.records() {
		a.record(message{a.since(), "info", strings.TrimSpace(fmt.Sprintf(format, args...)), ""})
		return
	}
	fmt.Fprintf(a.stderr, format, args...)
}

// record writes one to stderr. Nothing can be done about a writer that takes no
// more.
func (a *app) record(r any) {
	e := json.NewEncoder(a.stderr)
	e.SetEscapeHTML(false)
	_ = e.Encode(r)
}
