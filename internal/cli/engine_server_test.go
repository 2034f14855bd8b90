package cli

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestEngineClock executes runs on a database whose clock differs from that of the workers and
// users by an hour. All times are those of the database: timers, times of submissions, schedules,
// leases and answers are neither an hour early nor an hour late.
func TestEngineClock(t *testing.T) {
	randtest.RacedElsewhere(t)
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			server := pgtest.StartServerWithClock(t, ahead)
			e := &engineServerTest{T: t, url: pgtest.Make(t, server.URL, "clock"), dir: programs(t, map[string]string{
				"sleep.conc": `fn main() { println("before"); std::time::sleep(2500); println("after"); }`,
				"ask.conc":   `fn main() { let yes = await emit<Bool>("ask"); emit("answer", yes); }`,
				"loop.conc":  `fn main() { println("begun"); loop { std::time::sleep(50); } }`,
			})}
			e.checkTimes()
		})
	}
}

// TestEngineServerCrash submits a run with --wait. The server crashes while the run waits for an
// answer: the command continues, and prints each line once.
func TestEngineServerCrash(t *testing.T) {
	randtest.RacedElsewhere(t)
	t.Parallel()
	server := pgtest.StartServer(t)
	e := &engineServerTest{T: t, url: pgtest.Make(t, server.URL, "crash"), dir: programs(t, map[string]string{
		"main.conc": `fn main() { println("before"); let n = await emit<Int>("ask")?; println("received ${n}"); println("after"); }`,
	})}
	e.must(0, "engine", "init")
	e.worker()
	submit := e.command("submit", "--id", "run", "--wait", "main.conc")
	var out, log bytes.Buffer
	submit.Stdout, submit.Stderr = &out, &log
	if err := submit.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = submit.Process.Kill(); _ = submit.Wait() })
	e.until(`count(*) = 1 FROM concerto.questions WHERE run = 'run'`)
	for range 2 {
		if err := server.Crash(); err != nil {
			t.Fatal(err)
		}
		e.until(`true FROM concerto.runs WHERE id = 'run'`)
	}
	e.must(0, "answer", "run", "q2", "7")
	if err := submit.Wait(); err != nil {
		t.Errorf("submit --wait: %v", err)
	}
	if want := "before\n[ask]\nreceived 7\nafter\n"; out.String() != want {
		t.Errorf("output = %q, want %q\n%s", out.String(), want, log.String())
	}
	e.must(0, "runs", "verify", "run")
}

type engineServerTest struct {
	*testing.T
	url, dir string
}

func (e *engineServerTest) command(args ...string) *exec.Cmd {
	return engineCommand(e.dir, e.url, args...)
}

// must returns the output of a command, which must exit with the code want.
func (e *engineServerTest) must(want int, args ...string) string {
	e.Helper()
	c := e.command(args...)
	out, _ := c.CombinedOutput()
	if got := c.ProcessState.ExitCode(); got != want {
		e.Fatalf("concerto %s: exit code = %d, want %d\n%s", strings.Join(args, " "), got, want, out)
	}
	return string(out)
}

// until waits until a query returns true.
func (e *engineServerTest) until(sql string) {
	e.Helper()
	for pgtest.Do(e, e.url, "SELECT "+sql) != "t\n" {
		if e.Context().Err() != nil {
			e.Fatal(e.Context().Err())
		}
	}
}

// worker starts a worker, and returns the function that kills it.
func (e *engineServerTest) worker() (kill func()) {
	e.Helper()
	c := e.command("worker", "--lease", "1s", "--state", "state")
	if err := c.Start(); err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return func() {
		if err := c.Process.Signal(syscall.SIGKILL); err != nil {
			e.Fatal(err)
		}
		_ = c.Wait()
	}
}

// checkTimes executes runs in which all times of an engine occur.
func (e *engineServerTest) checkTimes() {
	e.must(0, "engine", "init")
	if out := e.must(0, "engine", "check"); !strings.Contains(out, "the clock of this machine differs from that of the server by") {
		e.Errorf("check does not name the wrong clock:\n%s", out)
	}
	e.must(0, "submit", "--id", "sleep", "sleep.conc")
	e.must(0, "submit", "--id", "late", "--at", "+1s", "sleep.conc")
	e.must(0, "submit", "--id", "ask", "ask.conc")
	e.must(0, "submit", "--id", "loop", "loop.conc")
	e.must(0, "schedule", "set", "tick", "--every", "1s", "--overlap", "all", "sleep.conc")
	kill := e.worker()
	e.until(`output_count > 0 FROM concerto.runs WHERE id = 'loop'`)
	kill()
	kill = e.worker()
	e.until(`epoch >= 2 FROM concerto.runs WHERE id = 'loop'`)
	e.until(`count(*) = 2 FROM concerto.runs WHERE id IN ('sleep', 'late') AND state = 'finished'`)
	e.until(`count(*) >= 2 FROM concerto.runs WHERE schedule = 'tick' AND state = 'finished'`)
	e.until(`count(*) = 1 FROM concerto.questions WHERE run = 'ask'`)

	kill() // nothing takes the answer
	e.must(0, "answer", "ask", "q1", "true")
	second := e.must(1, "answer", "ask", "q1", "false")
	if got := pgtest.Do(e, e.url, `SELECT abs(extract(epoch FROM clock_timestamp() - at)) < 1800 FROM concerto.answers`); got != "t\n" {
		e.Errorf("the time of the answer is that of the database: %q, want one row that is true", got)
	}
	at := strings.TrimSpace(pgtest.Do(e, e.url, `SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI') FROM concerto.answers`))
	if !strings.Contains(second, at) {
		e.Errorf("the message of the second answer does not contain the time %s of the first one:\n%s", at, second)
	}
	e.must(0, "schedule", "pause", "tick")
	e.must(0, "runs", "stop", "loop")
	// The next worker ends as soon as no run is ready, so it must not begin while the run still
	// belongs to the killed worker.
	e.until(`NOT EXISTS (SELECT FROM concerto.workers l WHERE l.id = r.owner AND l.lease_until + concerto.delay(r.crashes) > clock_timestamp()) FROM concerto.runs r WHERE r.id = 'loop'`)
	e.must(0, "worker", "--until-idle", "--state", "state")
	if got := pgtest.Do(e, e.url, `SELECT string_agg(id || ' ' || state, ', ' ORDER BY id) FROM concerto.runs WHERE schedule IS NULL`); got != "ask finished, late finished, loop failed, sleep finished\n" {
		e.Errorf("states = %s", got)
	}
	const wrong = `SELECT count(*) FROM concerto.journal j, json_extract_path_text(j.line::json, 't') t WHERE t IS NOT NULL
		AND abs(t::bigint / 1000.0 - extract(epoch FROM clock_timestamp())) > 1800`
	if got := pgtest.Do(e, e.url, wrong); got != "0\n" {
		e.Errorf("%s records have times that differ from the database's clock by an hour", strings.TrimSpace(got))
	}
	// The timers take 2.5 s. A worker on a busy machine may know the server's clock only to some
	// 100 ms.
	const took = `SELECT count(*) FROM concerto.runs WHERE id IN ('sleep', 'late') AND ended_at - started_at BETWEEN interval '1500 ms' AND interval '30 minutes'`
	if got := pgtest.Do(e, e.url, took); got != "2\n" {
		e.Errorf("%s runs took the duration of their timers, want 2", strings.TrimSpace(got))
	}
	e.must(0, "runs", "verify", "loop")
}
