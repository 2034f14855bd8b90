package sealer_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/rpc"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// valid returns a command of each type, and its effect.
func valid(run string) []struct {
	command
	effect string
} {
	rpc := func(typ, data string) string { return strings.Replace(data, "{", `{"rpc_type":"`+typ+`",`, 1) }
	return []struct {
		command
		effect string
	}{
		{command{typ: protocol.RunApprove, run: run, data: `{"request_id":"q1","text":"fine","scope":"session"}`}, "approve " + run + " q1 session fine by ada"},
		{command{typ: protocol.RunDeny, run: run, data: `{"request_id":"q2"}`}, "deny " + run + " q2   by ada"},
		{command{typ: protocol.RunSendInput, run: run, data: `{"input_id":"i1","text":"a <b>","host":"W"}`}, "input " + run + " i1 a <b> W  by ada"},
		{command{typ: protocol.RunSendKeys, run: run, id: "k1", data: `{"keys":"x"}`}, "keys " + run + " x"},
		{command{typ: protocol.RunStop, run: run, id: "s1", data: `{"signal":"kill"}`}, "stop " + run + " kill"},
		{command{typ: protocol.RunResize, run: run, id: "z1", data: `{"cols":80,"rows":24}`}, "resize " + run + " 80 24"},
		{command{typ: protocol.RPCReadFile, run: run, data: rpc(protocol.RPCReadFile, `{"request_id":"`+run+`_1","path":"a"}`)}, "rpc rpc.fs.read " + run + ` {"path":"a","request_id":"` + run + `_1","rpc_type":"rpc.fs.read"}`},
		{command{typ: protocol.RPCStartRun, data: rpc(protocol.RPCStartRun, `{"request_id":"`+run+`_2","host_id":"host_a","tool":"t","cmd":"c"}`)}, `rpc rpc.run.start  {"cmd":"c","host_id":"host_a","request_id":"` + run + `_2","rpc_type":"rpc.run.start","tool":"t"}`},
	}
}

func (w *world) expectEffects(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Equal(w.effects, want) {
		w.t.Errorf("effects = %q, want %q", w.effects, want)
	}
}

// TestSealedCommands performs a command of each type, and the same commands again: the server has
// not received their results. Each is performed once, also if hostd was restarted in the meantime.
// The responses to RPCs are sealed.
func TestSealedCommands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	w.ask("run_a", "q2")
	var frames [][]byte
	var want []string
	for _, c := range valid("run_a") {
		frame := w.frame(c.command)
		if c.typ == protocol.RunSendInput || c.typ == protocol.RunSendKeys {
			w.devices["phone"].applied("run_a")
		}
		if want = append(want, c.effect); c.typ != protocol.RunSendKeys && c.typ != protocol.RunResize { // the server does not send these again
			frames = append(frames, frame)
		}
		w.send(frame)
		w.await(c.effect, func() bool { return len(w.effects) == len(want) })
	}
	w.expectEffects(want...)
	w.await("results", func() bool { return len(w.results) == 4 && len(w.secrets) == 2 })
	for i, answer := range w.secrets {
		d := w.answerTo(frames[4+i], answer)
		if !d.OK || d.RequestID != answer.Re || !strings.HasPrefix(d.RPCType, "rpc.") || d.RPCType == protocol.RPCSealed {
			t.Errorf("answer to %s = %+v", answer.Re, d)
		}
	}
	again := func(stop protocol.InputState) {
		t.Helper()
		w.change(func() { w.results, w.secrets = nil, nil })
		for _, f := range frames {
			w.send(f)
		}
		has := func(id string, state protocol.InputState) bool {
			return slices.ContainsFunc(w.results, func(r protocol.CommandDone) bool { return r.ID == id && r.State == state })
		}
		w.await("results of the repeated commands", func() bool {
			return len(w.secrets) == 2 && has("q1", protocol.InputApplied) && has("q2", protocol.InputApplied) && has("i1", protocol.InputApplied) && has("s1", stop)
		})
	}
	again(protocol.InputApplied)
	w.expectEffects(want...)
	w.stop()
	closed := w.approvals // it has stored its outcomes
	w.start()
	w.approvals = closed
	again(protocol.InputIndeterminate)
	// The program has not stored the input in this test: hostd relies on the id of an input.
	w.expectEffects(append(want, want[2])...)
	if n := strings.Count(w.ledger(), `"kind":"decision"`); n != 2 || len(w.refusals)+len(w.answers) != 0 {
		t.Errorf("decisions in the ledger = %d, want 2; refusals = %+v, plain answers = %+v:\n%s", n, w.refusals, w.answers, w.ledger())
	}
}

