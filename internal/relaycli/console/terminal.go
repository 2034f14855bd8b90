package console

import (
	"bytes"
	"os"
	"os/signal"

	"golang.org/x/term"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// TTY is the terminal on which this command displays a run.
type TTY struct {
	fd   int
	Keys bool // the input and the output are a terminal
}

// LineEnd returns the line end that the terminal needs in raw mode, or "\n" if the output is no
// terminal.
func (t *TTY) LineEnd() string {
	if t.Keys {
		return "\r\n"
	}
	return "\n"
}

// Terminal returns the terminal of this command, or a tty with the descriptor -1 if the input or
// the output is none.
func (a *Console) Terminal() *TTY {
	t := &TTY{fd: -1}
	in, ok := a.Stdin.(*os.File)
	out, okOut := a.Stdout.(*os.File)
	if ok && okOut && term.IsTerminal(int(in.Fd())) && term.IsTerminal(int(out.Fd())) {
		t.fd, t.Keys = int(in.Fd()), true
	}
	return t
}

// Size returns the terminal's numbers of columns and rows, or 0 without a terminal.
func (t *TTY) Size() (cols, rows int64) {
	if t.fd < 0 {
		return 0, 0
	}
	w, h, err := term.GetSize(t.fd)
	if err != nil || w < 1 || h < 1 || w > 1000 || h > 1000 {
		return 0, 0
	}
	return int64(w), int64(h)
}

// SetRaw switches the terminal to raw mode, in which it passes on each key, and returns the
// function that restores the previous mode.
func (t *TTY) SetRaw() (restore func(), err error) {
	if t.fd < 0 {
		return func() {}, nil
	}
	old, err := term.MakeRaw(t.fd)
	if err != nil {
		return nil, err
	}
	return func() { _ = term.Restore(t.fd, old) }, nil
}

// WatchSize calls notify with the terminal's size, now and after each change, until stop is called.
func (t *TTY) WatchSize(notify func(cols, rows int64)) (stop func()) {
	if t.fd < 0 || windowChanged == nil {
		return func() {}
	}
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, windowChanged)
	done := make(chan struct{})
	go func() {
		last := [2]int64{}
		for {
			if cols, rows := t.Size(); cols > 0 && last != [2]int64{cols, rows} {
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

// SplitText returns the complete UTF-8 characters of b, and the bytes of an incomplete one at its
// end.
func SplitText(b []byte) (string, []byte) {
	at := len(b) - utf8cut.Unfinished(b)
	return string(b[:at]), bytes.Clone(b[at:])
}
