//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// storm is a program that uses everything that a durable run stores: files with ids, a store in a
// file, repeatable and unrepeatable requests, timers, concurrent tasks, and the time.
const storm = `
use std::{fs, http, time};
hashmap seen: HashMap<String, Int> = HashMap::new().with_persistence("storm.db");
agent Judge { provider: "local" }
host Clerk { connector: "clerk", output_format: "json" }
host Coder { connector: "coder", output_format: "json" }
tool Notes {
    description: "Notes.",
    @describe("Notes a number, and doubles it.")
    @param("id", "The number.")
    fn note(self, id: Int) -> Int {
        http::put("URL/noted/${id}", "")?;
        id * 2
    }
}
host Agent { connector: "agent", tools: [Notes] }
host Watch { connector: "watch", output_format: "json" }

fn asked(id: Int) -> String {
    let r = listen Clerk.execute("job ${id}.") {
        "progress" => |p: HostProgress| { emit("progress", p.message); },
        "question" => |q: HostQuestion| {
            http::put("URL/asked/${id}", q.question)?;
            let _ = Clerk.steer("hint ${id}.");
            "yes to ${q.question}"
        },
        "approval" => |a: HostApproval| {
            http::put("URL/approved/${id}", a.description)?;
            time::sleep(1);
            "yes"
        },
    };
    r?.text
}

fn clerk(id: Int) -> String {
    for _n in 0..50 {
        try { return asked(id); } catch HostError(e) {
            if (e.code ?? "") != "lost" { throw e; }
        }
    }
    "never"
}

fn told(id: Int) -> String {
    let r = listen Coder.execute("task ${id}.") {
        "progress" => |p| nil,
        "question" => |q| "",
        "approval" => |a: HostApproval| {
            http::put("URL/coded/${id}", a.description)?;
            let _ = Coder.steer("message ${id}.");
            "yes"
        },
    };
    r?.text
}

fn coder(id: Int) -> String {
    for _n in 0..50 {
        try { return told(id); } catch HostError(e) {
            if (e.code ?? "") != "lost" { throw e; }
        }
    }
    "never"
}

fn helped(id: Int) -> String {
    let r = listen Agent.execute("errand ${id}.") {
        "approval" => |a: HostApproval| {
            let _ = Agent.steer("again ${id}.");
            "yes"
        },
        "question" => |q| "",
        "progress" => |p| nil,
    };
    r?.text
}

fn helper(id: Int) -> String {
    for _n in 0..50 {
        try { return helped(id); } catch HostError(e) {
            if (e.code ?? "") != "lost" { throw e; }
        }
    }
    "never"
}

async fn one(id: Int) -> Int {
    fs::append_file("lines", "line ${id};")?;
    seen.increment("n${id}");
    seen.increment("total");
    http::put("URL/put/${id}", "put ${id}")?;
    http::post("URL/post/${id}", "post ${id}")?;
    let said = Judge.execute("question ${id}")?;
    time::sleep(id % 3);
    emit("hosts", [clerk(id), coder(id), helper(id)]);
    emit("done", {"id": id, "said": said});
    id
}

async fn rounds() -> Int {
    for round in 0..ROUNDS {
        let (a, b, c) = await (one(round * 3), one(round * 3 + 1), one(round * 3 + 2));
        let sum = a + b + c;
        fs::write_file("round-${round}", "sum ${sum}")?;
        fs::move_file("round-${round}", "moved-${round}")?;
        println("round ${round}: ${sum}");
    }
    ROUNDS
}

fn watched(all: Task<Int>) -> String {
    let r = listen Watch.execute("watch.") {
        "question" => |q| {
            all.await;
            "done"
        },
        "approval" => |a| "",
        "progress" => |p| nil,
    };
    r?.text
}

fn main() {
    let all = rounds();
    for _n in 0..50 {
        try {
            emit("watched", watched(all));
            break;
        } catch HostError(e) {
            if (e.code ?? "") != "lost" { throw e; }
        }
    }
    emit("total", seen.get_or("total", 0));
}
`

// stormWorld is the HTTP server that a storm's program uses. It records the idempotency keys of the
// requests, by method and path, or by the question in a request to a model.
type stormWorld struct {
	*httptest.Server
	mu   sync.Mutex
	keys map[string][]string
}

var question = regexp.MustCompile(`question \d+`)

func newStormWorld(t *testing.T) *stormWorld {
	w := &stormWorld{keys: map[string][]string{}}
	w.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		what := r.Method + " " + r.URL.Path
		if strings.HasSuffix(r.URL.Path, "/chat/completions") {
			what = question.FindString(string(body))
		}
		w.mu.Lock()
		w.keys[what] = append(w.keys[what], r.Header.Get("Idempotency-Key"))
		w.mu.Unlock()
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(rw, `{"choices":[{"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}`, "answer to "+what)
	}))
	t.Cleanup(w.Close)
	return w
}

