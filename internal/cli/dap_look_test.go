package cli

import (
	"bufio"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestDapTargets checks that the editor can choose which of several calls on a line to step into.
func TestDapTargets(t *testing.T) {
	t.Parallel()
	const program = `struct P { x: Int }
impl P {
    fn twice(self) -> Int { self.x * 2 } // <twice>
}
fn one(n: Int) -> Int {
    n + 1 // <one>
}
fn main() {
    let p = P { x: 2 };
    println("${one(one(1)) + p.twice()}"); // <line>
    println("end"); // <end>
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	at := func(reason, f, mark string) string {
		return fmt.Sprintf("%s %s:%d", reason, f, place(t, program, mark))
	}
	d.launch(nil)
	d.at(line(place(t, program, "line")))
	d.begin()
	same(t, d.stops(), at("breakpoint", "main", "line"))
	targets := map[string]any{}
	for _, x := range d.ask("stepInTargets", map[string]any{"frameId": d.frames()[0]["id"]})["targets"].([]any) {
		x := x.(map[string]any)
		targets[x["label"].(string)] = x["id"]
	}
	if len(targets) != 2 || targets["one"] == nil || targets["P.twice"] == nil {
		t.Fatal(targets)
	}
	d.at()
	d.ask("stepIn", map[string]any{"threadId": d.thread, "targetId": targets["P.twice"]})
	same(t, d.stops(), at("step", "P.twice", "twice"))
	same(t, d.step("stepOut"), at("step", "main", "line"))
	d.ask("stepIn", map[string]any{"threadId": d.thread, "targetId": targets["one"]}) // it has been called already
	same(t, d.stops(), at("step", "main", "end"))
	d.refused("stepIn", map[string]any{"threadId": d.thread, "targetId": 1_000_000})
	d.refused("stepInTargets", map[string]any{"frameId": 1_000_000})
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
}

// TestDapAgents checks that the debugger can stop at each request to an agent, at each reply, and
// at each tool call by an agent.
func TestDapAgents(t *testing.T) {
	t.Parallel()
	const program = `tool Db {
    description: "Rows.",
    @describe("How many there are.")
    @param("what", "Of what.")
    pub fn count(self, what: String) -> Int { what.len() } // <count>
}
agent Judge uses main { tools: [Db] }
fn main() {
    println(Judge.execute("hello")?.text); // <ask>
}
`
	const manifest = `[connections.main]
provider = "scripted"
default_model = "m"
replies = [{ tool_calls = [{ name = "Db_count", args = { what = "abc" } }] }, { text = "three" }]
`
	d := startDebugger(t, map[string]string{"main.conc": program, "Concerto.toml": manifest})
	at := fmt.Sprintf("function breakpoint main:%d", place(t, program, "ask"))
	d.launch(nil)
	d.functions("agent Judge request", "agent * reply", "tool Db.count", "Db.count")
	d.begin()
	same(t, d.stops(), at)
	same(t, d.resume(), at) // the reply, which requests a call
	same(t, d.resume(), at) // the call
	same(t, d.resume(), fmt.Sprintf("function breakpoint Db.count:%d", place(t, program, "count")))
	same(t, d.value("watch", "what"), `"abc": String`)
	same(t, d.resume(), at)
	same(t, d.resume(), at) // the last reply
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
	same(t, d.output["stdout"], "three\n")

	d = startDebugger(t, map[string]string{"main.conc": "agent Judge uses main { model: \"m\" }\nfn main() { println(Judge.execute(\"hello\")?.text); }"})
	d.launch(map[string]any{"mock": true})
	d.begin()
	same(t, d.awaitExit(), 0)
	same(t, d.output["stdout"], "scripted reply to: hello\n")
}

// TestDapPages checks that the adapter returns many child variables in pages, and that it lists the
// positions where a breakpoint can be set.
func TestDapPages(t *testing.T) {
	t.Parallel()
	const program = `fn main() {
    let mut xs: Array<Int> = [];
    for i in 0..250 { xs.push(i); }
    println("${xs.len()}"); // <here>
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	here := place(t, program, "here")
	d.launch(nil)
	locations := func(from, to int) (lines []any) {
		for _, x := range d.ask("breakpointLocations", map[string]any{"source": map[string]any{"path": filepath.Join(d.dir, "main.conc")}, "line": from, "endLine": to})["breakpoints"].([]any) {
			lines = append(lines, x.(map[string]any)["line"])
		}
		return lines
	}
	d.at(line(here))
	d.begin()
	d.stops()
	if all := locations(1, 5); len(all) < 3 || len(locations(here, here)) == 0 || len(locations(6, 9)) != 0 {
		t.Error(all)
	}
	offered := func(text string) (out []string) {
		for _, x := range d.ask("completions", map[string]any{"text": text, "column": len(text) + 1, "frameId": d.frames()[0]["id"]})["targets"].([]any) {
			x := x.(map[string]any)
			out = append(out, fmt.Sprintf("%v %v %v+%v", x["label"], x["type"], x["start"], x["length"]))
		}
		return out
	}
	same(t, offered("1 + xs.le"), "[len method 8+2]")
	same(t, offered("x"), "[xs variable 1+1]")
	value := d.ask("evaluate", map[string]any{"expression": "xs", "context": "watch", "frameId": d.frames()[0]["id"]})
	same(t, value["indexedVariables"], 250)
	page := func(set map[string]any) (out []string) {
		set["variablesReference"] = value["variablesReference"]
		for _, x := range d.ask("variables", set)["variables"].([]any) {
			x := x.(map[string]any)
			out = append(out, fmt.Sprint(x["name"], "=", x["value"]))
		}
		return out
	}
	same(t, page(map[string]any{"filter": "indexed", "start": 100, "count": 2}), "[[100]=100 [101]=101]")
	same(t, page(map[string]any{"filter": "indexed", "start": 249, "count": 5}), "[[249]=249]")
	same(t, len(page(map[string]any{"filter": "named"})), 0)
	same(t, len(page(map[string]any{})), 250)
	same(t, d.ask("setExpression", map[string]any{"expression": "xs[1]", "value": "7", "frameId": d.frames()[0]["id"]})["value"], "7")
	same(t, d.value("watch", "xs[1]"), "7: Int")
	d.ask("disconnect", nil)
}

// TestDapStd checks that the debugger steps into the library on request.
func TestDapStd(t *testing.T) {
	t.Parallel()
	const program = "fn main() {\n    println(\"${[1, 2].first().unwrap_or(0)}\");\n    println(\"${std::math::clamp(5, 1, 3)}\");\n}\n"
	for _, show := range []bool{false, true} {
		d := startDebugger(t, map[string]string{"main.conc": program})
		d.launch(map[string]any{"stopOnEntry": true, "showStd": show})
		d.begin()
		inside := false
		for where := d.stops(); ; where = d.step("stepIn") {
			if !inside && !strings.Contains(where, " main:") {
				inside = true
				source, _ := d.frames()[0]["source"].(map[string]any)
				text, _ := d.ask("source", map[string]any{"source": source, "sourceReference": source["sourceReference"]})["content"].(string)
				same(t, strings.Contains(text, "pub fn"), true)
			}
			if strings.HasSuffix(where, "main:3") {
				break
			}
		}
		same(t, inside, show)
		d.ask("disconnect", nil)
	}
}

// TestDapOverTCP checks that the adapter serves several editors one after the other.
func TestDapOverTCP(t *testing.T) {
	t.Parallel()
	dir := programs(t, map[string]string{"main.conc": "fn main() { println(\"up\"); }"})
	c := command(dir, "dap", "--tcp", "127.0.0.1:0")
	stderr, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	lines := bufio.NewScanner(stderr)
	lines.Scan()
	address := lines.Text()[strings.LastIndex(lines.Text(), " ")+1:]
	for range 2 {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("read the adapter's address: error %v, line %q", err, lines.Text())
		}
		d := &debugger{t: t, dir: dir, in: conn}
		d.readMessages(conn)
		d.launch(nil)
		d.begin()
		same(t, d.awaitExit(), 0)
		same(t, d.output["stdout"], "up\n")
		d.ask("disconnect", nil)
		_ = conn.Close()
	}
}

// TestDapConsole checks that a `let` in the console binds a name that later console inputs can use,
// in every frame.
func TestDapConsole(t *testing.T) {
	t.Parallel()
	const program = `struct P { x: Int }
fn twice(n: Int) -> Int {
    n * 2 // <twice>
}
fn main() {
    let p = P { x: 2 };
    println("${twice(p.x)}"); // <line>
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	d.at(line(place(t, program, "line")), line(place(t, program, "twice")))
	d.begin()
	d.stops()
	same(t, d.value("repl", "let q = P { x: p.x + 40 };"), "P { x: 42 }: P")
	same(t, d.value("repl", "q.x + p.x"), "44: Int")
	same(t, d.value("repl", "let mut sum = 1"), "1: Int")
	same(t, d.value("repl", "sum = sum + q.x"), "nil: Nil")
	same(t, d.value("repl", `"${sum}"`), `"43": String`)
	same(t, d.value("repl", "let sum = sum + 1"), "44: Int")
	completed := func(text string) (labels []string) {
		for _, x := range d.ask("completions", map[string]any{"text": text, "column": len(text) + 1, "frameId": d.frames()[0]["id"]})["targets"].([]any) {
			labels = append(labels, x.(map[string]any)["label"].(string))
		}
		return labels
	}
	same(t, completed("1 + su"), "[sum]")
	same(t, completed("q."), "[x to_string]")
	same(t, len(completed("console_")), 0)
	d.refused("evaluate", map[string]any{"expression": "q = q", "context": "repl", "frameId": d.frames()[0]["id"]})
	d.refused("evaluate", map[string]any{"expression": "let z = nobody", "context": "repl", "frameId": d.frames()[0]["id"]})
	d.resume()
	same(t, d.value("repl", "q.x + n + sum"), "88: Int")
	same(t, d.value("watch", "sum"), "44: Int")
	same(t, d.value("watch", "n % 7"), "2: Int")
	same(t, d.value("watch", `"${n}" + " beats"`), `"2 beats": String`)
	same(t, d.value("watch", "n % 7"), "2: Int") // other code was added in between
	same(t, d.value("watch", "[n].map(twice)"), "[4]: Array<Int>")
	d.refused("evaluate", map[string]any{"expression": "let y = 1", "context": "watch", "frameId": d.frames()[0]["id"]})
	d.ask("disconnect", nil)
}

// TestDapCapturedChange checks that a change made in the console is visible in every frame that
// captured the variable.
func TestDapCapturedChange(t *testing.T) {
	t.Parallel()
	const program = `fn main() {
    let mut sum = 1;
    let add = |n: Int| {
        sum = sum + n; // <add>
        sum
    };
    println("${add(1)}"); // <call>
}
`
	d := startDebugger(t, map[string]string{"main.conc": program})
	d.launch(nil)
	d.at(line(place(t, program, "add")))
	d.begin()
	d.stops()
	same(t, d.scope("Captured"), "[sum: Int = 1]")
	held := d.held
	caller := d.frames()[1]["id"]
	same(t, d.value("repl", "sum = 40"), "nil: Nil")
	same(t, d.scope("Captured"), "[sum: Int = 40]")
	same(t, d.ask("variables", map[string]any{"variablesReference": held})["variables"].([]any)[0].(map[string]any)["value"], "40")
	same(t, d.ask("evaluate", map[string]any{"expression": "sum", "context": "watch", "frameId": caller})["result"], "40")
	shown := func() any {
		scope := d.ask("scopes", map[string]any{"frameId": caller})["scopes"].([]any)[0].(map[string]any)
		return d.ask("variables", map[string]any{"variablesReference": scope["variablesReference"]})["variables"].([]any)[0].(map[string]any)["value"]
	}
	same(t, shown(), "40")
	same(t, d.ask("setExpression", map[string]any{"expression": "sum", "value": "50", "frameId": caller})["value"], "50")
	same(t, d.scope("Captured"), "[sum: Int = 50]")
	same(t, d.ask("evaluate", map[string]any{"expression": "add(2)", "context": "repl", "frameId": caller})["result"], "52")
	same(t, d.scope("Captured"), "[sum: Int = 52]")
	same(t, shown(), "52")
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
	same(t, d.output["stdout"], "53\n")
}
