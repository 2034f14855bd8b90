//go:build unix

package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/hosttest"
)

// logRecord is a record in the minimal journal of a run that these tests kill.
type logRecord struct {
	// kind of the record: start, opening, open, lines, steering, steered, replying, replied,
	// continuing, continued, closing or closed
	K      string                 `json:"k"`
	X      int                    `json:"x"` // number of the exchange, from 0
	At     int64                  `json:"at,omitempty"`
	Opened *effect.ExchangeOpened `json:"opened,omitempty"`
	Last   int64                  `json:"last,omitempty"` // of the line
	Lines  *effect.HostLines      `json:"lines,omitempty"`
	Texts  []string               `json:"texts,omitempty"`
	Reply  *effect.ExchangeReply  `json:"reply,omitempty"`
	Steer  *host.Steered          `json:"steer,omitempty"`
}

// killableRun is a run that has exchanges with one host. The test may kill its process at any time.
type killableRun struct {
	dir     string
	journal *os.File
	past    []logRecord
	hosts   *host.Hosts
	ids     map[int]int64
	tools   []effect.ToolSpec
	steers  bool // the program and another process send messages to the host
	further int  // number of further turns that the program begins in each exchange
}

func init() { programs["TALKER"] = runKillable }

// exchanges is the number of exchanges in a killable run.
const exchanges = 12

// runKillable is the main function of the process that the tests kill.
func runKillable() {
	t := &killableRun{dir: os.Getenv("TALKER"), ids: map[int]int64{}}
	must(t.run())
	fmt.Println("done")
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func (t *killableRun) run() (err error) {
	name := filepath.Join(t.dir, "journal")
	t.past = readRecords(name)
	if t.journal, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return err
	}
	owner := int64(1)
	for _, n := range t.past {
		if n.K == "start" {
			owner++
		}
	}
	t.writeRecord(logRecord{K: "start"})
	var c host.Config
	text, err := os.ReadFile(filepath.Join(t.dir, "config"))
	if err != nil {
		return err
	}
	if err := errors.Join(json.Unmarshal(text, &c), json.Unmarshal(text, &c.Access)); err != nil {
		return err
	}
	c.Name, c.Connector = "worker", "worker"
	if c.Transport == "acp" {
		t.tools = calc
	}
	t.steers = os.Getenv("TALKER_STEERS") != ""
	if t.steers = t.steers && os.Getenv("TALKER_STEERS") != "continue"; os.Getenv("TALKER_STEERS") == "continue" {
		t.further = 2
	}
	t.hosts = host.New(host.Options{Configs: []host.Config{c}, Environ: os.Environ(), Run: &procgroup.Run{ID: hosttest.RunID, Executable: os.Args[0]}, Keeper: newKeeperClient(t.dir, owner)})
	if owner > 1 {
		if err := t.hosts.Resume(context.Background(), t.open()); err != nil {
			return err
		}
	}
	for x := range exchanges {
		if err := t.exchange(x); err != nil {
			return fmt.Errorf("exchange %d: %w", x, err)
		}
	}
	return t.hosts.Close(context.Background())
}

// readRecords reads a journal. It ignores an incomplete last record.
func readRecords(name string) (all []logRecord) {
	text, _ := os.ReadFile(name)
	for line := range strings.Lines(string(text)) {
		var n logRecord
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &n) == nil {
			all = append(all, n)
		}
	}
	return all
}

// writeRecord writes a record, and notifies the parent process.
func (t *killableRun) writeRecord(n logRecord) {
	n.At = time.Now().UnixMilli()
	text, err := json.Marshal(n)
	must(err)
	_, err = t.journal.Write(append(text, '\n'))
	must(err)
	fmt.Println(n.K)
}

// recordsOf returns the records of exchange x whose kind is k.
func (t *killableRun) recordsOf(x int, k string) (all []logRecord) {
	for _, n := range t.past {
		if n.X == x && n.K == k {
			all = append(all, n)
		}
	}
	return all
}

func request(x int, tools ...effect.ToolSpec) *effect.ExchangeOpen {
	return &effect.ExchangeOpen{Host: "worker", Prompt: fmt.Sprint("job ", x), Tools: tools}
}

