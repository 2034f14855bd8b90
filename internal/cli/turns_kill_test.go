//go:build unix

package cli

import (
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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// turnKills is the number of kills of a run of a turnStorm. CONCERTO_TURN_KILLS sets another one.
const turnKills = 4

// TestTurnsKill runs programs whose exchanges have several turns: because of a gate, a result that
// does not fit its schema, or a limit of the host's plan. It kills the durable run when its
// hosts receive messages and when it prints, and resumes it until it ends. The host must have
// received each prompt and each answer once, the ledger must contain each decision once, and the
// output must be that of a run without kills. Every second program also loses keepers; there no
// exchange may succeed whose gates have not passed.
func TestTurnsKill(t *testing.T) {
	var kills, keepers atomic.Int64
	randtest.Run(t, "internal/cli", 5, func(seed uint64) string { return newTurnStorm(seed).source() }, func(t *testing.T, seed uint64) {
		w := newTurnStorm(seed)
		killed, lost := w.run(t)
		kills.Add(int64(killed))
		keepers.Add(int64(lost))
	})
	t.Logf("%d kills of runs, %d of keepers", kills.Load(), keepers.Load())
}

// turnStorm is a random program: two tasks, each with a host and some jobs, which are exchanges.
type turnStorm struct {
	random *rand.Rand
	seed   uint64
	Jobs   []turnJob
}

// turnJob is an exchange. Its turns have the numbers Number+1, Number+2, ….
type turnJob struct {
	Number  int // 100, 200, …
	Host    int
	Kind    string // execute, typed, listen, typed listen or stream
	Repairs int
	Gates   []turnGate // in order
	Turns   []turn
}

// turnGate is a gate of a job.
type turnGate struct {
	IsFunction bool
	MaxTurns   int
}

// turn is what a host does in a turn, and how the gates decide about it.
type turn struct {
	Asks    []string // types of the messages that need an answer
	Limits  []string // limits of the plan that the turn reaches: again, fresh or accepted
	Misfits bool     // its result does not fit the schema
	Fails   [2]bool  // the gates that do not pass
}

const (
	turnsPerJob = 12 // more than any job needs
	turnRepairs = 2  // schema_repairs of the hosts
)

func newTurnStorm(seed uint64) *turnStorm {
	r := rand.New(rand.NewPCG(seed, 7))
	w := &turnStorm{random: r, seed: seed}
	for i := range 4 {
		j := turnJob{Number: 100 * (i + 1), Host: i % 2, Kind: []string{"execute", "typed", "listen", "typed listen", "stream"}[r.IntN(5)]}
		switch r.IntN(5) {
		case 0:
		case 1:
			j.Gates = []turnGate{{true, r.IntN(3)}}
		case 2:
			j.Gates = []turnGate{{false, r.IntN(3)}}
		case 3:
			j.Gates = []turnGate{{true, r.IntN(3)}, {false, r.IntN(3)}}
		default:
			j.Gates = []turnGate{{false, r.IntN(3)}, {true, r.IntN(3)}}
		}
		for n := range turnsPerJob {
			x := turn{Misfits: j.isTyped() && r.IntN(3) == 0, Fails: [2]bool{r.IntN(3) == 0, r.IntN(3) == 0}}
			for range r.IntN(3) {
				x.Asks = append(x.Asks, []string{"question", "approval"}[r.IntN(2)])
			}
			for kinds := []string{"fresh", "again", "accepted"}; r.IntN(4) == 0; { // a new conversation begins with the first turn
				from := min(n+len(x.Limits), 1)
				x.Limits = append(x.Limits, kinds[from+r.IntN(len(kinds)-from)])
			}
			j.Turns = append(j.Turns, x)
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w
}

func (j *turnJob) isTyped() bool { return strings.HasPrefix(j.Kind, "typed") }

// turnEvents is what must have happened in a job.
type turnEvents struct {
	prompts []string // what the host has received
	asked   []string // the messages that were answered
	decided []string // the records of answers
	gates   []string // the records of gates
	checked []string // the turns that a function has checked
	result  string
}

// expected returns what must happen in a job.
func (j *turnJob) expected() (e turnEvents) {
	prompt, repairs, used := fmt.Sprintf("job %d", j.Number), 0, map[int]int{}
next:
	for n, x := range j.Turns {
		number := j.Number + n + 1
		e.prompts = append(e.prompts, prompt)
		for _, limit := range x.Limits {
			if limit == "accepted" {
				prompt = fmt.Sprintf("Continue. %d", number)
			}
			e.prompts = append(e.prompts, prompt)
		}
		for i, typ := range x.Asks {
			e.asked = append(e.asked, fmt.Sprintf("%s %d.%d", typ, number, i))
		}
		if x.Misfits {
			if repairs == turnRepairs {
				e.result = "schema"
				return e
			}
			repairs++
			prompt = "bad " + spelled(number)
			continue
		}
		for i, g := range j.Gates {
			name := "sh gate.sh"
			if g.IsFunction {
				name = fmt.Sprintf("check%d", j.Number)
				e.checked = append(e.checked, strconv.Itoa(number))
			}
			e.gates = append(e.gates, fmt.Sprintf("%d %s %d %v", j.Host, name, n+1, !x.Fails[i]))
			if !x.Fails[i] {
				continue
			}
			if used[i] == g.MaxTurns {
				e.result = "gate"
				return e
			}
			used[i]++
			prompt = fmt.Sprintf("gate %d", number)
			continue next
		}
		e.result = strconv.Itoa(number)
		return e
	}
	panic("the job has too few turns")
}

// reachesLimit reports whether a job reaches a limit in a turn between its first one and the last,
// which has the given number. Its result does not contain what it has used before the limit.
func (w *turnStorm) reachesLimit(last int) bool {
	return slices.ContainsFunc(w.Jobs[last/100-1].Turns[1:last%100], func(x turn) bool { return len(x.Limits) > 0 })
}

// failing returns the numbers of the turns that gate i does not pass.
func (j *turnJob) failing(isFunction bool) (all []string) {
	for i, g := range j.Gates {
		for n, x := range j.Turns {
			if g.IsFunction == isFunction && x.Fails[i] {
				all = append(all, strconv.Itoa(j.Number+n+1))
			}
		}
	}
	return all
}

const turnHandlers = ` {
        "progress" => |p: HostProgress| { emit("progress", p.message); },
        "question" => |q: HostQuestion| {
            time::sleep(3);
            "answer ${q.question}"
        },
        "approval" => |a: HostApproval| "yes",
    }`

// source returns the program.
func (w *turnStorm) source() string {
	var b strings.Builder
	b.WriteString("use std::{fs, time};\nfn code(e: Error) -> String {\n    try { throw e; } catch HostError(h) { h.code ?? h.message }\n}\nhost H0 { connector: \"turns0\", output_format: \"json\" }\nhost H1 { connector: \"turns1\", output_format: \"json\" }\n")
	for i := range w.Jobs {
		j := &w.Jobs[i]
		host := fmt.Sprintf("H%d", j.Host)
		for _, g := range j.Gates {
			if !g.IsFunction {
				host += fmt.Sprintf(".with_gate(max_turns: %d)", g.MaxTurns)
				continue
			}
			host += fmt.Sprintf(".with_gate(check%d, max_turns: %d)", j.Number, g.MaxTurns)
			fmt.Fprintf(&b, "fn check%d(r: HostResult) -> Result<Nil, Error> {\n    fs::append_file(\"checked\", \"${r.text ?? \"\"};\")?;\n", j.Number)
			fmt.Fprintf(&b, "    if %s.contains(r.text ?? \"\") { Err(\"gate ${r.text ?? \"\"}\") } else { Ok(nil) }\n}\n", strings.ReplaceAll(fmt.Sprintf("%q", append(j.failing(true), "")), `" "`, `", "`))
		}
		fmt.Fprintf(&b, "fn once%d() -> String {\n    ", j.Number)
		call := fmt.Sprintf("%s.execute(\"job %d\")", host, j.Number)
		if j.isTyped() {
			call = fmt.Sprintf("%s.execute_with_schema<Int>(\"job %d\")", host, j.Number)
		}
		switch j.Kind {
		case "execute", "typed":
			fmt.Fprintf(&b, "match %s { Ok(v) => \"${v}\", Err(e) => code(e) }\n}\n", call)
		case "listen":
			fmt.Fprintf(&b, "let r = listen %s%s;\n    match r { Ok(v) => { emit(\"proofs\", v.proved_by); emit(\"used\", [\"%d\", v.usage.tokens_in]); v.text }, Err(e) => code(e) }\n}\n", call, turnHandlers, j.Number)
		case "typed listen":
			fmt.Fprintf(&b, "let r = listen %s%s;\n    match r { Ok(v) => \"${v}\", Err(e) => code(e) }\n}\n", call, turnHandlers)
		case "stream":
			fmt.Fprintf(&b, `let s = %s.stream("job %d");
    let mut text = "none";
    try {
        for m in s {
            if m.type == "question" { s.respond(m, "answer ${m.question}")?; }
            if m.type == "approval" { s.respond(m, "yes")?; }
            if m.type == "result" { emit("proofs", m.proved_by); emit("used", ["%[2]d", m.usage.tokens_in]); text = m.text; }
        }
    } catch HostError(e) { return code(e); }
    text
}
`, host, j.Number)
		}
		fmt.Fprintf(&b, "fn job%d() {\n    for _n in 0..50 {\n        let r = once%[1]d();\n        if r != \"lost\" { emit(\"job\", [\"%[1]d\", r]); return; }\n    }\n}\n", j.Number)
	}
	for host := range 2 {
		fmt.Fprintf(&b, "async fn all%d() -> Int {\n", host)
		for _, j := range w.Jobs {
			if j.Host == host {
				fmt.Fprintf(&b, "    job%d();\n", j.Number)
			}
		}
		b.WriteString("    1\n}\n")
	}
	b.WriteString("fn main() { let (a, b) = await (all0(), all1()); emit(\"end\", a + b); }\n")
	return b.String()
}

// files returns the program with its manifest, the gate, and what the hosts read.
func (w *turnStorm) files(url string) map[string]string {
	manifest := "[project]\nname = \"turns\"\n"
	var failing []string
	for host := range 2 {
		manifest += fmt.Sprintf("[hosts.turns%[1]d]\ncommand = \"stormhost\"\nargs = [\"turns%[1]d\", %[3]q]\ninit = true\n"+
			"gate = [[\"sh\", \"gate.sh\"]]\nschema_repairs = %[2]d\non_plan_limit = \"wait\"\n", host, turnRepairs, url)
	}
	for i := range w.Jobs {
		failing = append(failing, w.Jobs[i].failing(false)...)
	}
	plan, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	return map[string]string{
		"main.conc": w.source(), "Concerto.toml": manifest, "plan.json": string(plan), "failing": " " + strings.Join(failing, " ") + " ",
		"gate.sh": "at=$(cat turn.$CONCERTO_GATE)\necho \"gate $at\"\necho \"$at $CONCERTO_GATE_KEY\" >> keys.$CONCERTO_GATE\n! grep -q \" $at \" failing\n",
	}
}

var turnPrompt = regexp.MustCompile(`(job|gate|bad) ([0-9a-j]+)`)

// spelled returns a number without digits, which is no Int, and read the number.
func spelled(number int) string {
	return strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(number))
}

func readSpelled(text string) int {
	n, err := strconv.Atoi(strings.Map(func(r rune) rune {
		if r >= 'a' {
			return r - 'a' + '0'
		}
		return r
	}, text))
	if err != nil {
		panic(err)
	}
	return n
}

// newTurner returns a message handler that plays the jobs in plan.json. A turn follows from its
// prompt, so that any process of the host can begin it.
func newTurner(name string) func(*stormMessage) {
	var w turnStorm
	text, err := os.ReadFile("plan.json")
	if err == nil {
		err = json.Unmarshal(text, &w)
	}
	if err != nil {
		panic(err)
	}
	number, asked := 0, 0
	work := func(begins bool) {
		x := w.Jobs[number/100-1].Turns[number%100-1]
		session := fmt.Sprintf(`,"session":"s%d"`, number)
		// reach reaches the turn's next limit, if it is one of the given kinds.
		reach := func(kinds ...string) bool {
			file := fmt.Sprintf("limited-%d", number)
			before, _ := os.ReadFile(file)
			if len(before) == len(x.Limits) || !slices.Contains(kinds, x.Limits[len(before)]) {
				return false
			}
			if err := os.WriteFile(file, append(before, '.'), 0o600); err != nil {
				panic(err)
			}
			if kinds[0] == "fresh" {
				session = ""
			}
			sendLine(`{"type":"plan_limit","window":"5h","status":"reached","resets_at":%q}`, time.Now().Add(turnReset).Format(time.RFC3339Nano))
			sendLine(`{"type":"error","message":"limited"%s,"accepted":%v}`, session, kinds[0] == "accepted")
			return true
		}
		switch {
		case begins && (reach("fresh") || reach("again")):
		case asked < len(x.Asks):
			if asked == 0 {
				sendLine(`{"type":"progress","message":"%d"%s}`, number, session)
			}
			sendLine(`{"type":%q,"id":"%d.%d","question":"%[2]d.%[3]d","description":"%[2]d.%[3]d"}`, x.Asks[asked], number, asked)
		case reach("accepted"):
		default:
			text := strconv.Itoa(number)
			if err := os.WriteFile("turn.H"+name[len("turns"):], []byte(text), 0o600); err != nil {
				panic(err)
			}
			if x.Misfits {
				text = "bad " + spelled(number)
			}
			sendLine(`{"type":"result","text":%q,"usage":{"tokens_in":%d,"tokens_out":1}%s}`, text, turnTokens, session)
		}
	}
	return func(m *stormMessage) {
		switch m.Type {
		case "init":
			sendLine(`{"type":"init_ack","capabilities":["resume"]}`)
			return
		case "prompt":
			asked = 0
			if m.Text == "Continue." {
				_, _ = fmt.Sscanf(m.Session, "s%d", &number)
				asked = 9
			} else {
				number = 1 + readSpelled(turnPrompt.FindStringSubmatch(m.Text)[2])
			}
			if m.Resumed != nil && m.Resumed.Answered.ID != nil {
				_, _ = fmt.Sscanf(string(m.Resumed.Answered.ID), "\"%d.%d\"", &number, &asked)
				asked++
			}
		case "response":
			asked++
		default:
			return
		}
		work(m.Type == "prompt" && m.Resumed == nil)
	}
}

// turnTokens is the number of tokens that a turn uses.
const turnTokens = 10

// turnReset is the time after which a limit of the plan no longer applies.
const turnReset = 300 * time.Millisecond

// run runs the program without kills, and then with kills, and compares both. It returns how often
// it has killed the run and its keeper.
func (w *turnStorm) run(t *testing.T) (kills, keepers int) {
	whole := w.start(t, 0)
	whole.check(w)
	s := w.start(t, killsOf(t, "CONCERTO_TURN_KILLS", turnKills))
	if s.keepers > 0 {
		s.checkLossy(w)
		return s.kills, s.keepers
	}
	s.check(w)
	if got, want := s.visible(), whole.visible(); !slices.Equal(got, want) {
		s.bad("the output is\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	return s.kills, s.keepers
}

// turnRun is a run of a turnStorm.
type turnRun struct {
	*testing.T
	*killer
	dir     string
	keepers int // kills of keepers
}

func (s *turnRun) bad(format string, args ...any) {
	s.Helper()
	s.Errorf("seed %d, after %d kills: %s", s.seed, s.kills, fmt.Sprintf(format, args...))
}

// start runs the program until it ends. Every second program loses keepers.
func (w *turnStorm) start(t *testing.T, kills int) *turnRun {
	s := &turnRun{T: t, killer: newKiller(w.seed, 5, kills)}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.at("%s", body)
	}))
	t.Cleanup(server.Close)
	s.dir = programs(t, w.files(server.URL))
	if w.seed%2 == 1 {
		s.before = func(random *rand.Rand) bool { return killKeeper(s.dir, random, &s.keepers) }
	}
	t.Cleanup(func() { noneLeft(t, s.dir, s.keepers > 0) })
	var printed []storedLine
	for args := []string{"run", "--journal", "job", "--emit", "ndjson"}; ; {
		err := s.killer.start(t, s.dir, args, func(l storedLine) {
			printed = append(printed, l)
			s.at("line %s %s", l.Channel, l.Payload)
		})
		if err == nil {
			checkStored(t, s.dir, printed)
			return s
		}
		if !errors.Is(err, errKilled) {
			s.Fatalf("seed %d, after %d kills: %v\nthe end of the journal:\n%s", s.seed, s.kills, err, lastLines(journalOf(s.dir)))
		}
		if bytes.Contains(journalOf(s.dir), []byte("\n")) {
			args = []string{"runs", "resume", "job"}
		}
	}
}

// read returns a file of the run, or "" if it does not exist.
func (s *turnRun) read(name ...string) string {
	text, _ := os.ReadFile(filepath.Join(append([]string{s.dir}, name...)...))
	return string(text)
}

var changing = regexp.MustCompile(`"(n|duration_ms|ms|until|resets_at)":("[^"]*"|\d+)`)

// visible returns the run's output in an order that the order of its tasks does not change, without
// times.
func (s *turnRun) visible() []string {
	lines := strings.Split(changing.ReplaceAllString(s.read("job", "out.ndjson"), `"$1":0`), "\n")
	slices.Sort(lines)
	return lines
}

// results returns the results of the jobs.
func (s *turnRun) results() map[string]string {
	all := map[string]string{}
	for _, l := range storedLines([]byte(s.read("job", "out.ndjson"))) {
		var of [2]string
		if l.Channel == "job" && json.Unmarshal(l.Payload, &of) == nil {
			all[of[0]] += of[1]
		}
	}
	return all
}

// turnRecord is a record of the ledger.
type turnRecord struct {
	Kind    string
	Subject struct {
		Host   string
		ID     string
		Effect int64
	}
	Data struct {
		Asked  struct{ Gate string }
		Turn   int
		Passed bool
	}
}

func (s *turnRun) ledger() (all []turnRecord) {
	for line := range strings.Lines(s.read("job", "ledger.ndjson")) {
		var r turnRecord
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// check compares what the hosts, the ledger and the output contain with what is expected.
func (s *turnRun) check(w *turnStorm) {
	s.Helper()
	want, got := [2]turnEvents{}, [2]turnEvents{}
	var checked []string
	results := map[string]string{}
	for i := range w.Jobs {
		j := &w.Jobs[i]
		e, all := j.expected(), &want[j.Host]
		all.prompts, all.gates, all.asked = append(all.prompts, e.prompts...), append(all.gates, e.gates...), append(all.asked, e.asked...)
		checked = append(checked, e.checked...)
		results[strconv.Itoa(j.Number)] = e.result
	}
	for _, r := range s.ledger() {
		switch host := int(r.Subject.Host[1] - '0'); r.Kind {
		case "gate":
			got[host].gates = append(got[host].gates, fmt.Sprintf("%d %s %d %v", host, r.Data.Asked.Gate, r.Data.Turn, r.Data.Passed))
		default:
			got[host].decided = append(got[host].decided, r.Kind+" "+r.Subject.ID)
		}
	}
	for host := range got {
		e, keys := &got[host], map[string]bool{}
		for line := range strings.Lines(s.read(fmt.Sprintf("turns%d.in", host))) {
			var m stormMessage
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				s.Fatal(err)
			}
			switch {
			case m.Type == "response":
				e.asked = append(e.asked, m.InReplyTo+" "+m.AnswerTo)
			case m.Type == "prompt" && m.Text == "Continue.":
				e.prompts = append(e.prompts, "Continue. "+strings.TrimPrefix(m.Session, "s"))
			case m.Type == "prompt":
				e.prompts = append(e.prompts, turnPrompt.FindString(m.Text))
			}
			if m.Type == "prompt" && (m.Key == "" || keys[m.Key]) {
				s.bad("host %d has received a prompt with the key %q, want one that is new: %s", host, m.Key, line)
			}
			keys[m.Key] = true
		}
		for _, c := range []struct {
			what      string
			got, want []string
		}{{"prompts", e.prompts, want[host].prompts}, {"answers", e.asked, want[host].asked}, {"records of answers", e.decided, want[host].asked}, {"records of gates", e.gates, want[host].gates}} {
			if !slices.Equal(c.got, c.want) {
				s.bad("after %d kills host %d has the %s %q, want %q", s.kills, host, c.what, c.got, c.want)
			}
		}
	}
	slices.Sort(checked)
	done := strings.Split(strings.TrimSuffix(s.read("checked"), ";"), ";")
	if slices.Sort(done); len(checked) > 0 && !slices.Equal(done, checked) {
		s.bad("after %d kills functions have checked the turns %q, want %q", s.kills, done, checked)
	}
	if !maps.Equal(s.results(), results) {
		s.bad("after %d kills the results are %q, want %q", s.kills, s.results(), results)
	}
	for _, l := range storedLines([]byte(s.read("job", "out.ndjson"))) {
		var job string
		var tokens int
		if l.Channel != "used" || json.Unmarshal(l.Payload, &[]any{&job, &tokens}) != nil {
			continue
		}
		if last, _ := strconv.Atoi(results[job]); tokens != last%100*turnTokens && !w.reachesLimit(last) {
			s.bad("after %d kills job %s has used %d tokens in %d turns", s.kills, job, tokens, last%100)
		}
	}
	s.checkKeys()
}

// checkKeys checks that a repeated command of a gate has the same key.
func (s *turnRun) checkKeys() {
	s.Helper()
	for host := range 2 {
		all := map[string]string{}
		for line := range strings.Lines(s.read(fmt.Sprintf("keys.H%d", host))) {
			at, key, _ := strings.Cut(strings.TrimSpace(line), " ")
			if key == "" || all[at] != "" && all[at] != key {
				s.bad("gate of turn %s has the keys %q and %q", at, all[at], key)
			}
			all[at] = key
		}
	}
}

// checkLossy checks the results of a run whose keeper was killed: no job succeeds that must not,
// and no decision is recorded twice.
func (s *turnRun) checkLossy(w *turnStorm) {
	s.Helper()
	results := s.results()
	for i := range w.Jobs {
		j := &w.Jobs[i]
		if got, want := results[strconv.Itoa(j.Number)], j.expected().result; got != want {
			s.bad("after %d kills, %d of keepers, job %d has the result %q, want %q\n%s\n%s", s.kills, s.keepers, j.Number, got, want, s.read(fmt.Sprintf("turns%d.in", j.Host)), s.read("job", "ledger.ndjson"))
		}
	}
	seen := map[string]bool{}
	for _, r := range s.ledger() {
		id := fmt.Sprint(r.Kind, r.Subject, r.Data.Asked, r.Data.Turn)
		if seen[id] {
			s.bad("the ledger has a record twice: %+v", r)
		}
		seen[id] = true
	}
}
