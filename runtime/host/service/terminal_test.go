package service

import (
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

func TestPartOf(t *testing.T) {
	n := func(i int) *int { return &i }
	for _, c := range []struct {
		line, limit *int
		want        string
	}{{nil, nil, "1\n2\n3"}, {n(2), nil, "2\n3"}, {n(1), n(1), "1\n"}, {n(0), n(2), "1\n2\n"}, {n(3), n(9), "3"}, {n(4), nil, ""}, {nil, n(0), ""}} {
		if got, err := partOf(strings.NewReader("1\n2\n3"), c.line, c.limit); got != c.want || err != nil {
			t.Errorf("partOf from line %v with limit %v = %q (error %v), want %q", c.line, c.limit, got, err, c.want)
		}
	}
	long := strings.Repeat("x", 200<<10) + "\n"
	if got, err := partOf(strings.NewReader(long+long+"end"), n(3), nil); got != "end" || err != nil {
		t.Errorf("partOf after long lines = %.20q (error %v), want \"end\"", got, err)
	}
	if _, err := partOf(strings.NewReader(strings.Repeat(long, 100)), nil, nil); err != errTooLong {
		t.Errorf("partOf of 20 MB: error %v, want errTooLong", err)
	}
	if _, err := partOf(strings.NewReader("a\xff"), nil, nil); err != errNoText {
		t.Errorf("partOf of invalid UTF-8: error %v, want errNoText", err)
	}
}

// TestEveryClientMethodHasARow checks that requestRows has a row for each method that the adapter
// passes to the service.
func TestEveryClientMethodHasARow(t *testing.T) {
	for _, method := range adapter.ClientMethods() {
		if !slices.ContainsFunc(requestRows, func(row requestRow) bool { return row.method == method }) {
			t.Errorf("%s has no row in requestRows", method)
		}
	}
}
