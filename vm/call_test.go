package vm

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

func TestCalls(t *testing.T) {
	a := newAsm()
	a.str("double")
	a.str("none")
	a.int(4)
	a.typ(ir.TypeInfo{Kind: "int"})
	a.fn("main() Full 12", `
		LoadInt r6 20
		Call r5 f1
		BoxInt r2 r5
		LoadFunction r5 f2
		LoadConst r6 k2
		CallClosure r5 1
		Move r3 r5
		LoadConst r7 k2
		LoadConst r8 k2
		NewClosure r5 r7 2 f3
		CallClosure r5 0
		Move r4 r5
		LoadConst r6 k2
		CallMethod r5 1 k0
		NewTuple r1 r2 4
		Return r1`)
	a.fn("next(Int) Int 4", "AddIntK r2 r1 1\nReturnInt r2")
	a.fn("double(Full) Full 4", "AnyBinary r2 r1 r1 0\nReturn r2")
	a.fn("sum() Full 6", "Captured r1 0\nCaptured r2 1\nAnyBinary r1 r1 r2 0\nReturn r1").Captures = 2
	a.Methods = []ir.Method{{Name: "double", Type: 0, Function: 2}}
	a.want(t, "[21,8,8,8]")
}

func TestCallFaults(t *testing.T) {
	prepare := func(a *asm) {
		a.str("nope")
		a.int(4)
		a.fn("helper(Full) Full 4", "Return r1")
	}
	for _, c := range []struct{ code, want string }{
		{"LoadConst r1 k1\nCallClosure r1 0", "error cannot call Int 4: not a function"},
		{"LoadNil r1\nCallClosure r1 0", "error cannot call nil: not a function"},
		{"LoadFunction r1 f0\nCallClosure r1 0", "error function helper takes 1 argument, called with 0"},
		{"LoadConst r2 k1\nCallMethod r1 1 k0", "error Int has no method nope"},
		{"LoadNil r2\nCallMethod r1 1 k0", "error Nil has no method nope"},
	} {
		expr(t, c.code, c.want, prepare)
	}
}

// TestReturns checks each form of the return instruction, including returned floats and bools.
func TestReturns(t *testing.T) {
	a := newAsm()
	a.float(1.5)
	a.fn("main() Full 8", "Call r5 f1\nBoxFloat r2 r5\nCall r5 f2\nBoxBool r3 r5\nCall r5 f3\nMove r4 r5\nNewTuple r1 r2 3\nReturn r1")
	a.fn("f() Float 2", "LoadFloatConst r1 k0\nReturnFloat r1")
	a.fn("b() Bool 2", "LoadBool r1 1\nReturnBool r1")
	a.fn("n() Full 2", "ReturnNil")
	a.want(t, "[1.5,true,null]")
}

// TestRecursion checks that the stack grows, and that a recursion beyond the stack's limit raises a
// fault that a program can catch.
func TestRecursion(t *testing.T) {
	a := newAsm()
	a.fn("main() Full 6", "LoadInt r3 100000\nCall r2 f1\nBoxInt r1 r2\nReturn r1")
	a.fn("depth(Int) Int 6", "JumpGtIntK r1 0 @go\nReturnInt r1\n@go: SubIntK r4 r1 1\nCall r3 f1\nAddIntK r3 r3 1\nReturnInt r3")
	a.want(t, "100000")

	b := newAsm()
	b.fn("main() Full 90", "@from: Call r80 f1\n@to: Move r1 r80\nReturn r1\n@caught: Return r2\ncatch @from @to @caught r2")
	b.fn("down() Full 90", "Call r80 f1\nReturn r80")
	out, err := b.run(t, Config{MaxStack: 1 << 16})
	if err != nil || value.Text(out.Value) != "stack overflow: the calls need more than 1 MiB" {
		t.Error(out, err)
	}
}

