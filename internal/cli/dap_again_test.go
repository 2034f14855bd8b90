package cli

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// TestDapRestart restarts a launched program. The breakpoints must still be set, and the editor
// must receive only one terminated event.
func TestDapRestart(t *testing.T) {
	t.Parallel()
	const program = `fn main() {
    let who = std::env::args()[0];
    for i in 0..3 { // <for>
        println("${who} ${i}"); // <body>
    }
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	body := place(t, program, "body")
	d.launch(map[string]any{"args": []string{"a"}})
	d.at(map[string]any{"line": body, "hitCondition": "2"})
	d.begin()
	same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", body))
	same(t, d.value("watch", "i"), "1: Int")
	d.ask("restart", nil)
	same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", body))
	same(t, d.value("watch", "i"), "1: Int") // the count of passes restarts
	d.ask("restart", map[string]any{"arguments": map[string]any{"program": filepath.Join(d.dir, "main.conc"), "cwd": d.dir, "args": []string{"b"}, "stopOnEntry": true}})
	same(t, d.stops(), "entry main:2")
	same(t, d.resume(), fmt.Sprintf("breakpoint main:%d", body))
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
	same(t, d.output["stdout"], "a 0\na 0\nb 0\nb 1\nb 2\n")
	d.ask("disconnect", nil)
	if len(d.extra) > 0 {
		t.Errorf("unexpected events: %v", d.extra)
	}
}

// TestDapRestartRefused checks that a program that was never launched cannot restart.
func TestDapRestartRefused(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": "fn main() {}"})
	if body := d.ask("initialize", map[string]any{"adapterID": "x"}); body["supportsRestartRequest"] != true || body["supportsRestartFrame"] != nil {
		t.Errorf("capabilities = %v, want restart of programs but not of frames", body)
	}
	same(t, d.refused("restart", nil), "only a launched program can be restarted: start this one again and attach to it")
	d.ask("disconnect", nil)
}

// TestDapThreads checks that main is thread 1, even if tools and stores of the program were created
// before main began.
func TestDapThreads(t *testing.T) {
	t.Parallel()
	const program = `hashmap seen: HashMap<String, Int> = HashMap::new();
tool Db { description: "Rows", rows: Int = 1 + 1, @describe("n") fn count(self) -> Int { self.rows } }
async fn job(n: Int) -> Int {
    n * 2 // <job>
}
fn main() {
    let a = job(1); // <main>
    println(await a + Db.count());
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	d.at(line(place(t, program, "main")), line(place(t, program, "job")))
	d.begin()
	d.stops()
	same(t, d.thread, 1)
	threads := func() (out []string) {
		for _, x := range d.ask("threads", nil)["threads"].([]any) {
			x := x.(map[string]any)
			out = append(out, fmt.Sprintf("%v %v", x["id"], x["name"]))
		}
		return out
	}
	same(t, threads(), []string{"1 main"})
	d.resume()
	same(t, d.thread, 2)
	same(t, threads(), []string{"1 main", "2 job(2)"})
	d.ask("disconnect", nil)
}

// TestDapLoopHead stops at the head of a loop in its first and second pass. Both times it checks
// that the variables declared before the loop are visible, although the loop's variable has no
// value.
func TestDapLoopHead(t *testing.T) {
	t.Parallel()
	const program = `fn main() {
    let names = ["a"];
    let none: Option<Int> = None;
    for i in 0..3 { // <for>
        println("${i}");
    }
    println("${names} ${none.is_some()}");
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	d.at(line(place(t, program, "for")))
	d.begin()
	d.stops()
	want := `[names: Array<String> = ["a"] none: Option<Int> = None]`
	same(t, d.scope("Locals"), want)
	d.resume()
	if got := d.scope("Locals"); len(got) < 2 || fmt.Sprint(got[:2]) != want {
		t.Errorf("variables in the second pass = %v", got)
	}
	d.ask("disconnect", nil)
}

// TestDapPending checks that a host's question is pending until it is answered.
func TestDapPending(t *testing.T) {
	t.Parallel()
	const program = `host W { connector: w }
fn main() {
    let r = listen W.execute("go") {
        "question" => |q: HostQuestion| "42", // <reply>
        "progress" => |p: HostProgress| println(p.message), // <progress>
    };
    println("${r.is_ok()}"); // <after>
}
`
	d := startDebugger(t, map[string]string{
		"Concerto.toml": "[hosts.w]\ncommand = \"testhost\"\nargs = [\"w.host\"]\noutput_format = \"json\"\n",
		"w.host":        "read\n< {\"type\":\"question\",\"question\":\"which?\"}\nread\n< {\"type\":\"progress\",\"message\":\"on\"}\n< {\"type\":\"result\",\"text\":\"done\"}\n",
		"main.conc":     program,
	})
	pending := func() string {
		t.Helper()
		d.scope("Hosts")
		all := d.ask("variables", map[string]any{"variablesReference": d.held})["variables"].([]any)
		held := all[0].(map[string]any)["variablesReference"]
		for _, v := range d.ask("variables", map[string]any{"variablesReference": held})["variables"].([]any) {
			if v := v.(map[string]any); v["name"] == "pending" {
				return v["value"].(string)
			}
		}
		return "no `pending`"
	}
	d.launch(nil)
	d.at(line(place(t, program, "reply")), line(place(t, program, "progress")), line(place(t, program, "after")))
	d.begin()
	d.stops()
	same(t, pending(), `"question {\"question\":\"which?\"}"`)
	d.resume()
	same(t, pending(), "nil")
	d.resume()
	same(t, pending(), "nil")
	d.ask("disconnect", nil)
}

// TestDapTerminateStops checks that a terminated program runs no further line.
func TestDapTerminateStops(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"terminate", "disconnect"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			const program = "fn main() {\n    println(\"one\");\n    println(\"two\"); // <here>\n    println(\"three\");\n}\n"
			d := startDebugger(t, map[string]string{"main.conc": program})
			d.launch(nil)
			d.at(line(place(t, program, "here")))
			d.begin()
			d.stops()
			d.ask(how, nil)
			same(t, d.awaitExit(), console.ExitInterrupted)
			same(t, d.output["stdout"], "one\n")
		})
	}
}
