package report_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/record/ledger"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// compile compiles the program in a directory.
func compile(t *testing.T, dir string) *engine.Program {
	t.Helper()
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if p == nil || err != nil {
		t.Fatal(found, err)
	}
	return p
}

// run runs a program with records and returns the report of the run.
func run(t *testing.T, p *engine.Program, dir string, records engine.Records) *report.Report {
	t.Helper()
	b := report.NewBuilder(true)
	records.Sinks = []event.Sink{b.Sink()}
	if err := p.Run(t.Context(), engine.Options{WorkDir: dir, Environ: os.Environ(), Log: io.Discard, Output: engine.Output{To: io.Discard, Mode: emit.Modes["ndjson"]}, Records: records}); err != nil {
		t.Logf("the run ended with %v", err)
	}
	program, err := ir.Decode(p.Encode())
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Report(program)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// timeless returns the members of a report that are the same when a run is played: without times,
// and without the texts of errors that only the process knew.
func timeless(t *testing.T, r *report.Report) any {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	delete(v, "run")
	delete(v, "gaps")
	var strip func(v any)
	strip = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				strip(x)
			}
		case map[string]any:
			for _, name := range []string{"start", "end", "wait", "seconds", "span_id", "duration_ms", "latency_ms"} {
				delete(v, name)
			}
			if v["status"] == report.Cancelled || v["kind"] == "model" {
				delete(v, "error")
			}
			for _, x := range v {
				strip(x)
			}
		}
	}
	strip(v)
	return v
}

// TestReports checks that the report of a run equals those of its tape and its journal, apart from
// times.
func TestReports(t *testing.T) {
	for _, name := range []string{"extract", "review", "pipeline", "supervise", "coder", "advisor", "hello"} {
		dir := filepath.Join("../../../examples", name)
		p := compile(t, dir)
		t.Run(name, func(t *testing.T) {
			var tape bytes.Buffer
			live := run(t, p, dir, engine.Records{Tape: &tape})
			if len(live.Items) < 2 {
				t.Fatalf("the report has %d items", len(live.Items))
			}
			s, err := timetravel.Tape(&tape, p.Encode(), os.Environ())
			if err != nil {
				t.Fatal(err)
			}
			check(t, live, s, "")
			if len(p.Hosts()) > 0 {
				return // a durable run with hosts starts a process of the command
			}
			where := filepath.Join(t.TempDir(), "run")
			live = run(t, p, dir, engine.Records{Durable: &engine.Durable{Dir: where}})
			if s, err = timetravel.Run(rundir.At(where), os.Environ()); err != nil {
				t.Fatal(err)
			}
			check(t, live, s, durable.Finished)
		})
	}
}

// check compares a report with that of a recording of the run.
func check(t *testing.T, live *report.Report, s *timetravel.Source, state string) {
	t.Helper()
	r, err := report.Of(t.Context(), s, state)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(timeless(t, live), timeless(t, r)); diff != "" {
		t.Errorf("the report of the recording differs (-run +recording):\n%s", diff)
	}
	for i, x := range r.Items {
		if x.N != i+1 || x.Parent != nil && (*x.Parent < 1 || *x.Parent > len(r.Items) || *x.Parent == x.N) {
			t.Errorf("item %d has the number %d and the parent %v", i+1, x.N, x.Parent)
		}
		if state == "" && (x.Start != nil || x.End != nil) {
			t.Errorf("item %d of a tape has times", x.N)
		}
		if x.Status == report.Open {
			t.Errorf("item %d, %s %s, is open after the end of the run", x.N, x.Kind, x.Name)
		}
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), " items, ") {
		t.Errorf("text %q, error %v", text.String(), err)
	}
}

// TestDecisions checks that the decisions of a report are those of the ledger of the run, in its
// order: those of handlers, and those of the rules in the manifest.
func TestDecisions(t *testing.T) {
	ruled := t.TempDir()
	for name, text := range map[string]string{
		"Concerto.toml": "[hosts.echo]\ncommand = \"sh\"\nargs = [\"echo.sh\"]\noutput_format = \"json\"\n[hosts.echo.permissions]\ncommands = { allow = [\"ls *\"], deny = [\"rm *\"] }\n",
		"main.conc":     "host Echo { connector: \"echo\" }\n\nfn main() { println(Echo.execute(\"work\")?); }\n",
		"echo.sh": `read -r line
printf '{"type":"approval","id":"a1","kind":"execute","args":{"command":"ls x"}}\n'; read -r line
printf '{"type":"approval","id":"a2","kind":"execute","args":{"command":"rm x"}}\n'; read -r line
printf '{"type":"approval","kind":"execute","args":{"command":"rm y"}}\n'; read -r line
printf '{"type":"result","text":"done"}\n'
`,
	} {
		if err := os.WriteFile(filepath.Join(ruled, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, dir := range map[string]string{"handlers": "../../../examples/supervise", "rules": ruled} {
		t.Run(name, func(t *testing.T) { checkDecisions(t, dir, 3) })
	}
}

// checkDecisions runs the program in a directory, whose ledger must have n decisions.
func checkDecisions(t *testing.T, dir string, n int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger")
	l, err := ledger.Open(path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, compile(t, dir), dir, engine.Records{Ledger: l})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	type fact struct {
		Kind  string
		Actor ledger.Part
		Path  []ledger.Part
		Asked string
	}
	var want, got []fact
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		var x struct {
			Kind  string      `json:"kind"`
			Actor ledger.Part `json:"actor"`
			Data  ledger.Data `json:"data"`
		}
		if err := json.Unmarshal([]byte(line), &x); err != nil {
			t.Fatal(err)
		}
		if x.Kind == "question" || x.Kind == "approval" {
			want = append(want, fact{x.Kind, x.Actor, x.Data.Path, string(x.Data.Asked)})
		}
	}
	for _, d := range r.Decisions {
		x := r.Items[d.Item-1]
		asked, err := jcs.Canonical(d.Request)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fact{x.Kind, d.Actor, d.Path, string(asked)})
		if d.Actor.At == "" && d.Source == nil {
			continue
		}
		if d.Source == nil || !strings.HasPrefix(*d.Source, x.Details.Rule+": ") || d.Actor.At != x.Details.Rule {
			t.Errorf("%s: decided by %+v with the rule %q and the source %v", x.Kind, d.Actor, x.Details.Rule, d.Source)
		}
	}
	if len(want) != n {
		t.Errorf("the ledger has %d decisions", len(want))
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("decisions differ from the ledger (-ledger +report):\n%s", diff)
	}
}