// open returns the exchanges that were open when the previous process was killed.
func (t *killableRun) open() (all []host.Open) {
	for x := range exchanges {
		if t.recordsOf(x, "opening") == nil || t.recordsOf(x, "closed") != nil {
			continue
		}
		o := host.Open{ID: int64(1000 + x), Request: request(x, t.tools...)}
		for _, n := range t.recordsOf(x, "open") {
			o.Opened, o.Since = n.Opened, time.UnixMilli(n.At)
			t.ids[x] = o.ID
		}
		t.addSteered(x, &o)
		for _, n := range t.recordsOf(x, "lines") {
			o.Line = n.Last
			last := n.Texts[len(n.Texts)-1]
			o.Over = strings.HasPrefix(last, `{"type":"result"`) || strings.HasPrefix(last, `{"type":"error"`)
			all := t.recordsOf(x, "lines")
			o.Over = o.Over && (t.further == 0 || n.Last == all[len(all)-1].Last && countResults(all) > len(t.recordsOf(x, "continued")))
		}
		for _, n := range t.recordsOf(x, "replied") {
			n.Reply.ID = o.ID
			o.Replies = append(o.Replies, n.Reply)
		}
		all = append(all, o)
	}
	return all
}

// exchange runs exchange x, or continues it if it was begun.
func (t *killableRun) exchange(x int) error {
	if t.recordsOf(x, "closed") != nil {
		return nil
	}
	ctx := context.Background()
	if t.recordsOf(x, "open") == nil {
		if t.recordsOf(x, "opening") == nil {
			t.writeRecord(logRecord{K: "opening", X: x})
		}
		got, err := t.hosts.Perform(ctx, request(x, t.tools...))
		if err != nil {
			return err
		}
		opened := got.(*effect.ExchangeOpened)
		t.ids[x] = opened.ID
		t.writeRecord(logRecord{K: "open", X: x, Opened: opened})
	}
	var texts []string
	for _, n := range t.recordsOf(x, "lines") {
		texts = append(texts, n.Texts...)
	}
	replied := len(t.recordsOf(x, "replied"))
	for {
		over, err := t.handle(x, texts, &replied)
		if err != nil {
			return err
		}
		if n := len(t.recordsOf(x, "continued")); over && n < t.further {
			if err := t.continueTurn(x, n); err != nil {
				return err
			}
			continue
		}
		if over {
			break
		}
		got, err := t.hosts.Perform(ctx, &effect.ExchangeNext{ID: t.ids[x]})
		if err != nil {
			return err
		}
		m := got.(*effect.ExchangeMessages)
		n := logRecord{K: "lines", X: x, Last: m.Lines.Last()}
		if t.steers || t.further > 0 {
			n.Lines = m.Lines
		}
		for _, one := range m.Messages {
			n.Texts = append(n.Texts, string(one.Text))
		}
		t.writeRecord(n)
		texts = append(texts, n.Texts...)
	}
	if t.recordsOf(x, "closing") == nil {
		t.writeRecord(logRecord{K: "closing", X: x})
	}
	if _, err := t.hosts.Perform(ctx, &effect.ExchangeClose{ID: t.ids[x]}); err != nil {
		return err
	}
	t.writeRecord(logRecord{K: "closed", X: x})
	return nil
}

// handle answers the questions in texts that are unanswered, and reports whether the exchange has
// ended. replied is the number of replies so far.
func (t *killableRun) handle(x int, texts []string, replied *int) (over bool, err error) {
	asked := 0
	begun := len(t.recordsOf(x, "continued"))
	for _, text := range texts {
		var m struct {
			Type, ID string
			Args     struct{ N int }
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			return false, err
		}
		if ends := m.Type == "result" || m.Type == "error"; ends && begun > 0 {
			begun--
		} else {
			over = over || ends
		}
		if m.Type != "question" && m.Type != "approval" && m.Type != "tool_call" {
			continue
		}
		if asked++; asked <= *replied {
			continue
		}
		if t.steers {
			must(t.steer(x, m.ID, texts))
		}
		*replied++
		id, _ := json.Marshal(m.ID)
		r := &effect.ExchangeReply{ID: t.ids[x], InReplyTo: m.Type, AnswerTo: string(id), Value: json.RawMessage(`"yes"`)}
		if m.Type == "tool_call" {
			r.Value = fmt.Appendf(nil, "%d", 2*m.Args.N)
		}
		t.writeRecord(logRecord{K: "replying", X: x, Reply: r})
		if _, err := t.hosts.Perform(context.Background(), r); err != nil {
			return false, err
		}
		t.writeRecord(logRecord{K: "replied", X: x, Reply: r})
	}
	return over, nil
}

