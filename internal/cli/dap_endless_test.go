package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/editors"
	"github.com/concerto-lang/concerto/internal/editor/dap"
)

// endlessTexts are expressions whose evaluation does not finish. The first one computes, the second
// one waits.
var endlessTexts = []string{"{ loop { } }", "std::time::sleep(100000000)"}

// atFirst launches a program that stops at its first line. It returns the id of the innermost
// frame.
func atFirst(d *debugger) (frame any) {
	d.t.Helper()
	d.launch(map[string]any{"stopOnEntry": true})
	d.begin()
	d.stops()
	return d.frames()[0]["id"]
}

// TestDapEndless evaluates expressions that never finish. It checks that the editor can cancel the
// evaluation, pause it, terminate, disconnect, restart, and exit.
func TestDapEndless(t *testing.T) {
	t.Parallel()
	for _, text := range endlessTexts {
		for _, end := range []string{"cancel", "pause", "terminate", "disconnect", "restart", "end of input"} {
			t.Run(end+" "+text, func(t *testing.T) {
				t.Parallel()
				d := startDebugger(t, map[string]string{"main.conc": debugged})
				frame := atFirst(d)
				n := d.send("evaluate", map[string]any{"expression": text, "context": "repl", "frameId": frame})
				same(t, len(d.frames()), 1)
				switch end {
				case "cancel":
					cancel := d.send("cancel", map[string]any{"requestId": n})
					m := d.awaitResponse(n)
					same(t, fmt.Sprint(m["success"], " ", m["message"]), "false cancelled")
					same(t, d.awaitResponse(cancel)["success"], true)
					same(t, d.value("repl", "1 + 1"), "2: Int")
				case "pause":
					pause := d.send("pause", map[string]any{"threadId": 1})
					same(t, d.awaitResponse(n)["message"], "stopped by `pause`")
					same(t, d.awaitResponse(pause)["success"], true)
					same(t, d.value("repl", "1 + 1"), "2: Int")
				case "terminate":
					terminate := d.send(end, nil)
					same(t, d.awaitResponse(n)["message"], "stopped: the program is ending")
					same(t, d.awaitResponse(terminate)["success"], true)
					same(t, d.awaitExit(), console.ExitInterrupted)
				case "disconnect":
					same(t, d.awaitResponse(d.send(end, nil))["success"], true)
					for range d.came { // until the adapter exits
					}
				case "restart":
					same(t, d.awaitResponse(d.send(end, nil))["success"], true)
					same(t, d.stops(), fmt.Sprintf("entry main:%d", place(t, debugged, "first")))
				default:
					_ = d.in.Close()
					for range d.came {
					}
				}
			})
		}
	}
}

// TestDapInspectsDuringEvaluation checks that the editor can inspect the stopped program and set
// breakpoints while the console evaluates an expression that computes, that waits, or that has
// started tasks. These tasks are not tasks of the stopped program.
func TestDapInspectsDuringEvaluation(t *testing.T) {
	t.Parallel()
	const program = `const LIMIT = 3;
async fn job(n: Int) -> Int {
    std::time::sleep(100000000);
    n
}
fn area(x: Int) -> Int {
    let n = x * LIMIT; // <area>
    n + 0 // <back>
}
fn main() {
    println("${area(2)}"); // <main>
    println("end"); // <end>
}
`
	at := func(mark string) int { return place(t, program, mark) }
	for _, text := range append([]string{"await job(1)", "{ let j = job(1); loop { } }"}, endlessTexts...) {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			d, _ := debugsHere(t, map[string]string{"main.conc": program})
			d.launch(nil)
			d.at(line(at("back")))
			d.begin()
			same(t, d.stops(), fmt.Sprintf("breakpoint area:%d", at("back")))
			n := d.send("evaluate", map[string]any{"expression": text, "context": "repl"})
			waits := d.send("evaluate", map[string]any{"expression": "1 + 1", "context": "watch"})
			for range 2 { // the second time, the references of the first time are still valid
				same(t, d.ask("threads", nil)["threads"], []any{map[string]any{"id": 1, "name": "main"}})
				same(t, len(d.frames()), 2)
				same(t, d.scope("Locals"), []string{"x: Int = 2", "n: Int = 6"})
				same(t, d.scope("Module"), []string{"LIMIT: Int = 3"})
			}
			same(t, d.at(line(at("end")))[0]["verified"], true)
			d.functions()
			d.errors("thrown")
			for _, m := range d.extra {
				if m["type"] == "response" {
					t.Errorf("%v was sent before the evaluation was cancelled", m)
				}
			}
			d.ask("cancel", map[string]any{"requestId": n})
			same(t, d.awaitResponse(n)["message"], "cancelled")
			same(t, d.awaitResponse(waits)["body"].(map[string]any)["result"], "2")
			same(t, d.step("continue"), fmt.Sprintf("breakpoint main:%d", at("end")))
			d.ask("disconnect", nil)
		})
	}
}

