//go:build unix

package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/hosttest"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// hostsUnderKeeper returns Hosts whose processes a keeper runs. owner is the number of the Concerto
// process among those that have owned the run.
func hostsUnderKeeper(t *testing.T, dir string, owner int64, c host.Config) *host.Hosts {
	t.Helper()
	c.Name, c.Connector = "worker", "worker"
	h := host.New(host.Options{Configs: []host.Config{c}, Environ: os.Environ(), Run: &procgroup.Run{ID: hosttest.RunID, Executable: os.Args[0]}, Keeper: newKeeperClient(dir, owner)})
	t.Cleanup(func() { h.Close(context.Background()) })
	return h
}

// openExchange opens an exchange and returns its first messages.
func openExchange(t *testing.T, h *host.Hosts) (*effect.ExchangeOpened, *effect.ExchangeMessages) {
	t.Helper()
	got, err := h.Perform(t.Context(), request(0))
	if err != nil {
		t.Fatal(err)
	}
	opened := got.(*effect.ExchangeOpened)
	return opened, next(t, h, opened.ID)
}

func next(t *testing.T, h *host.Hosts, id int64) *effect.ExchangeMessages {
	t.Helper()
	got, err := h.Perform(t.Context(), &effect.ExchangeNext{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return got.(*effect.ExchangeMessages)
}

// failure requests the next message and returns the HostError with which the request fails.
func failure(t *testing.T, h *host.Hosts, id int64) *effect.Error {
	t.Helper()
	got, err := h.Perform(t.Context(), &effect.ExchangeNext{ID: id})
	var e *effect.Error
	if !errors.As(err, &e) || e.Kind != "HostError" {
		t.Fatalf("ExchangeNext returned %v (error %v), want a HostError", got, err)
	}
	return e
}

// killKeeper kills the keeper of a run.
func killKeeper(t *testing.T, dir string) {
	t.Helper()
	var at struct{ PID int }
	text, err := os.ReadFile(filepath.Join(dir, "keeper.json"))
	if err == nil {
		err = json.Unmarshal(text, &at)
	}
	if err != nil || at.PID <= 1 {
		t.Fatalf("keeper.json has no usable pid: %s (error %v)", text, err)
	}
	if err := syscall.Kill(at.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// waits1 is the script of a host that sends a message, asks a question, and waits.
const waits1 = `
serve
>~ {"type":"prompt"}
< {"type":"progress","message":"on it"}
read
< {"type":"result","text":"done"}
end
--- spawn
serve
>~ {"type":"prompt"}
< {"type":"result","text":"another"}
end
`

// TestKeeperLost kills the keeper of a run with an open exchange. The exchange must fail with an
// error that the program can catch, and the next exchange must have a new process. If the run is
// resumed, its exchange must fail with the same error.
func TestKeeperLost(t *testing.T) {
	dir := t.TempDir()
	c, _ := scriptedHost(t, dir, waits1)
	h := hostsUnderKeeper(t, dir, 1, c)
	opened, opening := openExchange(t, h)
	if opened.Process != 1 || opened.Turn != 1 || opening.Lines == nil || opening.Lines.First != 1 || strings.Join(opening.Lines.Text, "\n") != `{"type":"progress","message":"on it"}` {
		t.Errorf("opened = %+v, lines = %+v, want exchange 1 of process 1 whose first line is the question", opened, opening.Lines)
	}
	killKeeper(t, dir)
	lost := func(e *effect.Error) {
		t.Helper()
		if e.Fields["code"] != "lost" || e.Fields["recoverable"] != true || !strings.HasPrefix(e.Message, "host 'worker' is lost") {
			t.Errorf("failure = %+v, want a recoverable HostError with code lost", e)
		}
	}
	lost(failure(t, h, opened.ID))
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), []host.Open{{ID: 7, Request: request(0), Opened: opened, Line: 1, Since: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Perform(t.Context(), &effect.ExchangeReply{ID: 7, InReplyTo: "question", Value: []byte("1")}); err == nil {
		t.Error("a reply to a lost host succeeded")
	}
	lost(failure(t, second, 7))
	if _, err := second.Perform(t.Context(), &effect.ExchangeClose{ID: 7}); err != nil {
		t.Fatal(err)
	}
	next, opening := openExchange(t, second)
	if next.ID <= 7 || next.Process != 2 || string(opening.Messages[0].Text) != `{"type":"result","text":"another"}` {
		t.Errorf("next exchange = %+v with message %s, want process 2 with the result \"another\"", next, opening.Messages[0].Text)
	}
}

// TestExchangeEndedWhileLost lets a host write output and exit while no Concerto process is
// connected to its keeper. A resumed run must receive the output and the exit unchanged.
func TestExchangeEndedWhileLost(t *testing.T) {
	dir := t.TempDir()
	c, file := scriptedHost(t, dir, `
>~ {"type":"prompt"}
< {"type":"progress","message":"before"}
await `+filepath.Join(dir, "go")+`
< {"type":"progress","message":"after"}
stderr out of paper
exit 3
`)
	h := hostsUnderKeeper(t, dir, 1, c)
	opened, _ := openExchange(t, h)
	h.Suspend()
	if _, err := h.Perform(t.Context(), &effect.ExchangeNext{ID: opened.ID}); !errors.Is(err, host.ErrClosed) {
		t.Errorf("ExchangeNext after Suspend: error %v, want ErrClosed", err)
	}
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file + ".fail"); err == nil {
		t.Error("the host reported a failure")
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := testproc.AwaitFile(filepath.Join(dir, "hosts", "worker.1", "end.json")); err != nil {
		t.Fatal(err)
	}
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), []host.Open{{ID: 5, Request: request(0), Opened: opened, Line: 1}}); err != nil {
		t.Fatal(err)
	}
	if m := next(t, second, 5); string(m.Messages[0].Text) != `{"type":"progress","message":"after"}` || m.Lines.First != 2 {
		t.Errorf("message = %s, lines = %+v, want the progress message \"after\" at line 2", m.Messages[0].Text, m.Lines)
	}
	e := failure(t, second, 5)
	if !strings.HasPrefix(e.Message, "host exited without result: ") || !strings.HasSuffix(e.Message, " exited with status 3: out of paper") || e.Fields["exit_code"] != int64(3) || e.Fields["stderr"] != "out of paper" {
		t.Errorf("failure = %+v, want exit code 3 with stderr \"out of paper\"", e)
	}
}

// TestTimeoutIncludesLostTime checks that the timeout of an exchange also runs while no Concerto
// process is connected to the keeper.
func TestTimeoutIncludesLostTime(t *testing.T) {
	dir := t.TempDir()
	c, _ := scriptedHost(t, dir, waits1)
	c.Timeout = 2
	h := hostsUnderKeeper(t, dir, 1, c)
	opened, _ := openExchange(t, h)
	h.Suspend()
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.Timeout = 0.001 // always exceeded when the run is resumed
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), []host.Open{{ID: 5, Request: request(0), Opened: opened, Line: 1}}); err != nil {
		t.Fatal(err)
	}
	if e := failure(t, second, 5); e.Fields["code"] != "timeout" || time.Since(began) > patience {
		t.Errorf("failure = %+v, want code timeout", e)
	}
	third := hostsUnderKeeper(t, dir, 1, c)
	if err := third.Resume(t.Context(), nil); !errors.Is(err, keeper.ErrFenced) {
		t.Errorf("Resume by an older owner: error %v, want ErrFenced", err)
	}
}

// revives is the script of a host that names its session and asks two questions. A second process
// that continues the session asks the second question again.
const revives = `
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["resume"]}
>~ {"type":"prompt","text":"job 0"}
< {"type":"question","id":1,"question":"first?","session":"s"}
>~ {"type":"response","answer_to":1,"value":"one"}
< {"type":"question","id":2,"question":"second?"}
read
--- spawn
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["resume"]}
> {"type":"prompt","text":"job 0","session":"s","resumed":{"answered":{"type":"question","id":1,"question":"first?","session":"s"},"response":{"type":"response","in_reply_to":"question","answer_to":1,"value":"one"}}}
< {"type":"progress","message":"again"}
< {"type":"question","id":7,"question":"second?"}
>~ {"type":"response","answer_to":7,"value":"two"}
< {"type":"question","id":2,"question":"third?"}
>~ {"type":"response","answer_to":2,"value":"three"}
< {"type":"result","text":"done"}
>~ {"type":"prompt","text":"job 1"}
< {"type":"result","text":"another"}
`

// awaitQuestion waits for a question that contains want. It replies with value, or returns the
// reply unsent if value is "".
func awaitQuestion(t *testing.T, h *host.Hosts, id int64, want, value string) *effect.ExchangeReply {
	t.Helper()
	for {
		m := next(t, h, id)
		x := m.Messages[len(m.Messages)-1]
		if x.Type == "progress" {
			continue
		}
		if !strings.Contains(string(x.Text), want) {
			t.Fatalf("message = %s, want it to contain %s", x.Text, want)
		}
		r := &effect.ExchangeReply{ID: id, InReplyTo: x.Type, AnswerTo: x.ID, Value: json.RawMessage(`"` + value + `"`)}
		if value != "" {
			if _, err := h.Perform(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
}

// TestRevived kills the keeper of an exchange whose second question is open. A new process must
// continue the exchange with the session and the newest answer. The question that it repeats must
// not reach the program again.
func TestRevived(t *testing.T) {
	dir := t.TempDir()
	c, file := scriptedHost(t, dir, revives)
	c.Init = true
	h := hostsUnderKeeper(t, dir, 1, c)
	opened, opening := openExchange(t, h)
	first := &effect.ExchangeReply{ID: opened.ID, InReplyTo: "question", AnswerTo: "1", Value: json.RawMessage(`"one"`)}
	if _, err := h.Perform(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if opened.Session+opening.Lines.Session != "s" { // it may have been received by then
		t.Errorf("session of opened %+v and lines %+v together is not s", opened, opening.Lines)
	}
	second := awaitQuestion(t, h, opened.ID, "second?", "")
	second.Value = json.RawMessage(`"two"`)
	killKeeper(t, dir)
	if m := next(t, h, opened.ID); string(m.Messages[0].Text) != `{"type":"progress","message":"again"}` || m.Lines.Process != 2 {
		t.Errorf("message = %s, lines = %+v, want the progress message \"again\" from process 2", m.Messages[0].Text, m.Lines)
	}
	if _, err := h.Perform(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	awaitQuestion(t, h, opened.ID, "third?", "three")
	if m := next(t, h, opened.ID); !strings.Contains(string(m.Messages[0].Text), "done") {
		t.Errorf("message = %s, want the result \"done\"", m.Messages[0].Text)
	}
	if _, err := h.Perform(t.Context(), &effect.ExchangeClose{ID: opened.ID}); err != nil {
		t.Fatal(err)
	}
	got, err := h.Perform(t.Context(), request(1))
	if err != nil {
		t.Fatal(err)
	}
	if m := next(t, h, got.(*effect.ExchangeOpened).ID); !strings.Contains(string(m.Messages[0].Text), "another") {
		t.Errorf("message = %s, want the result \"another\"", m.Messages[0].Text)
	}
	if fail, err := os.ReadFile(file + ".fail"); err == nil {
		t.Errorf("the host reported: %s", fail)
	}
}

// agents maps each vendor's transport to the script of an agent that requests an approval, and asks
// again when its session is continued.
var agents = map[string]string{
	"acp": `
read
< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}
>~ {"method":"session/new"}
< {"jsonrpc":"2.0","id":2,"result":{"sessionId":"S"}}
>~ {"method":"session/prompt"}
< {"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"S","toolCall":{"toolCallId":"t","title":"touch x","kind":"execute"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"},{"optionId":"d","name":"No","kind":"reject_once"}]}}
read
--- spawn
read
< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}
>~ {"method":"session/load"}
< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"told anew"}}}}
< {"jsonrpc":"2.0","id":2,"result":{}}
>~ {"method":"session/prompt"}
< {"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"S","toolCall":{"toolCallId":"u","title":"touch x","kind":"execute"},"options":[{"optionId":"a","name":"Allow","kind":"allow_once"},{"optionId":"d","name":"No","kind":"reject_once"}]}}
> {"jsonrpc":"2.0","id":9,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}
< {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}
`,
	"claude-code": `
read
< {"type":"control_response","response":{"subtype":"success","request_id":"i1","response":{}}}
>~ {"type":"user"}
< {"type":"system","subtype":"init","session_id":"S","model":"m"}
< {"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch x"}}}
read
--- spawn
read
< {"type":"control_response","response":{"subtype":"success","request_id":"i1","response":{}}}
> {"type":"control_request","request_id":"u1","request":{"subtype":"get_usage"}}
< {"type":"control_response","response":{"subtype":"error","request_id":"u1","error":"unknown"}}
>~ {"type":"user"}
< {"type":"system","subtype":"init","session_id":"S","model":"m"}
< {"type":"control_request","request_id":"r7","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch x"}}}
>~ {"type":"control_response","response":{"subtype":"success","request_id":"r7","response":{"behavior":"allow","updatedInput":{"command":"touch x"}}}}
< {"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"S","args":${args}}
`,
}

// versionCommand returns a command that prints an agent's version, or runs another command.
func versionCommand(t *testing.T, dir, command string) string {
	t.Helper()
	file := filepath.Join(dir, "agent")
	text := "#!/bin/sh\ncase \"$*\" in *--version*) echo '2.1.197 (Claude Code)' ;; *) exec '" + command + "' \"$@\" ;; esac\n"
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestAgentsRevived kills the run and its keeper while an agent waits for an answer. The agent's
// new process must continue the session and ask again. The recorded answer must be sent to it
// without asking the program again.
func TestAgentsRevived(t *testing.T) {
	for transport, script := range agents {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			c, file := scriptedHost(t, dir, script)
			c.Transport, c.OutputFormat = transport, ""
			c.Command = versionCommand(t, dir, c.Command)
			h := hostsUnderKeeper(t, dir, 1, c)
			got, err := h.Perform(t.Context(), request(0))
			if err != nil {
				t.Fatal(err)
			}
			opened := got.(*effect.ExchangeOpened)
			open := host.Open{ID: 7, Request: request(0), Opened: opened, Since: time.Now(), History: &continuity.History{}}
			open.History.RecordOpened(opened)
			var r *effect.ExchangeReply
			for r == nil {
				m := next(t, h, opened.ID)
				open.History.RecordMessages(m)
				open.Line = m.Lines.Last()
				for _, x := range m.Messages {
					if x.Type == "approval" {
						r = &effect.ExchangeReply{ID: 7, InReplyTo: x.Type, AnswerTo: x.ID, Value: json.RawMessage(`"yes"`)}
					}
				}
			}
			h.Suspend()
			killKeeper(t, dir)
			second := hostsUnderKeeper(t, dir, 2, c)
			recorded, _ := json.Marshal(open.History)
			if err := second.Resume(t.Context(), []host.Open{open}); err != nil {
				t.Fatal(err)
			}
			if _, err := second.Perform(t.Context(), r); err != nil { // sent before the new process exists
				t.Fatal(err)
			}
			for last := ""; last != "result"; {
				m := next(t, second, 7)
				x := m.Messages[len(m.Messages)-1]
				if last = x.Type; last == "approval" || last == "error" || last == "partial" || m.Lines.Process != 2 {
					t.Fatalf("message = %s, lines = %+v, want a message of process 2 that is no approval, error or partial", x.Text, m.Lines)
				}
				if args := `"--resume","S"`; last == "result" && transport == "claude-code" && !strings.Contains(string(x.Text), args) {
					t.Errorf("arguments %s are missing in %s", args, x.Text)
				}
			}
			if after, _ := json.Marshal(open.History); !bytes.Equal(after, recorded) {
				t.Errorf("the hosts changed the caller's history, which records what its journal holds:\n%s\n%s", recorded, after)
			}
			if in, _ := os.ReadFile(file + ".in"); strings.Count(string(in), "You were interrupted") != 1 {
				t.Errorf("the host did not receive exactly one \"You were interrupted\"; its input:\n%s", in)
			}
			if fail, err := os.ReadFile(file + ".fail"); err == nil {
				t.Errorf("the host reported: %s", fail)
			}
		})
	}
}

// TestDecidedBefore kills the run's process after the host's permission rules decided an approval
// and before the decision was journaled. The decision must remain valid in the resumed run,
// although its rules differ.
func TestDecidedBefore(t *testing.T) {
	dir := t.TempDir()
	c, file := scriptedHost(t, dir, `
>~ {"type":"prompt"}
< {"type":"approval","id":1,"description":"touch x"}
>~ {"type":"response","answer_to":1,"value":"yes"}
< {"type":"progress","message":"on it"}
await `+filepath.Join(dir, "go")+`
< {"type":"approval","id":2,"description":"touch y"}
>~ {"type":"response","answer_to":2,"value":"denied by [hosts.worker.permissions]"}
< {"type":"result","text":"done"}
`)
	c.Access.Permissions = &hostpolicy.Rules{Default: "allow"}
	h := hostsUnderKeeper(t, dir, 1, c)
	opened, m := openExchange(t, h)
	for len(m.Messages) < 2 && m.Messages[0].Type != "progress" { // it was answered
		m = next(t, h, opened.ID)
	}
	h.Suspend()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Access.Permissions = &hostpolicy.Rules{Default: "deny"}
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), []host.Open{{ID: 5, Request: request(0), Opened: opened}}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for last := ""; last != "result"; {
		for _, x := range next(t, second, 5).Messages {
			var d struct{ Decision string }
			if last = x.Type; json.Unmarshal(x.Text, &d) == nil && x.Decided {
				got = append(got, d.Decision)
			}
		}
	}
	if len(got) != 2 || got[0] != "allow" {
		t.Errorf("decisions = %q, want 2 with the first one allow", got)
	}
	if fail, err := os.ReadFile(file + ".fail"); err == nil {
		t.Errorf("the host reported: %s", fail)
	}
}

// steerFrom sends a message of another process, and compares the outcome with want.
func steerFrom(t *testing.T, h *host.Hosts, key, want string) {
	t.Helper()
	if _, got, err := h.Steer(t.Context(), host.Message{Key: key, Text: key}); err != nil || got != want {
		t.Errorf("steer %s: %s, error %v, want %s", key, got, err, want)
	}
}

// steeredKeys returns the keys of the messages of other processes in m.
func steeredKeys(m *effect.ExchangeMessages) (keys []string) {
	for i := range m.Messages {
		if n := m.Messages[i].Steering(); n != nil {
			keys = append(keys, n.Key)
		}
	}
	return keys
}

// TestSteeredAndLost kills the keeper after messages to the host were sent and before the program
// has received their records. Each record must reach the program once. The new process, which
// continues the conversation, must receive each message once that was not part of it.
func TestSteeredAndLost(t *testing.T) {
	for _, c := range []struct{ name, outcome, first, second string }{
		{"received", effect.SteerReceived, `
< {"type":"init_ack","capabilities":["resume","steer"]}
>~ {"type":"prompt","text":"job 0"}
< {"type":"progress","session":"s"}
>~ {"type":"steer","id":"t1","text":"before"}
read
`, `
< {"type":"init_ack","capabilities":["resume","steer"]}
>~ {"type":"prompt","text":"job 0","session":"s"}
< {"type":"progress","message":"again"}
>~ {"type":"steer","id":"t2","text":"after"}
< {"type":"result","text":"done"}
`},
		{"queued", effect.SteerQueued, `
< {"type":"init_ack","capabilities":["resume"]}
>~ {"type":"prompt","text":"job 0"}
< {"type":"progress","session":"s"}
read
`, `
< {"type":"init_ack","capabilities":["resume"]}
>~ {"type":"prompt","text":"job 0","session":"s"}
< {"type":"progress","message":"again"}
await steered
< {"type":"result"}
>~ {"type":"prompt","text":"before","queued":true,"session":"s"}
< {"type":"result"}
>~ {"type":"prompt","text":"after","queued":true,"session":"s"}
< {"type":"result","text":"done"}
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			const begins = "\n>~ {\"type\":\"init\"}"
			config, file := scriptedHost(t, dir, begins+c.first+"--- spawn"+begins+c.second)
			config.Init = true
			h := hostsUnderKeeper(t, dir, 1, config)
			opened, _ := openExchange(t, h)
			steerFrom(t, h, "before", c.outcome)
			killKeeper(t, dir)
			var keys []string
			for again := false; !again; {
				m := next(t, h, opened.ID)
				keys = append(keys, steeredKeys(m)...)
				again = strings.Contains(string(m.Messages[len(m.Messages)-1].Text), "again")
			}
			steerFrom(t, h, "after", c.outcome)
			if err := os.WriteFile(filepath.Join(dir, "steered"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			for last := ""; !strings.HasPrefix(last, `{"type":"result"`); {
				m := next(t, h, opened.ID)
				keys = append(keys, steeredKeys(m)...)
				last = string(m.Messages[len(m.Messages)-1].Text)
			}
			if want := []string{"before", "after"}; !slices.Equal(keys, want) {
				t.Errorf("records = %q, want %q", keys, want)
			}
			if fail, err := os.ReadFile(file + ".fail"); err == nil {
				t.Errorf("the host reported: %s", fail)
			}
		})
	}
}

// TestQueuedAndKeeperLost kills a run and its keeper after a message to the host was queued. The
// journal does not show whether the host has received it, so that the exchange must fail.
func TestQueuedAndKeeperLost(t *testing.T) {
	dir := t.TempDir()
	c, file := scriptedHost(t, dir, `
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["resume"]}
>~ {"type":"prompt","text":"job 0"}
< {"type":"progress","session":"s"}
await `+filepath.Join(dir, "go")+`
< {"type":"result"}
>~ {"type":"prompt","text":"more","queued":true,"session":"s"}
< {"type":"progress","message":"received"}
read
`)
	c.Init = true
	h := hostsUnderKeeper(t, dir, 1, c)
	opened, opening := openExchange(t, h)
	own := host.Steered{Key: "program", ID: "t1", Text: "more", Outcome: effect.SteerQueued}
	if _, err := h.Perform(effect.WithKey(t.Context(), own.Key), &effect.ExchangeSteer{ID: opened.ID, Text: own.Text}); err != nil {
		t.Fatal(err)
	}
	past := &continuity.History{}
	past.RecordOpened(opened)
	past.RecordMessages(opening) // and not the end of the turn
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for received := false; !received; {
		m := next(t, h, opened.ID)
		received = strings.Contains(string(m.Messages[len(m.Messages)-1].Text), "received")
	}
	h.Suspend()
	killKeeper(t, dir)
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), []host.Open{{ID: 7, Request: request(0), Opened: opened, Line: opening.Lines.Last(), History: past, Steered: []host.Steered{own}, Since: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	e := failure(t, second, 7)
	if want := `host 'worker' is lost, and may have received the queued message "more"`; e.Message != want || e.Fields["code"] != "lost" || e.Fields["recoverable"] != true || e.Status != effect.Unknown {
		t.Errorf("failure = %+v, want the recoverable error %q with code lost and unknown status", e, want)
	}
	if fail, err := os.ReadFile(file + ".fail"); err == nil {
		t.Errorf("the host reported: %s", fail)
	}
}

// TestOutsideAndKeeperLost kills a run and its keeper after messages of other processes were sent:
// one that the journal does not contain, and a queued one. The resumed run must send neither again,
// but it must send another one.
func TestOutsideAndKeeperLost(t *testing.T) {
	dir := t.TempDir()
	c, file := scriptedHost(t, dir, `
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["resume","steer"]}
>~ {"type":"prompt","text":"job 0"}
< {"type":"progress","session":"s"}
>~ {"type":"steer","id":"t1","text":"before"}
read
--- spawn
>~ {"type":"init"}
< {"type":"init_ack","capabilities":["resume","steer"]}
>~ {"type":"prompt","text":"job 0","session":"s"}
< {"type":"progress","message":"again"}
>~ {"type":"steer","id":"t3","text":"after"}
< {"type":"result","text":"done"}
`)
	c.Init = true
	h := hostsUnderKeeper(t, dir, 1, c)
	opened, opening := openExchange(t, h)
	steerFrom(t, h, "before", effect.SteerReceived)
	h.Suspend()
	killKeeper(t, dir)
	past := &continuity.History{}
	past.RecordOpened(opened)
	past.RecordMessages(opening)
	queued := host.Steered{Key: "queued", ID: "t2", Text: "queued", Outcome: effect.SteerQueued, Outside: true}
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), []host.Open{{ID: 7, Request: request(0), Opened: opened, Line: opening.Lines.Last(), History: past, Steered: []host.Steered{queued}, Since: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	_, _, err := second.Steer(t.Context(), host.Message{Key: "before", Text: "before", MayBeSent: true})
	if e, ok := errors.AsType[*effect.Error](err); !ok || e.Fields["code"] != "lost" || e.Message != "host 'worker' may have received the message: its process was lost" {
		t.Errorf("the repeated message has error %v, want that the host may have received it", err)
	}
	next(t, second, 7)
	steerFrom(t, second, "after", effect.SteerReceived)
	for last := ""; last != "result"; { // that of the only turn
		m := next(t, second, 7)
		last = m.Messages[len(m.Messages)-1].Type
	}
	if fail, err := os.ReadFile(file + ".fail"); err == nil {
		t.Errorf("the host reported: %s", fail)
	}
}

// TestSteeredWhileReopened sends messages to the hosts of a resumed run while the program opens its
// exchanges again. Each message must find all hosts.
func TestSteeredWhileReopened(t *testing.T) {
	const many = 16
	dir := t.TempDir()
	c := host.Config{Command: "sh", Args: []string{"-c", `while read -r line; do echo '{"type":"progress"}'; done`}, OutputFormat: "json", Instances: many, Timeout: 100}
	h := hostsUnderKeeper(t, dir, 1, c)
	var open []host.Open
	for x := range many {
		got, err := h.Perform(t.Context(), request(x))
		if err != nil {
			t.Fatal(err)
		}
		next(t, h, got.(*effect.ExchangeOpened).ID)
		open = append(open, host.Open{ID: int64(x + 1), Request: request(x)})
	}
	h.Suspend()
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	second := hostsUnderKeeper(t, dir, 2, c)
	if err := second.Resume(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	lookup := func() {
		t.Helper()
		_, _, err := second.Steer(t.Context(), host.Message{Key: "k", Host: "another", Text: "hello"})
		if e, ok := errors.AsType[*host.SelectError](err); !ok || len(e.Others) != many {
			t.Errorf("a message has not found the %d hosts that are running: %+v", many, err)
		}
	}
	lookup()
	var opening sync.WaitGroup
	for x := range many {
		opening.Go(func() {
			if _, err := second.Perform(t.Context(), request(x)); err != nil {
				t.Error(err)
			}
		})
	}
	opened := make(chan struct{})
	go func() {
		opening.Wait()
		close(opened)
	}()
	for {
		lookup()
		select {
		case <-opened:
			return
		default:
		}
	}
}
