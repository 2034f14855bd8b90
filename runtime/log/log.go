// Package log writes a run's log: what the program says by `std::log`, what
// hosts write to their standard error, and what the runtime has to remark. A
// log line is for people and never an emit.
package log

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/internal/secret"
)

// Levels are the levels by rising weight.
var Levels = []string{"debug", "info", "warn", "error"}

// Log writes lines at or above a level. Safe for concurrent use: lines never
// mix.
type Log struct {
	mu      sync.Mutex
	w       io.Writer
	min     int
	secrets *secret.Set
}

// New makes a Log that writes to w, without the secrets. level is one of Levels;
// any other is "info".
func New(w io.Writer, level string, secrets *secret.Set) *Log {
	l := &Log{w: w, min: slices.Index(Levels, level), secrets: secrets}
	if l.min < 0 {
		l.min = 1
	}
	return l
}

// Perform writes an effect.Log as `level: message {fields}`.
func (l *Log) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	q, ok := r.(*effect.Log)
	if !ok {
		return nil, fmt.Errorf("the log cannot perform %s", r.Kind())
	}
	text := q.Message
	if fields := string(q.Fields); fields != "" && fields != "{}" && fields != "null" {
		text += " " + fields
	}
	l.write(q.Level, q.Level+": "+text)
	return nil, nil
}

// Host writes a line of a host's standard error, at level info.
func (l *Log) Host(host, line string) { l.write("info", host+": "+line) }

// Remark writes the runtime's own line.
func (l *Log) Remark(level, line string) { l.write(level, level+": "+line) }

// write writes a line when its level is high enough. What cannot be written is
// dropped: there is nowhere left to say so.
func (l *Log) write(level, line string) {
	if slices.Index(Levels, level) < l.min {
		return
	}
	line = l.secrets.Text(strings.TrimRight(line, "\n")) + "\n"
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = io.WriteString(l.w, line)
}