// TestDapCancelsWaiting cancels a request that is queued while an evaluation runs. It also checks
// that the user can answer questions that the evaluation asks.
func TestDapCancelsWaiting(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": debugged})
	frame := atFirst(d)
	evaluate := func(text string) int {
		return d.send("evaluate", map[string]any{"expression": text, "context": "repl", "frameId": frame})
	}
	asks := evaluate(`{ let v: String = await emit("which", 1)?; v }`)
	for !strings.Contains(d.output["important"], ":answer VALUE") {
		d.extra = append(d.extra, d.next())
	}
	waits := evaluate("1 + 1")
	same(t, d.awaitResponse(d.send("cancel", map[string]any{"requestId": waits}))["success"], true)
	same(t, d.awaitResponse(evaluate(":answer blue"))["success"], true)
	same(t, d.awaitResponse(asks)["body"].(map[string]any)["result"], `"blue"`)
	same(t, d.awaitResponse(waits)["message"], "cancelled")
	d.ask("disconnect", nil)
}

// TestDapEndlessCondition checks that the evaluation of a breakpoint's condition or log message
// stops at its time limit. The editor can terminate the run before the limit.
func TestDapEndlessCondition(t *testing.T) {
	t.Parallel()
	const program = `fn spin(n: Int) -> Bool {
    let mut i = n;
    while i > 0 { i = i + 1; if i > 100 { i = 1; } }
    true
}
fn main() {
    println("up");
    println("here"); // <here>
    println("after"); // <after>
}
`
	here := line(place(t, program, "here"))
	t.Run("ended", func(t *testing.T) {
		t.Parallel()
		for _, end := range []string{"terminate", "disconnect", "end of input"} {
			d := startDebugger(t, map[string]string{"main.conc": program})
			d.launch(nil)
			here["condition"] = "spin(1)"
			d.at(here)
			d.begin()
			for !strings.Contains(d.output["stdout"], "up") {
				d.next()
			}
			if end == "end of input" {
				_ = d.in.Close()
			} else {
				d.ask(end, nil)
			}
			_ = d.in.Close()
			for range d.came {
			}
		}
	})
	t.Run("deleted", func(t *testing.T) { // during the evaluation of its condition, so that the run does not stop
		t.Parallel()
		d, clock := debugsHere(t, map[string]string{"main.conc": program})
		d.launch(nil)
		point := map[string]any{"line": place(t, program, "here"), "condition": "spin(1)"}
		d.at(point, point)
		d.begin()
		for !strings.Contains(d.output["stdout"], "up") {
			d.next()
		}
		d.at(line(place(t, program, "after")))
		clock.Store(int64(time.Second))
		same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", place(t, program, "after")))
		d.ask("disconnect", nil)
	})
	for _, kind := range []string{"condition", "logMessage"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			d, clock := debugsHere(t, map[string]string{"main.conc": program})
			clock.Store(int64(time.Second))
			d.launch(nil)
			point := line(place(t, program, "here"))
			point[kind] = "spin(1)"
			if kind == "logMessage" {
				point[kind] = "it is {spin(1)}"
			}
			d.at(point, line(place(t, program, "after")))
			d.begin()
			if kind == "condition" {
				same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", place(t, program, "here")))
				same(t, d.output["important"], "the condition `spin(1)`: the evaluation did not finish within 1s; the console has no time limit\n")
			} else {
				same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", place(t, program, "after")))
				same(t, d.output["console"], "it is {the evaluation did not finish within 1s; the console has no time limit}\n")
			}
			d.ask("disconnect", nil)
		})
	}
}

