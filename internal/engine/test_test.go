package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
)

// compileTests compiles a program with its tests.
func compileTests(t *testing.T, files map[string]string) *engine.Program {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, found, err := engine.CompileSource(driver.Request{Path: "main.conc", Dir: dir, Tests: true})
	if err != nil || p == nil {
		for _, d := range found.Sorted() {
			t.Errorf("diagnostic %s: %s", d.Info.Code, d.Message)
		}
		t.Fatal(err)
	}
	return p
}

// outcomes returns the name of each test, and the message of its failure if it has failed.
func outcomes(results []engine.TestResult) []string {
	var out []string
	for _, r := range results {
		s := r.Name
		if r.Failure != nil {
			s += ": " + r.Failure.Message
		}
		out = append(out, s)
	}
	return out
}

const leaky = `
memory chat: Memory = Memory::new();
tool Counter {
    description: "counts",
    n: Int = 0,
    @describe("counts") fn next(mut self) -> Int { self.n += 1; self.n }
}
agent A uses scripted { }
host W { connector: "w", question_default: "no" }

fn use_all() {
    assert_eq(Counter.next(), 1);
    assert_eq(chat.len(), 0);
    chat.append("user", "x");
    assert_eq(test_emits(), []);
    emit("x", 1);
    assert_eq(env("LEAKED"), "outside");
    mock_env("LEAKED", "inside");
    assert_eq(mock_prompts(A), []);
    assert_eq(time::now_ms(), 1735689600000);
    time::sleep(5);
}
@test("a :: one") fn one() { use_all(); mock A { response: "x" } assert_eq(A.execute("p")?.text, "x"); }
@test("a :: two") fn two() { use_all(); mock A { response: |p| p } assert_eq(A.execute("p")?.text, "p"); }
@test fn three() { use_all(); mock W { response: "done" } assert_eq(W.execute("p")?, "done"); }
@test fn four() { use_all(); A.execute("x")?; }
@test fn five() { use_all(); }
use std::time;
`

// TestTestsAreIndependent runs tests with several degrees of parallelism. The tests must not affect
// each other, and the results must be in the program's order.
func TestTestsAreIndependent(t *testing.T) {
	p := compileTests(t, map[string]string{"main.conc": leaky, "Concerto.toml": "[hosts.w]\ncommand = \"./none\"\n"})
	missing := "four: agent `A` has no mock: add `mock A { response: \"…\" }` to the test before this call, or run it with --live\nand its tape does not exist: tapes/main/four.tape: `concerto test --record` records it"
	want := []string{"a :: one", "a :: two", "three", missing, "five"}
	for _, parallel := range []int{1, 2, 8, 0} {
		var reported []engine.TestResult
		results, points, err := p.RunTests(t.Context(), engine.TestOptions{Parallel: parallel, Environ: []string{"LEAKED=outside"},
			OnResult: func(r engine.TestResult) { reported = append(reported, r) }})
		if err != nil || points != nil {
			t.Fatal(err, points)
		}
		if d := cmp.Diff(want, outcomes(results)); d != "" {
			t.Errorf("results with Parallel = %d differ (-want +got):\n%s", parallel, d)
		}
		if d := cmp.Diff(want, outcomes(reported)); d != "" {
			t.Errorf("results of OnResult with Parallel = %d differ (-want +got):\n%s", parallel, d)
		}
	}
	if all := p.Tests(); len(all) != 5 || all[1].Group != "a" || all[1].Function != "two" || all[2].Group != "" || all[1].File != "main.conc" || all[1].Line != 24 {
		t.Errorf("Tests() = %+v, want 5 tests with their groups and lines", all)
	}
}

// TestTestsLive checks that a live run uses the real clock and models for what a test does not
// mock.
func TestTestsLive(t *testing.T) {
	p := compileTests(t, map[string]string{"main.conc": leaky, "Concerto.toml": "[hosts.w]\ncommand = \"./none\"\n"})
	results, _, err := p.RunTests(t.Context(), engine.TestOptions{Live: true, Select: func(x engine.Test) bool { return x.Name == "four" }})
	if err != nil {
		t.Fatal(err)
	}
	// The first assertion of `four` fails because the clock is the real one.
	if len(results) != 1 || results[0].Failure == nil || !strings.HasPrefix(results[0].Failure.Message, "assertion failed") {
		t.Error(outcomes(results))
	}
	live := compileTests(t, map[string]string{"main.conc": `agent A uses scripted { }
@test fn reached() { assert_eq(A.execute("hello")?.text, "scripted reply to: hello"); }
@test fn mocked() { mock A { response: { text: "m", delay_ms: 1 } } assert_eq(A.execute("hello")?.text, "m"); }
`})
	if results, _, err := live.RunTests(t.Context(), engine.TestOptions{Live: true}); err != nil || cmp.Diff([]string{"reached", "mocked"}, outcomes(results)) != "" {
		t.Error(outcomes(results), err)
	}
}

// TestTestsAreCancelled checks that a cancelled run returns the results so far and the cause.
func TestTestsAreCancelled(t *testing.T) {
	p := compileTests(t, map[string]string{"main.conc": `
@test fn first() { assert(true); }
@test fn endless() { let mut n = 0; loop { n = (n + 1) % 10; } }
`})
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	results, _, err := p.RunTests(ctx, engine.TestOptions{Parallel: 1, OnResult: func(engine.TestResult) { cancel(stop) }})
	if err != stop || cmp.Diff([]string{"first"}, outcomes(results)) != "" {
		t.Error(outcomes(results), err)
	}
}

// TestTestsAreLimited checks that the manifest's time limit applies to each test.
func TestTestsAreLimited(t *testing.T) {
	p := compileTests(t, map[string]string{"Concerto.toml": "[limits]\nmax_run_seconds = 0.05\n", "main.conc": `
@test fn endless() { let mut n = 0; loop { n = (n + 1) % 10; } }
@test fn after() { assert(true); }
`})
	results, _, err := p.RunTests(t.Context(), engine.TestOptions{})
	want := []string{"endless: the run took longer than the 0.05 seconds that [limits] max_run_seconds allows", "after"}
	if d := cmp.Diff(want, outcomes(results)); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestTestsCover checks that the reported coverage does not depend on the number of workers.
func TestTestsCover(t *testing.T) {
	p := compileTests(t, map[string]string{"main.conc": `
fn f(n: Int) -> String {
    if n > 1 {
        "many"
    } else {
        "few"
    }
}
@test fn a() { assert_eq(f(1), "few"); }
@test fn b() { assert_eq(f(2), "many"); }
`})
	for _, c := range []struct {
		only string
		want map[int]bool
	}{{"", map[int]bool{3: true, 4: true, 6: true, 8: true}}, {"b", map[int]bool{3: true, 4: true, 6: false, 8: true}}} {
		for _, parallel := range []int{1, 2} {
			_, points, err := p.RunTests(t.Context(), engine.TestOptions{Parallel: parallel, Cover: true,
				Select: func(x engine.Test) bool { return c.only == "" || x.Name == c.only }})
			if err != nil {
				t.Fatal(err)
			}
			got := map[int]bool{}
			for _, x := range points {
				if x.Function == "f" {
					got[x.Line] = x.Hit
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("points of the tests %q with Parallel = %d differ (-want +got):\n%s", c.only, parallel, d)
			}
		}
	}
}
