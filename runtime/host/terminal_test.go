package host

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// What is kept of an output is its end, in whole characters, within the limit,
// however the output comes in pieces.
func TestTerminalKeepsTheEnd(t *testing.T) {
	all := strings.Repeat("aä€😀", 40)
	for limit := range 40 {
		for piece := 1; piece < 9; piece++ {
			x := &terminal{limit: limit}
			for at := 0; at < len(all); at += piece {
				x.add([]byte(all[at:min(at+piece, len(all))]))
				if text, _ := x.output(false); !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) || len(text) > limit || !strings.Contains(all, text) {
					t.Fatalf("limit %d, pieces of %d: %q", limit, piece, text)
				}
			}
			text, cut := x.output(true)
			if !cut || !strings.HasSuffix(all, text) || len(text) <= limit-utf8.UTFMax {
				t.Errorf("limit %d: %q, cut: %t", limit, text, cut)
			}
		}
	}
	x := &terminal{limit: 10}
	x.add([]byte("a\xffb"))
	text, cut := x.output(true)
	if d := cmp.Diff("a\ufffdb", text); d != "" || cut {
		t.Error(d, cut)
	}
	big := &terminal{limit: terminalOutput}
	for range 100 {
		big.add(make([]byte, 100<<10))
	}
	if len(big.text) > 2*terminalOutput {
		t.Errorf("%d bytes are kept", len(big.text))
	}
}

func TestPartOf(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, c := range []struct {
		line, limit *int
		want        string
	}{{nil, nil, "1\n2\n3"}, {n(2), nil, "2\n3"}, {n(1), n(1), "1\n"}, {n(0), n(2), "1\n2\n"}, {n(3), n(9), "3"}, {n(4), nil, ""}, {nil, n(0), ""}} {
		if got, err := partOf(strings.NewReader("1\n2\n3"), c.line, c.limit); got != c.want || err != nil {
			t.Errorf("%v, %v: %q, %v", c.line, c.limit, got, err)
		}
	}
	long := strings.Repeat("x", 200<<10) + "\n"
	if got, err := partOf(strings.NewReader(long+long+"end"), n(3), nil); got != "end" || err != nil {
		t.Errorf("behind long lines: %.20q, %v", got, err)
	}
	if _, err := partOf(strings.NewReader(strings.Repeat(long, 100)), nil, nil); err != errTooLong {
		t.Errorf("20 MB: %v", err)
	}
	if _, err := partOf(strings.NewReader("a\xff"), nil, nil); err != errNoText {
		t.Errorf("no text: %v", err)
	}
}

// Each request that the adapter hands on is done by somebody.
func TestErrandsAreDone(t *testing.T) {
	for _, row := range acpRequests {
		if !row.served {
			continue
		}
		done := false
		for _, e := range errandRows {
			done = done || e.method == row.method
		}
		if !done {
			t.Errorf("nobody does %s: give it a row in errandRows", row.method)
		}
	}
}
