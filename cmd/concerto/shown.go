package main

import (
	"io"

	"github.com/concerto-lang/concerto/internal/terminal"
)

// shown is a text that may be of others as it is shown: on a terminal what would
// steer it is escaped.
func shown(text string, onTerminal bool) string {
	if onTerminal {
		return terminal.Escape(text)
	}
	return text
}

// logs is where log lines go, which hold what hosts and models say.
func (a *app) logs() io.Writer {
	if a.errTerminal {
		return terminal.Writer(a.stderr)
	}
	return a.stderr
}
