//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/evalprogram"
	"github.com/concerto-lang/concerto/internal/testkit/evalresult"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestEvalKill runs evals of random programs and ends the command with SIGKILL or SIGINT while it
// is calling models, until it ends by itself. The result must be that of an eval that was not
// killed, only calls in flight may be repeated, and no answer may be in the tapes of two samples.
func TestEvalKill(t *testing.T) {
	t.Parallel()
	show := func(seed uint64) string { return killedEval(rand.New(rand.NewPCG(seed, 3))) }
	randtest.Run(t, "internal/cli", 10, show, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 3))
		program := killedEval(random)
		s := &evalServer{T: t, attempts: map[string]bool{}}
		whole := s.project(program)
		s.eval(whole)
		want, answers := s.result(whole), len(s.taped(whole))
		if answers == 0 || len(s.served) != answers {
			t.Fatalf("the tapes have %d of %d answers\n%s", answers, len(s.served), program)
		}

		dir := s.project(program)
		for kills := 0; s.killOnce(dir, random, kills < 2); kills++ {
		}
		if diff := cmp.Diff(want, s.result(dir)); diff != "" {
			t.Errorf("results (-whole +killed):\n%s\n%s", diff, program)
		}
		if n := len(s.taped(dir)); n != answers {
			t.Errorf("the tapes have %d answers, want %d\n%s", n, answers, program)
		}
		s.served = nil
		s.eval(dir, "--cached")
		if diff := cmp.Diff(want, s.result(dir)); diff != "" || len(s.served) > 0 {
			t.Errorf("%d calls with --cached; results (-whole +cached):\n%s\n%s", len(s.served), diff, program)
		}
	})
}

// killedEval returns a program with an eval that also calls hosts, streams answers, uses races and
// time limits, and repeats failed calls. Its metrics do not depend on time.
func killedEval(random *rand.Rand) string {
	return evalprogram.Random(random, evalprogram.Options{Connection: "main", Statements: killedStatements, Declarations: `schema Number { n: Int, why: String }
agent Repeated uses main { retry_policy: { max_attempts: 3, backoff: "none" } }
@retry(max: 3, backoff: "none", delay_ms: 0)
agent Retried uses main { }
@timeout(0.02)
agent Timed uses main { }
host Coder { connector: coder, output_format: "json", question_default: "" }

fn late(p: String) -> String { std::time::sleep(600000); p }
fn soon() -> String { std::time::sleep(1); "soon" }
fn number(p: String) -> Int { A.execute_with_schema<Number>(p).unwrap().n }
fn streamed(p: String) -> String {
    let mut text = "";
    for c in B.stream(p) { text += c.text; }
    text.slice(0, 4)
}
fn worked(p: String) -> String {
    let r = listen Coder.execute(p) {
        "approval" => |a: HostApproval| check("${a.description} ${p}"),
    };
    r.unwrap().text
}
`})
}

var killedStatements = []string{
	`x = Repeated.execute("flaky # ${x}").unwrap().text.slice(0, 4);`,
	`x = Retried.execute("flaky # ${x}").unwrap().text.slice(0, 4);`,
	`x = race (ask("hang # ${x}"), soon());`,
	`x = "${Timed.execute("hang # ${x}").is_ok()} ${ask("# ${x}")}";`,
	`x = race (ask("# ${x}"), late(x));`,
	`x = "${number("# ${x}")} ${streamed("# stream ${x}")}";`,
	`x = worked("work # ${x}");`,
}

// evalServer is a model server for evals that are killed. The first four digits of an answer depend
// on the prompt; the number after them is in no other answer.
type evalServer struct {
	*testing.T
	mu       sync.Mutex
	served   []string        // numbers of the answers
	attempts map[string]bool // flaky prompts that were requested
	left     int             // number of calls until the kill; 0 means that no call kills
	after    bool            // the kill follows the answer of that call
	signal   os.Signal
	kill     func() // sends the signal
}

// killedManifest is the manifest of the evals, with the URL of the model server.
const killedManifest = `[project]
name = "killed"
version = "0.1.0"
entry = "main.conc"

[connections.main]
provider = "openai"
base_url = %q
default_model = "m"
retry = { max_attempts = 1 }

[hosts.coder]
command = "testhost"
args = ["coder.host"]
`

// project writes a project with the program and returns its directory.
func (s *evalServer) project(program string) string {
	return programs(s.T, map[string]string{"main.conc": program, "coder.host": `serve
read
< {"type":"approval","id":"1","description":"first"}
read
< {"type":"approval","id":"2","description":"second"}
read
< {"type":"result","text":"done"}
end
`})
}

