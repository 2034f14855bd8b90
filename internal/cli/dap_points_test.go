package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// tasks is a program with tasks, errors and emits.
const tasks = `async fn job(n: Int) -> Int {
    std::time::sleep(5); // <sleep>
    n * 2 // <job>
}

fn risky(n: Int) -> Result<Int, String> {
    if n > 1 { // <risky>
        return Err("too large");
    }
    Ok(n)
}

fn through(n: Int) -> Result<Int, String> {
    let x = risky(n)?; // <question>
    Ok(x)
}

fn main() {
    let a = job(4); // <spawn>
    let b = await a; // <await>
    emit("told", b); // <emit>
    let r = through(5); // <through>
    let caught = try { [1][7] } catch { 0 }; // <caught>
    let mut i = 0;
    while i < 10 { // <while>
        i = i + 1; // <body>
    }
    println("${b} ${r.is_err()} ${caught} ${i}");
    let xs = [1]; // <last>
    println("${xs[i]}"); // <fault>
}
`

// functions sets function breakpoints.
func (d *debugger) functions(names ...string) {
	d.t.Helper()
	all := []map[string]any{}
	for _, n := range names {
		all = append(all, map[string]any{"name": n})
	}
	for i, b := range d.ask("setFunctionBreakpoints", map[string]any{"breakpoints": all})["breakpoints"].([]any) {
		if b := b.(map[string]any); b["verified"] != true {
			d.t.Errorf("function breakpoint %s is not verified: %v", names[i], b["message"])
		}
	}
}

func (d *debugger) resume() string { d.t.Helper(); return d.step("continue") }

func (d *debugger) errors(filters ...string) {
	d.t.Helper()
	d.ask("setExceptionBreakpoints", map[string]any{"filters": filters})
}

func TestDapPoints(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": tasks})
	at := func(reason, f, mark string) string { return fmt.Sprintf("%s %s:%d", reason, f, place(t, tasks, mark)) }
	d.launch(nil)
	d.functions("job", "risky", `emit "told"`)
	d.errors("err", "thrown")
	d.begin()
	same(t, d.stops(), at("function breakpoint", "job", "sleep"))
	same(t, d.thread, 2)
	same(t, fmt.Sprint(d.ask("threads", nil)["threads"]), "[map[id:1 name:main] map[id:2 name:job(2)]]")
	d.functions("risky", `emit "*"`)
	same(t, d.resume(), at("function breakpoint", "main", "emit"))
	same(t, d.resume(), at("function breakpoint", "risky", "risky"))
	same(t, d.resume(), at("exception", "through", "question"))
	info := d.ask("exceptionInfo", map[string]any{"threadId": d.thread})
	same(t, info["description"], "too large")
	same(t, d.resume(), at("exception", "main", "caught"))
	d.errors("uncaught")
	d.at(map[string]any{"line": place(t, tasks, "body"), "hitCondition": "% 4"})
	same(t, d.resume(), at("breakpoint", "main", "body"))
	same(t, d.value("watch", "i"), "3: Int")
	same(t, d.resume(), at("breakpoint", "main", "body"))
	same(t, d.value("watch", "i"), "7: Int")
	d.at(line(place(t, tasks, "last")))
	same(t, d.resume(), at("breakpoint", "main", "last"))
	d.at()
	same(t, d.resume(), at("exception", "main", "fault"))
	info = d.ask("exceptionInfo", map[string]any{"threadId": d.thread})
	same(t, info["exceptionId"], "RuntimeError")
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 1)
}

// within is a program that catches each error in the function that raises the error.
const within = `fn fails(n: Int) -> Result<Int, String> {
    if n > 1 { Err("refused") } else { Ok(n) }
}

fn main() {
    let a = try {
        fails(1)?;
        fails(2)? // <question>
    } catch { 0 };
    let b = try {
        throw "thrown"; // <throw>
    } catch String(e) { e };
    let c: Result<Int> = try { Err("made")? }; // <made>
    let mut none: Int? = None;
    if a > 5 { none = Some(1); }
    let d: Int = try {
        try { none? } catch String(e) { e.len() } // <none>
    } catch { 2 };
    println("${a} ${b} ${c.is_err()} ${d}");
}
`

// TestDapThrownWithin checks that an error stops the run where it is raised, even if a try block of
// the same function catches the error. An Err that `?` propagates to a try block counts as an
// error, too.
func TestDapThrownWithin(t *testing.T) {
	t.Parallel()
	at := func(mark string) string { return fmt.Sprintf("exception main:%d", place(t, within, mark)) }
	for _, c := range []struct {
		filter string
		marks  []string
	}{
		{"thrown", []string{"question", "throw", "made", "none"}},
		{"err", []string{"question", "made"}},
		{"uncaught", nil},
	} {
		d := startDebugger(t, map[string]string{"main.conc": within})
		d.launch(nil)
		d.errors(c.filter)
		d.begin()
		for i, mark := range c.marks {
			if i == 0 {
				same(t, d.stops(), at(mark))
			} else {
				same(t, d.resume(), at(mark))
			}
			if mark == "question" {
				same(t, d.ask("exceptionInfo", map[string]any{"threadId": d.thread})["description"], "refused")
			}
		}
		if c.marks != nil {
			d.ask("continue", map[string]any{"threadId": d.thread})
		}
		same(t, d.awaitExit(), 0)
	}
}

