// Package stderrlog takes what a process says on its standard error to the log, bounded and
// without control characters.
package stderrlog

import (
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// How much of a standard error goes to the log.
const (
	lineBytes = 4 << 10 // bytes of one line; a longer one goes on in the next
	mostLines = 100     // in each second; of the rest only the number is told
)

// Lines passes a process's standard error on to the log, as lines that change nothing
// but the log, and not more of them than anyone could read.
type Lines struct {
	Log func(line string)

	mu      sync.Mutex
	until   time.Time // the end of this second
	lines   int       // that have been passed on in it
	dropped int       // that have not
	told    *time.Timer
}

// Take passes on a line.
func (a *Lines) Take(line string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); !now.Before(a.until) {
		a.tell()
		a.until, a.lines = now.Add(time.Second), 0
	}
	// What nobody will read is not escaped.
	if a.lines == mostLines {
		a.drop()
		return
	}
	for line = Escape(line, ""); ; {
		part := line
		if len(part) > lineBytes {
			part = whole(part[:lineBytes])
		}
		a.lines++
		a.Log(part)
		if line = line[len(part):]; line == "" {
			return
		}
		if a.lines == mostLines {
			a.drop()
			return
		}
	}
}

// drop counts a line that is not passed on, which is told at the end of the second.
func (a *Lines) drop() {
	a.dropped++
	if a.told == nil {
		a.told = time.AfterFunc(time.Until(a.until), a.End)
	}
}

// End tells what has been dropped: the second, or the process, is over.
func (a *Lines) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell()
}

func (a *Lines) tell() {
	if a.told != nil {
		a.told.Stop()
		a.told = nil
	}
	if n := a.dropped; n > 0 {
		a.dropped = 0
		a.Log(fmt.Sprintf("… %d lines dropped", n))
	}
}

// whole is text without what is not the whole of an escape or a character at its end.
func whole(text string) string {
	for n := 0; n < utf8.UTFMax && !utf8.ValidString(text); n++ {
		text = text[:len(text)-1]
	}
	const longest = len(`\u009b`)
	if at := strings.LastIndexByte(text[max(len(text)-longest+1, 0):], '\\'); at >= 0 {
		return text[:max(len(text)-longest+1, 0)+at]
	}
	return text
}

// Escape writes control characters as Go does, so that they do nothing to a terminal, but
// for those that are to be kept.
func Escape(line, kept string) string {
	if strings.IndexFunc(line, unicode.IsControl) < 0 {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		switch {
		case strings.ContainsRune(kept, r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case unicode.IsControl(r) && r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quoteLimit bounds how much of a line an error message repeats, in bytes.
const quoteLimit = 200

// Quote returns a line of a process for an error message, cut when long.
func Quote(line []byte) string {
	s := Escape(string(line[:min(len(line), quoteLimit+1)]), "\t")
	return utf8cut.Short(s, quoteLimit)
}
