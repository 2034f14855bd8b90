package vm

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// withSnapshots makes every program resume from its own snapshot at every boundary.
var withSnapshots = flag.Bool("snapshots", false, "run from snapshots")

// TestAllFromSnapshots runs the other tests of this package in a process with the flag
// withSnapshots.
func TestAllFromSnapshots(t *testing.T) {
	if *withSnapshots {
		t.Skip("the test process already runs from snapshots")
	}
	out, err := exec.Command(os.Args[0], "-test.short", "-snapshots", "-test.skip", "TestLoopAssembly|TestProfileWaits|Fuzz").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// unwritten is a journal that discards everything that it receives.
type unwritten struct{}

func (unwritten) EffectBegan(int64, int64, effect.Request)                         {}
func (unwritten) EffectEnded(int64, effect.Request, effect.Result, error, *Moment) {}
func (unwritten) EffectDeferred(int64, effect.Request, Moment)                     {}
func (unwritten) MemoryExceeded(Moment)                                            {}
func (unwritten) ContextEnded(error, *Moment)                                      {}
func (unwritten) ProgramWaits()                                                    {}

// renewed returns a configuration in which a run replaces its state by its own snapshot at every
// boundary. It counts the snapshots.
func renewed(t testing.TB, c Config, snapshots *int) Config {
	c.Journal = unwritten{}
	c.Boundary = func(m *VM) {
		_, err := m.Verified(Snapshot{})
		if unkept, ok := errors.AsType[*NoSnapshotError](err); ok {
			t.Logf("%v", unkept)
			return
		}
		if *snapshots++; err != nil {
			t.Errorf("Verified at boundary %d: %v", *snapshots, err)
		}
	}
	return c
}

// TestSnapshotOfErrors checks that a snapshot preserves the origin of an error. The programs
// contain errors that are caught and rethrown, Errs that functions return to their callers, and
// deep recursions.
func TestSnapshotOfErrors(t *testing.T) {
	const wait = "LoadConst r9 k1\nAwaitEmit r8 1\n"
	for _, code := range []string{
		"LoadNil r1\n@a: Call r2 f1\n@b: Return r2\n@c: " + wait + "Rethrow r3\ncatch @a @b @c r3",
		"LoadNil r1\n@a: Call r2 f2\n@b: Return r2\n@c: " + wait + "LoadNil r4\nRethrow r3\ncatch @a @b @c r3",
		"Call r2 f3\n" + wait + "Leave r2\nReturn r2",
		"LoadInt r3 300\nCall r2 f4\n" + wait + "Leave r2\nReturn r2",
	} {
		make := func() *asm {
			a := newAsm()
			a.str("boom")
			a.str("ask")
			a.fn("main() Full 12", code)
			a.fn("fails() Full 6", "LoadConst r1 k0\nThrow r1")
			a.fn("faults() Full 6", "LoadInt r1 1\nLoadInt r2 0\nDivInt r3 r1 r2\nReturnNil")
			a.fn("errs() Full 12", "LoadConst r1 k0\nNewErr r2 r1\n"+wait+"Leave r2\nReturn r2")
			a.fn("deep(Int) Full 12", "JumpEqIntK r1 0 @end\nSubIntK r5 r1 1\nCall r4 f4\n"+"Leave r4\nReturn r4\n@end: LoadConst r1 k0\nNewErr r2 r1\nReturn r2")
			return a
		}
		answers := effect.PerformerFunc(func(context.Context, effect.Request) (effect.Result, error) {
			return &effect.Answer{Value: []byte("1")}, nil
		})
		_, want := make().run(t, Config{Performer: answers})
		snapshots := 0
		_, got := make().run(t, renewed(t, Config{Performer: answers}, &snapshots))
		var u, v *Uncaught
		if !errors.As(want, &u) || !errors.As(got, &v) || snapshots == 0 {
			t.Fatalf("the run returned %v, from %d snapshots it returned %v\n%s", want, snapshots, got, code)
		}
		sameTrace(t, v.Trace, u.Trace)
	}
}

// noted is a journal that records which requests have begun.
type noted struct {
	unwritten
	begun []string
}

func (n *noted) EffectBegan(e, _ int64, r effect.Request) {
	n.begun = append(n.begun, fmt.Sprint(e, " ", nameOf(r)))
}

// TestSnapshotRestored suspends a run while it waits and restores it in another VM. The pending
// requests must begin again, in their order and with their numbers, and the cancelled requests must
// end.
func TestSnapshotRestored(t *testing.T) {
	program := func() *asm {
		return tasks("LoadFunction r2 f2\nLoadFunction r3 f3\nLoadFunction r4 f4\nJoinAll r1 r2 3\nLoadConst r6 k3\nCall r5 f1\nNewTuple r1 r1 1\nReturn r1")
	}
	for _, order := range []string{"", "b", "b a"} {
		suspend := make(chan struct{})
		var data []byte
		first := Config{Performer: newWorld(strings.Fields(order)...), Journal: &noted{}, Suspend: suspend}
		waits := len(strings.Fields(order))
		first.Boundary = func(m *VM) {
			if m.journaled.now.Consumed < int64(waits) {
				return
			}
			select {
			case <-suspend:
				var err error
				if data, err = m.Snapshot(Snapshot{S: 7, IR: "x"}); err != nil {
					t.Error(err)
				}
			default:
				close(suspend)
			}
		}
		if _, err := program().run(t, first); !errors.Is(err, ErrSuspended) || data == nil {
			t.Fatalf("the run returned %v with a snapshot of %d bytes, want ErrSuspended and a snapshot", err, len(data))
		}
		head, err := ReadSnapshot(data)
		if err != nil || head.S != 7 || head.IR != "x" || head.Counts.Tasks != 4-waits || head.Counts.Requests != 3-waits {
			t.Fatalf("ReadSnapshot = %+v, %v", head, err)
		}
		a := program()
		rest := strings.Fields(map[string]string{"": "c a b d", "b": "c a d", "b a": "c d"}[order])
		journal, w := &noted{}, newWorld(rest...)
		m, err := Restore(Config{Program: &a.Program, Natives: library(nil), Performer: w, Journal: journal}, data)
		if err != nil {
			t.Fatal(err)
		}
		out, err := m.Resume(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := value.Text(out.Value); got != `[{"ok":["a","b","c"]}]` {
			t.Error(got)
		}
		want := map[string]string{"": "1 a, 2 b, 3 c, ", "b": "1 a, 3 c, ", "b a": "3 c, "}[order]
		if got := strings.Join(journal.begun, ", "); !strings.HasPrefix(got, want) || !strings.Contains(got, " d") {
			t.Errorf("order %q: begun requests = %s", order, got)
		}
	}
}

// TestOlderSnapshots checks that snapshots of older formats can be read. Format 2 does not record
// whether a listen's host has exited. In format 3, agents and hosts have no files, in format 4 no
// workspace.
func TestOlderSnapshots(t *testing.T) {
	for _, format := range []int{2, 3, 4} {
		resumeOlder(t, format)
	}
}

// resumeOlder takes a snapshot in an older format of a run that uses a host with a context, and
// resumes the run from it.
func resumeOlder(t *testing.T, format int) {
	t.Helper()
	l := newListening("question", "LoadConst r11 k0\nAwaitEmit r10 1\nBlockEnd r10")
	l.Natives = []string{"host.with"}
	l.Functions[0].Block = assemble(`
		LoadNil r2
		LoadHost r12 d0
		LoadConst r13 k0
		LoadNil r14
		CallNative r11 3 0 n0
		Move r6 r11
		LoadConst r7 k0
		LoadNil r8
		ListenBegin r5 l0
		Move r1 r5
		NewTuple r1 r1 2
		Return r1`)
	suspend := make(chan struct{})
	var data []byte
	first := Config{Performer: newStage("< {\"type\":\"question\",\"id\":1}\nhang"), Journal: &noted{}, Suspend: suspend}
	first.Boundary = func(m *VM) {
		if len(m.requests.pending) < 2 || data != nil { // the requests are the awaited answer and the next messages
			return
		}
		k := &StateCodec{m: m, format: format, self: m, at: m.image.positionMap(), ids: map[unsafe.Pointer]uint64{}}
		heads, contents, err := k.write()
		if err != nil {
			t.Error(err)
		}
		if data, err = (&Snapshot{Format: format}).join(heads, contents); err != nil {
			t.Error(err)
		}
		close(suspend)
	}
	if _, err := l.run(t, first); !errors.Is(err, ErrSuspended) || data == nil {
		t.Fatalf("the run returned %v with a snapshot of %d bytes, want ErrSuspended and a snapshot", err, len(data))
	}
	s := newStage("> question 1 \"yes\"\n< {\"type\":\"result\"}")
	s.answer = func(string) (string, *effect.Error) { return `"yes"`, nil }
	m, err := Restore(Config{Program: &l.Program, Natives: library(nil), Performer: s, Journal: &noted{}}, data)
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Resume(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got := value.Text(out.Value); got != `[{"ok":{}},null]` {
		t.Error(got)
	}
}

func sameTrace(t *testing.T, got, want []Place) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("trace has %d places, want %d: got %v, want %v", len(got), len(want), got, want)
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("place %d = %v, want %v", i, got[i], want[i])
		}
	}
}