// jumps is a program of calls and loops for goto.
const jumps = `fn twice(n: Int) -> Int { n * 2 }

fn main() {
    let mut a = 1; // <let>
    println("x"); // <first>
    twice(a); // <second>
    a = twice(a); // <third>
    let xs = [1, 2]; // <list>
    println("${a} ${xs}"); // <use>
    for x in xs { // <loop>
        println("${x}"); // <body>
    }
}
`

// TestDapGoto checks that goto can skip lines with calls, forwards and backwards. It refuses a
// target line that uses a variable or a loop position without a value.
func TestDapGoto(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": jumps})
	source := map[string]any{"path": filepath.Join(d.dir, "main.conc")}
	targets := func(mark string) []any {
		return d.ask("gotoTargets", map[string]any{"source": source, "line": place(t, jumps, mark)})["targets"].([]any)
	}
	offered := func() (marks []string) {
		for _, mark := range []string{"let", "first", "second", "third", "list", "use", "loop", "body"} {
			if len(targets(mark)) > 0 {
				marks = append(marks, mark)
			}
		}
		return marks
	}
	d.launch(nil)
	d.at(line(place(t, jumps, "second")))
	d.begin()
	same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", place(t, jumps, "second")))
	same(t, offered(), "[let first second third list]")
	d.ask("goto", map[string]any{"threadId": d.thread, "targetId": targets("list")[0].(map[string]any)["id"]})
	d.stops()
	d.step("next")
	same(t, d.value("watch", "a"), "1: Int")
	same(t, offered(), "[let first second third list use loop]")
	d.ask("goto", map[string]any{"threadId": d.thread, "targetId": targets("third")[0].(map[string]any)["id"]})
	d.stops()
	d.at(line(place(t, jumps, "body")))
	same(t, d.resume(), fmt.Sprintf("breakpoint main:%d", place(t, jumps, "body")))
	same(t, d.value("watch", "a"), "2: Int")
	same(t, offered(), "[let first second third list use loop body]")
	d.at()
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
}

// TestDapAwait checks that a step over an await stops after the await, and that a step in enters
// the awaited task.
func TestDapAwait(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": tasks})
	at := func(reason, f, mark string) string { return fmt.Sprintf("%s %s:%d", reason, f, place(t, tasks, mark)) }
	d.launch(nil)
	d.at(line(place(t, tasks, "await")))
	d.begin()
	same(t, d.stops(), at("breakpoint", "main", "await"))
	same(t, d.step("next"), at("step", "main", "emit"))
	same(t, d.step("next"), at("step", "main", "through"))
	// Go back to the await: the awaited value is already available.
	path := filepath.Join(d.dir, "main.conc")
	targets := d.ask("gotoTargets", map[string]any{"source": map[string]any{"path": path}, "line": place(t, tasks, "emit")})["targets"].([]any)
	if len(targets) != 1 {
		t.Fatal(targets)
	}
	d.ask("goto", map[string]any{"threadId": d.thread, "targetId": targets[0].(map[string]any)["id"]})
	same(t, d.stops(), at("goto", "main", "emit"))
	same(t, d.step("next"), at("step", "main", "through"))
	same(t, d.ask("gotoTargets", map[string]any{"source": map[string]any{"path": path}, "line": place(t, tasks, "job")})["targets"], "[]")
	var labels []string
	for _, x := range d.ask("completions", map[string]any{"text": "ri", "column": 3, "frameId": d.frames()[0]["id"]})["targets"].([]any) {
		labels = append(labels, x.(map[string]any)["label"].(string))
	}
	same(t, labels, "[risky]")
	d.ask("disconnect", nil)

	d = startDebugger(t, map[string]string{"main.conc": tasks})
	d.launch(nil)
	d.at(line(place(t, tasks, "await")))
	d.begin()
	d.stops()
	d.at()
	same(t, d.step("stepIn"), at("step", "job", "job"))
	d.ask("disconnect", nil)
}

