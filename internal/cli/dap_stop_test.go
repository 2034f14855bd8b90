package cli

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// debugged is a program with marked lines.
const debugged = `const LIMIT = 3;
struct Point { x: Int, y: Int }

fn area(p: Point) -> Int {
    let n = p.x * p.y; // <area>
    n + 0 // <back>
}

fn main() {
    let p = Point { x: 2, y: 3 }; // <first>
    let xs = [1, 2, 3];
    let name = "a\"b";
    // <comment>
    let mut sum = 0; // <sum>
    for x in xs { // <for>
        sum = sum + x; // <loop>
    }
    let a = area(p); // <call>
    let o: Option<Int> = Some(sum);
    println("${sum} ${a} ${name} ${o.unwrap_or(0)} ${LIMIT}"); // <end>
}
`

// stops waits until the program stops. It returns the reason, the function and the line as one
// string.
func (d *debugger) stops() string {
	d.t.Helper()
	body := d.event("stopped")
	d.thread = int(body["threadId"].(float64))
	f := d.frames()[0]
	return fmt.Sprintf("%s %s:%v", body["reason"], f["name"], f["line"])
}

// frames returns the frames of the stopped task.
func (d *debugger) frames() (all []map[string]any) {
	d.t.Helper()
	for _, f := range d.ask("stackTrace", map[string]any{"threadId": d.thread})["stackFrames"].([]any) {
		all = append(all, f.(map[string]any))
	}
	return all
}

// at sets the breakpoints all in main.conc and returns the breakpoints of the response.
func (d *debugger) at(all ...map[string]any) (out []map[string]any) {
	d.t.Helper()
	if all == nil {
		all = []map[string]any{}
	}
	body := d.ask("setBreakpoints", map[string]any{"source": map[string]any{"path": filepath.Join(d.dir, "main.conc")}, "breakpoints": all})
	for _, b := range body["breakpoints"].([]any) {
		out = append(out, b.(map[string]any))
	}
	return out
}

func line(n int) map[string]any { return map[string]any{"line": n} }

// step sends the step request command and returns the position of the next stop.
func (d *debugger) step(command string) string {
	d.t.Helper()
	d.ask(command, map[string]any{"threadId": d.thread})
	return d.stops()
}

// scope returns the variables of a scope of the innermost frame, as `name: type = value`.
func (d *debugger) scope(name string) (out []string) {
	d.t.Helper()
	for _, s := range d.ask("scopes", map[string]any{"frameId": d.frames()[0]["id"]})["scopes"].([]any) {
		s := s.(map[string]any)
		if s["name"] != name {
			continue
		}
		d.held = int(s["variablesReference"].(float64))
		for _, v := range d.ask("variables", map[string]any{"variablesReference": d.held})["variables"].([]any) {
			v := v.(map[string]any)
			out = append(out, fmt.Sprintf("%s: %v = %s", v["name"], v["type"], v["value"]))
		}
	}
	return out
}

// value evaluates an expression in the innermost frame.
func (d *debugger) value(context, expression string) string {
	d.t.Helper()
	body := d.ask("evaluate", map[string]any{"expression": expression, "context": context, "frameId": d.frames()[0]["id"]})
	return fmt.Sprintf("%v: %v", body["result"], body["type"])
}

func same(t *testing.T, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestDapSteps(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": debugged})
	at := func(mark string) int { return place(t, debugged, mark) }
	d.launch(nil)
	points := d.at(line(at("comment")), line(at("call")), line(1000))
	same(t, points[0]["line"], at("sum"))
	same(t, points[0]["message"], fmt.Sprintf("line %d has no code: moved to line %d", at("comment"), at("sum")))
	same(t, points[0]["verified"], true)
	same(t, points[1]["line"], at("call"))
	same(t, points[2]["verified"], false)
	d.begin()
	same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", at("sum")))
	same(t, strings.Join(d.scope("Locals"), "\n"), "p: Point = Point { x: 2, y: 3 }\nxs: Array<Int> = [1,2,3]\nname: String = \"a\\\"b\"")
	same(t, d.scope("Module"), "[LIMIT: Int = 3]")
	same(t, d.step("next"), fmt.Sprintf("step main:%d", at("for")))
	same(t, d.step("next"), fmt.Sprintf("step main:%d", at("loop")))
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", at("call")))
	same(t, d.step("stepIn"), fmt.Sprintf("step area:%d", at("area")))
	same(t, len(d.frames()), 2)
	same(t, d.step("next"), fmt.Sprintf("step area:%d", at("back")))
	same(t, d.scope("Locals"), "[p: Point = Point { x: 2, y: 3 } n: Int = 6]")
	same(t, d.step("stepOut"), fmt.Sprintf("step main:%d", at("call")+1))
	same(t, d.step("next"), fmt.Sprintf("step main:%d", at("end")))
	same(t, d.scope("Locals")[5], "o: Option<Int> = Some(6)")
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
	same(t, d.output["stdout"], "6 6 a\"b 6 3\n")
}

func TestDapEvaluates(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": debugged})
	at := func(mark string) int { return place(t, debugged, mark) }
	d.launch(map[string]any{"stopOnEntry": true})
	d.begin()
	same(t, d.stops(), fmt.Sprintf("entry main:%d", at("first")))
	d.at(map[string]any{"line": at("loop"), "condition": "x == 2 && xs.len() == LIMIT"}, map[string]any{"line": at("call"), "logMessage": "sum is {sum}, {name} {p.x}"})
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.stops(), fmt.Sprintf("breakpoint main:%d", at("loop")))
	same(t, d.value("watch", "sum + x"), "3: Int")
	same(t, d.value("hover", "p.y"), "3: Int")
	same(t, d.value("watch", "xs.map(|n| n * 2)"), "[2,4,6]: Array<Int>")
	same(t, d.value("watch", "area(p)"), "6: Int")
	same(t, d.value("repl", "sum = 10"), "nil: Nil")
	same(t, d.value("watch", "sum"), "10: Int")
	frame := d.frames()[0]["id"]
	refused := func(context, expression, want string) {
		t.Helper()
		if m := d.refused("evaluate", map[string]any{"expression": expression, "context": context, "frameId": frame}); !strings.Contains(m, want) {
			t.Errorf("setting %s: unexpected message %s", expression, m)
		}
	}
	refused("watch", "sum = 1", "would assign")
	refused("watch", "println(\"x\")", "would print")
	refused("hover", "area(p)", "only names and fields")
	refused("watch", "sum + \"x\"", "E03")
	refused("watch", "nobody", "E0")
	d.scope("Locals")
	same(t, d.ask("setVariable", map[string]any{"variablesReference": d.held, "name": "sum", "value": "100"})["value"], "100")
	if m := d.refused("setVariable", map[string]any{"variablesReference": d.held, "name": "sum", "value": "\"x\""}); !strings.Contains(m, "E0301") {
		t.Error(m)
	}
	same(t, d.ask("setExpression", map[string]any{"frameId": frame, "expression": "p.x", "value": "5"})["value"], "5")
	d.at(map[string]any{"line": at("call"), "logMessage": "sum is {sum}, {name} {p.x}"})
	d.ask("continue", map[string]any{"threadId": d.thread})
	same(t, d.awaitExit(), 0)
	same(t, d.output["console"], "sum is 105, a\"b 5\n")
	same(t, d.output["stdout"], "105 15 a\"b 105 3\n")
}