// continueTurn begins the further turn n of an exchange.
func (t *killableRun) continueTurn(x, n int) error {
	s := &host.Steered{Key: fmt.Sprintf("%d more %d", x, n), Text: fmt.Sprintf("more %d-%d", x, n)}
	t.writeRecord(logRecord{K: "continuing", X: x, Steer: s})
	got, err := t.hosts.Perform(effect.WithKey(context.Background(), s.Key), &effect.ExchangeContinue{ID: t.ids[x], Prompt: s.Text, Reason: effect.ContinueSchema})
	if err != nil {
		return err
	}
	s.Outcome, s.ID = got.(*effect.ExchangeSteered).Outcome, got.(*effect.ExchangeSteered).ID
	record := logRecord{K: "continued", X: x, Steer: s}
	t.writeRecord(record)
	t.past = append(t.past, record)
	return nil
}

// countResults returns the number of results in records.
func countResults(all []logRecord) (n int) {
	for _, r := range all {
		for _, text := range r.Texts {
			if strings.HasPrefix(text, `{"type":"result"`) {
				n++
			}
		}
	}
	return n
}

// addSteered adds the journaled messages to the host, and the history of the exchange.
func (t *killableRun) addSteered(x int, o *host.Open) {
	if !t.steers && t.further == 0 || o.Opened == nil {
		return
	}
	o.History = &continuity.History{}
	o.History.RecordOpened(o.Opened)
	for _, n := range t.past {
		switch {
		case n.X != x:
		case n.K == "steered":
			o.Steered = append(o.Steered, *n.Steer)
		case n.K == "continued":
			o.Steered = append(o.Steered, *n.Steer)
			o.History.RecordContinued(n.Steer.ID)
		case n.K == "replied":
			o.History.RecordReply(n.Reply)
		case n.K == "lines":
			m := &effect.ExchangeMessages{Lines: n.Lines}
			for _, text := range n.Texts {
				typ, id, payload, err := value.ParseMessage([]byte(text))
				must(err)
				m.Messages = append(m.Messages, effect.HostMessage{Type: typ, ID: string(id), Payload: payload, Text: []byte(text), Decided: typ == effect.Steered})
				if s := m.Messages[len(m.Messages)-1].Steering(); s != nil {
					o.Steered = append(o.Steered, host.Steered{Key: s.Key, ID: s.ID, Text: s.Text, Outcome: s.Outcome, Outside: true})
				}
			}
			o.History.RecordMessages(m)
		}
	}
}

// steer sends two messages to the host unless they are journaled: one of the program, which
// interrupts the turn if the host has asked its second question, and one of another process.
func (t *killableRun) steer(x int, question string, texts []string) error {
	own := fmt.Sprintf("%d-%s", x, question)
	isOwn := func(n logRecord) bool { return n.Steer.Key == own }
	if !slices.ContainsFunc(t.recordsOf(x, "steered"), isOwn) {
		s := &host.Steered{Key: own, Text: "program " + own, Interrupt: question == "b" && os.Getenv("TALKER_STEERS") == "interrupt"}
		t.writeRecord(logRecord{K: "steering", X: x, Steer: s})
		got, err := t.hosts.Perform(effect.WithKey(context.Background(), own), &effect.ExchangeSteer{ID: t.ids[x], Text: s.Text, Interrupt: s.Interrupt})
		if err != nil {
			return err
		}
		s.Outcome, s.ID = got.(*effect.ExchangeSteered).Outcome, got.(*effect.ExchangeSteered).ID
		t.writeRecord(logRecord{K: "steered", X: x, Steer: s})
	}
	other := "other " + own
	if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, other) }) {
		return nil
	}
	_, _, err := t.hosts.Steer(context.Background(), host.Message{Key: other, Text: other})
	return err
}

