package evals

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/sema"
)

// readLines reads a result of samples that have the scores.
func readLines(t *testing.T, scores ...string) *result.Result {
	t.Helper()
	text := `{"eval":1,"metrics":[{"name":"correct","kind":"bool"},{"name":"a_number_with_a_rather_long_name"}]}` + "\n"
	for i, s := range scores {
		text += fmt.Sprintf(`{"case":"%d","scores":{%s}}`+"\n", i/2, s)
	}
	r, err := result.Read("r", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReportFitsTheTerminal checks that the table is divided if it is wider than the terminal.
func TestReportFitsTheTerminal(t *testing.T) {
	good := `"correct":true,"a_number_with_a_rather_long_name":0.75`
	bad := `"correct":false,"a_number_with_a_rather_long_name":0.5`
	pairs := []summary.Pair{{
		Current:  summary.Side{Path: "b", Result: readLines(t, good, bad, good, good, bad, bad)},
		Baseline: summary.Side{Path: "a", Result: readLines(t, good, good, bad, good, good, good)},
	}}
	r, err := summary.New(pairs, summary.Options{Alpha: 0.05})
	if err != nil {
		t.Fatal(err)
	}
	for _, columns := range []int{0, 200, 120, 80} {
		var out bytes.Buffer
		a := &console.Console{Stdout: &out, TTY: console.TTY{Out: columns > 0, Size: func() (int, int) { return columns, 24 }}}
		if err := writeReport(a, r, pairs); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if tables := strings.Count(text, "\nmetric "); tables != 1 && columns != 80 || tables != 2 && columns == 80 {
			t.Errorf("with %d columns: %d tables:\n%s", columns, tables, text)
		}
		for line := range strings.Lines(text) {
			if isRow := strings.HasPrefix(line, "a_number") && strings.Contains(line, "…"); isRow && columns > 0 && terminal.Width(strings.TrimSpace(line)) > columns {
				t.Errorf("with %d columns: %s", columns, line)
			}
		}
	}
}

func TestFormatNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1: "1.000", -0.5: "-0.500", 0.00123: "0.0012", 12: "12", 12.34: "12.3", 812: "812", 1234.5: "1234", 1e6: "1000000", 2.5e12: "2.5e+12", 1e-9: "1e-09"} {
		if got := formatNumber(x); got != want {
			t.Errorf("formatNumber(%v) = %s, want %s", x, got, want)
		}
	}
}

// TestBuiltinMetrics checks that the checker and reports have the same built-in metrics.
func TestBuiltinMetrics(t *testing.T) {
	if diff := cmp.Diff(sema.BuiltinMetrics, summary.Names(nil)); diff != "" {
		t.Errorf("metrics (-checker +reports):\n%s", diff)
	}
}
