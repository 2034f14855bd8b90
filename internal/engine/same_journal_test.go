package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/testkit/memory"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// sharedRuns contains the runs that are not stored in directories, by the names of directories that
// represent them.
var sharedRuns sync.Map

func init() {
	inDirectory := openRun
	openRun = func(dir string) journal.Run {
		if r, ok := sharedRuns.Load(dir); ok {
			return r.(journal.Run)
		}
		return inDirectory(dir)
	}
}

// durablePrograms are durable programs and the number of times that each one must park. The answer
// to a question on channel `here` comes from the run's own process, any other answer from another
// process.
var durablePrograms = map[string]struct {
	program  string
	manifest string
	parks    int
}{
	"files": {program: `use std::fs;
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("counts.db");
fn main() {
    fs::make_dir("d")?;
    fs::write_file("d/a", "one")?;
    fs::append_file("d/a", " two")?;
    fs::copy_file("d/a", "d/b")?;
    fs::move_file("d/b", "d/c")?;
    emit("read", fs::read_file("d/c")?);
    emit("missing", fs::read_file("d/b").err()?.kind);
    fs::remove_file("d/c")?;
    emit("list", fs::list_dir("d")?);
    counts.set("x", 1);
    emit("count", counts.get("x"));
    println(std::env::get("COLOUR").unwrap_or("none"), std::random::int(1, 1000000));
}`},
	"requests": {program: `use std::{http, tools::RunCommand};
fn main() {
    let url = std::env::get("SERVER")?;
    emit("get", http::get(url)?.body);
    emit("put", http::put(url, "text")?.status);
    emit("post", http::post(url, { n: 1 })?.body);
    emit("command", RunCommand.run("printf", ["out"])?.stdout);
    emit("failed", RunCommand.run("sh", ["-c", "exit 3"])?.exit_code);
}`, manifest: "[permissions]\nrun = [\"printf\", \"sh\"]\n"},
	"agent": {program: `agent A uses rules { }
fn main() {
    emit("reply", A.execute("hello")?.text);
    let answer = await emit<String>("ask", "again?")?;
    emit("reply", A.execute(answer)?.text);
}`, manifest: "[connections.rules]\nprovider = \"scripted\"\nreplies = [{ text = \"yes\" }, { text = \"no\" }]\n", parks: 1},
	"host": {program: `host Worker { connector: "worker", output_format: "json" }
fn main() {
    let r = listen Worker.execute("{\"type\":\"question\",\"id\":\"a\",\"question\":\"drop?\"}") {
        "question" => |q: HostQuestion| await emit("here", q.question),
    };
    emit("result", r?.text);
}`, manifest: "[hosts.worker]\ncommand = %q\nenv = { CONCERTO_TEST_HOST = \"1\" }\n"},
	"steered host": {program: `host Worker { connector: "worker", output_format: "json" }
fn main() {
    let r = listen Worker.execute("{\"type\":\"question\",\"id\":\"a\",\"question\":\"drop?\"}") {
        "question" => |q: HostQuestion| {
            emit("sent", Worker.steer("{\"type\":\"result\",\"text\":\"again\"}")?);
            await emit("here", q.question)
        },
        "progress" => |p: HostProgress| { emit("turn", p.stage); },
    };
    emit("result", r?.text);
}`, manifest: "[hosts.worker]\ncommand = %q\nenv = { CONCERTO_TEST_HOST = \"1\" }\n"},
	"questions": {program: `fn main() {
    emit("begun", 1);
    let here = await emit<String>("here", "colour")?;
    let n = await emit<String>("ask", here)?;
    emit("first", n);
    match await emit<String>("refuse", n) { Ok(v) => emit("second", v), Err(e) => emit("refused", e.message) }
    for i in 0..20 { println("line ${i}"); }
    emit("third", await emit<String>("ask", "last")?);
}`, parks: 3},
	"questions, replayed": {program: `async fn ask(n: Int) -> String { await emit<String>("ask", n).unwrap_or("none") }
fn main() {
    let (a, b) = (ask(1), ask(2));
    emit("both", a.await + b.await);
    emit("third", ask(3).await);
}`, parks: 2},
	"large": {program: `use std::fs;
fn main() {
    let mut text = "x";
    for _ in 0..19 { text = "${text}${text}"; }
    fs::write_file("large", text)?;
    emit("size", fs::read_file("large")?.len());
    let answer = await emit<String>("ask", "continue?")?;
    emit("size", fs::read_file("large")?.len() + answer.len());
}`, parks: 1},
}