// TestRPCTwiceAtOnce sends an RPC another time while it is performed, as a server does after it has
// connected again. The device receives the result, and no refusal of the second copy.
func TestRPCTwiceAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := rpc.New(rpc.Options{MachineID: machineID, Shares: w.sealer})
	admitted, perform := make(chan bool, 3), make(chan bool)
	w.rpc = func(a link.Admission) (string, protocol.Response) {
		if admitted <- true; !a.Repeated {
			<-perform
		}
		return d.Do(context.Background(), rpc.Call{Type: a.Command.Type, Run: a.Command.RunID, Data: a.Command.Data, Repeated: a.Repeated})
	}
	frame := w.frame(command{typ: protocol.RPCShareList, data: `{"rpc_type":"rpc.share.list","request_id":"c1","host_id":"host_a"}`})
	w.send(frame)
	<-admitted
	w.send(frame)
	w.send(w.frame(command{typ: protocol.RunResize, run: "run_a", id: "z1", data: `{"cols":80,"rows":24}`}))
	w.await("the command after the second copy", func() bool { return len(w.effects) == 1 })
	close(perform)
	w.await("the response", func() bool { return len(w.secrets) == 1 })
	w.send(frame)
	w.await("the response to the third copy", func() bool { return len(w.secrets) == 2 })
	for _, answer := range w.secrets {
		if r := w.answerTo(frame, answer); !r.OK {
			t.Errorf("response = %+v, want the shares", r)
		}
	}
}

