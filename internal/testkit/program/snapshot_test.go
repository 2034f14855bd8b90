package program_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/optimize"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/program"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/ir"
)

// waits matches the small functions of generated programs, which are called within all kinds of
// expressions.
var waits = regexp.MustCompile(`(?m)^(fn (?:clip|cuts|ok|err|some|sized|half|fine|bad|any|show)\([^\n]*?\) *(?:-> [^{]*)?)\{ `)

// waiting changes a program so that it waits in the functions that match waits, and before it
// prints.
func waiting(text string) string {
	text = waits.ReplaceAllString(text, "${1}{ std::time::sleep(1); ")
	return strings.ReplaceAll(text, "\n    println(", "\n    std::time::sleep(1);\n    println(")
}

// TestSnapshotsOfFlow runs the programs of TestFlow, changed to wait within expressions. Each wait
// continues from a snapshot. The runs must print the same text and fail at the same position with
// the same trace.
func TestSnapshotsOfFlow(t *testing.T) {
	randtest.Run(t, "internal/testkit/program", 48, func(seed uint64) string { return waiting(plain(program.Flow)(seed)) }, func(t *testing.T, seed uint64) {
		form := []program.Form{program.Plain, program.Handled, program.Captured, program.Nested, program.Crowded}[seed%5]
		renewed(t, waiting(program.FromSeed(program.Flow, seed, form)))
	})
}

// TestSnapshotsOfValues continues each wait of programs of the subject Values from a snapshot.
func TestSnapshotsOfValues(t *testing.T) {
	randtest.Run(t, "internal/testkit/program", 48, func(seed uint64) string { return waiting(plain(program.Values)(seed)) }, func(t *testing.T, seed uint64) {
		renewed(t, waiting(program.FromSeed(program.Values, seed, append(everyForm, program.Plain)[seed%7])))
	})
}

// TestSnapshotsOfCopies continues each wait of programs that share and change values from a
// snapshot.
func TestSnapshotsOfCopies(t *testing.T) {
	show := func(seed uint64) string {
		text, _ := program.Copies(seed)
		return waiting(text)
	}
	randtest.Run(t, "internal/testkit/program", 48, show, func(t *testing.T, seed uint64) { renewed(t, show(seed)) })
}

// renewed runs a program without and with snapshots, and without and with optimisation, and
// compares the outputs.
func renewed(t *testing.T, text string) {
	p := compiletest.Compile(t, text)
	want := whole(t, p, text)
	q := decode(t, ir.Encode(p))
	optimize.Program(q, optimize.All)
	if err := ir.Verify(q); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*ir.Program{p, q} {
		w := &world{}
		c := compiletest.Config(p, w, false)
		all := compiletest.Renew(t, &c)
		_, failed, err := compiletest.Run(context.Background(), c)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if got := w.out.String() + compiletest.Failure(failed) + compiletest.Trace(failed); got != want {
			t.Fatalf("the output of the run resumed from %d snapshots differs:\n%s\n%s", all.Renewed, differ(want, got), text)
		}
		t.Logf("%d snapshots, %d bytes", all.Renewed, all.Bytes)
		if len(all.Refused) > 0 {
			t.Errorf("boundaries without a snapshot: %v", all.Refused)
		}
	}
}
