package cli

import (
	"strings"
	"testing"
)

// TestDapRuns checks that a launched program has the same output and exit code as with `concerto
// run`.
func TestDapRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, program string
		set           map[string]any
		code          int
		stdout, other string
	}{
		{"printed", `fn main() { println("hello ${std::env::args()[0]} ${std::env::get("D").unwrap_or("")}"); std::log::info("noted"); }`,
			map[string]any{"args": []string{"you"}, "env": map[string]any{"D": "d"}}, 0, "hello you d\n", "noted"},
		{"emitted", `fn main() { emit("a", 1); }`, nil, 0, "a", ""},
		{"answered", `fn main() { let v: String = await emit("approve", 1)?; println(v); Ok(nil) }`, map[string]any{"answers": map[string]any{"approve": "yes"}}, 0, "yes\n", ""},
		{"answered with a Bool", `fn main() { let v = await emit("approve", 1)?; println("${v == true} ${v == "true"}"); Ok(nil) }`, map[string]any{"answers": map[string]any{"approve": true}}, 0, "true false\n", ""},
		{"answered with a text for a Bool", `fn main() { let v = await emit<Bool>("approve", 1)?; println("${!v}"); Ok(nil) }`, map[string]any{"answers": map[string]any{"approve": "true"}}, 0, "false\n", ""},
		{"answered with a schema", `schema D { n: Int } fn main() { let v = await emit<D>("approve", 1)?; println("${v.n}"); Ok(nil) }`, map[string]any{"answers": map[string]any{"approve": map[string]any{"n": 7}}}, 0, "7\n", ""},
		{"failed", `fn main() { panic("no"); }`, nil, 1, "", "no"},
		{"wrong", `fn main() { let n: Int = "x"; println("${n}"); }`, nil, 2, "", "E0301"},
		{"tested", `@test("adds") fn adds() { println("in it"); assert_eq(1 + 1, 2); } @test("other") fn other() { panic("no"); } fn main() {}`, map[string]any{"test": "adds"}, 0, "in it", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := startDebugger(t, map[string]string{"main.conc": c.program})
			d.launch(c.set)
			d.begin()
			code := d.awaitExit()
			if code != c.code || !strings.Contains(d.output["stdout"], c.stdout) || !strings.Contains(d.output["stderr"], c.other) {
				t.Errorf("exit code %d, output %q", code, d.output)
			}
			d.ask("disconnect", nil)
		})
	}
}

// TestDapAnswers checks that the adapter reports an emit that waits for an answer, and that the
// user can answer it in the console.
func TestDapAnswers(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": `fn main() { let v: String = await emit("approve", "it")?; println("got ${v}"); Ok(nil) }`})
	d.launch(nil)
	d.begin()
	for !strings.Contains(d.output["important"], ":answer VALUE") {
		d.next()
	}
	d.ask("evaluate", map[string]any{"expression": ":answer yes", "context": "repl"})
	if code := d.awaitExit(); code != 0 || !strings.HasSuffix(d.output["stdout"], "got yes\n") {
		t.Errorf("exit code %d, output %q", code, d.output)
	}
	if m := d.refused("evaluate", map[string]any{"expression": ":answer yes", "context": "repl"}); m != "no question is waiting for an answer" {
		t.Error(m)
	}
}

// TestDapOrder checks that the adapter refuses requests in the wrong order with a message.
func TestDapOrder(t *testing.T) {
	t.Parallel()
	d := startDebugger(t, map[string]string{"main.conc": "fn main() {}"})
	if m := d.refused("threads", nil); m != "threads was sent before initialize" {
		t.Error(m)
	}
	d.ask("initialize", map[string]any{"adapterID": "x"})
	if m := d.refused("initialize", map[string]any{"adapterID": "x"}); m != "initialize was sent twice" {
		t.Error(m)
	}
	if m := d.refused("launch", map[string]any{}); !strings.Contains(m, "`program` is missing") {
		t.Error(m)
	}
	if m := d.refused("launch", map[string]any{"program": "main.conc", "replay": "x"}); !strings.Contains(m, "concerto runs inspect") {
		t.Error(m)
	}
	d.refused("nonsense", nil)
	d.ask("disconnect", nil)
}
