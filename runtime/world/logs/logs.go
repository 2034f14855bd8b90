// Package logs writes the log of a run: messages of the program (`std::log`), lines of hosts'
// standard error, and messages of the runtime. The log is for people; a log line is never an emit.
package logs

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Levels lists the levels in order of increasing severity.
var Levels = []string{"debug", "info", "warn", "error"}

// Log writes lines at or above a level. It is safe for concurrent use; concurrent lines are not
// mixed.
type Log struct {
	mu      sync.Mutex
	w       io.Writer
	min     int
	secrets *secret.Set
	began   time.Time // start of the run if lines are JSON records; otherwise zero

	// OnLine, if not nil, also receives each written line, without its level and without secrets.
	// It must be set before the first line.
	OnLine func(level, message string)
}

// New returns a Log that writes to w without the secrets. level is one of Levels; any other value
// means "info".
func New(w io.Writer, level string, secrets *secret.Set) *Log {
	l := &Log{w: w, min: slices.Index(Levels, level), secrets: secrets}
	if l.min < 0 {
		l.min = 1
	}
	return l
}

// Records makes each line a JSON object. "t" is the time in seconds since the start of the run.
// "from" is the name of the host or other process that wrote the line to its standard error. "task"
// is the number of the program's task.
//
//	{"t":0.0012,"level":"warn","message":"…","fields":{…},"task":1}
func (l *Log) Records(began time.Time) { l.began = began }

// record is one line of the log.
type record struct {
	T       float64         `json:"t"`
	Level   string          `json:"level"`
	From    string          `json:"from,omitempty"`
	Message string          `json:"message"`
	Fields  json.RawMessage `json:"fields,omitempty"`
	Task    int64           `json:"task,omitempty"`
}

// Perform writes an effect.Log as `level: message {fields}`.
func (l *Log) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	q, ok := r.(*effect.Log)
	if !ok {
		return nil, &effect.UnperformedError{Who: "the log", Kind: r.Kind()}
	}
	if q.Level == effect.PrintLevel {
		l.printText(q)
		return nil, nil
	}
	out := record{Level: q.Level, Message: q.Message}
	if fields := string(q.Fields); fields != "" && fields != "{}" && fields != "null" {
		out.Fields = q.Fields
	}
	if q.From != nil {
		out.Task = q.From.Task
	}
	l.writeRecord(&out)
	return nil, nil
}

// printText writes text that the program has printed, without its secrets.
func (l *Log) printText(q *effect.Log) {
	if !l.began.IsZero() {
		out := record{Level: q.Level, Message: q.Message}
		if q.From != nil {
			out.Task = q.From.Task
		}
		l.writeText(l.formatLine(&out) + "\n")
		return
	}
	l.writeText(l.secrets.Text(q.Message))
}

// Host writes a line of a host's standard error, at level info.
func (l *Log) Host(host, line string) {
	l.writeRecord(&record{Level: "info", From: host, Message: line})
}

// Remark writes a line of the runtime.
func (l *Log) Remark(level, line string) { l.writeRecord(&record{Level: level, Message: line}) }

// writeRecord writes a record if its level is high enough. It ignores a write error, because there
// is no place to report it.
func (l *Log) writeRecord(r *record) {
	if slices.Index(Levels, r.Level) < l.min {
		return
	}
	if l.OnLine != nil {
		l.OnLine(r.Level, l.secrets.Text(r.format()))
	}
	l.writeText(l.formatLine(r) + "\n")
}

func (l *Log) writeText(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.w, text)
}

// format returns a record without its level: `from: message {fields}`.
func (r *record) format() string {
	text := r.Message
	if r.From != "" {
		text = r.From + ": " + text
	}
	if r.Fields != nil {
		text += " " + string(r.Fields)
	}
	return strings.TrimRight(text, "\n")
}

// formatLine returns the line of a record without its line end and without secrets.
func (l *Log) formatLine(r *record) string {
	if l.began.IsZero() {
		line := r.format()
		if r.From == "" {
			line = r.Level + ": " + line
		}
		return l.secrets.Text(line)
	}
	r.T = float64(time.Since(l.began).Microseconds()) / 1e6
	r.Message = l.secrets.Text(strings.TrimRight(r.Message, "\n"))
	if r.Fields != nil {
		r.Fields = l.secrets.JSON(r.Fields)
	}
	return string(jsonwrite.MustEncode(r))
}
