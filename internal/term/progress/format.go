// Package progress formats the events of package activity for people: as lines, as the rows of a
// view that is redrawn, and as one line at the end of the run. It only produces text; its callers
// decide where to show it.
package progress

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Duration writes how long something took: 0.4s, 12s, 3m40s, 2h05m.
func Duration(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 9.95:
		return strconv.FormatFloat(s, 'f', 1, 64) + "s"
	case s < 60:
		return strconv.Itoa(int(s)) + "s"
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", int(s)/60, int(s)%60)
	default:
		return fmt.Sprintf("%dh%02dm", int(s)/3600, int(s)/60%60)
	}
}

// Tokens writes a number of tokens: 812, 48k, 1.2M.
func Tokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + "k"
	default:
		return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
	}
}

// Cost writes US dollars to the cent, and less than a cent to a tenth of it.
func Cost(usd float64) string {
	if usd < 0.01 {
		return "$" + strconv.FormatFloat(usd, 'f', 3, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

// mostText bounds the shown characters of a host's text.
const mostText = 200

// Line is a text on one line: blanks for line feeds and tabs, control characters
// escaped, and no more of it than mostText characters. It ends in "…" when that is not all.
func Line(text string) string {
	cut := len(text) > 8*mostText
	if cut {
		text = text[:utf8cut.Before(text, 8*mostText)] // the rest is not read
	}
	text = terminal.Escape(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); cut || len(runes) > mostText {
		text = string(runes[:min(len(runes), mostText-1)]) + "…"
	}
	return text
}

// mostAsked bounds the shown characters of a question: all of an approval of a vendor's agent,
// whose description has a limit of its own.
const mostAsked = 600

// asks is what a host asks, on one line. In an approval nothing is hidden.
func asks(e *activity.Event) string {
	if isApproval(e) {
		return terminal.Brief(strings.TrimSpace(e.Text), mostAsked)
	}
	return Line(e.Text)
}

// label returns the name of an exchange: its host, with a number if the host has several exchanges.
func label(e *activity.Event) string {
	if e.Lane > 1 {
		return e.Host + " " + strconv.Itoa(e.Lane)
	}
	return e.Host
}

// counted is a number with what is counted.
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
