//go:build unix

package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// durableKinds are programs whose runs are killed with real processes, locks, files and servers.
// internal/sim kills programs with more kinds of effects in a simulated system.
var durableKinds = map[string]struct{ program, manifest string }{
	"store": {`
use std::http;
queue jobs: Queue<Int> = Queue::new(retry_seconds: 0.0).with_persistence("work.db");
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("work.db");
memory talk: Memory = Memory::new().with_persistence("work.db");
fn work() -> Int {
    let mut done = 0;
    while let Some(job) = jobs.next() {
        jobs.complete(job).unwrap();
        counts.increment("done");
        http::put("URL/put/${job.value}", "")?;
        talk.append("user", "job ${job.value}");
        emit("done", "job ${job.value}");
        done += 1;
    }
    done
}
fn main() {
    jobs.add(24, id: "hold", delay: 1000.0)?;
    let all = await ({ work() }, { work() }, { work() }, {
        for i in 0..24 { jobs.add(i)?; }
        jobs.remove("hold")?;
        0
    });
    let sum = all.0 + all.1 + all.2;
    emit("total", if [sum, jobs.counts()["done"], counts.get("done")?, talk.len()] == [24, 24, 24, 24] { 24 } else { 0 });
}`, ""},
	"host":         {durableHost, durableClerk},
	"lost keepers": {durableHost, durableClerk},
}

const durableHost = `
use std::http;
host Clerk { connector: "clerk", output_format: "json" }
fn ask(id: Int) -> String {
    let r = listen Clerk.execute("job ${id}.") {
        "progress" => |p: HostProgress| { emit("progress", p.message); },
        "question" => |q: HostQuestion| {
            http::put("URL/asked/${id}", "")?;
            "yes to ${q.question}"
        },
        "approval" => |a: HostApproval| {
            http::put("URL/put/${id}", "")?;
            "yes"
        },
    };
    r?.text
}
fn work(id: Int) -> String {
    for _n in 0..50 {
        try { return ask(id); } catch HostError(e) {
            if (e.code ?? "") != "lost" { throw e; }
        }
    }
    "never"
}
fn main() {
    for id in 0..24 { emit("done", work(id)); }
    emit("total", 24);
}`

const durableClerk = "[hosts.clerk]\ncommand = \"stormhost\"\nargs = [\"clerk\", \"URL\"]\ninit = true\n"

// durableTasks is the number of tasks of each program.
const durableTasks = 24

// TestDurableKill kills durable runs and resumes them until they end. The records of a server and
// of the hosts show whether everything was done once.
// CONCERTO_DURABLE_KILLS is the number of kills of each program.
func TestDurableKill(t *testing.T) {
	t.Parallel()
	kills := killsOf(t, "CONCERTO_DURABLE_KILLS", 20)
	for kind := range durableKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			killed, keepers := 0, 0
			for seed := uint64(1); killed < kills; seed++ {
				r := newKilledRun(t, seed, kind, min(kills-killed, 20))
				r.finish()
				r.check()
				killed, keepers = killed+r.kills, keepers+r.keepers
				if t.Failed() || r.kills == 0 {
					t.Fatalf("seed %d, after %d kills of the run", seed, r.kills)
				}
			}
			t.Logf("%d kills, %d of keepers", killed, keepers)
			if kind == "lost keepers" && keepers == 0 {
				t.Error("no keeper was killed")
			}
		})
	}
}

// killedRun is a durable run that is killed, with its judge.
type killedRun struct {
	*testing.T
	*killer
	kind, dir string
	run       journal.Run
	keepers   int // kills of keepers
	senders   sync.WaitGroup

	record  sync.Mutex          // protects the fields below
	keys    map[string][]string // idempotency keys of the received requests by path
	steered map[string]string   // outcomes of messages to the host
	printed []storedLine
}