func (s *evalServer) serve(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Messages       []struct{ Role, Content string }
		Stream         bool
		ResponseFormat *struct{} `json:"response_format"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	prompt := q.Messages[0].Content
	switch {
	case s.isKilledNow(false), strings.HasPrefix(prompt, "hang"):
		<-r.Context().Done()
		return
	case strings.HasPrefix(prompt, "flaky") && s.isFirst(prompt):
		http.Error(w, `{"error":{"message":"overloaded"}}`, http.StatusServiceUnavailable)
		return
	}
	h := fnv.New32()
	fmt.Fprint(h, prompt, len(q.Messages))
	n := h.Sum32() % 10_000
	s.mu.Lock()
	id := fmt.Sprint(len(s.served) + 1_000_000)
	s.served = append(s.served, id)
	s.mu.Unlock()
	text := fmt.Sprintf("%04d #%s", n, id)
	if q.ResponseFormat != nil {
		text = fmt.Sprintf(`{"n":%d,"why":"#%s"}`, n, id)
		if len(q.Messages) == 1 && n%2 == 0 {
			text = fmt.Sprintf(`{"n":"none","why":"#%s"}`, id)
		}
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		s.Error(err)
	}
	if q.Stream {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", quoted)
	} else {
		fmt.Fprintf(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, quoted)
	}
	w.(http.Flusher).Flush()
	s.isKilledNow(true)
}

// isFirst reports whether a prompt is requested for the first time.
func (s *evalServer) isFirst(prompt string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.attempts[prompt]
	s.attempts[prompt] = true
	return first
}

// isKilledNow counts a call and kills the command if it is its time. answered means that the call
// was answered.
func (s *evalServer) isKilledNow(answered bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 || answered != s.after {
		return false
	}
	if s.left--; s.left > 0 {
		return false
	}
	s.kill()
	return true
}

// eval runs the command. It returns false if the command was killed.
func (s *evalServer) eval(dir string, flags ...string) bool {
	s.Helper()
	c := command(dir, append([]string{"eval", "--parallel", "3", "--format", "json"}, flags...)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	started := make(chan struct{})
	s.kill = func() {
		<-started
		_ = c.Process.Signal(s.signal)
	}
	// Each command has a server of its own, so that requests of an earlier one cannot arrive late.
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), fmt.Appendf(nil, killedManifest, server.URL), 0o666); err != nil {
		s.Fatal(err)
	}
	if err := c.Start(); err != nil {
		s.Fatal(err)
	}
	close(started)
	err := c.Wait()
	server.CloseClientConnections()
	server.Close()
	s.left = 0
	if code := c.ProcessState.ExitCode(); code == -1 || code == 130 && s.signal == os.Interrupt {
		return false
	}
	if err != nil || errs.Len() > 0 {
		s.Fatalf("concerto eval: %v\n%s%s", err, out.Bytes(), errs.Bytes())
	}
	if err := evalresult.Check(dir, out.Bytes()); err != nil {
		s.Error(err)
	}
	return true
}

// mostInFlight is the maximum number of calls in flight: of three samples with up to four calls.
const mostInFlight = 3 * 4

// killOnce runs the eval and kills it, if kills is set, at a random call. It checks that the tapes
// have all answers except those in flight. It returns false if the eval ended by itself.
func (s *evalServer) killOnce(dir string, random *rand.Rand, kills bool) bool {
	s.Helper()
	before := s.taped(dir)
	first := len(s.served)
	s.signal = []os.Signal{os.Kill, os.Kill, os.Interrupt}[random.IntN(3)]
	if s.after = random.IntN(2) == 0; kills {
		s.left = 1 + random.IntN(12)
	}
	ended := s.eval(dir)
	now := s.taped(dir)
	var lost []string
	for _, id := range s.served[first:] {
		if now[id] == "" {
			lost = append(lost, id)
		}
	}
	if ended && len(lost) > 0 || len(lost) > mostInFlight {
		s.Errorf("the tapes lack the answers %v", lost)
	}
	for id, tape := range before {
		if now[id] == "" && !strings.Contains(tape, `"q":"exchange.`) && !strings.Contains(tape, `"q":"agent.stream.`) {
			s.Errorf("answer %s is lost, which was on a tape without exchanges and streams:\n%s", id, tape)
		}
	}
	return !ended
}

var answerNumber = regexp.MustCompile(`#(\d{7})`)

// taped returns, by the number of an answer, the text of the tape that contains it.
func (s *evalServer) taped(dir string) map[string]string {
	s.Helper()
	names, _ := filepath.Glob(filepath.Join(dir, "evals", "tapes", "*", "*.tape")) // a valid pattern
	all := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			s.Fatal(err)
		}
		text = text[:bytes.LastIndexByte(text, '\n')+1]
		own := map[string]bool{}
		for _, m := range answerNumber.FindAllSubmatch(text, -1) {
			own[string(m[1])] = true
		}
		for id := range own {
			if other := all[id]; other != "" {
				s.Errorf("answer %s is on two tapes:\n%s\n%s", id, other, text)
			}
			all[id] = string(text)
		}
	}
	return all
}

// result returns the lines of the result without the members that depend on time and on the tapes.
func (s *evalServer) result(dir string) []map[string]any {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "evals", "scored.ndjson"))
	if err != nil {
		s.Fatal(err)
	}
	var all []map[string]any
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var line map[string]any
		if err := d.Decode(&line); err == io.EOF {
			return all
		} else if err != nil {
			s.Fatal(err)
		}
		delete(line, "started")
		delete(line, "ms")
		delete(line, "cached")
		all = append(all, line)
	}
}