// TestRefused sends commands that no device has signed so. None has an effect, and each refusal is
// reported, and recorded in the ledger.
func TestRefused(t *testing.T) {
	t.Parallel()
	approve := command{typ: protocol.RunApprove, run: "run_a", data: `{"request_id":"q1"}`}
	input := command{typ: protocol.RunSendInput, run: "run_a", data: `{"input_id":"i1","text":"a"}`}
	read := command{typ: protocol.RPCGitStatus, run: "run_a", data: `{"request_id":"r1","rpc_type":"rpc.git.status"}`}
	with := func(c command, do func(*command)) command { do(&c); return c }
	signed := func(c command, do func(*seal.Statement)) command { c.change = do; return c }
	replaced := func(c command, old, other string) command { c.replace = [2]string{old, other}; return c }
	framed := func(c command, do func(*protocol.Envelope)) command {
		c.changeFrame = func(e *protocol.Envelope, _ *seal.SealedCommand) { do(e) }
		return c
	}
	for _, c := range []struct {
		name string
		command
		code protocol.Code
	}{
		{"plain decision", with(approve, func(c *command) { c.plain = true }), protocol.UnknownDevice},
		{"plain input", with(input, func(c *command) { c.plain = true }), protocol.UnknownDevice},
		{"plain rpc", with(read, func(c *command) { c.plain = true }), protocol.UnknownDevice},
		{"other request", replaced(approve, "q1", "q2"), protocol.WrongRequest},
		{"approve for deny", framed(with(approve, func(c *command) { c.typ = protocol.RunDeny }), func(e *protocol.Envelope) { e.Type = protocol.RunApprove }), protocol.WrongRequest},
		{"deny for approve", framed(approve, func(e *protocol.Envelope) { e.Type = protocol.RunDeny }), protocol.WrongRequest},
		{"another scope", replaced(approve, `"q1"`, `"q1","scope":"session"`), protocol.BadSignature},
		{"a statement for another scope", signed(approve, func(s *seal.Statement) { s.Scope = "session" }), protocol.WrongRequest},
		{"other run", framed(approve, func(e *protocol.Envelope) { e.RunID = "run_b" }), protocol.BadSignature},
		{"other run's input", framed(input, func(e *protocol.Envelope) { e.RunID = "run_b" }), protocol.BadSignature},
		{"changed text", replaced(input, `"a"`, `"b"`), protocol.BadSignature},
		{"changed input id", replaced(input, "i1", "i2"), protocol.WrongRequest},
		{"another member", replaced(input, `"i1"`, `"i1","host":"W"`), protocol.BadSignature},
		{"changed request", signed(approve, func(s *seal.Statement) { s.RequestSHA256 = strings.Repeat("0", 64) }), protocol.ArgsChanged},
		{"changed arguments", signed(approve, func(s *seal.Statement) { s.ArgsSHA256 = "" }), protocol.ArgsChanged},
		{"unknown request", with(approve, func(c *command) { c.data = `{"request_id":"q9"}` }), protocol.UnknownRequest},
		{"used counter", signed(approve, func(s *seal.Statement) { s.Counter = 1 }), protocol.Replayed},
		{"missing input", signed(input, func(s *seal.Statement) { s.After = s.Counter - 1 }), protocol.Reordered},
		{"stale input", with(input, func(c *command) { c.change = func(s *seal.Statement) { s.Fresh = seal.FreshKey{}.Token(time.Now()) } }), protocol.Stale},
		{"removed device", with(approve, func(c *command) { c.by = "tablet" }), protocol.UnknownDevice},
		{"viewer", with(approve, func(c *command) { c.by = "guest" }), protocol.Forbidden},
		{"other account", signed(approve, func(s *seal.Statement) { s.Account = "a_other" }), protocol.WrongRequest},
		{"other machine", signed(approve, func(s *seal.Statement) { s.Host = "host_b" }), protocol.WrongRequest},
		{"other line of the roster", signed(approve, func(s *seal.Statement) { s.Roster.Hash = strings.Repeat("0", 64) }), protocol.RosterFork},
		{"line after the end of the roster", signed(approve, func(s *seal.Statement) { s.Roster.N += 9 }), protocol.RosterFork},
		{"another rpc", framed(read, func(e *protocol.Envelope) { e.Type = protocol.RPCStopRun }), protocol.WrongRequest},
		{"rpc without its type", with(read, func(c *command) { c.data = `{"request_id":"r1"}` }), protocol.WrongRequest},
		{"stop for resize", framed(command{typ: protocol.RunResize, run: "run_a", id: "z1", data: `{"cols":1,"rows":1}`}, func(e *protocol.Envelope) { e.Type = protocol.RunStop }), protocol.BadSignature},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.ask("run_a", "q1")
			w.ask("run_a", "q2")
			w.ask("run_b", "q1")
			w.send(w.frame(command{typ: protocol.RunResize, run: "run_a", id: "z0", data: `{"cols":80,"rows":24}`})) // uses the counter 1
			w.await("resize", func() bool { return len(w.effects) == 1 })
			frame := w.frame(c.command)
			w.send(frame)
			w.await("refusal", func() bool { return len(w.refusals) == 1 })
			w.expectEffects("resize run_a 80 24")
			got := w.refusals[0]
			if got.Code != c.code || !strings.HasPrefix(got.Reason, string(c.code)+": ") || got.ByRunID != "" {
				t.Errorf("refusal = %+v, want the code %s", got, c.code)
			}
			opened := got.Device == w.devices[cmp.Or(c.by, "phone")].id
			if !opened && (got.Device != "" || got.Code != protocol.UnknownDevice && got.Code != protocol.BadSignature) {
				t.Errorf("refusal = %+v, want the device", got)
			}
			switch e, _ := protocol.Parse(frame); {
			case strings.HasPrefix(e.Type, "rpc."):
				w.await("response", func() bool { return len(w.answers)+len(w.secrets) == 1 })
				r := w.answers["r1"]
				if opened {
					r = w.answerTo(frame, w.secrets[0])
				}
				if r.OK || r.ErrorCode != protocol.RPCCode(c.code) {
					t.Errorf("response = %+v, want the code %s", r, c.code)
				}
			default:
				w.await("result", func() bool { return len(w.results) == 1 })
				want := got.Reason
				if opened { // the server does not learn the reason
					want = string(c.code) + ": hostd's log has the reason"
				}
				if r := w.results[0]; r.State != protocol.InputRejected || r.Error != want {
					t.Errorf("result = %+v, want a rejection with the reason %q", r, want)
				}
			}
			if all := w.ledger(); strings.Count(all, "\n") != 1 || !strings.Contains(all, `"kind":"refused"`) || !strings.Contains(all, string(c.code)) {
				t.Errorf("ledger = %s", all)
			}
		})
	}
}

