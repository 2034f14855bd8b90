// Package progress formats the events of package activity for people: as lines, as the rows of a
// view that is redrawn, and as a summary line at the end of the run. It produces only text; the
// caller decides where to show the text.
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

// Duration formats a duration: 0.4s, 12s, 3m40s, 2h05m.
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

// Tokens formats a number of tokens: 812, 48k, 1.2M.
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

// Cost formats an amount in US dollars. Amounts of less than a cent have three decimal places, all
// others two.
func Cost(usd float64) string {
	if usd < 0.01 {
		return "$" + strconv.FormatFloat(usd, 'f', 3, 64)
	}
	return "$" + strconv.FormatFloat(usd, 'f', 2, 64)
}

// mostText is the maximum number of characters of a host's text that are shown.
const mostText = 200

// Line returns text as a single line. White space becomes spaces, and control characters are
// escaped. A text of more than mostText characters is cut and ends with "…".
func Line(text string) string {
	cut := len(text) > 8*mostText
	if cut {
		text = text[:utf8cut.Before(text, 8*mostText)] // cut early, because the rest would be dropped anyway
	}
	text = terminal.Escape(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); cut || len(runes) > mostText {
		text = string(runes[:min(len(runes), mostText-1)]) + "…"
	}
	return text
}

// mostAsked is the maximum number of characters of a question that are shown. It is large enough
// for the approval requests of vendors' agents, whose descriptions have a limit of their own.
const mostAsked = 600

// questionText returns a host's question as a single line. An approval is never shortened.
func questionText(e *activity.Event) string {
	if isApproval(e) {
		return terminal.Brief(strings.TrimSpace(e.Text), mostAsked)
	}
	return Line(e.Text)
}

// label returns the name of an exchange. It is the name of the host, with its workspace, or else
// with a number if the host has several exchanges at the same time.
func label(e *activity.Event) string {
	if e.Workspace != "" {
		return e.Host + " " + e.Workspace
	}
	if e.Lane > 1 {
		return e.Host + " " + strconv.Itoa(e.Lane)
	}
	return e.Host
}

// counted formats a number with a noun, in the singular or plural.
func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return strconv.Itoa(n) + " " + word + "s"
}
