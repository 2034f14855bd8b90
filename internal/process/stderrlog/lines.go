// Package stderrlog writes the standard error of a process to the log. It limits the rate of lines
// and escapes control characters.
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

// Limits on the logged standard error.
const (
	lineBytes = 4 << 10 // maximum bytes of a line; the rest is logged as another line
	maxLines  = 100     // maximum lines per second; further lines are counted, and their number is logged
)

// Lines logs a process's standard error.
type Lines struct {
	Log func(line string)

	mu      sync.Mutex
	until   time.Time // end of the current second
	lines   int       // lines logged in the current second
	dropped int       // lines dropped in the current second
	timer   *time.Timer
}

// LogLine logs a line. If the rate limit is reached, it drops the line.
func (a *Lines) LogLine(text []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); !now.Before(a.until) {
		a.logNow()
		a.until, a.lines = now.Add(time.Second), 0
	}
	// Skip escaping for lines that will be dropped.
	if a.lines == maxLines {
		a.countDropped()
		return
	}
	for line := Escape(string(text), ""); ; {
		part := line
		if len(part) > lineBytes {
			part = whole(part[:lineBytes])
		}
		a.lines++
		a.Log(part)
		if line = line[len(part):]; line == "" {
			return
		}
		if a.lines == maxLines {
			a.countDropped()
			return
		}
	}
}

// countDropped counts a dropped line. The number of dropped lines is logged at the end of the
// second.
func (a *Lines) countDropped() {
	a.dropped++
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Until(a.until), a.End)
	}
}

// End logs the number of dropped lines. It is called at the end of each second with dropped lines,
// and when the process has exited.
func (a *Lines) End() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.logNow()
}

func (a *Lines) logNow() {
	if a.timer != nil {
		a.timer.Stop()
		a.timer = nil
	}
	if n := a.dropped; n > 0 {
		a.dropped = 0
		a.Log(fmt.Sprintf("… %d lines dropped", n))
	}
}

// whole returns text without an incomplete escape sequence or character at the end.
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

// Escape replaces control characters, except those in except, by Go escapes, so that they do not
// affect a terminal.
func Escape(line, except string) string {
	if strings.IndexFunc(line, unicode.IsControl) < 0 {
		return line
	}
	var b strings.Builder
	for _, r := range line {
		switch {
		case strings.ContainsRune(except, r):
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

// quoteLimit is the maximum number of bytes of a line that an error message quotes.
const quoteLimit = 200

// Quote returns a process's line in the form for error messages. A long line is shortened.
func Quote(line []byte) string {
	s := Escape(string(line[:min(len(line), quoteLimit+1)]), "\t")
	return utf8cut.Short(s, quoteLimit)
}
