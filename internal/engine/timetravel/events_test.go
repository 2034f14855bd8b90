package timetravel_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	generator "github.com/concerto-lang/concerto/internal/testkit/program"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// collected contains the events of a run as text, in the order of the program: the attempts at
// models, which other goroutines report, follow the beginning of their request.
type collected struct {
	lines    []string
	attempts map[int64][]string // by effect
	requests map[int]int64      // effects of requests to models, by their indexes in lines
	last     time.Duration      // time of the last event
}

func collect() *collected {
	return &collected{attempts: map[int64][]string{}, requests: map[int]int64{}}
}

// events returns all events.
func (c *collected) events() (all []string) {
	for i, line := range c.lines {
		all = append(all, line)
		if e, ok := c.requests[i]; ok {
			all = append(all, c.attempts[e]...)
		}
	}
	return all
}

// sink returns a sink that collects events of all kinds. It leaves out numbers of events and what
// only the process of the run knows: durations, and the name of a model before the provider has
// sent one.
func (c *collected) sink() event.Sink {
	s := event.Sink{Shows: map[event.Kind]func(*event.Event){}, Places: true}
	kinds := map[int64]string{0: "none"} // of items
	for _, row := range event.Table() {
		s.Shows[row.Kind] = func(e *event.Event) {
			c.last = e.At
			if kinds[e.Item] == "" {
				kinds[e.Item] = fmt.Sprint(e.Kind, " ", e.Name, " of ", kinds[e.Parent])
			}
			failure := fmt.Sprint(e.Err)
			if _, ok := errors.AsType[*effect.Error](e.Err); !ok && e.Err != nil && e.Attempt == nil {
				failure = "cancelled or failed"
			}
			text, err := json.Marshal([]any{e.Phase, kinds[e.Item], e.Task, e.Effect, e.Place, e.Stage, plain(e.Request), plain(e.Result), failure, e.How, attemptOf(e.Attempt), e.Step, e.Message})
			if err != nil {
				panic(err)
			}
			if e.Attempt != nil && e.Kind != event.Agent {
				c.attempts[e.Effect] = append(c.attempts[e.Effect], string(text))
				return
			}
			switch e.Request.(type) {
			case *effect.AgentCall, *effect.StreamOpen:
				if e.Phase == event.Begin {
					c.requests[len(c.lines)] = e.Effect
				}
			}
			c.lines = append(c.lines, string(text))
		}
	}
	return s
}

// plain returns a request or a result without the number of an opened object, which the performer
// assigns to it.
func plain(x any) any {
	if _, ok := x.(effect.Numbered); !ok {
		return x
	}
	text, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		panic(err)
	}
	delete(members, "id")
	return members
}

// attemptOf returns the part of an attempt that is the same when a run is played.
func attemptOf(a *event.Attempt) any {
	if a == nil {
		return nil
	}
	x := []any{a.Connection, a.Number, a.Of, a.Used, a.Reason, a.Status, a.Call}
	if r := a.Reply; r != nil {
		x = append(x, r.Text, r.ToolCalls, r.TokensIn, r.TokensOut, r.Parts, r.StopReason, r.RequestID)
	}
	return x
}

// run runs a program with records, and returns its events.
func run(t *testing.T, p *engine.Program, dir string, records engine.Records) []string {
	t.Helper()
	live := collect()
	records.Sinks = []event.Sink{live.sink()}
	o := engine.Options{WorkDir: dir, Environ: os.Environ(), Log: io.Discard,
		Output: engine.Output{To: io.Discard, Mode: emit.Modes["ndjson"]}, Records: records}
	if err := p.Run(t.Context(), o); err != nil {
		t.Logf("the run ended with %v", err)
	}
	if len(live.lines) < 5 {
		t.Fatalf("the run has %d events, which are too few for the test", len(live.lines))
	}
	return live.events()
}

// checkEvents compares the events of a run with those of its recording. It returns the time of the
// last event of the recording.
func checkEvents(t *testing.T, s *timetravel.Source, want []string) time.Duration {
	t.Helper()
	played := collect()
	if err := s.Events(t.Context(), played.sink()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, played.events()); diff != "" {
		t.Errorf("the events of the recording differ (-run +recording):\n%s", diff)
	}
	return played.last
}

// TestEvents checks that the events of a run are also those of its tape and of its journal.
func TestEvents(t *testing.T) {
	for _, name := range []string{"extract", "review", "pipeline", "supervise", "coder", "advisor", "hello"} {
		dir := filepath.Join("../../../examples", name)
		p, found, err := engine.CompileSource(driver.Request{Dir: dir})
		if p == nil || err != nil {
			t.Fatal(found, err)
		}
		t.Run(name, func(t *testing.T) { checkRecordings(t, p, dir, 0) })
	}
}

