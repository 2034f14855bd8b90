package progen_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/optimize"
	"github.com/concerto-lang/concerto/internal/progen"
	"github.com/concerto-lang/concerto/internal/seeds"
	"github.com/concerto-lang/concerto/internal/trial"
	"github.com/concerto-lang/concerto/ir"
)

// waits are the small functions of generated programs, which are called in the midst of all kinds
// of expressions.
var waits = regexp.MustCompile(`(?m)^(fn (?:clip|cuts|ok|err|some|sized|half|fine|bad|any|show)\([^\n]*?\) *(?:-> [^{]*)?)\{ `)

// waiting makes of a program one that waits in those functions, and before it prints.
func waiting(text string) string {
	text = waits.ReplaceAllString(text, "${1}{ std::time::sleep(1); ")
	return strings.ReplaceAll(text, "\n    println(", "\n    std::time::sleep(1);\n    println(")
}

// TestSnapshotsOfFlow runs programs of all paths of control flow that wait in the midst of
// expressions, at each wait from a snapshot of themselves. They print the same, and fail at the
// same place with the same trace.
func TestSnapshotsOfFlow(t *testing.T) {
	seeds.Run(t, "internal/progen", 48, func(seed uint64) string { return waiting(plain(progen.Flow)(seed)) }, func(t *testing.T, seed uint64) {
		form := []progen.Form{progen.Plain, progen.Handled, progen.Captured, progen.Nested, progen.Crowded}[seed%5]
		renewed(t, waiting(progen.FromSeed(progen.Flow, seed, form)))
	})
}

// TestSnapshotsOfValues: likewise programs of all kinds of values.
func TestSnapshotsOfValues(t *testing.T) {
	seeds.Run(t, "internal/progen", 48, func(seed uint64) string { return waiting(plain(progen.Values)(seed)) }, func(t *testing.T, seed uint64) {
		renewed(t, waiting(progen.FromSeed(progen.Values, seed, append(everyForm, progen.Plain)[seed%7])))
	})
}

// TestSnapshotsOfCopies: likewise programs that share and change values.
func TestSnapshotsOfCopies(t *testing.T) {
	show := func(seed uint64) string {
		text, _ := progen.Copies(seed)
		return waiting(text)
	}
	seeds.Run(t, "internal/progen", 48, show, func(t *testing.T, seed uint64) { renewed(t, show(seed)) })
}

// renewed runs a program straight and from snapshots, optimised and not.
func renewed(t *testing.T, text string) {
	p := trial.Compile(t, text)
	want := whole(t, p, text)
	q := decode(t, ir.Encode(p))
	optimize.Program(q, optimize.All)
	if err := ir.Verify(q); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*ir.Program{p, q} {
		w := &world{}
		c := trial.Config(p, w, false)
		all := trial.Renew(t, &c)
		_, failed, err := trial.Run(context.Background(), c)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := w.out.String() + trial.Failure(failed) + trial.Trace(failed); got != want {
			t.Fatalf("from %d snapshots it prints otherwise:\n%s\n%s", all.Taken, differ(want, got), text)
		}
		t.Logf("%d snapshots, %d bytes", all.Taken, all.Bytes)
		if len(all.Refused) > 0 {
			t.Errorf("refused: %v", all.Refused)
		}
	}
}
