package vm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// TestProfile makes a sample pending before each mark. The sample must be attributed to the
// previous mark and to the call that contains it.
func TestProfile(t *testing.T) {
	a := newAsm()
	a.str("x")
	a.Natives = []string{"lib.work"}
	a.fn("main() Full 8", `LoadInt r3 2
		Call r2 f1
		CallNative r3 0 0 n0
		BoxInt r1 r2
		Return r1`)
	a.fn("twice(Int) Int 6", `AddIntK r2 r1 1
		MoveInt r4 r2
		Call r3 f2
		AddInt r3 r3 r3
		ReturnInt r3`)
	a.fn("inner(Int) Int 4", `AddIntK r2 r1 1
		ReturnInt r2`)
	var got []string
	p := &Profile{}
	p.Sample = func(stack []Place, n int) {
		var calls []string
		for _, p := range stack {
			if p.Line == 0 {
				calls = append(calls, p.Function)
			} else {
				calls = append(calls, fmt.Sprintf("%s:%d", p.Function, p.Line))
			}
		}
		got = append(got, fmt.Sprintf("%d %s", n, strings.Join(calls, " ")))
		p.Pending.Store(1)
	}
	p.Pending.Store(3)
	natives := map[string]Native{"lib.work": func(*Args) (value.Slot, error) {
		p.Pending.Store(7)
		return value.Nil, nil
	}}
	out, err := a.run(t, Config{Profile: p, Natives: library(natives)})
	if err != nil || value.Text(out.Value) != "8" {
		t.Fatal(out, err)
	}
	// The first mark has no previous mark. After a call there are two marks if a line begins there,
	// too.
	want := []string{
		"3 main:1",
		"1 main:2", // entered twice
		"1 twice:1 main:2", "1 twice:2 main:2",
		"1 twice:3 main:2", // entered inner
		"1 inner:1 twice:3 main:2",
		"1 inner:2 twice:4 main:2", // returned
		"1 twice:4 main:2",
		"1 twice:5 main:3",
		"7 lib.work main:3",
		"1 main:3", "1 main:4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

// TestProfileWaits checks that a wait is reported with the place where the task waits, and that its
// time is not recorded as samples.
func TestProfileWaits(t *testing.T) {
	a := tasks("LoadConst r2 k0\nCall r1 f1\nReturn r1")
	now := int64(0)
	p := &Profile{Sample: func(stack []Place, n int) { t.Errorf("Sample received %d samples of %v, want none", n, stack) }}
	p.Now = func() int64 {
		if now += 10; now == 10 {
			p.Pending.Store(5) // the samples become pending while the task waits
		}
		return now
	}
	var got []string
	p.Waited = func(stack []Place, ns int64) {
		got = append(got, fmt.Sprint(ns, " ", stack[0].Function, " ", stack[1].Function, ":", stack[1].Line, " ", stack[2].Function))
	}
	if _, err := a.run(t, Config{Performer: newWorld("a"), Profile: p}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"10 wait for emit.await ask:2 main"}, got); diff != "" {
		t.Error(diff)
	}
}