// kill runs a killable run repeatedly. It kills the run at a random step the given number of times,
// and then lets it finish. It returns the messages that the program received in each exchange.
func kill(t *testing.T, dir string, c host.Config, times int) [][]string {
	t.Helper()
	text, err := json.Marshal(configOf(c))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	chance := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	for n := 0; ; n++ {
		steps := -1
		if n < times {
			steps = 2 + chance.IntN(12)
		}
		if runAndKill(t, dir, steps) {
			break
		}
	}
	received := make([][]string, exchanges)
	for _, n := range readRecords(filepath.Join(dir, "journal")) {
		received[n.X] = append(received[n.X], n.Texts...)
	}
	return received
}

func configOf(c host.Config) map[string]any {
	return map[string]any{"transport": c.Transport, "command": c.Command, "args": c.Args, "env": c.Env, "timeout": c.Timeout, "cancel_grace": c.CancelGrace, "output_format": c.OutputFormat, "init": c.Init, "working_dir": c.Dir, "permissions": c.Access.Permissions}
}

// runAndKill starts the process of a killable run and kills it after the given number of steps; -1
// means never. done reports whether the process exited by itself.
func runAndKill(t *testing.T, dir string, steps int) (done bool) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "TALKER="+dir)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	// On SIGQUIT, the process prints the stacks of its goroutines.
	stuck := time.AfterFunc(patience, func() { _ = syscall.Kill(c.Process.Pid, syscall.SIGQUIT) })
	defer stuck.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		done = done || lines.Text() == "done"
		if steps--; steps == 0 {
			_ = syscall.Kill(c.Process.Pid, syscall.SIGKILL)
		}
	}
	if err := c.Wait(); err != nil && !strings.Contains(err.Error(), "killed") {
		log, _ := os.ReadFile(filepath.Join(dir, "keeper.log"))
		journal, _ := os.ReadFile(filepath.Join(dir, "journal"))
		t.Fatalf("%v\n%s\nkeeper: %s\njournal:\n%s", err, stderr.String(), log, journal)
	}
	return done
}

// scriptedHost writes the script to a file. It returns a host that plays the script, and the file's
// name.
func scriptedHost(t *testing.T, dir, script string) (host.Config, string) {
	t.Helper()
	file := filepath.Join(dir, "worker.host")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := scripted(t, file)
	c.OutputFormat, c.Timeout = "json", 100
	return c, file
}

// checkHostLog checks that the host was started once, received the given number of lines, and
// reported no error.
func checkHostLog(t *testing.T, file string, lines int) {
	t.Helper()
	if fail, err := os.ReadFile(file + ".fail"); err == nil {
		t.Errorf("the host reported: %s", fail)
	}
	in, _ := os.ReadFile(file + ".in")
	if n := strings.Count(string(in), "\n"); n != lines {
		t.Errorf("the host received %d lines, want %d:\n%s", n, lines, in)
	}
	if spawns, _ := os.ReadFile(file + ".spawns"); strings.Count(string(spawns), "\n") != 1 {
		t.Errorf("host starts = %q, want one line", spawns)
	}
}