// TestEveryCommandIsAdmitted sends every command and RPC of the protocol in plaintext. Only
// rpc.host.info is performed. A new type of command must appear in the table of kinds.
func TestEveryCommandIsAdmitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := map[string]bool{protocol.RunSubscribe: true, protocol.RunUnsubscribe: true} // these are for the server
	for i, m := range protocol.Messages {
		if m.Kind != protocol.Command && m.Kind != protocol.RPC || known[m.Type] {
			continue
		}
		e := &protocol.Envelope{Type: m.Type, RunID: "run_a", ID: "c1", Data: json.RawMessage(fmt.Sprintf(`{"request_id":"r%d","input_id":"i1"}`, i))}
		if a := w.sealer.Admit(t.Context(), e, true); (a.Command != nil) != (m.Type == protocol.RPCMachineInfo) || a.Command == nil && a.Code != protocol.UnknownDevice {
			t.Errorf("plain %s: admission = %+v", m.Type, a)
		}
	}
	if a := w.sealer.Admit(t.Context(), &protocol.Envelope{Type: "run.new_command", RunID: "run_a", Data: json.RawMessage("{}")}, true); a.Command != nil || a.Code != protocol.Forbidden {
		t.Errorf("unknown command: admission = %+v", a)
	}
	for i, m := range protocol.Messages {
		if m.Kind != protocol.Command && m.Kind != protocol.RPC || m.Type == protocol.RPCMachineInfo {
			continue
		}
		e := protocol.New(m.Type, time.Now(), json.RawMessage(fmt.Sprintf(`{"request_id":"w%d","input_id":"i1","text":"a","keys":"a","cols":1,"rows":1,"host_id":"host_a","path":"a","q":"a","content":"a","cmd":"a","tool":"a","share_id":"s","key":"`+strings.Repeat("A", 43)+`","runs":["run_a"],"ttl_s":60}`, i)))
		e.RunID, e.ID = "run_a", fmt.Sprintf("c%d", i)
		w.send(e.Append(nil))
	}
	w.send(w.frame(command{typ: protocol.RunResize, run: "run_a", id: "z1", data: `{"cols":80,"rows":24}`}))
	w.await("the sealed command", func() bool { return len(w.effects) > 0 && len(w.answers) == 17 })
	w.expectEffects("resize run_a 80 24")
}

// TestInputsOvertaken sends three inputs in another order. They are performed in the device's
// order.
func TestInputsOvertaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var frames [][]byte
	for i := range 3 {
		frames = append(frames, w.frame(command{typ: protocol.RunSendInput, run: "run_a", data: fmt.Sprintf(`{"input_id":"i%d","text":"%d"}`, i, i)}))
		w.devices["phone"].applied("run_a")
	}
	for _, i := range []int{2, 1, 0} {
		w.send(frames[i])
	}
	w.await("inputs", func() bool { return len(w.effects) == 3 })
	w.expectEffects("input run_a i0 0   by ada", "input run_a i1 1   by ada", "input run_a i2 2   by ada")
	w.send(w.frame(command{typ: protocol.RunSendKeys, run: "run_a", id: "k", data: `{"keys":"x"}`, change: func(s *seal.Statement) { s.Counter, s.After = 9, 8 }}))
	w.await("refusal", func() bool { return len(w.refusals) == 1 })
	if got := w.refusals[0]; got.Code != protocol.Reordered || got.After != 3 {
		t.Errorf("refusal = %+v, want reordered after 3", got)
	}
}

// TestStale sends commands with tokens of different ages.
func TestStale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	w.ask("run_a", "q2")
	var frames [][]byte
	for _, c := range valid("run_a") {
		frames = append(frames, w.frame(c.command))
		if c.typ == protocol.RunSendInput {
			w.devices["phone"].applied("run_a")
		}
	}
	w.change(func() { w.skew = 20 * time.Minute })
	for _, f := range frames {
		w.send(f)
	}
	w.await("refusals", func() bool { return len(w.effects)+len(w.refusals) == len(frames)-1 && len(w.secrets) == 2 }) // the start of a run has no thread
	w.expectEffects("approve run_a q1 session fine by ada", "deny run_a q2   by ada")
	for _, r := range w.refusals {
		if r.Code != protocol.Stale && r.Action != seal.KindKeys || r.Action == seal.KindKeys && r.Code != protocol.Reordered {
			t.Errorf("refusal = %+v, want stale", r)
		}
	}
}