// stormFiles returns the storm's program, its manifest and its hosts. watch is an argument of the
// host Watch.
func stormFiles(url, watch string) map[string]string {
	return map[string]string{
		"main.conc": strings.NewReplacer("URL", url, "ROUNDS", strconv.Itoa(stormRounds)).Replace(storm),
		"Concerto.toml": fmt.Sprintf("[project]\nname = \"storm\"\n[run.unknown]\nhttp = \"retry\"\n"+
			"[connections.local]\nprovider = \"openai\"\nbase_url = %[1]q\ndefault_model = \"m\"\n"+
			"[hosts.clerk]\ncommand = \"stormhost\"\nargs = [\"clerk\"]\ninit = true\ninstances = %[2]d\n"+
			"[hosts.coder]\ncommand = \"stormhost\"\nargs = [\"coder\"]\ntransport = \"codex\"\ninstances = %[2]d\n"+
			"[hosts.agent]\ncommand = \"stormhost\"\nargs = [\"agent\"]\ntransport = \"acp\"\ninstances = %[2]d\n[hosts.agent.permissions]\ndefault = \"ask\"\n"+
			"[hosts.watch]\ncommand = \"stormhost\"\nargs = [\"watch\", %[3]q]\ninit = true\n", url+"/v1", stormInstances, watch),
	}
}

const (
	stormRounds    = 12
	stormTasks     = stormRounds * 3
	stormInstances = 2
)

// end checks the results of a finished storm.
func (s *stormed) end() {
	s.Helper()
	lines, err := os.ReadFile(filepath.Join(s.dir, "lines"))
	if err != nil {
		s.Fatal(err)
	}
	for id := range stormTasks {
		if n := strings.Count(string(lines), fmt.Sprintf("line %d;", id)); n != 1 {
			s.bad("the file contains line %d %d times, want once", id, n)
		}
		for _, what := range []string{fmt.Sprintf("PUT /put/%d", id), fmt.Sprintf("POST /post/%d", id), fmt.Sprintf("PUT /asked/%d", id),
			fmt.Sprintf("PUT /approved/%d", id), fmt.Sprintf("PUT /coded/%d", id), fmt.Sprintf("question %d", id)} {
			keys := s.world.keys[what]
			if len(keys) == 0 {
				s.bad("the server has received no request %s", what)
			}
			for _, k := range keys {
				if k == "" || k != keys[0] {
					s.bad("the requests %s have the idempotency keys %q, want one key", what, keys)
				}
			}
		}
	}
	for round := range stormRounds {
		want := fmt.Sprintf("sum %d", round*9+3)
		if text, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("moved-%d", round))); err != nil || string(text) != want {
			s.bad("file moved-%d contains %q (error %v), want %q", round, text, err, want)
		}
	}
	if fail, err := os.ReadFile(filepath.Join(s.dir, "agent.fail")); err == nil {
		s.bad("the agent reports: %s", fail)
	}
	if s.keepers == 0 {
		s.hosts()
	}
	s.messages()
	s.output()
}

// messages compares the messages of other processes with those that the host Watch has received and
// with the ledger. A confirmed message must have been received and recorded once, a refused one
// never. The outcome of any other is unknown, but it must not be received twice, and a received one
// must be recorded. Hosts of a keeper that was killed may receive a message again or never.
func (s *stormed) messages() {
	s.Helper()
	in, err := os.ReadFile(filepath.Join(s.dir, "watch.in"))
	if err != nil {
		s.Fatal(err)
	}
	ledger, err := os.ReadFile(filepath.Join(s.dir, "job", "ledger.ndjson"))
	if err != nil {
		s.Fatal(err)
	}
	for i, m := range s.steered {
		received := strings.Count(string(in), fmt.Sprintf(`"text":"outside %d."`, i))
		recorded := strings.Count(string(ledger), fmt.Sprintf(`"text":"outside %d."`, i))
		right := received <= 1 && recorded == received
		switch {
		case s.keepers > 0:
			right = recorded <= 1
		case m.outcome == steerSent:
			right = received == 1 && recorded == 1
		case m.outcome == steerRefused:
			right = received == 0 && recorded == 0
		}
		if !right {
			s.bad("message %d, whose sender was notified that it was %s, was received %d times and recorded %d times:\n%s", i, m.outcome, received, recorded, m.printed)
		}
	}
}

// steeredMessage is a message that another process has sent to the host Watch.
type steeredMessage struct {
	outcome string
	printed []byte // what the sending process printed
}

// The outcomes of a message of another process.
const (
	steerSent    = "sent"
	steerRefused = "refused"
	steerUnknown = "perhaps sent"
)