// TestKilledSteered kills the run's process at random steps while the program and another process
// send messages to the host. The host must receive each message exactly once, and the program must
// receive each message of the other process exactly once.
func TestKilledSteered(t *testing.T) {
	for _, c := range []struct {
		mode, script string
		received     int // lines in an exchange
		got          int // messages in an exchange
	}{
		{"direct", `
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["steer"]}
serve
>~ {"type":"prompt"}
< {"type":"question","id":"a","question":"first?"}
>~ {"type":"steer","id":"t1"}
>~ {"type":"steer","id":"t2"}
>~ {"type":"response","answer_to":"a"}
< {"type":"question","id":"b","question":"second?"}
>~ {"type":"steer","id":"t3"}
>~ {"type":"steer","id":"t4"}
>~ {"type":"response","answer_to":"b"}
< {"type":"result","text":"done"}
end
`, 7, 5},
		{"interrupt", `
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["resume","cancel"]}
serve
>~ {"type":"prompt"}
< {"type":"progress","session":"s1"}
< {"type":"question","id":"a","question":"first?"}
>~ {"type":"response","answer_to":"a"}
< {"type":"question","id":"b","question":"second?"}
>~ {"type":"cancel","reason":"interrupted"}
>~ {"type":"response","answer_to":"b"}
< {"type":"error","message":"stopped"}
>~ {"type":"prompt","queued":true}
< {"type":"progress","session":"s2"}
< {"type":"result","text":"one"}
>~ {"type":"prompt","queued":true}
< {"type":"progress","session":"s3"}
< {"type":"result","text":"two"}
>~ {"type":"prompt","queued":true}
< {"type":"progress","session":"s4"}
< {"type":"result","text":"three"}
>~ {"type":"prompt","queued":true}
< {"type":"result","text":"done"}
end
`, 8, 13},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Setenv("TALKER_STEERS", c.mode)
			dir := t.TempDir()
			config, file := scriptedHost(t, dir, c.script)
			config.Init, config.CancelGrace = true, 1000
			for x, got := range kill(t, dir, config, 40) {
				got = slices.DeleteFunc(got, func(text string) bool { // if the answer is not journaled
					return text == `{"type":"withdraw","id":"b"}`
				})
				if len(got) != c.got {
					t.Errorf("exchange %d: the program received %d messages, want %d: %q", x, len(got), c.got, got)
				}
				for _, key := range []string{"other %d-a", "other %d-b"} {
					if n := strings.Count(strings.Join(got, "\n"), fmt.Sprintf(`"key":"`+key+`"`, x)); n != 1 {
						t.Errorf("exchange %d: the program received the message %s %d times, want once", x, key, n)
					}
				}
			}
			checkHostLog(t, file, 1+exchanges*c.received)
			in, _ := os.ReadFile(file + ".in")
			for x := range exchanges {
				for _, text := range []string{"program %d-a", "program %d-b", "other %d-a", "other %d-b"} {
					if n := strings.Count(string(in), fmt.Sprintf(`"text":"`+text+`"`, x)); n != 1 {
						t.Errorf("the host received the message %s %d times, want once", fmt.Sprintf(text, x), n)
					}
				}
			}
		})
	}
}

// TestKilledContinued kills the run's process at random steps while the program begins further
// turns in exchanges whose last turn has ended. The host must receive each prompt exactly once.
func TestKilledContinued(t *testing.T) {
	t.Setenv("TALKER_STEERS", "continue")
	for _, protocol := range []struct {
		transport, script string
		lines             int // without those of the exchanges
	}{
		{"stdio", `
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["resume","cancel"]}
serve
>~ {"type":"prompt"}
< {"type":"progress"}
< {"type":"result","text":"one","turns":1}
>~ {"type":"prompt","queued":true}
< {"type":"question","id":"a","question":"first?"}
>~ {"type":"response","answer_to":"a"}
< {"type":"result","text":"two","turns":2}
>~ {"type":"prompt","queued":true}
< {"type":"result","text":"done","turns":3}
end
`, 1},
		{"codex", codexHandshake + strings.Repeat(`
>~ {"method":"turn/start"}
< {"id":${.id},"result":{"turn":{"id":"u1","status":"inProgress"}}}
< {"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed","items":[]}}}
`, 3) + "end\n", 3},
	} {
		t.Run(protocol.transport, func(t *testing.T) {
			dir := t.TempDir()
			config, file := scriptedHost(t, dir, protocol.script)
			config.Transport = protocol.transport
			config.Init = protocol.transport == "stdio"
			lines := 3
			if config.Init {
				lines = 4
			}
			for x, got := range kill(t, dir, config, 40) {
				all := strings.Join(got, "\n")
				if n := strings.Count(all, `{"type":"result"`); n != 3 {
					t.Errorf("exchange %d: the program received %d results, want 3: %s", x, n, all)
				}
				if config.Init && !strings.HasSuffix(all, `{"type":"result","text":"done","turns":6}`) && !strings.Contains(all, `"text":"done"`) {
					t.Errorf("exchange %d: the last result is that of another turn: %s", x, all)
				}
			}
			checkHostLog(t, file, protocol.lines+exchanges*lines)
			in, _ := os.ReadFile(file + ".in")
			for x := range exchanges {
				for n := range 2 {
					if got := strings.Count(string(in), fmt.Sprintf(`"text":"more %d-%d"`, x, n)); got != 1 {
						t.Errorf("the host received the prompt %d of exchange %d %d times, want once", n, x, got)
					}
				}
			}
		})
	}
}