// TestStoresHaveSameJournal runs programs in a directory, in memory and, if PostgreSQL is
// installed, in a database. The records and the output must be the same.
func TestStoresHaveSameJournal(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // differs between runs
		fmt.Fprint(w, r.Method)
	}))
	t.Cleanup(server.Close)
	type store struct {
		name string
		run  func(program string) journal.Run
	}
	stores := []store{{"memory", func(program string) journal.Run { return new(memory.Store).Run(program) }}}
	if pgtest.IsInstalled() {
		session := startSession(t)
		stores = append(stores, store{"PostgreSQL", func(program string) journal.Run {
			return session.Run(strings.NewReplacer(",", "", " ", "_").Replace(program))
		}})
	}
	for name, x := range durablePrograms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			manifest := x.manifest
			if strings.Contains(manifest, "%q") {
				manifest = fmt.Sprintf(manifest, exe)
			}
			p := compile(t, map[string]string{"main.conc": x.program, "Concerto.toml": manifest})
			d := &durableTest{program: p, parks: x.parks, work: filepath.Join(t.TempDir(), "work"), environ: append(os.Environ(), "COLOUR=red", "SERVER="+server.URL)}
			want, wantOut := d.run(t, filepath.Join(t.TempDir(), "job"))
			if len(want) < 3 || len(wantOut) < 2 {
				t.Errorf("the run has %d records and %d lines of output", len(want), len(wantOut))
			}
			for _, store := range stores {
				dir := filepath.Join(t.TempDir(), "job")
				sharedRuns.Store(dir, store.run(name))
				got, gotOut := d.run(t, dir)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("records differ (-directory +%s):\n%s", store.name, diff)
				}
				if diff := cmp.Diff(wantOut, gotOut); diff != "" {
					t.Errorf("output differs (-directory +%s):\n%s", store.name, diff)
				}
				if _, err := os.Stat(filepath.Join(dir, journal.OutFile)); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("the run in %s has written its output to a file: %v", store.name, err)
				}
			}
		})
	}
}

// startSession starts a PostgreSQL server and returns a worker of an engine on it.
func startSession(t *testing.T) *postgres.Session {
	t.Helper()
	e, err := postgres.Connect(t.Context(), pgtest.Make(t, pgtest.Start(t), "same"), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	if _, err := e.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	session, err := e.NewSession(t.Context(), postgres.WorkerRow{Machine: "m1", PID: 1, Concurrency: 1}, time.Hour, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return session
}

// duration matches a measured duration in a record or in the output.
var duration = regexp.MustCompile(`"(duration|latency)_ms":\d+`)

// durableTest runs a durable program.
type durableTest struct {
	program *Program
	parks   int
	work    string // working directory of the run
	environ []string
}

// run runs the program from its start to its end, and returns the stored records and output.
func (d *durableTest) run(t *testing.T, dir string) (records, out []string) {
	t.Helper()
	if err := errors.Join(os.RemoveAll(d.work), os.MkdirAll(d.work, 0o700), os.MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	var shown []string
	seed := int64(7)
	o := Options{Environ: d.environ, WorkDir: d.work, Dir: d.work, own: own{seed: &seed}, Models: Models{Mock: true},
		Records: Records{Durable: &Durable{Dir: dir, Park: true}},
		OnEmit:  func(channel string, payload json.RawMessage) { shown = append(shown, channel+" "+string(payload)) },
		OnAwait: func(_ context.Context, channel string, _ json.RawMessage) (json.RawMessage, error) {
			if channel == "here" {
				return json.RawMessage(`"blue"`), nil
			}
			return nil, tool.ErrNoApprover
		}}
	o.Session.SessionID = "r_same"
	parks := 0
	err := d.program.Run(t.Context(), o)
	for ; ; parks++ {
		suspended, ok := errors.AsType[*Suspended](err)
		if !ok || len(suspended.Waiting) == 0 || parks == d.parks {
			break
		}
		d.answer(t, dir, suspended)
		s, oerr := OpenRun(dir)
		if oerr != nil {
			t.Fatal(oerr)
		}
		err = s.Resume(t.Context(), o)
	}
	if err != nil || parks != d.parks {
		t.Fatalf("the run has parked %d times, want %d; error %v; emits %v", parks, d.parks, err, shown)
	}
	stored := openRun(dir)
	h, err := stored.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Records {
		if r.RecordKind == journal.KOut {
			continue // depends on the speed of the printer
		}
		if r.Blob != "" {
			if _, err := stored.Blob(r.Blob); err != nil {
				t.Error(err)
			}
		}
		records = append(records, withoutTimes(t, r))
	}
	out, _, err = stored.Out()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := stored.Answers()
	if err != nil || len(answers) > 0 {
		t.Errorf("answers of the ended run = %v, error %v", answers, err)
	}
	out = append(out, shown...)
	for i, line := range out {
		out[i] = duration.ReplaceAllString(line, `"${1}_ms":0`)
	}
	return records, out
}

// answer answers the questions for which a run waits.
func (d *durableTest) answer(t *testing.T, dir string, suspended *Suspended) {
	t.Helper()
	for _, q := range suspended.Waiting {
		no := "no"
		a := journal.Answer{Value: json.RawMessage(fmt.Sprintf("%q", "to "+q.ID)), By: "Ada", At: 5}
		if q.Channel == "refuse" {
			a = journal.Answer{Refuse: &no, By: "Bob", At: 6}
		}
		if err := openRun(dir).PutAnswer(q.ID, a); err != nil {
			t.Fatal(err)
		}
	}
}

// withoutTimes returns a record without the members that depend on the time, the process or the
// store's syncs.
func withoutTimes(t *testing.T, r *journal.Record) string {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"s", "t", "y", "n", "by", "machine", "boot", "pid_ns", "h"} {
		delete(members, name)
	}
	for _, name := range []string{"due", "until", "ledger"} {
		if members[name] != nil {
			members[name] = json.RawMessage("0") // depends on the time, so only its presence is compared
		}
	}
	switch {
	case r.Kind == string(effect.KindClock):
		delete(members, "v")
	case r.RecordKind == journal.KFinish:
		delete(members, "d") // digest of the output, which may contain durations
	}
	if text, err = json.Marshal(members); err != nil {
		t.Fatal(err)
	}
	return duration.ReplaceAllString(string(text), `"${1}_ms":0`)
}