// debugsHere serves an editor in the test's own process. Each reading of the adapter's clock
// advances the clock by step, in nanoseconds.
func debugsHere(t *testing.T, texts map[string]string) (d *debugger, step *atomic.Int64) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(programs(t, texts))
	if err != nil {
		t.Fatal(err)
	}
	step = &atomic.Int64{}
	var passed atomic.Int64
	a := &dap.Adapter{Command: func(l *dap.Launch, r *dap.Run) int {
		return editors.RunLaunched(&console.Console{Dir: dir, Binary: console.Binary{Execute: run}}, l, r)
	}, Dir: dir, Now: func() time.Time { return time.Unix(0, passed.Add(step.Load())) }}
	requests, in := io.Pipe()
	out, stderr := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- a.Serve(requests, stderr)
		_ = stderr.Close()
	}()
	d = &debugger{t: t, dir: dir, in: in}
	d.readMessages(out)
	t.Cleanup(func() {
		_ = in.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return d, step
}

// TestDapWatchLimit checks that the evaluation of a watch expression stops at its time limit, and
// that the editor can cancel it earlier.
func TestDapWatchLimit(t *testing.T) {
	t.Parallel()
	d, clock := debugsHere(t, map[string]string{"main.conc": debugged})
	frame := atFirst(d)
	watch := map[string]any{"expression": "{ loop { } }", "context": "watch", "frameId": frame}
	n := d.send("evaluate", watch)
	d.send("cancel", map[string]any{"requestId": n})
	same(t, d.awaitResponse(n)["message"], "cancelled")
	clock.Store(int64(400 * time.Millisecond))
	same(t, d.refused("evaluate", watch), "the evaluation did not finish within 1s; the console has no time limit")
	d.ask("disconnect", nil)
}

// TestDapAwaitsStopped checks that an evaluation that awaits a task of the program fails instead of
// waiting, because the debugger has stopped all tasks.
func TestDapAwaitsStopped(t *testing.T) {
	t.Parallel()
	const program = `async fn job(n: Int) -> Int {
    std::time::sleep(5);
    n * 2
}
fn main() {
    let a = job(4);
    let b = job(5);
    println("here"); // <here>
    println("${await a} ${await b}");
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	d.at(line(place(t, program, "here")))
	d.begin()
	d.stops()
	frame := d.frames()[0]["id"]
	for _, text := range []string{"await a", "await (a, b)", "race (a, b)"} {
		for _, context := range []string{"watch", "repl"} {
			m := d.refused("evaluate", map[string]any{"expression": text, "context": context, "frameId": frame})
			same(t, m, "RuntimeError: awaiting this task would never end: it belongs to the program, which is paused")
		}
	}
	same(t, d.value("repl", "await job(9)"), "18: Int")
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
	same(t, d.output["stdout"], "here\n8 10\n")
}

// TestDapUnread checks that an editor that does not read its messages does not block the adapter.
func TestDapUnread(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"terminate", "disconnect", "end of input"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			dir := programs(t, map[string]string{"main.conc": `fn main() { loop { println("a line that nobody reads"); } }`})
			c := command(dir, "dap")
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			d := &debugger{t: t, dir: dir, in: in}
			d.send("initialize", map[string]any{"adapterID": "x"})
			d.send("launch", map[string]any{"program": filepath.Join(dir, "main.conc")})
			d.send("configurationDone", nil)
			if end != "end of input" {
				d.send(end, nil)
			}
			_ = in.Close()
			if state, err := c.Process.Wait(); err != nil || !state.Success() {
				t.Error(state, err)
			}
			_ = out.Close()
		})
	}
}
