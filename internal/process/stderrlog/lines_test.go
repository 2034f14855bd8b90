package stderrlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// listening returns a Lines and the list to which it appends the logged lines.
func listening() (*Lines, *[]string) {
	var lines []string
	return &Lines{Log: func(l string) { lines = append(lines, l) }}, &lines
}

func TestLinesEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"":                           "",
		"as it is: é 😀 \\x1b \ufffd": "as it is: é 😀 \\x1b \ufffd",
		"\x1b[31mred\x1b[0m":         `\x1b[31mred\x1b[0m`,
		"a\tb\rc\x00\x07\x7f":        `a\tb\rc\x00\x07\x7f`,
		"c1 \u009b0m":                `c1 \u009b0m`,
	} {
		a, got := listening()
		a.LogLine([]byte(in))
		if len(*got) != 1 || (*got)[0] != want {
			t.Errorf("LogLine(%q) logs %q, want %q", in, *got, want)
		}
	}
}

// TestLinesLongLines checks that a long line is logged as several lines. No text may be lost, and
// no character or escape sequence may be split.
func TestLinesLongLines(t *testing.T) {
	for _, c := range []struct {
		in    string
		parts int
	}{
		{strings.Repeat("x", lineBytes), 1},
		{strings.Repeat("x", lineBytes+1), 2},
		{"xyz" + strings.Repeat("é", lineBytes/2), 2},
		{"x" + strings.Repeat("😀", lineBytes), 5},
		{"xx" + strings.Repeat("\x1b", lineBytes/2), 3},
		{"x" + strings.Repeat("\u009b", lineBytes/2), 4},
		{strings.Repeat("x", lineBytes-1) + "\t\t", 2},
	} {
		a, got := listening()
		a.LogLine([]byte(c.in))
		if strings.Join(*got, "") != Escape(c.in, "") || len(*got) != c.parts {
			t.Errorf("line %.10q… was logged in %d parts, or changed", c.in, len(*got))
		}
		for _, l := range *got {
			if len(l) > lineBytes || !slices.Contains([]string{Escape("\x1b", ""), Escape("\u009b", ""), "\\t"}, lastEscape(l)) {
				t.Errorf("a part has %d bytes and ends in %q", len(l), l[len(l)-10:])
			}
		}
	}
}

// lastEscape returns the last escape sequence of a line, or `\t` if the line has none.
func lastEscape(l string) string {
	if at := strings.LastIndexByte(l, '\\'); at >= 0 {
		return l[at:]
	}
	return `\t`
}

func TestLinesFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, got := listening()
		forget := func() { // lock mu because the timer may be running
			a.mu.Lock()
			defer a.mu.Unlock()
			*got = nil
		}
		for i := range 150 {
			a.LogLine(fmt.Append(nil, i))
		}
		if n := len(*got); n != maxLines || (*got)[n-1] != "99" {
			t.Errorf("logged %d lines, the last one is %s", n, (*got)[n-1])
		}
		forget()
		time.Sleep(time.Second)
		synctest.Wait()
		a.LogLine([]byte("quiet again"))
		if want := []string{"… 50 lines dropped", "quiet again"}; !slices.Equal(*got, want) {
			t.Errorf("lines after a second = %q", *got)
		}
		forget()
		time.Sleep(500 * time.Millisecond)
		for i := range 200 { // the current second has room for 99 of them
			a.LogLine(fmt.Append(nil, i))
		}
		a.End()
		if n := len(*got); n != 100 || (*got)[98] != "98" || (*got)[99] != "… 101 lines dropped" {
			t.Errorf("logged %d lines, the last two are %q", n, (*got)[n-2:])
		}
		forget()
		time.Sleep(time.Hour)
		a.End()
		a.LogLine([]byte(strings.Repeat("x", lineBytes*maxLines) + "more"))
		a.End()
		if n := len(*got); n != maxLines+1 || (*got)[n-1] != "… 1 lines dropped" {
			t.Errorf("logged %d lines, the last one is %s", n, (*got)[n-1])
		}
	})
}