// codexHandshake begins the script of a host that plays Codex.
const codexHandshake = `
>~ {"method":"initialize"}
< {"id":${.id},"result":{"userAgent":"codex/0.169.0"}}
>~ {"method":"initialized"}
>~ {"method":"thread/start"}
< {"id":${.id},"result":{"thread":{"id":"t1"}}}
serve
`

// TestKilledSteeredAgent is like TestKilledSteered for an agent that confirms the messages of every
// first exchange, and refuses those of every second one.
func TestKilledSteeredAgent(t *testing.T) {
	t.Setenv("TALKER_STEERS", "agent")
	dir := t.TempDir()
	const begins, ends = `
>~ {"method":"turn/start"}
< {"id":${.id},"result":{"turn":{"id":"u1","status":"inProgress"}}}
`, `
< {"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed","items":[]}}}
`
	steered := func(answer string) string {
		return begins + `
< {"method":"item/commandExecution/requestApproval","id":"a","params":{"threadId":"t1","turnId":"u1","itemId":"c","command":"touch x","cwd":"/"}}
>~ {"method":"turn/steer"}
< {"id":${.id},` + answer + `}
>~ {"method":"turn/steer"}
< {"id":${.id},` + answer + `}
>~ {"id":"a","result":{"decision":"accept"}}
` + ends
	}
	c, file := scriptedHost(t, dir, codexHandshake+steered(`"result":{"turnId":"u1"}`)+steered(`"error":{"code":-32600,"message":"no"}`)+begins+ends+begins+ends+`
end
`)
	c.Transport = "codex"
	for x, got := range kill(t, dir, c, 40) {
		all := strings.Join(got, "\n")
		if n := strings.Count(all, fmt.Sprintf(`"key":"other %d-a"`, x)); n != 1 {
			t.Errorf("exchange %d: the program received the message of the other process %d times, want once", x, n)
		}
		if n := strings.Count(all, `"stage":"turn"`); n != x%2*2 {
			t.Errorf("exchange %d: %d turns ended before the last one, want %d", x, n, x%2*2)
		}
	}
	checkHostLog(t, file, 3+exchanges/2*(4+6))
}

// TestKilledAgent kills the process of a run with a vendor's agent at random steps. The agent must
// receive each line exactly once, and so must the program. A resumed run restores the agent's
// adapter from the stored lines.
func TestKilledAgent(t *testing.T) {
	dir := t.TempDir()
	c, file := scriptedHost(t, dir, codexHandshake+`
>~ {"method":"turn/start"}
< {"id":${.id},"result":{"turn":{"id":"u1","status":"inProgress"}}}
< {"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"m","delta":"Let "}}
< {"method":"item/agentMessage/delta","params":{"threadId":"t1","turnId":"u1","itemId":"m","delta":"me look."}}
< {"method":"item/commandExecution/requestApproval","id":"a","params":{"threadId":"t1","turnId":"u1","itemId":"c","command":"touch x","cwd":"/"}}
>~ {"id":"a","result":{"decision":"accept"}}
< {"method":"item/fileChange/requestApproval","id":"b","params":{"threadId":"t1","turnId":"u1","itemId":"d","reason":"why not"}}
>~ {"id":"b","result":{"decision":"accept"}}
< {"method":"item/completed","params":{"threadId":"t1","turnId":"u1","item":{"type":"agentMessage","id":"m","text":"All done."}}}
< {"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed","items":[]}}}
end
`)
	c.Transport = "codex"
	received := kill(t, dir, c, 25)
	for x, got := range received {
		if strings.Join(got, "\n") != strings.Join(received[0], "\n") {
			t.Errorf("exchange %d: the program received\n%s\nwant the same messages as in the first exchange\n%s", x, strings.Join(got, "\n"), strings.Join(received[0], "\n"))
		}
	}
	if all := strings.Join(received[0], "\n"); !strings.Contains(all, `"text":"All done."`) || strings.Count(all, `"type":"approval"`) != 2 {
		t.Errorf("messages of the first exchange lack \"All done.\" or two approvals:\n%s", all)
	}
	checkHostLog(t, file, 3+exchanges*3)
}