// checkRecordings runs a program with a tape and, unless it has hosts, with a journal. least is the
// least duration of the run.
func checkRecordings(t *testing.T, p *engine.Program, dir string, least time.Duration) {
	t.Run("tape", func(t *testing.T) {
		var tape bytes.Buffer
		live := run(t, p, dir, engine.Records{Tape: &tape})
		s, err := timetravel.Tape(&tape, p.Encode(), os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		if last := checkEvents(t, s, live); last != 0 {
			t.Errorf("the last event of the tape is at %s, want 0, because a tape has no times", last)
		}
	})
	t.Run("journal", func(t *testing.T) {
		if len(p.Hosts()) > 0 {
			t.Skip("a durable run with hosts starts a process of the command")
		}
		where := filepath.Join(t.TempDir(), "run")
		live := run(t, p, dir, engine.Records{Durable: &engine.Durable{Dir: where}})
		s, err := timetravel.Run(rundir.At(where), os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		if last := checkEvents(t, s, live); last < least {
			t.Errorf("the last event of the journal is at %s, want at least %s", last, least)
		}
	})
}

// attempts is a program whose model calls are repeated, fall back, fail and are streamed, and whose
// tasks, stages, timers and stores produce events.
const attempts = `
use std::time;
use std::fs;

memory talk: Memory = Memory::new();
hashmap seen: HashMap<String, Int> = HashMap::new();

agent Retried uses flaky { retry_policy: { max_attempts: 3, backoff: "none", initial_delay_ms: 1 } }
agent Fallen uses broken { }
agent Failing uses flaky { }
agent Streaming uses steady { }
agent Typed uses steady { }

schema Verdict { ok: Bool }

pipeline Work(n: Int) {
    stage first(n: Int) -> Int { emit("first", n); n + 1 }
    stage second(n: Int) -> Int { emit("halves", 10 / (n - 8)); n * 2 }
}

async fn pause(n: Int) -> Int { time::sleep(n); emit("slept", n); n }

fn main() {
    let a = pause(3);
    let b = pause(1);
    emit("retried", Retried.execute("retried").is_ok());
    emit("fallen", Fallen.with_memory(talk).execute("fallen").is_ok());
    emit("failing", Failing.execute("failing").is_err());
    for c in Streaming.stream("streamed") { print(c.text); }
    emit("typed", Typed.execute_with_schema<Verdict>("typed").is_ok());
    emit("work", (Work.run(1).is_ok(), Work.run(7).is_ok()));
    seen.set("x", await a + await b);
    emit("seen", (seen.get("x"), fs::read_file("missing.txt").is_err()));
    let answer = try { await emit<String>("ask", "who?")? } catch Error(e) { e.message };
    println(answer);
}
`

const attemptsManifest = `
[project]
name = "attempts"
version = "0.1.0"

[connections.flaky]
provider = "scripted"
default_model = "m"
prices = { m = { input = 2.5, output = 10 } }
replies = [
    { match = "retried", error = { status = 429, message = "slow down" } },
    { match = "retried", error = { status = 500, message = "oops" } },
    { match = "retried", text = "at last" },
    { match = "failing", error = { status = 401, message = "no key" } },
]

[connections.broken]
provider = "scripted"
default_model = "m"
fallback = ["steady"]
replies = [{ error = { status = 503, message = "full" }, repeat = true }]

[connections.steady]
provider = "scripted"
default_model = "s"
replies = [
    { match = "fallen", text = "caught" },
    { match = "streamed", text = "piece by piece" },
    { match = "typed", text = "not json" },
    { match = "", text = "{\"ok\": true}", repeat = true },
]
`

// TestEventsOfAttempts checks the events of repeated and failed calls of models, which a recording
// contains in its results.
func TestEventsOfAttempts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"main.conc": attempts, "Concerto.toml": attemptsManifest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, found, err := engine.CompileSource(driver.Request{Dir: dir})
	if err != nil || p == nil || found.HasErrors() {
		for _, d := range found.Sorted() {
			t.Error(d.Message, d.File.Position(d.Span.Start))
		}
		t.Fatal(err)
	}
	all := strings.Join(run(t, p, dir, engine.Records{}), "\n")
	for _, kind := range []event.Kind{event.Agent, event.Model, event.Retry, event.Fallback, event.Repair, event.Pipeline, event.Stage, event.Task, event.Timer, event.Await, event.File, event.Emit} {
		if !strings.Contains(all, `,"`+string(kind)+" ") {
			t.Errorf("the run has no event of kind %s: the test checks less than it should", kind)
		}
	}
	checkRecordings(t, p, dir, 3*time.Millisecond) // it sleeps
	checkParts(t, p, dir)
}

// checkParts checks that the first lines of a tape have only events of the run, and all events of
// fewer lines, as if the process had been killed.
func checkParts(t *testing.T, p *engine.Program, dir string) {
	var tape bytes.Buffer
	live := strings.Join(run(t, p, dir, engine.Records{Tape: &tape}), "\n")
	lines := bytes.SplitAfter(tape.Bytes(), []byte("\n"))
	longest := 0
	for n := 2; n < len(lines)-1; n++ {
		s, err := timetravel.Tape(bytes.NewReader(bytes.Join(lines[:n], nil)), p.Encode(), os.Environ())
		if err != nil {
			t.Fatal(err)
		}
		played := collect()
		if err := s.Events(t.Context(), played.sink()); err != nil {
			t.Fatal(err)
		}
		for _, line := range played.lines {
			if !strings.Contains(live, line) {
				t.Errorf("the first %d lines of the tape have the event %s, which the run does not have", n, line)
			}
		}
		if len(played.lines) < longest {
			t.Errorf("the first %d lines of the tape have %d events, fewer than the %d of a shorter part", n, len(played.lines), longest)
		}
		longest = len(played.lines)
	}
}

// TestEventsOfRandomPrograms checks the events of programs that take all paths of control flow, and
// wait within expressions.
func TestEventsOfRandomPrograms(t *testing.T) {
	text := func(seed uint64) string {
		return strings.ReplaceAll(generator.FromSeed(generator.Flow, seed, generator.Plain), "\n    println(", "\n    std::time::sleep(1);\n    println(")
	}
	randtest.Run(t, "internal/engine/timetravel", 24, text, func(t *testing.T, seed uint64) {
		dir := t.TempDir()
		p, found, err := engine.CompileSource(driver.Request{Inline: &driver.Inline{Name: "main.conc", Text: []byte(text(seed))}, Dir: dir})
		if p == nil || err != nil {
			t.Fatal(found, err)
		}
		checkRecordings(t, p, dir, 0)
	})
}