func TestErrorsAndRegions(t *testing.T) {
	prepare := func(a *asm) {
		a.str("boom")
		a.int(1)
		a.fn("thrower() Full 2", "LoadConst r1 k0\nThrow r1")
	}
	for _, c := range []struct{ code, want string }{
		{"LoadConst r2 k0\nThrow r2", "error boom"},
		{"Fault k0", "error boom"},
		{"@a: Call r2 f0\n@b: Return r2\n@c: Move r1 r3\ncatch @a @b @c r3", `"boom"`},
		{"@a: LoadConst r2 k0\nThrow r2\n@b: LoadNil r3\n@c: Move r1 r3\ncatch @a @b @c r3", `"boom"`},
		{"@a: Fault k0\n@c: Move r1 r3\ncatch @a @c @c r3", `{"message":"boom","kind":"RuntimeError"}`},
		// the innermost region catches the error; an error raised by its handler propagates to the
		// outer region
		{"@a: Call r2 f0\n@b: Return r2\n@c: LoadConst r4 k1\nThrow r4\n@d: Move r1 r5\ncatch @a @b @c r3\ncatch @a @d @d r5", "1"},
	} {
		expr(t, c.code, c.want, prepare)
	}
}

// TestTrace checks that an uncaught error contains the place where it was raised and the calls that
// led there, and that Rethrow preserves both.
func TestTrace(t *testing.T) {
	a := newAsm()
	a.str("boom")
	a.fn("main() Full 6", "LoadNil r1\n@a: Call r2 f1\n@b: Return r2\n@c: LoadNil r4\nRethrow r3\ncatch @a @b @c r3")
	a.fn("middle() Full 6", "Call r2 f2\nReturn r2")
	a.fn("inner() Full 6", "LoadConst r1 k0\nThrow r1")
	u := a.wantError(t, "boom")
	var got []string
	for _, p := range u.Trace {
		got = append(got, p.Function+":"+string(rune('0'+p.Line)))
	}
	if diff := cmp.Diff([]string{"inner:2", "middle:1", "main:2"}, got); diff != "" {
		t.Error(diff)
	}
	if u.File != "main.conc" || u.Line != 2 || u.Column != 1 || u.Kind != "String" || u.Panic {
		t.Error(u.Place, u.Kind, u.Panic)
	}
}

// TestLongTrace checks that the trace of a deep recursion contains the recursive call once, with a
// count.
func TestLongTrace(t *testing.T) {
	a := newAsm()
	a.str("boom")
	a.int(1)
	a.fn("main() Full 6", "LoadInt r3 1000\nCall r2 f1\nLoadNil r1\nReturn r1")
	a.fn("down(Int) Int 6", "JumpGtIntK r1 0 @go\nLoadConst r2 k0\nThrow r2\n@go: SubIntK r4 r1 1\nCall r3 f1\nReturnInt r3")
	u := a.wantError(t, "boom")
	if diff := cmp.Diff([]string{"down:3", "down:5 1000 times", "main:2"}, formatTrace(u.Trace)); diff != "" {
		t.Error(diff)
	}
}

// formatTrace formats a trace.
func formatTrace(trace []Place) []string {
	var got []string
	for _, p := range trace {
		switch line := fmt.Sprintf("%s:%d", p.Function, p.Line); {
		case p.Left > 0:
			got = append(got, fmt.Sprintf("%d left", p.Left))
		case p.Cycle > 1:
			got = append(got, fmt.Sprintf("%s %d times with the next %d", line, p.Times, p.Cycle-1))
		case p.Cycle == 1:
			got = append(got, fmt.Sprintf("%s %d times", line, p.Times))
		default:
			got = append(got, line)
		}
	}
	return got
}

func TestPanicIsNotCaught(t *testing.T) {
	a := newAsm()
	a.str("end")
	a.fn("main() Full 6", "LoadConst r2 k0\n@a: Panic r2\n@c: Return r3\ncatch @a @c @c r3")
	if u := a.wantError(t, "end"); u == nil || !u.Panic {
		t.Error("no panic")
	}
}