func newKilledRun(t *testing.T, seed uint64, kind string, kills int) *killedRun {
	r := &killedRun{T: t, killer: newKiller(seed, 4, kills), kind: kind, keys: map[string][]string{}, steered: map[string]string{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	text := durableKinds[kind]
	r.dir = programs(t, map[string]string{"main.conc": strings.ReplaceAll(text.program, "URL", server.URL),
		"Concerto.toml": "[project]\nname = \"killed\"\n" + strings.ReplaceAll(text.manifest, "URL", server.URL)})
	r.run = rundir.At(filepath.Join(r.dir, "job"))
	if kind == "lost keepers" {
		r.before = func(random *rand.Rand) bool { return killKeeper(r.dir, random, &r.keepers) }
	}
	t.Cleanup(func() { noneLeft(t, r.dir, r.keepers > 0) })
	return r
}

// killKeeper kills the keeper of a run, if it is the one in three kills that does. It reports
// whether the run's process is killed, too.
func killKeeper(dir string, random *rand.Rand, kills *int) bool {
	var keeper struct{ PID int }
	if text, err := os.ReadFile(filepath.Join(dir, "job", "keeper.json")); random.IntN(3) > 0 || err != nil || json.Unmarshal(text, &keeper) != nil {
		return true
	}
	if args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", keeper.PID)); err != nil || keeper.PID < 2 || !bytes.Contains(args, []byte("keeper")) {
		return true
	}
	_ = syscall.Kill(keeper.PID, syscall.SIGKILL)
	*kills++
	return random.IntN(2) == 0
}

// noneLeft checks that no host of an ended run is running. Nothing waits for those of a killed
// keeper.
func noneLeft(t *testing.T, dir string, lost bool) {
	if t.Failed() {
		_ = command(dir, "runs", "rm", "job").Run() // otherwise the run's keeper would never exit
	}
	all, _ := filepath.Glob(filepath.Join(dir, "*.spawns")) // a valid pattern
	for _, file := range all {
		if leaders, err := spawnedGroups(file); err == nil && lost {
			_, err = testproc.AwaitExit(time.Minute, leaders...)
			if err != nil {
				t.Error(err)
			}
		}
	}
	if err := leftovers(dir); err != nil {
		t.Error(err)
	}
}

// ServeHTTP receives the requests of the program and the events of its hosts.
func (r *killedRun) ServeHTTP(rw http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	name := fmt.Sprint(q.Method, q.URL.Path, string(body))
	if r.at("before %s", name) {
		panic(http.ErrAbortHandler) // it was not received
	}
	r.record.Lock()
	r.keys[q.URL.Path] = append(r.keys[q.URL.Path], q.Header.Get("Idempotency-Key"))
	text := fmt.Sprintf("outside %s, %d.", q.URL.Path, len(r.keys[q.URL.Path]))
	r.record.Unlock()
	if strings.HasPrefix(q.URL.Path, "/asked/") {
		r.senders.Go(func() { r.steer(text) })
	}
	if r.at("during %s", name) {
		panic(http.ErrAbortHandler)
	}
	rw.Header().Set("Content-Length", "0")
	rw.(http.Flusher).Flush()
	r.at("after %s", name)
}

// steer sends a message to the host, as another process.
func (r *killedRun) steer(text string) {
	_, _, err := runs.Steer(r.Context(), r.run, "job", "", journal.SteerRequest{Host: "Clerk", Text: text}, "ann")
	outcome := "sent"
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "no host of"), strings.Contains(err.Error(), "is idle"):
		outcome = "refused"
	case strings.Contains(err.Error(), "stopped before it confirmed"), strings.Contains(err.Error(), "may have received the message"):
		outcome = "unknown"
	default:
		r.Error(err)
	}
	r.record.Lock()
	defer r.record.Unlock()
	r.steered[text] = outcome
}

// finish starts processes until the run has ended.
func (r *killedRun) finish() {
	r.Helper()
	for args := []string{"run", "--journal", "job", "--emit", "ndjson"}; ; {
		recorded := recordedLines(r.dir)
		err := r.start(r.T, r.dir, args, func(l storedLine) {
			if l.N <= recorded {
				r.Errorf("line %d is printed again, although the journal has %d printed lines", l.N, recorded)
			}
			r.printed = append(r.printed, l)
			r.at("line %s %s", l.Channel, l.Payload)
		})
		switch {
		case err == nil:
			r.senders.Wait()
			return
		case !errors.Is(err, errKilled):
			r.Fatalf("seed %d, after %d kills: %v\nthe end of the journal:\n%s", r.seed, r.kills, err, lastLines(journalOf(r.dir)))
		}
		if bytes.Contains(journalOf(r.dir), []byte("\n")) {
			args = []string{"runs", "resume", "job"}
		}
	}
}

// errKilled means that a process was killed.
var errKilled = errors.New("killed")

// start runs concerto in dir as the process to kill, and passes the lines of its output.
func (k *killer) start(t *testing.T, dir string, args []string, line func(storedLine)) error {
	c := command(dir, args...)
	c.Env = append(c.Environ(), segmentBytes+"=4096") // the beginning of the journal is dropped
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	k.watch(c.Process)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		for _, l := range storedLines(lines.Bytes()) {
			line(l)
		}
	}
	err = c.Wait()
	switch {
	case k.exited(c.ProcessState):
		return errKilled
	case err != nil:
		return fmt.Errorf("%w: %s", err, errs.Bytes())
	}
	return nil
}

