package value

import (
	"strings"
	"unicode/utf8"
)

// Pace is told of work that may be long, so that it can be interrupted: of each
// element that is gone over, or of each eight bytes, as one step. A nil Pace lets
// everything go on.
type Pace struct {
	Left int        // steps to the next look
	Look func() int // gives how many come then; panics when the work is to end
}

// Step says that n steps come, or have been taken.
func (p *Pace) Step(n int) {
	if p != nil {
		if p.Left -= n; p.Left < 0 {
			p.look()
		}
	}
}

// look is apart from Step so that that is inlined.
func (p *Pace) look() { p.Left = p.Look() }

// Bytes is Step for n bytes.
func (p *Pace) Bytes(n int) { p.Step(n >> 3) }

// paceWindow is how many bytes, or steps, fast work may take at once.
const paceWindow = 1 << 15

// Windows gives a text in parts of some KiB that end between characters, and
// tells of each.
func (p *Pace) Windows(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			n := CutText(s, paceWindow)
			p.Bytes(n)
			if !yield(s[:n]) {
				return
			}
			s = s[n:]
		}
	}
}

// CutText is how long a beginning of s is that ends between characters: about
// most bytes, all when s has no more.
func CutText(s string, most int) int {
	if len(s) <= most {
		return len(s)
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return most
}

// Parts calls f with the bounds of parts of n elements, and tells of each.
func (p *Pace) Parts(n int, f func(from, to int)) {
	for from := 0; from < n; from += paceWindow {
		to := min(from+paceWindow, n)
		p.Step(to - from)
		f(from, to)
	}
}

// shortSearch is how long a text may be that is searched without telling the pace:
// a call takes as long.
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
