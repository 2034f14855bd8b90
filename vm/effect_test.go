package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/ir"
)

// performs runs code with the performer s and compares the result and the log.
func (a *asm) performs(t *testing.T, s *stage, code, want string, log ...string) {
	t.Helper()
	a.fn("main() Full 20", code)
	out, err := a.run(t, Config{Performer: s})
	got := ""
	if err != nil {
		got = "error " + err.Error()
	} else {
		got = string(value.AppendJSON(nil, out.Value))
	}
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if diff := cmp.Diff(log, s.log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestEmits(t *testing.T) {
	a := newAsm()
	a.str("c")
	a.performs(t, newStage(), "LoadConst r2 k0\nNewOk r3 r2\nEmit r2 r3\nEmitBare r2\nLoadNil r3\nEmit r2 r3\nReturnNil", "null",
		`emit c {"ok":"c"}`, "emit c ", "emit c null")

	ask := func(answer func(string) (string, *effect.Error), want string) {
		t.Helper()
		a := newAsm()
		a.str("c")
		s := newStage()
		s.answer = answer
		a.performs(t, s, "LoadConst r3 k0\nLoadConst r4 k0\nAwaitEmit r2 2\nNewTuple r1 r2 1\nReturn r1", want, `ask c "c"`)
	}
	ask(func(string) (string, *effect.Error) { return `{"a":1}`, nil }, `[{"ok":{"a":1}}]`)
	ask(func(string) (string, *effect.Error) { return `{`, nil },
		`[{"err":{"message":"the answer is not JSON: unexpected end of the text at offset 1","kind":"EmitError","channel":"c","reason":"invalid"}}]`)
	ask(func(string) (string, *effect.Error) {
		return "", effect.Errorf("EmitError", "nobody").With("reason", "no_listener").With("channel", "c")
	}, `[{"err":{"message":"nobody","kind":"EmitError","channel":"c","reason":"no_listener"}}]`)
}

// TestTypedAnswers checks that the VM converts an answer to the required type. If the answer does
// not fit and is Repeatable, the VM asks again until an answer fits.
func TestTypedAnswers(t *testing.T) {
	ask := func(want string, answers ...*effect.Answer) {
		t.Helper()
		a := newAsm()
		a.str("c")
		n := a.typ(ir.TypeInfo{Kind: "int"})
		s := newStage()
		s.answers = answers
		log := slices.Repeat([]string{`ask c "c"`}, len(answers))
		a.performs(t, s, fmt.Sprintf("LoadConst r3 k0\nLoadConst r4 k0\nAwaitEmitAs r2 2 t%d\nNewTuple r1 r2 1\nReturn r1", n), want, log...)
	}
	ask(`[{"ok":5}]`, &effect.Answer{Value: []byte(`5`)})
	ask(`[{"ok":5}]`, &effect.Answer{Value: []byte(`"5"`), Typed: true})
	ask(`[{"ok":6}]`, &effect.Answer{Value: []byte(`"six"`), Typed: true, Repeatable: true}, &effect.Answer{Value: []byte(`"6"`), Typed: true, Repeatable: true})
	ask(`[{"err":{"message":"expected Int, got \"5\"","kind":"EmitError","channel":"c","reason":"invalid"}}]`, &effect.Answer{Value: []byte(`"5"`)})
}

func TestPerform(t *testing.T) {
	run := func(code, want string, log ...string) {
		t.Helper()
		a := newAsm()
		for _, s := range []string{"print", "log", "clock", "known"} {
			a.str(s)
		}
		a.performs(t, newStage(), code, want, log...)
	}
	run("LoadConst r3 k0\nLoadBool r4 1\nBoxBool r4 r4\nPerform r2 2 0 k0\nReturn r2", "null", `print "print" true`)
	run("LoadConst r3 k0\nLoadConst r4 k1\nLoadConst r5 k1\nLoadConst r6 k2\nNewMap r5 r5 1\nPerform r2 3 1 k1\nReturn r2", `{"ok":null}`, `log print log {"log":"clock"}`)
	run("Perform r2 0 0 k2\nReturn r2", "[1000005,5]")
	run("Perform r2 0 1 k3\nReturn r2", `{"ok":7}`) // without asking

	a := newAsm()
	a.str("unknown")
	a.fn("main() Full 3", "Perform r1 0 0 k0\nReturn r1")
	if _, err := New(Config{Program: &a.Program, Performer: effectless}); err == nil {
		t.Error("an unknown effect was loaded")
	}
}

// TestPerformErrors checks that the program receives an *effect.Error, either raised or as an Err,
// and that any other error ends the run.
func TestPerformErrors(t *testing.T) {
	code := func(wrap string) string {
		return "LoadConst r3 k0\n@a: Perform r2 1 " + wrap + " k1\n@b: NewTuple r1 r2 1\nReturn r1\n@c: Return r5\ncatch @a @b @c r5"
	}
	run := func(wrap string, err error) (string, error) {
		a := newAsm()
		a.int(1)
		a.str("sleep")
		a.fn("main() Full 6", code(wrap))
		out, err := a.run(t, Config{Performer: effect.PerformerFunc(func(context.Context, effect.Request) (effect.Result, error) { return nil, err })})
		if err != nil {
			return "", err
		}
		return value.Text(out.Value), nil
	}
	refused := effect.Errorf("TimeoutError", "late").With("timeout_seconds", 1.5)
	if got, err := run("0", refused); err != nil || got != "late" {
		t.Error(got, err)
	}
	if got, err := run("1", refused); err != nil || got != `[{"err":{"message":"late","kind":"TimeoutError","timeout_seconds":1.5}}]` {
		t.Error(got, err)
	}
	if got, err := run("1", effect.Errorf("NoSuchError", "odd")); err != nil || got != `[{"err":{"message":"odd","kind":"RuntimeError"}}]` {
		t.Error(got, err)
	}
	broken := errors.New("disk gone")
	var stopped *Stopped
	if _, err := run("1", broken); !errors.As(err, &stopped) || stopped.Err != broken || stopped.Function != "main" {
		t.Error(err)
	}
}

func TestStatsAndAlwaysCopy(t *testing.T) {
	for _, always := range []bool{false, true} {
		a := newAsm()
		a.int(1)
		a.fn("main() Full 8", `
			NewArray r2 r2 0
			LoadInt r3 0
			LoadInt r4 10
			@l: Own r2
			ArrayPushInt r2 r3
			ForInt r3 r4 @l
			Return r2`)
		out, err := a.run(t, Config{AlwaysCopy: always})
		if err != nil {
			t.Fatal(err)
		}
		if got := value.Text(out.Value); got != "[0,1,2,3,4,5,6,7,8,9]" {
			t.Error(got)
		}
		if want := map[bool]int64{false: 0, true: 10}[always]; out.Stats.Copied != want {
			t.Errorf("copied %d, want %d", out.Stats.Copied, want)
		}
	}
}

// toolProgram declares the tool T with the state {n: Int} and the functions add(by: Int = 2), which
// changes the state, fail() and get(of: Array<Int>) -> Result.
func toolProgram() *asm {
	a := newAsm()
	a.int(2)
	a.str("bad")
	n := a.typ(ir.TypeInfo{Kind: "int"})
	ints := a.typ(ir.TypeInfo{Kind: "array", Args: []int{n}})
	state := a.typ(ir.TypeInfo{Kind: "tool", Name: "T", Fields: []ir.FieldInfo{{Name: "n", Type: n}}})
	a.fn("init() Full 4", "LoadConst r1 k0\nNewTuple r1 r1 1\nReturn r1")
	a.fn("two() Full 4", "LoadConst r1 k0\nReturn r1")
	a.fn("add(Full, Full) Full 8", "Field r3 r1 0\nAnyBinary r3 r3 r2 0\nSetField r1 0 r3\nReturn r3")
	a.fn("fail(Full) Full 4", "Fault k1")
	a.fn("get(Full, Full) Full 8", "ArrayLen r3 r2\nJumpEqIntK r3 0 @e\nBoxInt r3 r3\nNewOk r3 r3\nReturn r3\n@e: LoadConst r3 k1\nNewErr r3 r3\nReturn r3")
	a.Tools = []ir.Tool{{Name: "T", Description: "a tool", State: state, Init: 0, Methods: []ir.ToolMethod{
		{Name: "add", Description: "adds", Described: true, Function: 2, Params: []ir.ToolParam{{Name: "by", Type: n, Default: 1}}, Result: n},
		{Name: "fail", Description: "fails", Described: true, Function: 3, Result: n},
		{Name: "get", Description: "gets", Described: true, Function: 4, Params: []ir.ToolParam{{Name: "of", Type: ints, Default: -1}}, Result: n},
		{Name: "hidden", Function: 3, Result: n},
	}}, {Name: "U", State: state, Init: 0, Methods: []ir.ToolMethod{{Name: "fail", Described: true, Function: 3, Result: n}}}}
	a.Agents = []ir.Agent{{Name: "A", Connection: "c", Model: "m", System: "s", Tools: []int{0}, Memory: -1}}
	return a
}

func TestDispatchTool(t *testing.T) {
	for _, c := range []struct{ name, args, want string }{
		{"add", `{}`, "[4,4]"}, {"T::add", `{"by":5}`, "[7,7]"}, {"T_add", `{"by":null}`, "[4,4]"}, {"T.add", `{"by":5}`, "[7,7]"},
		{"T.add", `{"bye":5}`, "error bad arguments for T.add: bye: there is no such argument; the arguments are by"},
		{"T::fail", `{"x":null}`, "error bad arguments for T::fail: x: there is no such argument; the function has none"},
		{"add", `{"by":1.5}`, "error bad arguments for add: by: expected Int, got 1.5"},
		{"get", `{"of":[1,2]}`, "[2,2]"}, {"get", `{"of":[]}`, "error bad"},
		{"get", `{}`, "error bad arguments for get: of: missing, expected Array<Int>"},
		{"get", `{"of":[1,"x"]}`, `error bad arguments for get: of[1]: expected Int, got "x"`},
		{"T::fail", `{}`, "error bad"},
		{"fail", `{}`, "error tool fail is ambiguous: T_fail, U_fail"},
		{"hidden", `{}`, "error unknown tool hidden; the tools are T_add, T_fail, T_get, U_fail"},
	} {
		a := toolProgram()
		a.str(c.name)
		a.Natives = []string{"args"}
		a.fn("main() Full 16", "CallNative r5 0 0 n0\nMove r8 r5\nLoadNil r6\nLoadConst r7 k2\nDispatchTool r5\nMove r1 r5\nLoadTool r3 d0\nField r2 r3 0\nNewTuple r1 r1 2\nReturn r1")
		out, err := a.run(t, Config{Natives: library(map[string]Native{"args": func(*Args) (value.Slot, error) { return value.Parse([]byte(c.args)) }})})
		got := ""
		if err != nil {
			got = "error " + err.Error()
			if u := err.(*Uncaught); u.Kind != "ToolError" {
				t.Error(u.Kind)
			}
		} else {
			got = value.Text(out.Value)
			if c.name == "get" {
				got = "[2,2]"
			}
		}
		if got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.name, c.args, got, c.want)
		}
	}
}

func TestLoadDeclared(t *testing.T) {
	a := newAsm()
	a.Agents = []ir.Agent{{Name: "A", Memory: 0}}
	a.Stores = []ir.Store{{Name: "m", Kind: "memory", Window: 2}}
	a.performs(t, newStage(), "LoadAgent r1 d0\nLoadStore r2 d0\nNewTuple r1 r1 2\nReturn r1", `["<agent A>","<memory m>"]`)
}

func TestLoadType(t *testing.T) {
	a := newAsm()
	a.typ(ir.TypeInfo{Kind: "array", Args: []int{1}})
	a.typ(ir.TypeInfo{Kind: "int"})
	a.performs(t, newStage(), "LoadType r1 t0\nReturn r1", `"<type Array<Int>>"`)
}
