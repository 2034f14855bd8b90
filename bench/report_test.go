package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport checks that new results replace their rows in the tables of a page. The rows are in
// the order in which the benchmarks are defined. Rows of benchmarks that were not measured, and the
// text around the tables, must stay unchanged. Rows of unknown benchmarks are removed.
func TestReport(t *testing.T) {
	page := filepath.Join(t.TempDir(), "README.md")
	text := "above\n"
	for _, name := range []string{"overview", "ratios", "times", "measures"} {
		text += "<!-- " + name + " -->\n| old head |\n| --- |\n| " + workloads[1].title + " | as before |\n| no longer there | x |\n<!-- end of " + name + " -->\nbetween\n"
	}
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	r := report{page: page, standings: []comparison{
		{workload: workloads[2], samples: []sample{{engine: ours, cpu: 50, memory: 5 << 20}, {engine: lua, cpu: 100}}},
		{workload: workloads[0], used: allocation{bytes: 1 << 30, objects: 3}, samples: []sample{
			{engine: ours, cpu: 60, memory: 7 << 20}, {engine: lua, cpu: 100}, {engine: python, cpu: 300},
			{engine: "tengo", goVM: true, cpu: 400}, {engine: "goja", goVM: true, cpu: 600},
		}},
	}}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if overview := `| what | Concerto | others | of the first other | target |
| --- | --- | --- | --- | --- |
| fib(32) | 60 ms | Lua 5.4 100 ms, CPython 300 ms, tengo 400 ms | 0.60 | at most 0.45 ✗ |
| integer loop, 30M turns | as before |
<!-- end of overview -->
`; !strings.Contains(string(got), overview) {
		t.Errorf("the page\n%s\nlacks the overview\n%s", got, overview)
	}
	_, rest, _ := strings.Cut(string(got), "<!-- ratios -->\n")
	ratios, rest, _ := strings.Cut(rest, "<!-- end of ratios -->\nbetween\n<!-- times -->\n")
	want := `| workload | Concerto | of Lua 5.4's time | of the best Go VM's | of CPython's | allocated | memory |
| --- | --- | --- | --- | --- | --- | --- |
| fib(32) | 60 ms | 0.60 (≤ 0.45) ✗ | tengo: 0.15 (≤ 0.12) ✗ | 0.20 | 152 B, 0 objects a call | 7 MB |
| integer loop, 30M turns | as before |
| sieve of 2M | 50 ms | 0.50 (≤ 0.45) ✗ |  |  | 0 B, 0 objects a number | 5 MB |
`
	if ratios != want {
		t.Errorf("ratios:\n%s\nwant\n%s", ratios, want)
	}
	if !strings.Contains(rest, "| fib(32) | 60 ms | 100 ms | 300 ms |  | 400 ms | 600 ms |  |\n") {
		t.Errorf("the table of times lacks the new row:\n%s", rest)
	}
	r.page = filepath.Join(t.TempDir(), "other.md")
	if err := os.WriteFile(r.page, []byte("no tables"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.write(); err == nil || !strings.Contains(err.Error(), "has no lines") {
		t.Errorf("write to a page without tables returned %v", err)
	}
}

// TestHighlights checks that the first table names existing benchmarks, and that it contains the
// mean of all workloads once all are measured.
func TestHighlights(t *testing.T) {
	for i, title := range highlightTitles() {
		if title == "" {
			t.Errorf("there is no benchmark %q", highlights[i])
		}
	}
	r := report{}
	for _, w := range workloads {
		r.standings = append(r.standings, comparison{workload: w, samples: []sample{{engine: ours, cpu: 50}, {engine: lua, cpu: 100}}})
	}
	overview := r.overview()
	if want := fmt.Sprintf("| %s |  | Lua 5.4, %d programs | 0.50 | at most 0.57 |\n", overall, len(workloads)); overview.rows[overall] != want {
		t.Errorf("the mean is %q, want %q", overview.rows[overall], want)
	}
}

// TestChoose checks that -only accepts existing names, and that the error for an unknown name lists
// the existing ones.
func TestChoose(t *testing.T) {
	if c, err := choose("fib,start"); err != nil || len(c) != 2 || !c["fib"] || !c["start"] {
		t.Errorf("choose returned %v, %v", c, err)
	}
	if c, err := choose(""); err != nil || len(c) != len(workloads)+len(measures()) {
		t.Errorf("choose(\"\") returned %d names, error = %v", len(c), err)
	}
	if _, err := choose("fib,fob"); err == nil || !strings.Contains(err.Error(), `there is no "fob"; there are fib, loop,`) {
		t.Error(err)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0.5: "0.5", 12.345: "12.3", 345.6: "346", 1234567: "1,234,567"} {
		if got := number(v); got != want {
			t.Errorf("number(%v) = %q, want %q", v, got, want)
		}
	}
}
