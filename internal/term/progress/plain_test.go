package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/activity"
)

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0s", 1240 * time.Millisecond: "1.2s", 9949 * time.Millisecond: "9.9s", 9960 * time.Millisecond: "9s", 59999 * time.Millisecond: "59s",
		220 * time.Second: "3m40s", 3599 * time.Second: "59m59s", 7500 * time.Second: "2h05m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 812: "812", 999: "999", 1000: "1k", 47_600: "48k", 999_499: "999k", 999_500: "1.0M", 1_240_000: "1.2M"} {
		if got := Tokens(n); got != want {
			t.Errorf("Tokens(%d) = %s, want %s", n, got, want)
		}
	}
	for c, want := range map[float64]string{0.21: "$0.21", 0.004: "$0.004", 12: "$12.00"} {
		if got := Cost(c); got != want {
			t.Errorf("Cost(%v) = %s, want %s", c, got, want)
		}
	}
	for in, want := range map[string]string{
		"a\nb\t c ":                "a b c",
		"\x1b]0;x\x07a":            `\u{1b}]0;x\u{7}a`,
		"a\u202eb":                 `a\u{202e}b`,
		"\xff":                     `\xff`,
		"é日":                       "é日",
		strings.Repeat("日", 300):   strings.Repeat("日", 199) + "…",
		strings.Repeat("x ", 5000): strings.Repeat("x ", 99) + "x…",
	} {
		if got := Line(in); got != want {
			t.Errorf("Line(%.40q) = %q, want %q", in, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	type run struct {
		tally Tally
		used  models.Sum
	}
	for want, x := range map[string]run{
		"done in 3m40s · 4 exchanges · 2 questions, 5 approvals (1 denied) · 48k tokens · $0.21": {Tally{2, 5, 1, 0}, models.Sum{Exchanges: 4, TokensIn: 48000, Cost: 21e10}},
		"done in 3m40s · 2 exchanges (1 failed)":                                                 {Tally{Failed: 1}, models.Sum{Exchanges: 2}},
		"done in 3m40s · 1 exchange":                                                             {Tally{}, models.Sum{Exchanges: 1}},
		"done in 3m40s · 1 exchange · 1 question · $0.21":                                        {Tally{Questions: 1}, models.Sum{Exchanges: 1, Cost: 21e10}},
		"done in 3m40s · 2 exchanges · 1 approval · 9 tokens":                                    {Tally{Approvals: 1}, models.Sum{Exchanges: 2, TokensIn: 4, TokensOut: 5}},
	} {
		if got := x.tally.Summary("done in", 220*time.Second, x.used); got != want {
			t.Errorf("summary = %s\nwant      %s", got, want)
		}
	}
}

// lines returns the lines that a Plain prints for the events.
func lines(events ...activity.Event) []string {
	var printed []string
	p := NewPlain(func(line string) { printed = append(printed, line) })
	for _, e := range events {
		e.Name = e.Host
		p.HandleEvent(e)
	}
	return printed
}

// TestProgressIsRare checks that a host's first progress is printed immediately, and later progress
// at most every five seconds. The interval applies to each host separately.
func TestProgressIsRare(t *testing.T) {
	moved := func(host string, at time.Duration, percent float64, text string) activity.Event {
		return activity.Event{Kind: activity.Moved, Host: host, Number: 1, Lane: 1, At: at, Percent: percent, Text: text}
	}
	got := lines(moved("A", 0, 1, "a"), moved("A", time.Second, 2, "b"), moved("B", time.Second, -1, "c"), moved("A", 4999*time.Millisecond, 3, ""),
		moved("A", 5*time.Second, 4, ""), moved("B", 6*time.Second, 100, "d"), moved("A", 11*time.Second, -1, ""))
	if d := cmp.Diff([]string{"host 'A': 1% a", "host 'B': c", "host 'A': 4%", "host 'B': 100% d"}, got); d != "" {
		t.Error(d)
	}
}

// TestFlood checks that a host that asks a thousand times a second cannot fill the log.
func TestFlood(t *testing.T) {
	var events []activity.Event
	for i := range 300 {
		events = append(events, activity.Event{Kind: activity.Asked, Host: "A", Number: 1, Lane: 1, At: time.Second + time.Duration(i)*time.Millisecond, Text: "q"})
	}
	events = append(events,
		activity.Event{Kind: activity.Asked, Host: "A", Number: 1, Lane: 1, At: 2 * time.Second, Text: "next"},
		activity.Event{Kind: activity.Ended, Host: "A", Number: 1, Lane: 1, At: 3 * time.Second})
	got := lines(events...)
	if d := cmp.Diff([]string{"host 'A' asks: q", "host 'A': … 200 lines omitted", "host 'A' asks: next", "host 'A' ends after 3.0s"}, got[99:]); len(got) != 103 || d != "" {
		t.Error(len(got), d)
	}
	// The line about the end of an exchange is always printed.
	events = append(events[:300:300], activity.Event{Kind: activity.Ended, Host: "A", Number: 1, Lane: 1, At: time.Second})
	if got := lines(events...); got[len(got)-2] != "host 'A': … 200 lines omitted" || got[len(got)-1] != "host 'A' ends after 1.0s" {
		t.Error(got[len(got)-2:])
	}
}