// check checks what an ended run has done.
func (r *killedRun) check() {
	r.Helper()
	stored := checkStored(r.T, r.dir, r.printed)
	done := map[string]int{}
	for _, l := range stored {
		done[l.Channel+" "+string(l.Payload)]++
		done[l.Channel]++
	}
	if done["done"] != durableTasks || done["total 24"] != 1 || stored[len(stored)-1].Channel != "total" {
		r.Errorf("the output has %d results, and ends with %+v", done["done"], stored[len(stored)-1])
	}
	in, _ := os.ReadFile(filepath.Join(r.dir, "clerk.in"))
	for id := range durableTasks {
		line := fmt.Sprintf(`done "job %d"`, id)
		if r.kind != "store" {
			line = fmt.Sprintf(`done "job %d."`, id)
			for _, text := range []string{`"text":"job %d."`, `"answer_to":"job %d.","value":"yes to job %[1]d."`, `"in_reply_to":"approval","answer_to":"job %d."`} {
				if n := bytes.Count(in, fmt.Appendf(nil, text, id)); n != 1 && r.keepers == 0 {
					r.Errorf("the host has received %s %d times", fmt.Sprintf(text, id), n)
				}
			}
		}
		if done[line] != 1 && r.kind != "lost keepers" { // a message for a lost process is a prompt, with another result
			r.Errorf("the output has %s %d times", line, done[line])
		}
	}
	for path, keys := range r.keys {
		if !strings.HasPrefix(path, "/host") && slices.ContainsFunc(keys, func(k string) bool { return k == "" || k != keys[0] }) {
			r.Errorf("the requests %s have the keys %q", path, keys)
		}
	}
	want := map[string]int{"store": durableTasks, "host": 2 * durableTasks, "lost keepers": 2 * durableTasks}[r.kind]
	if received := len(r.keys) - min(len(r.keys["/host"]), 1); received != want {
		r.Errorf("the server has received %d requests, want %d", received, want)
	}
	r.checkSteered(string(in))
}

// checkSteered compares the messages of another process with those that the host has received and
// with the ledger. Hosts of a killed keeper may receive a message again or never.
func (r *killedRun) checkSteered(in string) {
	r.Helper()
	ledger, _ := os.ReadFile(filepath.Join(r.dir, "job", "ledger.ndjson"))
	for text, outcome := range r.steered {
		received, recorded := strings.Count(in, text), strings.Count(string(ledger), text)
		least, most := map[string]int{"sent": 1}[outcome], map[string]int{"sent": 1, "unknown": 1}[outcome]
		if recorded > 1 || r.keepers == 0 && (received != recorded || received < least || received > most) {
			r.Errorf("message %q, which was %s, was received %d times and recorded %d times", text, outcome, received, recorded)
		}
	}
}

// storedLine is one emit in the stored output.
type storedLine struct {
	N       int             `json:"n"`
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload"`
}

// storedLines returns the complete lines of text. A kill may have truncated the last line of
// stdout.
func storedLines(text []byte) (all []storedLine) {
	for one := range bytes.Lines(text) {
		var l storedLine
		if json.Unmarshal(one, &l) == nil && l.N > 0 {
			all = append(all, l)
		}
	}
	return all
}

// checkStored checks that an ended run is intact and that no answer is left. Each line of its
// output must be stored once, and printed in this form. It returns the lines.
func checkStored(t *testing.T, dir string, printed []storedLine) []storedLine {
	t.Helper()
	run := rundir.At(filepath.Join(dir, "job"))
	if _, err := runs.Verify(run); err != nil {
		t.Error(err)
	}
	answers, err := run.Answers()
	maps.DeleteFunc(answers, func(id string, _ *journal.Answer) bool {
		return strings.HasPrefix(id, "steer-") // the reply to a sender that was not confirmed
	})
	if err != nil || len(answers) > 0 {
		t.Errorf("the ended run has the answers %v (error %v)", answers, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "job", "out.ndjson"))
	stored := storedLines(text)
	if err != nil || len(stored) == 0 {
		t.Fatalf("the output is %q (error %v)", text, err)
	}
	missing := map[int]bool{}
	for i, l := range stored {
		if missing[i+1] = true; l.N != i+1 {
			t.Errorf("line %d of the output has number %d", i+1, l.N)
		}
	}
	for _, l := range printed {
		if delete(missing, l.N); l.N > len(stored) || stored[l.N-1].Channel != l.Channel || !bytes.Equal(stored[l.N-1].Payload, l.Payload) {
			t.Errorf("%+v was printed, which is not stored", l)
		}
	}
	if len(missing) > 0 {
		t.Errorf("the lines %v were not printed", missing)
	}
	return stored
}

// recordedLines returns the number of lines that the journal has recorded as printed.
func recordedLines(dir string) (n int) {
	for line := range bytes.Lines(journalOf(dir)) {
		var r struct {
			K string
			N int
		}
		if json.Unmarshal(line, &r) == nil && r.K == "out" {
			n = r.N
		}
	}
	return n
}

func journalOf(dir string) (text []byte) {
	all, _ := filepath.Glob(filepath.Join(dir, "job", "journal-*.ndjson")) // a valid pattern
	for _, file := range all {
		part, _ := os.ReadFile(file) // it may have been dropped
		text = append(text, part...)
	}
	return text
}

// lastLines returns the last lines of a text.
func lastLines(text []byte) []byte {
	all := slices.Collect(bytes.Lines(text))
	return bytes.Join(all[max(0, len(all)-60):], nil)
}
