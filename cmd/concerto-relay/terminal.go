package main

import (
	"bytes"
	"os"
	"os/signal"

	"golang.org/x/term"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// tty is ours, on which a run is shown.
type tty struct {
	fd   int
	keys bool // what is typed is a person's
}

// lineEnd ends a line of what comes from no terminal.
func (t *tty) lineEnd() string {
	if t.keys {
		return "\r\n"
	}
	return "\n"
}

// ours reports whether a person uses the terminal.
func (a *app) ours() *tty {
	t := &tty{fd: -1}
	in, ok := a.stdin.(*os.File)
	out, okOut := a.stdout.(*os.File)
	if ok && okOut && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		t.fd, t.keys = int(in.Fd()), true
	}
	return t
}

// size is the terminal's, in columns and rows; 0 when there is none.
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

// raw passes on each key, until restore.
func (t *tty) raw() (restore func(), err error) {
	if t.fd < 0 {
		return func() {}, nil
	}
	old, err := term.MakeRaw(t.fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(t.fd, old) }, nil
}

// resized reports the terminal's size, now and whenever it changes, until stop.
func (t *tty) resized(tell func(cols, rows int64)) (stop func()) {
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
				tell(cols, rows)
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

// wholeText are the whole characters of what was typed, and the rest.
func wholeText(b []byte) (string, []byte) {
	at := len(b) - utf8cut.Unfinished(b)
	return string(b[:at]), bytes.Clone(b[at:])
}