// TestRosterOfServer follows the server's roster when a command names its newest line: a new device
// can then send commands, and a removed one cannot. A server with another or a shorter roster is
// refused until the user has resolved that.
func TestRosterOfServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	resize := func(by string) protocol.Code {
		t.Helper()
		n++
		effects, refusals := len(w.effects), len(w.refusals)
		w.send(w.frame(command{typ: protocol.RunResize, run: "run_a", id: fmt.Sprintf("z%d", n), data: fmt.Sprintf(`{"cols":%d,"rows":24}`, n), by: by}))
		w.await("resize", func() bool { return len(w.effects)+len(w.refusals) == effects+refusals+1 })
		if len(w.effects) > effects {
			return ""
		}
		return w.refusals[refusals].Code
	}
	w.add("laptop", seal.Operator)
	if got := resize("cli"); got != protocol.RosterFork {
		t.Errorf("line that the server does not have: code = %q", got)
	}
	if got := resize("laptop"); got != protocol.UnknownDevice {
		t.Errorf("device without keys: code = %q", got)
	}
	w.change(func() { w.lines = w.rosterLines() })
	if got := resize("cli"); got != "" {
		t.Errorf("new line: code = %q", got)
	}
	if got := resize("laptop"); got != "" {
		t.Errorf("new device: code = %q", got)
	}
	laptop := w.devices["laptop"]
	w.append(w.roster.RemoveMember(seal.ByRecovery, w.recovery, laptop.id, time.Now()))
	w.change(func() { w.lines = w.rosterLines() })
	if got := resize("laptop"); got != protocol.UnknownDevice {
		t.Errorf("removed device: code = %q", got)
	}
	w.stop()
	w.start()
	if got := w.sealer.Status(); got.Roster.N != w.roster.Head().N || got.Fork != "" {
		t.Errorf("status after a restart = %+v, want the whole roster", got)
	}
	w.change(func() { w.lines = w.lines[:len(w.lines)-1] })
	w.add("desk", seal.Operator)
	if got := resize("phone"); got != protocol.RosterFork {
		t.Errorf("shorter roster of the server: code = %q", got)
	}
	if got := resize("cli"); got != protocol.RosterFork {
		t.Errorf("command after a shorter roster: code = %q", got)
	}
	w.stop()
	w.start()
	if got := resize("cli"); got != protocol.RosterFork || !strings.Contains(w.sealer.Status().Fork, "fewer") {
		t.Errorf("after a restart: code = %q, status = %+v", got, w.sealer.Status())
	}
}

// newerServer has a roster with a line of a kind that this version does not know.
type newerServer struct {
	sealer.Server // nil: its other methods are not called
	text          []byte
}

func (s newerServer) Roster(_ context.Context, _ string, after int64) ([]byte, error) {
	return bytes.Join(bytes.SplitAfter(s.text, []byte("\n"))[after:], nil), nil
}

func (newerServer) KeyRecords(context.Context, string, string, int64) ([]byte, error) {
	return nil, machineapi.ErrUnknownAccount
}

