package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// sealedFrame returns a frame with the form of a sealed event.
func sealedFrame(typ string, seq, epoch int, more string) []byte {
	return fmt.Appendf(nil, `{"type":%q,"ts":"2026-01-02T15:04:05.000Z","run_id":"run_a","seq":%d,"enc":{"epoch":%d,"v":1},"data":{"ct":"ct%d","prev":""%s}}`, typ, seq, epoch, seq, more)
}

// TestSealedRun sends the events of a sealed run. The server has its states and requests, and
// everything that it would read from the data is empty.
func TestSealedRun(t *testing.T) {
	t.Parallel()
	r := servertest.StartNow(t)
	h, welcome := r.Hello("host_a", protocol.HelloData{})
	defer h.Close()
	if !strings.Contains(strings.Join(welcome.Features, " "), protocol.FeatureSealed) {
		t.Errorf("features = %v", welcome.Features)
	}
	old := r.App(servertest.Viewer, "")
	h.Raw(sealedFrame(protocol.RunStarted, 1, 7, ""))
	h.Raw(sealedFrame("run.sealed", 2, 7, ""))
	h.Raw(sealedFrame(protocol.RunPermissionRequested, 3, 7, `,"request_id":"q"`))
	h.Acked("run_a", 3)

	type row struct {
		Tool, Cwd, Command, Title, Status string
		Sealed                            bool
		Pending                           []json.RawMessage
	}
	request := `{"ct":"ct3","enc":{"epoch":7,"v":1},"prev":"","request_id":"q","run_id":"run_a","seq":3,"state":"open","ts":"2026-01-02T15:04:05.000Z"}`
	got := get[row](r, "/runs/run_a")
	want := row{Status: "awaiting_approval", Sealed: true, Pending: []json.RawMessage{json.RawMessage(request)}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if text := get[json.RawMessage](r, "/inbox"); !strings.Contains(string(text), `"ct":"ct3"`) || !strings.Contains(string(text), `"epoch":7`) {
		t.Errorf("inbox = %s", text)
	}
	if all := get[[]json.RawMessage](r, "/runs/run_a/messages"); len(all) != 0 {
		t.Errorf("messages = %s", all)
	}

	h.Raw(sealedFrame(protocol.RunPermissionRequested, 3, 8, `,"request_id":"q"`))
	if d := h.NextError(); d.Code != protocol.SeqConflict {
		t.Errorf("the event with another epoch: %+v", d)
	}
	h.Raw(sealedFrame(protocol.RunPermissionRequested, 3, 7, `,"request_id":"q"`)) // a duplicate
	h.Raw(sealedFrame(protocol.RunGap, 9, 7, `,"from":4`))
	h.Raw(sealedFrame(protocol.RunPermissionResolved, 10, 7, `,"request_id":"q"`))
	h.Raw(sealedFrame("run.sealed", 11, 7, ""))
	h.Raw(sealedFrame(protocol.RunExited, 12, 7, ""))
	h.Raw(sealedFrame("run.sealed", 13, 7, "")) // its head
	h.Acked("run_a", 13)
	if got := get[row](r, "/runs/run_a"); got.Status != "exited" || len(got.Pending) != 0 {
		t.Errorf("ended run = %+v", got)
	}
	all := get[struct {
		Decisions []struct {
			Title, Decision, By string
			Sealed              []protocol.Envelope
		}
	}](r, "/decisions").Decisions
	if len(all) != 1 || all[0].Title != "" || all[0].Decision != protocol.DecisionSealed || len(all[0].Sealed) != 2 || all[0].Sealed[0].Seq != 3 || all[0].Sealed[1].Seq != 10 || all[0].Sealed[1].Enc == nil {
		t.Errorf("history = %+v", all)
	}
	page := get[struct{ Events []json.RawMessage }](r, "/runs/run_a/events")
	if len(page.Events) != 8 || !strings.Contains(string(page.Events[3]), `"from":4`) || !strings.Contains(string(page.Events[3]), `"enc":`) {
		t.Errorf("events = %s", page.Events)
	}

	// An app that speaks protocol 1 receives what the server writes.
	for _, want := range []string{
		`{"type":"run.started","ts":"2026-01-02T15:04:05.000Z","host_id":"host_a","run_id":"run_a","seq":1,"data":{"tool":"sealed","cwd":"","command":""}}`,
		`{"type":"run.output","ts":"2026-01-02T15:04:05.000Z","host_id":"host_a","run_id":"run_a","seq":2,"data":{"stream":"stdout","text":"This run is sealed. Open it on an enrolled device.\n"}}`,
		`{"type":"run.exited","ts":"2026-01-02T15:04:05.000Z","host_id":"host_a","run_id":"run_a","seq":12,"data":{"exit_code":-1}}`,
	} {
		e := old.Read()
		for e.Seq == 0 {
			e = old.Read()
		}
		if got := string(e.Append(nil)); got != want {
			t.Errorf("frame = %s, want %s", got, want)
		}
	}
}

// TestSealedRPC passes sealed RPCs and their responses on, of which the server reads nothing but
// their ids. An RPC without a run names its machine in the envelope. One that waits for an approval
// has no time limit until that is decided.
func TestSealedRPC(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a := r.App(servertest.Operator, "")
	call := func(id, at string) string {
		return fmt.Sprintf(`{"type":"rpc.sealed","ts":"2025-01-01T00:00:00Z","id":%q,%s,"enc":{"epoch":7,"v":1},"data":{"ct":"x","device":"d_a","epoch":7,"id":%q}}`, id, at, id)
	}
	a.Raw([]byte(call("r1", `"run_id":"run_a"`)))
	if e := h.Next(protocol.RPCSealed); e.RunID != "run_a" || e.ID != "r1" || string(e.Enc) != `{"epoch":7,"v":1}` || !strings.Contains(string(e.Data), `"ct":"x"`) {
		t.Errorf("the machine received %s", e.Append(nil))
	}
	h.Raw([]byte(`{"type":"rpc.response","ts":"2025-01-01T00:00:00Z","run_id":"run_a","re":"r1","enc":{"epoch":7,"v":1},"data":{"ct":"answer"}}`))
	if e := a.Next(protocol.RPCResponse); e.Re != "r1" || string(e.Data) != `{"ct":"answer"}` || e.Enc == nil {
		t.Errorf("answer = %s", e.Append(nil))
	}
	go r.Do(servertest.Operator, "POST", "/rpc", json.RawMessage(call("r2", `"host_id":"host_a"`)))
	if e := h.Next(protocol.RPCSealed); e.RunID != "" || e.MachineID != "host_a" || e.ID != "r2" || e.Enc == nil {
		t.Errorf("the machine received %s", e.Append(nil))
	}

	for want, text := range map[protocol.Code]string{
		protocol.UnknownMachine: call("r3", `"host_id":"other"`), protocol.UnknownRun: call("r3", `"x":1`),
		protocol.BadMessage: strings.ReplaceAll(call("r3", `"run_id":"run_a"`), `"enc"`, `"x"`),
	} {
		a.Raw([]byte(text))
		got := protocol.Code("")
		switch e := a.Read(); e.Type {
		case protocol.RPCResponse:
			d, _ := protocol.Decode[protocol.Response](&e)
			got = protocol.Code(d.ErrorCode)
		case protocol.Failure:
			d, _ := protocol.Decode[protocol.ErrorData](&e)
			got = d.Code
		}
		if got != want {
			t.Errorf("%s: code = %q, want %q", text, got, want)
		}
	}
	if status, _ := r.Do("operator:eve:run_a", "POST", "/rpc", json.RawMessage(call("r4", `"host_id":"host_a"`))); status != 403 {
		t.Errorf("status for a token that is limited to a run = %d, want 403", status)
	}

	a.Raw([]byte(call("r5", `"run_id":"run_a"`)))
	h.Next(protocol.RPCSealed)
	h.Raw(sealedFrame(protocol.RunPermissionRequested, 2, 7, `,"request_id":"r5"`))
	h.Acked("run_a", 2)
	await := func(state protocol.CallState) {
		for {
			c, err := r.Store.Call(t.Context(), "r5")
			if err != nil {
				t.Fatal(err)
			}
			if c.State == state {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	later := func(most time.Duration) {
		for range most / (10 * time.Second) {
			r.Advance(10 * time.Second)
			a.Ping()
			h.Ping()
		}
	}
	await(protocol.CallWaiting)
	later(2 * protocol.RPCTimeout)
	h.Raw(sealedFrame(protocol.RunPermissionResolved, 3, 7, `,"request_id":"r5"`))
	h.Acked("run_a", 3)
	await(protocol.CallRunning)
	later(protocol.MaxBashTimeout)
	h.Raw([]byte(`{"type":"rpc.response","ts":"2025-01-01T00:00:00Z","run_id":"run_a","re":"r5","enc":{"epoch":7,"v":1},"data":{"ct":"late"}}`))
	for {
		e := a.Next(protocol.RPCResponse)
		if e.Re != "r5" {
			continue
		}
		if string(e.Data) != `{"ct":"late"}` {
			t.Errorf("answer = %s", e.Append(nil))
		}
		return
	}
}

// TestSealedRequired is a server that accepts only what it cannot read. It refuses machines without
// an account, plain events and commands, and protocol 1.
func TestSealedRequired(t *testing.T) {
	t.Parallel()
	r := servertest.StartSealed(t)
	ct := base64.RawURLEncoding.EncodeToString(make([]byte, 12+256+16))
	refused := func(p *servertest.Peer, what string) {
		t.Helper()
		if d := p.NextError(); d.Code != protocol.SealedRequired {
			t.Errorf("%s: error = %+v", what, d)
		}
	}
	old := r.Machine("host_old")
	old.Send(protocol.RunOutput, "run_old", 1, servertest.Output("x"))
	if code := old.Closed(); code != protocol.CloseForbidden {
		t.Errorf("a machine of protocol 1: close code %d", code)
	}
	plain := r.Machine("host_plain")
	plain.Send(protocol.Hello, "", 0, protocol.HelloData{Protocol: 2, Agent: "test/1"})
	if code := plain.Closed(); code != protocol.CloseForbidden {
		t.Errorf("a machine without an account: close code %d", code)
	}

	h, _ := r.Hello("host_a", protocol.HelloData{Account: "a_" + strings.Repeat("b", 43)})
	h.Raw(bytes.ReplaceAll(sealedFrame(protocol.RunStarted, 1, 7, ""), []byte("ct1"), []byte(ct)))
	h.Acked("run_a", 1)
	h.Send(protocol.RunOutput, "run_a", 2, servertest.Output("x"))
	refused(h, "a plain event")
	h.Send(protocol.RunOutput, "run_a", 0, servertest.Output("x"))
	refused(h, "a plain event without a number")
	h.Send(protocol.RunGap, "run_a", 2, `{"from":2,"to":2,"reason":"spool_lost"}`)
	h.Acked("run_a", 2)

	a := r.HelloApp(servertest.Operator, "")
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"x"}`)
	refused(a, "a plain input")
	a.Send(protocol.RunSendKeys, "run_a", 0, `{"keys":"x"}`)
	refused(a, "plain keys")
	a.Send(protocol.RPCReadFile, "run_a", 0, read("r1"))
	if _, d := answer(a); d.OK || d.ErrorCode != protocol.RPCCode(protocol.SealedRequired) {
		t.Errorf("a plain RPC: %+v", d)
	}
	if status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/input", json.RawMessage(`{"input_id":"i3","text":"x"}`)); status != 403 || !strings.Contains(string(body), "sealed_required") {
		t.Errorf("a posted input: %d %s", status, body)
	}
	input := func(data string) []byte {
		return fmt.Appendf(nil, `{"type":"run.send_input","ts":"2025-01-01T00:00:00Z","run_id":"run_a","id":"i2","enc":{"epoch":7,"v":1},"data":%s}`, data)
	}
	a.Raw(input(`{"input_id":"i2","text":"x"}`))
	if d := a.NextError(); d.Code != protocol.BadMessage {
		t.Errorf("a plain input with enc: %+v", d)
	}
	h.Raw(sealedFrame(protocol.RunOutput, 3, 7, ""))
	if d := h.NextError(); d.Code != protocol.BadMessage {
		t.Errorf("a plain event with enc: %+v", d)
	}
	a.Raw(input(`{"ct":"` + ct + `","device":"d_a","epoch":7,"id":"i2"}`))
	if e := h.Next(protocol.RunSendInput); e.ID != "i2" {
		t.Errorf("the machine received %s", e.Append(nil))
	}
	a.Send(protocol.RPCMachineInfo, "", 0, `{"request_id":"r2","host_id":"host_a"}`)
	h.Next(protocol.RPCMachineInfo)

	first := r.App(servertest.Viewer, "&cursor=")
	first.Send(protocol.RunSubscribe, "", 0, `{}`)
	refused(first, "an app of protocol 1")
}
