package vm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// tasks returns a program with the function main and a function ask(channel). ask awaits an answer
// on its channel, emits the answer on "got", and returns it. Constants k0…k3 are "a" to "d", k4 is
// "got", k5 "fail".
func tasks(main string) *asm {
	a := newAsm()
	for _, s := range []string{"a", "b", "c", "d", "got", "fail"} {
		a.str(s)
	}
	a.fn("main() Full 20", main)
	a.fn("ask(Full) Full 8", `
		Move r4 r1
		AwaitEmit r3 1
		JumpVariant r3 0 @ok
		Field r2 r3 0
		Throw r2
		@ok: Field r2 r3 0
		LoadConst r5 k4
		Emit r5 r2
		Return r2`)
	for _, k := range []string{"k0", "k1", "k2", "k5"} { // f2 … f5: bodies that ask
		a.fn("body() Full 6", "LoadConst r3 "+k+"\nCall r2 f1\nReturn r2").Body = true
	}
	a.fn("round(Full) Full 6", "Move r3 r1\nCall r2 f1\nReturn r2").Body = true // f6
	a.fn("left() Full 6", "LoadConst r2 k0\nReturnLeft r2 3").Body = true       // f7
	return a
}

// plays runs the program with a performer that completes requests in the given order. It compares
// the result and the performer's log.
func plays(t *testing.T, a *asm, order, want string, log ...string) {
	t.Helper()
	w := newWorld(strings.Fields(order)...)
	out, err := a.run(t, Config{Performer: w})
	got := ""
	var u *Uncaught
	switch {
	case errors.As(err, &u):
		got = "uncaught " + u.Message
		for _, o := range u.Others {
			got += ", " + o.Message
		}
	case err != nil:
		got = "ended " + err.Error()
	default:
		got = string(value.AppendJSON(nil, out.Value))
	}
	if got != want {
		t.Errorf("order %s: result = %s, want %s", order, got, want)
	}
	if log != nil {
		if diff := cmp.Diff(log, w.log); diff != "" {
			t.Errorf("order %s: log (-want +got):\n%s", order, diff)
		}
	}
	if len(w.pending) > 0 {
		t.Errorf("requests still pending at the end of the run: %v", w.pending)
	}
}

const startTwo = "LoadConst r2 k0\nSpawn r5 r2 1 f1\nLoadConst r2 k1\nSpawn r6 r2 1 f1\n"

// TestSpawnAwait checks that a spawned task runs up to its first wait before the task that spawned
// it continues. Tasks may be awaited in any order, and more than once. Awaiting a plain value
// returns that value.
func TestSpawnAwait(t *testing.T) {
	code := startTwo + "LoadConst r1 k4\nLoadConst r2 k2\nEmit r1 r2\nAwait r8 r6\nAwait r7 r5\nAwait r9 r5\nAwait r10 r2\nNewTuple r1 r7 4\nReturn r1"
	plays(t, tasks(code), "a b", `["a","b","a","c"]`, "start a", "start b", `emit got "c"`, `emit got "a"`, `emit got "b"`)
	plays(t, tasks(code), "b a", `["a","b","a","c"]`, "start a", "start b", `emit got "c"`, `emit got "b"`, `emit got "a"`)
	plays(t, tasks("LoadConst r2 k5\nSpawn r5 r2 1 f1\n@a: Await r6 r5\n@b: Return r6\n@c: Return r7\ncatch @a @b @c r7"),
		"fail", `{"message":"fail","kind":"ToolError","tool":""}`)
}

// TestTasksAfterMain checks the end of main. If main returns, the run awaits the tasks that main
// has started. If main fails, the run cancels them. The run also reports an error that no task
// awaits.
func TestTasksAfterMain(t *testing.T) {
	plays(t, tasks(startTwo+"ReturnNil"), "b a", "null", "start a", "start b", `emit got "b"`, `emit got "a"`)
	plays(t, tasks(startTwo+"Fault k4"), "", "uncaught got", "start a", "start b", "stop a", "stop b")
	plays(t, tasks(startTwo+"NewErr r1 r2\nReturn r1"), "", "uncaught b", "start a", "start b", "stop a", "stop b")
	plays(t, tasks(startTwo+"LoadConst r2 k5\nSpawn r7 r2 1 f1\nReturnNil"), "fail a b", "uncaught fail",
		"start a", "start b", "start fail", `emit got "a"`, `emit got "b"`)
	plays(t, tasks(startTwo+"LoadConst r2 k5\nSpawn r7 r2 1 f1\nAwait r8 r6\nFault k4"), "fail b", "uncaught got, fail")
}