// TestDapPause checks that a loop and a wait can be paused.
func TestDapPause(t *testing.T) {
	t.Parallel()
	const program = `fn main() {
    let mut n = 0;
    println("up");
    while n >= 0 { n = n + 1; if n > 1000 { n = 0; } }
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	d.begin()
	for !strings.Contains(d.output["stdout"], "up") {
		d.next()
	}
	d.ask("pause", map[string]any{"threadId": 1})
	same(t, d.stops(), "pause main:4")
	same(t, d.value("repl", "n = 0-5"), "nil: Nil")
	d.ask("continue", map[string]any{"threadId": 1})
	same(t, d.awaitExit(), 0)

	d = startDebugger(t, map[string]string{"main.conc": "fn main() {\n    let v: String = await emit(\"approve\", 1)?;\n    println(v);\n}\n"})
	d.launch(nil)
	d.begin()
	for !strings.Contains(d.output["important"], ":answer") {
		d.next()
	}
	d.ask("pause", map[string]any{"threadId": 1})
	same(t, d.stops(), "pause main:2")
	same(t, fmt.Sprint(d.ask("threads", nil)["threads"]), "[map[id:1 name:main · waits for question q1]]")
	d.ask("evaluate", map[string]any{"expression": ":answer yes", "context": "repl"})
	d.ask("continue", map[string]any{"threadId": 1})
	same(t, d.awaitExit(), 0)
}

// TestDapHost checks stepping into handlers of a host's messages, and their variables.
func TestDapHost(t *testing.T) {
	t.Parallel()
	const program = `host W { connector: w }

fn main() {
    let base = 40;
    let r = listen W.execute("go") { // <listen>
        "question" => |q: HostQuestion| {
            let answer = base + 2; // <handler>
            "${answer}" // <reply>
        },
    };
    println("${r}"); // <after>
}
`
	files := map[string]string{
		"Concerto.toml": "[hosts.w]\ncommand = \"testhost\"\nargs = [\"w.host\"]\noutput_format = \"json\"\n",
		"w.host":        "read\n< {\"type\":\"question\",\"question\":\"which?\"}\nread\n< {\"type\":\"result\",\"text\":\"done\"}\n",
		"main.conc":     program,
	}
	at := func(reason, f, mark string) string {
		return fmt.Sprintf("%s %s:%d", reason, f, place(t, program, mark))
	}
	d := startDebugger(t, files)
	d.launch(nil)
	d.at(line(place(t, program, "listen")))
	d.begin()
	same(t, d.stops(), at("breakpoint", "main", "listen"))
	same(t, d.step("stepIn"), at("step", `listen W "question"`, "handler"))
	same(t, d.frames()[1]["name"], "main")
	same(t, d.value("watch", "base + q.question.len()"), "46: Int")
	same(t, d.step("next"), at("step", `listen W "question"`, "reply"))
	d.functions(`host W "question"`)
	same(t, d.step("stepOut"), at("step", "main", "after"))
	d.ask("continue", map[string]any{"threadId": 1})
	same(t, d.awaitExit(), 0)
}

// TestDapAtTheEnd checks that a console input can use the variables of a function that has stopped
// at its end.
func TestDapAtTheEnd(t *testing.T) {
	t.Parallel()
	const program = `fn sum(n: Int) -> Int {
    let more = n + 1;
    more + 0
} // <end>
fn main() {
    println("${sum(1)}");
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	d.at(line(place(t, program, "end")))
	d.begin()
	same(t, d.stops(), fmt.Sprintf("breakpoint sum:%d", place(t, program, "end")))
	same(t, d.value("watch", "more + n"), "3: Int")
	same(t, d.refused("evaluate", map[string]any{"expression": "mor", "context": "watch", "frameId": d.frames()[0]["id"]}), "error[E0201]: unknown name `mor`")
	d.ask("disconnect", nil)
}

// TestDapLastName checks that the debugger stops at a last expression that consists only of a name.
// It covers every kind of body.
func TestDapLastName(t *testing.T) {
	t.Parallel()
	const program = `fn sum(n: Int) -> Int {
    let more = n + 1;
    more // <function>
}
fn either(n: Int) -> Int {
    let a = n + 1;
    let b = n + 2;
    if n > 0 {
        a // <then>
    } else {
        b // <else>
    }
}
fn main() {
    let twice = |n: Int| {
        let m = n * 2;
        m // <closure>
    };
    println("${sum(1)} ${either(1)} ${either(0)} ${twice(4)}");
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	marks := []string{"function", "then", "else", "closure"}
	var points []map[string]any
	for _, mark := range marks {
		points = append(points, line(place(t, program, mark)))
	}
	for i, b := range d.at(points...) {
		same(t, b["line"], points[i]["line"])
	}
	d.begin()
	for i, mark := range marks {
		where := d.stops()
		if !strings.HasSuffix(where, fmt.Sprintf(":%d", place(t, program, mark))) {
			t.Errorf("stop after mark <%s>: got %s", mark, where)
		}
		if i == 0 {
			same(t, d.value("watch", "more + n"), "3: Int")
		}
		d.ask("continue", map[string]any{"threadId": d.thread})
	}
	same(t, d.awaitExit(), 0)
	same(t, d.output["stdout"], "2 2 2 8\n")
}