// TestMainErr checks that an Err that main returns is reported as an uncaught error.
func TestMainErr(t *testing.T) {
	a := newAsm()
	a.str("bad")
	a.fn("main() Full 3", "LoadConst r1 k0\nNewErr r1 r1\nReturn r1")
	a.wantError(t, "bad")
}

func TestNatives(t *testing.T) {
	natives := map[string]Native{
		"add": func(a *Args) (value.Slot, error) { return value.Int(a.Int(0) + a.Int(1)), nil },
		"push": func(a *Args) (value.Slot, error) {
			a.Array(0).Push(a.Slot(1))
			return value.Nil, nil
		},
		"replace": func(a *Args) (value.Slot, error) {
			a.Set(0, value.String("new"))
			return value.Nil, nil
		},
		"fail":  func(a *Args) (value.Slot, error) { return value.Nil, value.Errorf("ParseError", "no number") },
		"fault": func(a *Args) (value.Slot, error) { return value.Nil, value.Faultf("misused") },
	}
	run := func(code, want string) {
		t.Helper()
		a := newAsm()
		a.int(2)
		a.str("s")
		a.Natives = []string{"add", "push", "replace", "fail", "fault"}
		a.fn("main() Full 8", code)
		out, err := a.run(t, Config{Natives: library(natives)})
		got := ""
		if err != nil {
			got = "error " + err.Error()
		} else {
			got = string(value.AppendJSON(nil, out.Value))
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	run("LoadConst r2 k0\nLoadConst r3 k0\nCallNative r1 2 0 n0\nReturn r1", "4")
	run("LoadConst r2 k0\nLoadConst r3 k0\nCallNative r1 2 1 n0\nReturn r1", `{"ok":4}`)
	run("NewArray r2 r2 0\nLoadConst r3 k0\nCallNative r1 2 0 n1\nReturn r2", "[2]")
	run("LoadConst r2 k0\nCallNative r1 1 0 n2\nReturn r2", `"new"`)
	run("CallNative r1 0 0 n3\nReturn r1", "error no number")
	run("CallNative r1 0 1 n3\nNewTuple r1 r1 1\nReturn r1", `[{"err":{"message":"no number","kind":"ParseError","input":""}}]`)
	run("CallNative r1 0 0 n4\nReturn r1", "error misused")
	run("CallNative r1 0 1 n4\nReturn r1", "error misused")
	// an argument whose kind differs from the kind that the native expects, and a missing argument
	run("LoadConst r2 k0\nLoadConst r3 k1\n@a: CallNative r1 2 0 n0\n@b: Return r1\n@c: Return r4\ncatch @a @b @c r4",
		`{"message":"add: expected an Int, got String","kind":"RuntimeError"}`)
	run("LoadConst r2 k0\nCallNative r1 1 0 n0\nReturn r1", "error add: argument 2 is missing")

	a := newAsm()
	a.Natives = []string{"not_there"}
	a.fn("main() Full 2", "ReturnNil")
	if _, err := New(Config{Program: &a.Program, Performer: effectless}); err == nil || !strings.Contains(err.Error(), "not_there") {
		t.Error(err)
	}
}

// TestMutSelf checks that the receiver is readable after the call of a method, even if an error
// unwinds from that method.
func TestMutSelf(t *testing.T) {
	a := newAsm()
	a.int(5)
	a.str("late")
	a.fn("main() Full 8", `
		NewArray r4 r4 0
		@a: Call r3 f1
		@b: LoadNil r1
		Return r1
		@c: NewTuple r1 r4 1
		Return r1
		catch @a @b @c r5`)
	f := a.fn("push(Full) Full 4", "LoadConst r2 k0\nOwn r1\nArrayPush r1 r2\nLoadConst r3 k1\nThrow r3")
	f.MutSelf = true
	a.want(t, "[[5]]")
}

func TestNoMain(t *testing.T) {
	a := newAsm()
	a.fn("f() Full 2", "ReturnNil")
	a.Entry = -1
	if _, err := a.run(t, Config{}); err != ErrNoMain {
		t.Error(err)
	}
}

// TestCancel checks that cancelling the run ends a loop without effects, and that no region catches
// the cancellation.
func TestCancel(t *testing.T) {
	a := newAsm()
	a.fn("main() Full 4", "@a: Loop @a\n@b: ReturnNil\ncatch @a @b @b r2")
	m, err := New(Config{Program: &a.Program, Performer: effectless})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := m.Run(ctx); err != context.Canceled {
		t.Error(err)
	}
}

// TestStackShrinks checks that a parked task releases the stack that a finished recursion needed,
// and then continues with correct registers.
func TestStackShrinks(t *testing.T) {
	a := newAsm()
	a.str("clock")
	a.str("kept")
	a.fn("main() Full 8", "LoadConst r1 k1\nLoadInt r4 50000\nCall r3 f1\nLoadConst r4 k1\nAwaitEmit r3 1\nNewTuple r2 r1 1\nReturn r2")
	a.fn("depth(Int) Int 6", "JumpGtIntK r1 0 @go\nReturnInt r1\n@go: SubIntK r4 r1 1\nCall r3 f1\nAddIntK r3 r3 1\nReturnInt r3")
	s := newStage()
	room := 0
	var m *VM
	s.answer = func(string) (string, *effect.Error) { room = len(m.sched.main.stack); return "1", nil }
	m, err := New(Config{Program: &a.Program, Performer: s})
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Run(context.Background())
	if err != nil || room != firstStack || value.Text(out.Value) != `["kept"]` {
		t.Error(out, err, room)
	}
}

// TestMethodRank checks that CallMethod prefers a method of the value's type to methods of Option
// and Error, which accept values of many types.
func TestMethodRank(t *testing.T) {
	for _, c := range []struct{ load, want string }{
		{"LoadConst r2 k1", `"option"`}, {"LoadNil r2", `"option"`}, {"NewArray r2 r2 0", `"array"`},
		{"LoadConst r2 k2\nNewStruct r2 r2 t3", `"error"`},
	} {
		a := newAsm()
		for _, s := range []string{"m", "option", "array", "error"} {
			a.str(s)
		}
		a.typ(ir.TypeInfo{Kind: "option", Args: []int{1}})
		a.typ(ir.TypeInfo{Kind: "error"})
		a.typ(ir.TypeInfo{Kind: "array", Args: []int{0}})
		a.typ(ir.TypeInfo{Kind: "error", Name: "RuntimeError", Fields: []ir.FieldInfo{{Name: "message", Type: 0}}})
		a.fn("main() Full 4", c.load+"\nCallMethod r1 1 k0\nReturn r1")
		for i := 1; i <= 3; i++ {
			a.fn("m(Full) Full 3", "LoadConst r2 k"+string(rune('0'+i))+"\nReturn r2")
		}
		a.Methods = []ir.Method{{Name: "m", Type: 0, Function: 1}, {Name: "m", Type: 1, Function: 3}, {Name: "m", Type: 2, Function: 2}}
		a.want(t, c.want)
	}
}

// TestMethodArities checks that CallMethod finds a method with default parameters by the number of
// arguments. If no arity fits, the error names the function with all parameters.
func TestMethodArities(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"1", `"one"`}, {"2", `"two"`}, {"3", "error method m of Int takes 1 argument, called with 2"},
	} {
		expr(t, "LoadConst r3 k0\nLoadConst r4 k0\nLoadConst r5 k0\nCallMethod r2 "+c.args+" k1\nMove r1 r2", c.want, func(a *asm) {
			a.int(1)
			a.str("m")
			a.str("one")
			a.str("two")
			a.typ(ir.TypeInfo{Kind: "int"})
			a.fn("m(Full, Full) Full 4", "LoadConst r3 k3\nReturn r3")
			a.fn("m(Full) Full 4", "LoadConst r3 k2\nReturn r3")
			a.Methods = []ir.Method{{Name: "m", Type: 0, Function: 0}, {Name: "m", Type: 0, Function: 1}}
		})
	}
}