// TestJoinAll checks JoinAll with bodies, tasks and plain values as elements. The first error
// cancels the other elements, and JoinAll raises it. An error by which a body is left also contains
// its site.
func TestJoinAll(t *testing.T) {
	join := "LoadFunction r10 f2\nLoadFunction r11 f3\nLoadConst r12 k3\nLoadConst r2 k2\nSpawn r13 r2 1 f1\nJoinAll r1 r10 4\nReturn r1"
	for _, order := range []string{"a b c", "c b a", "b a c"} {
		plays(t, tasks(join), order, `{"ok":["a","b","d","c"]}`)
	}
	failing := "LoadFunction r10 f2\nLoadFunction r11 f5\nLoadFunction r12 f3\n@a: JoinAll r1 r10 3\n@b: Return r1\n@c: Return r2\ncatch @a @b @c r2"
	plays(t, tasks(failing), "b fail", `{"message":"fail","kind":"ToolError","tool":""}`, "start a", "start fail", "start b", `emit got "b"`, "stop a")
	left := "LoadFunction r10 f2\nLoadFunction r11 f7\nLoadFunction r12 f3\nJoinAll r1 r10 3\nNewTuple r1 r1 1\nReturn r1"
	plays(t, tasks(left), "", `[{"err":[3,"a"]}]`, "start a", "stop a") // the third never begins
	plays(t, tasks("JoinAll r1 r10 0\nReturn r1"), "", `{"ok":[]}`)
	plays(t, tasks(failing[:strings.Index(failing, "catch")]), "fail", "uncaught fail")
}

// TestRace checks that the first member that ends provides the value, and that the other members
// are cancelled. Elements after an element that already has its value never begin.
func TestRace(t *testing.T) {
	race := "LoadFunction r10 f2\nLoadFunction r11 f3\nLoadConst r2 k2\nSpawn r12 r2 1 f1\nRace r1 r10 3\nReturn r1"
	plays(t, tasks(race), "b", `{"ok":"b"}`, "start c", "start a", "start b", `emit got "b"`, "stop a", "stop c")
	plays(t, tasks(race), "c", `{"ok":"c"}`, "start c", "start a", "start b", `emit got "c"`, "stop a", "stop b")
	plays(t, tasks("LoadFunction r10 f2\nLoadConst r11 k3\nLoadFunction r12 f3\nRace r1 r10 3\nReturn r1"), "", `{"ok":"d"}`, "start a", "stop a")
	plays(t, tasks("LoadFunction r10 f5\nLoadFunction r11 f3\nRace r1 r10 2\nReturn r1"), "fail", "uncaught fail", "start fail", "start b", "stop b")
}