// steer sends messages of another process until the run's process has exited.
func (s *stormed) steer(exited <-chan struct{}) {
	for {
		select {
		case <-exited:
			return
		default:
		}
		text, err := command(s.dir, "steer", "job", "--host", "Watch", fmt.Sprintf("outside %d.", len(s.steered))).CombinedOutput()
		outcome := steerUnknown
		switch {
		case err == nil:
			outcome = steerSent
		case bytes.Contains(text, []byte("no host of job is running")), bytes.Contains(text, []byte("is idle")), bytes.Contains(text, []byte("no such directory")):
			outcome = steerRefused
		case !bytes.Contains(text, []byte("stopped before it confirmed")):
			s.bad("steer: %s", text)
		}
		s.steered = append(s.steered, steeredMessage{outcome, text})
	}
}

func (s *stormed) bad(format string, args ...any) {
	s.Helper()
	s.Errorf("storm with seed %d: %s", s.seed, fmt.Sprintf(format, args...))
}

// hosts compares the messages that the hosts received with the expected ones: each host must have
// received each prompt and each answer exactly once. The agent checks its answers itself. All
// requests that the agent's tool sent for one id must have the same key.
func (s *stormed) hosts() {
	s.Helper()
	for _, h := range []struct {
		name, prompt string
		answers      []string // expected answers for each id
	}{
		{"clerk", `"text":"job %d."`, []string{`"type":"steer","id":"t1","text":"hint %d."`, `"in_reply_to":"question","answer_to":"job %d.","value":"yes to job %[1]d."`, `"in_reply_to":"approval","answer_to":"job %d.","value":"yes"`}},
		{"coder", `"text":"task %d."`, nil},
		{"agent", `"text":"errand %d."`, []string{`"text":"again %d."`}},
	} {
		file := filepath.Join(s.dir, h.name)
		in, err := os.ReadFile(file + ".in")
		if err != nil {
			s.Fatal(err)
		}
		for id := range stormTasks {
			if keys := s.world.keys[fmt.Sprintf("PUT /noted/%d", id)]; len(slices.Compact(slices.Clone(keys))) != 1 {
				s.bad("the requests PUT /noted/%d have the idempotency keys %q, want one key", id, keys)
			}
			for _, text := range append([]string{h.prompt}, h.answers...) {
				if text = fmt.Sprintf(text, id); strings.Count(string(in), text) != 1 {
					s.bad("host %s has received %s %d times, want once", h.name, text, strings.Count(string(in), text))
				}
			}
		}
		for id := range stormTasks {
			// The coder refuses every second message, which is then a prompt.
			if n := strings.Count(string(in), fmt.Sprintf(`"text":"message %d."`, id)); h.answers == nil && n != 1+id%2 {
				s.bad("host %s has received the message %d %d times, want %d", h.name, id, n, 1+id%2)
			}
		}
		if n := strings.Count(string(in), `"decision":"accept"`); h.answers == nil && n != stormTasks {
			s.bad("host %s has received %d decisions, want %d", h.name, n, stormTasks)
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

// output checks the stored output and stdout. Each line must be in the file exactly once, and on
// stdout at least once, in order.
func (s *stormed) output() {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "job", "out.ndjson"))
	if err != nil {
		s.bad("read the stored output: %v", err)
		return
	}
	stored := storedLines(text)
	of := map[string]int{}
	for _, l := range stored {
		of[l.Channel]++
	}
	for channel, want := range map[string]int{"done": stormTasks, "hosts": stormTasks, "print": stormRounds, "watched": 1, "total": 1} {
		if of[channel] != want {
			s.bad("%d lines of output are stored for channel %s, want %d", of[channel], channel, want)
		}
	}
	if n := of["progress"]; n < stormTasks || n > stormTasks && s.keepers == 0 {
		s.bad("the output contains %d progress messages of the clerk, want %d", n, stormTasks)
	}
	for i, l := range stored {
		if l.N != i+1 {
			s.bad("line %[1]d of the output has number %[2]d, want %[1]d", i+1, l.N)
		}
	}
	if last := stored[len(stored)-1]; last.Channel != "total" || string(last.Payload) != strconv.Itoa(stormTasks) {
		s.bad("last line of the output = %s, want the total %d", last.Payload, stormTasks)
	}
	seen := map[int]bool{}
	for _, l := range storedLines(s.stdout) {
		if l.N > len(stored) || stored[l.N-1].Channel != l.Channel || string(stored[l.N-1].Payload) != string(l.Payload) {
			s.bad("stdout contains %+v, which differs from the stored line with this number", l)
		}
		seen[l.N] = true
	}
	for i := range stored {
		if !seen[i+1] {
			s.bad("stored line %d was never printed to stdout", i+1)
		}
	}
}