// TestNewerRoster reads a line that an owner has signed and that this version cannot read. All
// commands are refused, because later lines may remove a device.
func TestNewerRoster(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../seal/testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Rosters map[string]string
		Cases   []struct {
			Name string
			In   struct{ Text string }
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	known := all.Rosters["main"]
	r, err := seal.ParseRoster([]byte(known), "", seal.Position{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cases {
		if c.Name != "roster: a grant" {
			continue
		}
		state := t.TempDir()
		if err := sealer.Create(state, seal.NewKeys(), r); err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			s, err := sealer.Open(sealer.Options{State: state, MachineID: machineID, Log: slog.New(slog.DiscardHandler), Server: at(newerServer{text: []byte(known + c.In.Text + "\n")})})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			go s.Run(t.Context())
			s.Follow()
			synctest.Wait()
			if got := s.Status().Fork; !strings.Contains(got, `this version cannot read the roster: line 10 has the kind "grant": update concerto-relay`) {
				t.Errorf("fork = %q", got)
			}
		})
		return
	}
	t.Fatal("there is no such vector")
}

// TestPublish publishes the roster at a server that has none.
func TestPublish(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.change(func() { w.lines = nil })
	done := make(chan struct{})
	go func() { defer close(done); w.sealer.Run(t.Context()) }()
	w.sealer.Follow()
	w.await("roster", func() bool { return len(w.lines) == 1 && string(w.lines[0]) == string(w.roster.Text()) })
}

// TestLocalDecision signs a decision of a process on the machine, and verifies all decisions of the
// ledger with the roster.
func TestLocalDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	w.ask("run_a", "q2")
	w.send(w.frame(command{typ: protocol.RunApprove, run: "run_a", data: `{"request_id":"q1"}`}))
	w.await("approval", func() bool { return len(w.effects) == 1 })
	local := localDecision("deny")
	local.Seal = json.RawMessage(`{"sig":"x","statement":{}}`) // only a device has a signature
	if err := w.approvals.Decide(t.Context(), "run_a", "q2", local); err != nil {
		t.Fatal(err)
	}
	if err := w.approvals.Decide(t.Context(), "run_a", "q2", localDecision("deny")); err != nil {
		t.Fatal(err) // it is not recorded another time
	}
	var who []string
	for line := range strings.Lines(w.ledger()) {
		var r struct {
			Kind, Time string
			Data       struct {
				Args string `json:"args_sha256"`
				Seal seal.Signed
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, r.Time)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := w.roster.VerifyDecision(r.Data.Seal, at, r.Data.Args)
		if err != nil || r.Kind != "decision" {
			t.Fatalf("record %s: %v", line, err)
		}
		if s.Local != nil {
			who = append(who, fmt.Sprintf("%s by %d %d", s.Decision, s.Local.UID, s.Local.PID))
		} else {
			who = append(who, s.Decision+" by "+s.Device)
		}
	}
	if want := []string{"approve by " + w.devices["phone"].id, "deny by 1000 7"}; !slices.Equal(who, want) {
		t.Errorf("decisions = %q, want %q", who, want)
	}
}

// TestNoAccount admits all commands without an account, and none as soon as there is one.
func TestNoAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	s, err := sealer.Open(sealer.Options{State: dir, MachineID: machineID, Log: w.log(), Request: w.request, IsLive: func(string) bool { return true }, Refused: w.refused})
	if err != nil {
		t.Fatal(err)
	}
	e := &protocol.Envelope{Type: protocol.RunApprove, RunID: "run_a", Data: json.RawMessage(`{"request_id":"q1","by":"eve","seal":{"sig":"x","statement":{}}}`)}
	if a := s.Admit(t.Context(), e, true); a.Command != e || a.Signed != nil || s.Account() != "" || s.Token() != "" {
		t.Errorf("without an account: admission = %+v", a)
	}
	if err := s.RecordDecision("run_a", &protocol.PermissionRequested{}, nil); err != nil {
		t.Error(err)
	}
	w.copyAccount(dir)
	if got, err := s.Reload(); err != nil || got.Account != w.roster.Account() {
		t.Fatalf("reload = %+v, %v", got, err)
	}
	defer s.Close()
	if a := s.Admit(t.Context(), e, true); a.Command != nil || a.Outcome.State != protocol.InputRejected {
		t.Errorf("unsigned command with an account: admission = %+v", a)
	}
}

// TestAccepted checks that a statement is on the disk before its command is admitted: a crash
// leaves it used.
func TestAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ask("run_a", "q1")
	var all []protocol.Envelope
	for _, c := range []command{{typ: protocol.RunStop, run: "run_a", id: "s1", data: `{"signal":"term"}`}, {typ: protocol.RunApprove, run: "run_a", data: `{"request_id":"q1"}`},
		{typ: protocol.RPCStopRun, run: "run_a", data: `{"request_id":"r1","rpc_type":"rpc.run.stop"}`}, {typ: protocol.RunResize, run: "run_a", id: "z1", data: `{"cols":80,"rows":24}`}} {
		e, _ := protocol.Parse(w.frame(c))
		all = append(all, e)
		if a := w.sealer.Admit(t.Context(), &e, true); a.Command == nil || a.Repeated {
			t.Fatalf("%s: admission = %+v", c.typ, a)
		}
	}
	// hostd is killed before it has performed the command.
	dir := t.TempDir()
	w.copyAccount(dir)
	s, err := sealer.Open(sealer.Options{State: dir, MachineID: machineID, Log: w.log(), Request: w.request, IsLive: func(string) bool { return true }, Refused: w.refused})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if a := s.Admit(t.Context(), &all[0], true); a.Command != nil || a.Outcome.State != protocol.InputIndeterminate {
		t.Errorf("stop after a crash: admission = %+v, want indeterminate", a)
	}
	for i := 1; i <= 2; i++ { // the request, and the id of the RPC, show whether it was performed
		if a := s.Admit(t.Context(), &all[i], true); a.Command == nil || !a.Repeated {
			t.Errorf("%s after a crash: admission = %+v, want a repeated one", all[i].Type, a)
		}
	}
	if a := s.Admit(t.Context(), &all[3], true); a.Command != nil || a.Code != protocol.Replayed {
		t.Errorf("resize after a crash: admission = %+v, want replayed", a)
	}
}

var _ link.Gate = (*sealer.Sealer)(nil)
