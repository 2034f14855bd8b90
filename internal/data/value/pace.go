package value

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Pace can interrupt long work. The work counts its progress in steps: one per visited element, or
// one per eight bytes. A nil Pace never interrupts.
type Pace struct {
	Left  int        // number of steps until the next call of Check
	Check func() int // returns the number of steps until its next call; panics to stop the work
}

// Step counts n steps.
func (p *Pace) Step(n int) {
	if p != nil {
		if p.Left -= n; p.Left < 0 {
			p.check()
		}
	}
}

// check is a separate function so that Step can be inlined.
func (p *Pace) check() { p.Left = p.Check() }

// Bytes counts the steps for n bytes.
func (p *Pace) Bytes(n int) { p.Step(n >> 3) }

// paceWindow is the maximum number of bytes, or of elements, that fast work processes between two
// steps.
const paceWindow = 1 << 15

// Windows splits a text into parts of at most paceWindow bytes that end between characters. It
// counts the steps of each part.
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

// Parts calls f with the bounds of consecutive parts of n elements, and counts the steps of each
// part.
func (p *Pace) Parts(n int, f func(from, to int)) {
	for from := 0; from < n; from += paceWindow {
		to := min(from+paceWindow, n)
		p.Step(to - from)
		f(from, to)
	}
}

// shortSearch is the maximum length in bytes of a text that is searched without counting steps,
// because counting would take as long as the search.
const shortSearch = 256

// IndexIn is like strings.Index, and a Pace can interrupt it.
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

// LastIndexIn is like strings.LastIndex, and a Pace can interrupt it.
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
