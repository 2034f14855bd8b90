package value

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Pace makes long work interruptible. Work reports its progress in steps: one
// for each element it visits, or for each eight bytes. A nil Pace interrupts
// nothing.
type Pace struct {
	Left  int        // steps until the next check
	Check func() int // returns the number of steps until the one after; panics to stop the work
}

// Step counts n steps, before or after the work.
func (p *Pace) Step(n int) {
	if p != nil {
		if p.Left -= n; p.Left < 0 {
			p.check()
		}
	}
}

// check is separate so that Step is inlined.
func (p *Pace) check() { p.Left = p.Check() }

// Bytes is Step for n bytes.
func (p *Pace) Bytes(n int) { p.Step(n >> 3) }

// paceWindow is how many bytes, or steps, fast work may take at once.
const paceWindow = 1 << 15

// Windows returns a text in parts of at most paceWindow bytes that end between characters, and
// reports the steps of each.
func (p *Pace) Windows(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			n := utf8cut.Before(s, paceWindow)
			p.Bytes(n)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// Parts calls f with the bounds of parts of n elements, and counts each.
func (p *Pace) Parts(n int, f func(from, to int)) {
	for from := 0; from < n; from += paceWindow {
		to := min(from+paceWindow, n)
		p.Step(to - from)
		f(from, to)
	}
}

// shortSearch is the length in bytes up to which a text is searched without a
// step: reporting the step would take as long as the search.
const shortSearch = 256

// IndexIn is strings.Index under a pace.
func IndexIn(p *Pace, s, part string) int {
	if len(s) <= shortSearch {
		return strings.Index(s, part)
	}
	return indexIn(p, s, part)
}

func indexIn(p *Pace, s, part string) int {
	window := max(paceWindow, 4*len(part))
	for at := 0; ; {
		to := min(at+window, len(s))
		if i := strings.Index(s[at:to], part); i >= 0 {
			p.Step(1 + (i+len(part))>>3)
			return at + i
		}
		p.Bytes(to - at)
		if to == len(s) {
			return -1
		}
		at = to - len(part) + 1
	}
}

// LastIndexIn is strings.LastIndex under a pace.
func LastIndexIn(p *Pace, s, part string) int {
	window := max(paceWindow, 4*len(part))
	for to := len(s); ; {
		from := max(to-window, 0)
		p.Bytes(to - from)
		if i := strings.LastIndex(s[from:to], part); i >= 0 {
			return from + i
		}
		if from == 0 {
			return -1
		}
		to = from + len(part) - 1
	}
}
