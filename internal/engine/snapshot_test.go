package engine

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/stdlib"
	"github.com/concerto-lang/concerto/vm"
)

// journaled returns a change of the VM's configuration that adds a journal. With a journal, the VM
// waits at the same points as a run with snapshots.
func journaled(t *testing.T) func(*vm.Config) {
	return func(c *vm.Config) {
		compiletest.Renew(t, c)
		c.Boundary = nil
	}
}

// TestSnapshots replaces the state of a run by a snapshot wherever the run waits. The output must
// have the same bytes as without snapshots.
func TestSnapshots(t *testing.T) {
	for record := range uint64(4) {
		snapshots(t, replayed, record, 80)
	}
}

// TestSnapshotsRandom is like TestSnapshots, for random programs of tasks, races, loops, errors and
// cancelling.
func TestSnapshotsRandom(t *testing.T) {
	for seed := range uint64(120) {
		g := &tangle{Rand: rand.New(rand.NewPCG(seed, 7))}
		snapshots(t, g.program(), seed, 0)
		if t.Failed() {
			t.Fatalf("the program of seed %d failed", seed)
		}
	}
}

// snapshots runs a program twice with the same order of completions. In the second run, the state
// must be replaced by a snapshot at least as often as the parameter least requires.
func snapshots(t *testing.T, text string, seed uint64, least int) {
	t.Helper()
	p := compileText(t, text)
	c := newConductor(nil, rand.New(rand.NewPCG(seed, 1)))
	c.config = journaled(t)
	want := c.run(t, p)
	next := newConductor(c.order, rand.New(rand.NewPCG(seed, 2)))
	var all *compiletest.Renewals
	next.config = func(c *vm.Config) { all = compiletest.Renew(t, c) }
	if got := next.run(t, p); got != want {
		t.Fatalf("program:\n%s\noutput without snapshots:\n%s\noutput with snapshots:\n%s", text, want, got)
	}
	if len(all.Refused) > 0 || all.Renewed < least {
		t.Errorf("snapshots = %d, want at least %d; refused: %v", all.Renewed, least, all.Refused)
	}
}

// TestSnapshotsResumed restores runs from snapshots. Each restored run starts its running effects
// again and receives the recorded results after the snapshot. Its output must be the same as in the
// recorded run.
func TestSnapshotsResumed(t *testing.T) {
	resumed(t, replayed, 1, 6)
	for seed := range uint64(40) {
		g := &tangle{Rand: rand.New(rand.NewPCG(seed, 7))}
		resumed(t, g.program(), seed, 3)
	}
}

// resumed records a run, and resumes it from tries random snapshots.
func resumed(t *testing.T, text string, seed uint64, tries int) {
	t.Helper()
	type snapshotted struct {
		data  []byte
		lines int
	}
	var all []snapshotted
	var taped bytes.Buffer
	p := compileText(t, text)
	c := newConductor(nil, rand.New(rand.NewPCG(seed, 1)))
	recorder := tape.Record(&taped, tape.Header{}, nil)
	c.config = func(config *vm.Config) {
		config.Journal, config.NewNativeState = recorder, stdlib.NewNativeState
		config.Boundary = func(m *vm.VM) {
			data, err := m.Snapshot(vm.Snapshot{})
			if err != nil {
				t.Error(err)
			}
			c.mu.Lock()
			all = append(all, snapshotted{data, len(c.lines)})
			c.mu.Unlock()
		}
	}
	c.run(t, p)
	if err := recorder.Close(0); err != nil {
		t.Fatal(err)
	}
	for range min(tries, len(all)) {
		from := all[c.random.IntN(len(all))]
		recorded, err := tape.Read(bytes.NewReader(taped.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		next := newConductor([]int{}, c.random)
		next.lines = slices.Clone(c.lines[:from.lines])
		m, err := vm.Restore(vm.Config{Program: p.ir, Natives: stdlib.Native, NewNativeState: stdlib.NewNativeState, Performer: next, Past: tape.Play(recorded)}, from.data)
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Resume(t.Context())
		next.ended(t, err)
		if !slices.Equal(next.lines, c.lines) {
			t.Fatalf("program:\n%s\noutput:\n%s\noutput when resumed after line %d:\n%s", text, c.lines, from.lines, next.lines)
		}
	}
}