// TestParallelFor checks that values have the order of the elements, and that a limit bounds the
// number of concurrent rounds. The first error cancels the running rounds, and the remaining rounds
// never begin.
func TestParallelFor(t *testing.T) {
	loop := func(limit string) string {
		return "LoadConst r1 k0\nLoadConst r2 k1\nLoadConst r3 k2\nNewArray r10 r1 3\nLoadFunction r11 f6\n" + limit + "\nParallelFor r1 r10\nReturn r1"
	}
	plays(t, tasks(loop("LoadNil r12")), "c a b", `{"ok":["a","b","c"]}`, "start a", "start b", "start c", `emit got "c"`, `emit got "a"`, `emit got "b"`)
	two := "LoadInt r12 2\nBoxInt r12 r12"
	plays(t, tasks(loop(two)), "b c a", `{"ok":["a","b","c"]}`, "start a", "start b", `emit got "b"`, "start c", `emit got "c"`, `emit got "a"`)
	plays(t, tasks(loop("LoadInt r12 0\nBoxInt r12 r12")), "", "uncaught @limit(0): the limit must be at least 1")
	a := tasks(strings.Replace(loop(two), "LoadConst r2 k1", "LoadConst r2 k5", 1))
	plays(t, a, "fail", "uncaught fail", "start a", "start fail", "stop a")
	empty := "NewArray r10 r1 0\nLoadFunction r11 f6\nLoadNil r12\nParallelFor r1 r10\nReturn r1"
	plays(t, tasks(empty), "", `{"ok":[]}`)
	a = tasks(loop("LoadNil r12"))
	a.Limits.MaxTasks = 1
	plays(t, a, "a b c", `{"ok":["a","b","c"]}`, "start a", `emit got "a"`, "start b", `emit got "b"`, "start c", `emit got "c"`)
	a = tasks(startTwo + "ReturnNil")
	a.Limits.MaxTasks = 1
	plays(t, a, "", "uncaught more than 1 task at a time: [limits] max_tasks does not allow more", "start a", "stop a")
}

// TestCancelTask checks that cancelling a task ends its request, and that its regions do not catch
// the cancellation. Awaiting a cancelled task is a fault. A task that awaits itself is a fault too,
// and so are two tasks that await each other.
func TestCancelTask(t *testing.T) {
	a := tasks(`
		LoadConst r6 k4
		LoadConst r2 k0
		Spawn r5 r2 1 f8
		Move r11 r5
		CallNative r10 1 0 n0
		Move r11 r5
		CallNative r10 1 0 n1
		Emit r6 r10
		Move r11 r5
		CallNative r10 1 0 n0
		Await r1 r5
		ReturnNil`)
	a.Natives = []string{"task.cancel", "task.done"}
	a.fn("stubborn(Full) Full 8", "@a: Move r4 r1\nAwaitEmit r3 1\n@b: Return r3\n@c: LoadConst r3 k4\nEmit r3 r3\nReturnNil\ncatch @a @b @c r3")
	plays(t, a, "", "uncaught the awaited task was cancelled", "start a", "stop a", `emit got true`)
}

// TestPanicInTask checks that a panic in a task ends the run, even if another task awaits the task.
func TestPanicInTask(t *testing.T) {
	a := tasks(startTwo + "Spawn r7 r2 0 f8\n@a: Await r1 r7\n@b: ReturnNil\n@c: ReturnNil\ncatch @a @b @c r3")
	a.fn("bad() Full 4", "LoadConst r1 k4\nPanic r1")
	plays(t, a, "", "uncaught got", "start a", "start b", "stop a", "stop b")
}

// TestRunCancelledWithTasks checks that the end of the run's context ends every pending request,
// and that the run's error is the context's cause.
func TestRunCancelledWithTasks(t *testing.T) {
	for _, code := range []string{"Await r1 r5\nReturn r1", "ReturnNil", "LoadFunction r10 f2\nJoinAll r1 r10 1\nReturn r1"} {
		a := tasks(startTwo + code)
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("interrupted")
		w := newWorld()
		m, err := New(Config{Program: &a.Program, Performer: starting{w, func(r effect.Request) {
			if nameOf(r) == "b" {
				cancel(why)
			}
		}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Run(ctx); err != why {
			t.Error(code, err)
		}
		if len(w.pending) > 0 {
			t.Error(w.pending)
		}
	}
}

// starting is a performer that reports each request before the request starts.
type starting struct {
	*world
	onStart func(effect.Request)
}

func (s starting) Start(ctx context.Context, r effect.Request, done func(effect.Result, error)) (func(), bool) {
	s.onStart(r)
	return s.world.Start(ctx, r, done)
}

// TestTaskSize checks that a task is no larger than 512 bytes. Go's collector scans larger objects
// individually instead of per span. With larger tasks, a program with 10,000 tasks took a sixth
// longer.
func TestTaskSize(t *testing.T) {
	if n := unsafe.Sizeof(task{}); n > 512 {
		t.Errorf("a task takes %d bytes, more than 512", n)
	}
}
