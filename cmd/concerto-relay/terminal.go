package main

import (
	"bytes"
	"os"
	"os/signal"

	"golang.org/x/term"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// tty is the terminal of this command, which shows a run.
type tty struct {
	fd   int
	keys bool // a person types the input
}

// lineEnd returns the end of a line that does not come from a terminal.
func (t *tty) lineEnd() string {
	if t.keys {
		return "\r\n"
	}
	return "\n"
}

// terminal returns the terminal of this command.
func (a *app) terminal() *tty {
	t := &tty{fd: -1}
	in, ok := a.stdin.(*os.File)
	out, okOut := a.stdout.(*os.File)
	if ok && okOut && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		t.fd, t.keys = int(in.Fd()), true
	}
	return t
}

// size returns the terminal's columns and rows, or 0 without a terminal.
func (t *tty) size() (cols, rows int64) {
	if t.fd < 0 {
		return 0, 0
	}
	w, h, err := term.GetSize(t.fd)
	if err != nil || w < 1 || h < 1 || w > 1000 || h > 1000 {
		return 0, 0
	}
	return int64(w), int64(h)
}

// setRaw makes the terminal pass on each key, until restore.
func (t *tty) setRaw() (restore func(), err error) {
	if t.fd < 0 {
		return func() {}, nil
	}
	old, err := term.MakeRaw(t.fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(t.fd, old) }, nil
}

// watchSize reports the terminal's size, now and after each change, until stop.
func (t *tty) watchSize(notify func(cols, rows int64)) (stop func()) {
	if t.fd < 0 || windowChanged == nil {
		return func() {}
	}
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, windowChanged)
	done := make(chan struct{})
	go func() {
		last := [2]int64{}
		for {
			if cols, rows := t.size(); cols > 0 && last != [2]int64{cols, rows} {
				last = [2]int64{cols, rows}
				notify(cols, rows)
			}
			select {
			case <-changed:
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(changed); close(done) }
}

// splitText splits input into its complete characters and the rest.
func splitText(b []byte) (string, []byte) {
	at := len(b) - utf8cut.Unfinished(b)
	return string(b[:at]), bytes.Clone(b[at:])
}
