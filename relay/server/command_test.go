package server_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

const asked = `{"request_id":"q1","reason":"permission","prompt":"rm?","op_tool":"bash","op_args_summary":"rm x","args_sha256":"` +
	"abababababababababababababababababababababababababababababababab" + `"}`

// state reads the next command.state.
func state(p *servertest.Peer) protocol.State {
	p.T.Helper()
	e := p.Next(protocol.CommandState)
	d, err := protocol.Decode[protocol.State](&e)
	if err != nil || e.RunID != d.RunID {
		p.T.Fatalf("command.state = %s, %v; want data and envelope with the same run", e.Append(nil), err)
	}
	return d
}

func isState(p *servertest.Peer, want protocol.State) {
	p.T.Helper()
	want.RunID = "run_a"
	if got := state(p); got != want {
		p.T.Errorf("state = %+v, want %+v", got, want)
	}
}

// startInputs starts a server with a machine that runs run_a, and an app of eve.
func startInputs(t *testing.T) (r *servertest.Relay, h, a *servertest.Peer) {
	t.Parallel()
	r = servertest.Start(t)
	h, _ = r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	return r, h, r.HelloApp(servertest.Operator, "")
}

// sendInput sends an input that the machine receives, and whose sender is notified of it.
func sendInput(h, a *servertest.Peer) protocol.Envelope {
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"y\n","actor":"web"}`)
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "accepted", By: "eve"})
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "sent", By: "eve"})
	return h.Next(protocol.RunSendInput)
}

// disconnect closes the connection of the machine.
func disconnect(r *servertest.Relay, h *servertest.Peer) {
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
}

// reconnect connects the machine again.
func reconnect(r *servertest.Relay) *servertest.Peer {
	h, _ := r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 1}))
	return h
}

// postInput posts an input for a machine that is not connected. more are further members.
func postInput(r *servertest.Relay, id, more string) {
	r.T.Helper()
	status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/input", json.RawMessage(fmt.Sprintf(`{"input_id":"%s","text":"x"%s}`, id, more)))
	if status != 202 || !strings.Contains(string(body), `"state":"accepted"`) {
		r.T.Errorf("response for an offline machine = %d %s, want 202 accepted", status, body)
	}
}

// nextInput checks which input the machine receives next.
func nextInput(h *servertest.Peer, want string) {
	h.T.Helper()
	if e := h.Next(protocol.RunSendInput); e.ID != want {
		h.T.Errorf("input = %s, want %s", e.ID, want)
	}
}

// TestInputIsDelivered checks that the machine receives an input with its user, and the sender each
// state.
func TestInputIsDelivered(t *testing.T) {
	_, h, a := startInputs(t)
	e := sendInput(h, a)
	d, err := protocol.Decode[protocol.SendInput](&e)
	if err != nil || e.RunID != "run_a" || d.Text != "y\n" || d.InputID != "i1" || !strings.Contains(string(e.Data), `"by":"eve"`) {
		t.Errorf("run.send_input = %s, want input i1 with the text and the user", e.Append(nil))
	}
	h.Send(protocol.RunInput, "run_a", 2, `{"actor":"web","input_id":"i1","text_redacted":"y","text_sha256":"x"}`)
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "applied", By: "eve"})
	h.Send(protocol.CommandResult, "run_a", 0, `{"id":"i1","kind":"input","state":"applied"}`)
	if e := h.Next(protocol.CommandAck); string(e.Data) != `{"id":"i1"}` {
		t.Errorf("command.ack = %s, want i1", e.Data)
	}
}

// TestInputIsIdempotent repeats an input, which is answered with its state. An input with the same
// id and another text is refused.
func TestInputIsIdempotent(t *testing.T) {
	_, h, a := startInputs(t)
	sendInput(h, a)
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"y\n"}`)
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "sent", By: "eve"})
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"n\n"}`)
	if d := a.NextError(); d.Code != protocol.InputConflict || d.InputID != "i1" {
		t.Errorf("error of an input with another text = %+v, want input_conflict for i1", d)
	}
}

// TestInputWaitsForMachine sends inputs while the machine is offline. It receives them in order
// when it is connected. Keys are refused.
func TestInputWaitsForMachine(t *testing.T) {
	r, h, a := startInputs(t)
	disconnect(r, h)
	postInput(r, "w0", "")
	postInput(r, "w1", "")
	a.Send(protocol.RunSendKeys, "run_a", 0, `{"keys":"x"}`)
	if d := a.NextError(); d.Code != protocol.MachineOffline {
		t.Errorf("error of keys for an offline machine = %+v, want host_offline", d)
	}
	h = reconnect(r)
	nextInput(h, "w0")
	nextInput(h, "w1")
	a.Send(protocol.RunSendKeys, "run_a", 0, `{"keys":"x"}`)
	h.Next(protocol.RunSendKeys)
	a.Send(protocol.RunResize, "run_a", 0, `{"cols":80,"rows":24}`)
	h.Next(protocol.RunResize)
}

// TestInputExpires checks that the machine does not receive an input that expires while it is
// offline.
func TestInputExpires(t *testing.T) {
	r, h, a := startInputs(t)
	disconnect(r, h)
	postInput(r, "w0", `,"ttl_s":1`)
	postInput(r, "w1", "")
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"w0","text":"x"}`)
	isState(a, protocol.State{ID: "w0", Kind: "input", State: "accepted", By: "eve"})
	r.Advance(2 * time.Second)
	isState(a, protocol.State{ID: "w0", Kind: "input", State: "expired", Error: "expired", By: "eve"})
	status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/input", json.RawMessage(`{"input_id":"w0","text":"x"}`))
	if status != 409 || !strings.Contains(string(body), `"expired"`) {
		t.Errorf("response to the expired input = %d %s, want 409 expired", status, body)
	}
	nextInput(reconnect(r), "w1")
}

// TestInputIsResentAfterReconnect checks that the server sends unfinished inputs again, in order,
// to a machine that recognises their ids. The sender is notified of the machine's result.
func TestInputIsResentAfterReconnect(t *testing.T) {
	r, h, a := startInputs(t)
	disconnect(r, h)
	postInput(r, "w0", "")
	postInput(r, "w1", "")
	for range 2 {
		h = reconnect(r)
		nextInput(h, "w0")
		nextInput(h, "w1")
	}
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"w0","text":"x"}`)
	isState(a, protocol.State{ID: "w0", Kind: "input", State: "sent", By: "eve"})
	h.Send(protocol.CommandResult, "run_a", 0, `{"id":"w0","kind":"input","state":"rejected","error":"no room"}`)
	isState(a, protocol.State{ID: "w0", Kind: "input", State: "rejected", Error: "no room", By: "eve"})
}

// TestInputOfProtocol1IsIndeterminate connects a machine of protocol 1 again, which does not
// recognise ids and may have received the input.
func TestInputOfProtocol1IsIndeterminate(t *testing.T) {
	r, h, a := startInputs(t)
	sendInput(h, a)
	r.Machine("host_a").Send(protocol.Heartbeat, "", 0, "{}")
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "indeterminate", Error: "the connection ended before the machine reported whether it received this", By: "eve"})
}

// TestStop stops a run. The stop is applied when the run has exited, and the run then accepts no
// inputs.
func TestStop(t *testing.T) {
	_, h, a := startInputs(t)
	a.Send(protocol.RunStop, "run_a", 0, `{"signal":"kill"}`)
	stop := state(a)
	if stop.Kind != "stop" || stop.State != "accepted" {
		t.Errorf("state of the stop = %+v, want accepted", stop)
	}
	isState(a, protocol.State{ID: stop.ID, Kind: "stop", State: "sent", By: "eve"})
	if e := h.Next(protocol.RunStop); !strings.Contains(string(e.Data), `"signal":"kill"`) {
		t.Errorf("run.stop = %s, want the signal kill", e.Data)
	}
	h.Send(protocol.RunExited, "run_a", 2, `{"exit_code":137}`)
	isState(a, protocol.State{ID: stop.ID, Kind: "stop", State: "applied", By: "eve"})
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"late","text":"x"}`)
	if d := a.NextError(); d.Code != protocol.RunHasExited {
		t.Errorf("error of an input for an ended run = %+v, want run_exited", d)
	}
}

// TestDecisions checks that the first decision on a request counts, also while the machine is
// offline. If the machine rejects the decision, the request is open again.
func TestDecisions(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	h.Send(protocol.RunPermissionRequested, "run_a", 2, asked)
	h.Acked("run_a", 2)
	eve, adam := r.HelloApp(servertest.Operator, ""), r.HelloApp("operator:adam", "")
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q1","args_sha256":"`+strings.Repeat("cd", 32)+`"}`)
	if d := eve.NextError(); d.Code != protocol.ArgsChanged || d.RequestID != "q1" {
		t.Errorf("error of a decision with other arguments = %+v, want args_changed for q1", d)
	}
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q9"}`)
	if d := eve.NextError(); d.Code != protocol.UnknownRequest {
		t.Errorf("error for an unknown request = %+v, want unknown_request", d)
	}
	// While the machine is offline, eve's decision is accepted and adam's is refused.
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q1","args_sha256":"`+strings.Repeat("ab", 32)+`","text":"go"}`)
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "accepted", By: "eve"})
	adam.Send(protocol.RunDeny, "run_a", 0, `{"request_id":"q1"}`)
	if d := adam.NextError(); d.Code != protocol.AlreadyDecided || !strings.Contains(d.Message, "eve") || !strings.Contains(d.Message, "approve") {
		t.Errorf("error of the second decision = %+v, want already_decided with eve's approval", d)
	}
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q1","text":"go"}`)
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "accepted", By: "eve"})
	if _, body := r.Do(servertest.Viewer, "GET", "/inbox", nil); !strings.Contains(string(body), `"state":"decided"`) || !strings.Contains(string(body), `"prompt":"rm?"`) {
		t.Errorf("inbox = %s, want the decided request", body)
	}
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	if e := h.Next(protocol.RunApprove); e.RunID != "run_a" || !strings.Contains(string(e.Data), `"text":"go"`) {
		t.Errorf("run.approve = %s, want the decision with its text", e.Append(nil))
	}
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "sent", By: "eve"})
	h.Send(protocol.CommandResult, "run_a", 0, `{"id":"q1","kind":"decision","state":"rejected","error":"invalid_answer: name is missing"}`)
	h.Next(protocol.CommandAck)
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "rejected", Error: "invalid_answer: name is missing", By: "eve"})
	// The request is open again, so another user may decide.
	if status, body := r.Do("operator:adam", "POST", "/runs/run_a/permissions/q1", map[string]string{"decision": "deny"}); status != 200 || string(body) != `{"state":"sent"}`+"\n" {
		t.Errorf("response to the new decision = %d %s, want 200", status, body)
	}
	h.Next(protocol.RunDeny)
	if status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/permissions/q1", map[string]string{"decision": "approve"}); status != 409 || !strings.Contains(string(body), `"code":"already_decided"`) {
		t.Errorf("response to a decision on a decided request = %d %s, want 409 already_decided", status, body)
	}
	if status, _ := r.Do(servertest.Operator, "POST", "/runs/run_a/permissions/q1", map[string]string{"decision": "perhaps"}); status != 400 {
		t.Errorf("status of an invalid decision = %d, want 400", status)
	}
	if status, _ := r.Do(servertest.Operator, "POST", "/runs/run_z/permissions/q1", map[string]string{"decision": "deny"}); status != 404 {
		t.Errorf("status for an unknown run = %d, want 404", status)
	}
	h.Send(protocol.RunPermissionResolved, "run_a", 3, `{"request_id":"q1","decision":"deny","by":"adam"}`)
	h.Acked("run_a", 3)
	if _, body := r.Do(servertest.Viewer, "GET", "/inbox", nil); string(body) != "[]\n" {
		t.Errorf("inbox after the resolution = %s, want it empty", body)
	}
	// A decision for an offline machine waits until its request expires. The remaining time is a
	// duration and does not depend on the machine's clock.
	e := protocol.New(protocol.RunPermissionRequested, time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), json.RawMessage(`{"request_id":"q2","reason":"choice","prompt":"?","expires_at":"1999-01-01T00:01:00Z"}`))
	e.RunID, e.Seq = "run_a", 4
	h.Raw(e.Append(nil))
	h.Acked("run_a", 4)
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q2"}`)
	isState(eve, protocol.State{ID: "q2", Kind: "decision", State: "accepted", By: "eve"})
	for range 7 {
		r.Advance(10 * time.Second)
		eve.Ping()
	}
	isState(eve, protocol.State{ID: "q2", Kind: "decision", State: "expired", Error: "expired", By: "eve"})
}

// TestCommandHTTP checks the status codes of commands over HTTP.
func TestCommandHTTP(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	post := func(path, body string) string {
		t.Helper()
		status, answer := r.Do(servertest.Operator, "POST", path, json.RawMessage(body))
		return fmt.Sprintf("%d %s", status, answer)
	}
	for _, row := range []struct{ path, body, want string }{
		{"/runs/run_a/input", `{"input_id":"i","text":"x"}`, "204 "},
		{"/runs/run_a/input", `{"input_id":"i","text":"x"}`, "204 "},
		{"/runs/run_a/input", `{"input_id":"i","text":"y"}`, `409 {"error":{"code":"input_conflict"`},
		{"/runs/run_a/input", `{"text":"y"}`, `400 {"error":{"code":"bad_message"`},
		{"/runs/run_a/input", `[]`, `400 {"error":{"code":"bad_message"`},
		{"/runs/run_a/input", `{"input_id":"i2","text":"` + strings.Repeat("x", 70_000) + `"}`, `400 {"error":{"code":"bad_message"`},
		{"/runs/run_z/input", `{"input_id":"i","text":"y"}`, `404 {"error":{"code":"unknown_run"`},
		{"/runs/run_a/stop", `{"signal":"hup"}`, `400 {"error":{"code":"bad_message"`},
		{"/runs/run_a/stop", `{}`, "204 "},
		{"/runs/run_a/permissions/q", `{"decision":"deny"}`, `404 {"error":{"code":"unknown_request"`},
	} {
		if got := post(row.path, row.body); !strings.HasPrefix(got, row.want) {
			t.Errorf("%s %.80s: response = %s, want %s", row.path, row.body, got, row.want)
		}
	}
	h.Send(protocol.RunExited, "run_a", 2, `{"exit_code":0}`)
	h.Acked("run_a", 2)
	if got := post("/runs/run_a/input", `{"input_id":"j","text":"x"}`); !strings.HasPrefix(got, `409 {"error":{"code":"run_exited"`) {
		t.Errorf("response for an ended run = %s, want 409 run_exited", got)
	}
	limited := ""
	for i := range protocol.CommandBurst + 1 {
		if limited = post("/runs/run_a/input", fmt.Sprintf(`{"input_id":"f%d","text":"x"}`, i)); strings.HasPrefix(limited, "429 ") {
			break
		}
	}
	if !strings.HasPrefix(limited, `429 {"error":{"code":"rate_limited"`) {
		t.Errorf("last response = %s, want 429 rate_limited", limited)
	}
}

// TestCommandRate sends too many commands in one session. The refusal must contain the time to
// wait.
func TestCommandRate(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a := r.HelloApp(servertest.Operator, "")
	for range protocol.CommandBurst + 1 {
		a.Send(protocol.RunStop, "run_z", 0, "{}")
	}
	for range protocol.CommandBurst {
		if d := a.NextError(); d.Code != protocol.UnknownRun {
			t.Fatalf("error below the limit = %+v, want unknown_run", d)
		}
	}
	if d := a.NextError(); d.Code != protocol.RateLimited || d.RetryAfterMS != 20 {
		t.Errorf("error above the limit = %+v, want rate_limited with 20 ms", d)
	}
	r.Advance(20 * time.Millisecond)
	a.Send(protocol.RunStop, "run_z", 0, "{}")
	if d := a.NextError(); d.Code != protocol.UnknownRun {
		t.Errorf("error after the time to wait = %+v, want unknown_run", d)
	}
}

// TestSecret checks that a secret answer reaches the machine but is not written to the database.
func TestSecret(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	for seq, id := range []string{"q1", "q2"} {
		h.Send(protocol.RunPermissionRequested, "run_a", int64(seq+2), `{"request_id":"`+id+`","reason":"prompt","prompt":"password?","questions":[{"id":"p","question":"password?","kind":"text","secret":true}]}`)
	}
	h.Acked("run_a", 3)
	a := r.HelloApp(servertest.Operator, "")
	const secret = "correct-horse-battery"
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
	for _, id := range []string{"q1", "q2"} {
		a.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"`+id+`","answers":{"p":"`+secret+`"}}`)
		isState(a, protocol.State{ID: id, Kind: "decision", State: "accepted", By: "eve"})
	}
	a.Send(protocol.RunDeny, "run_a", 0, `{"request_id":"q1"}`)
	if d := a.NextError(); d.Code != protocol.AlreadyDecided {
		t.Errorf("error of the second decision = %+v, want already_decided", d)
	}
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 3}))
	if e := h.Next(protocol.RunApprove); !strings.Contains(string(e.Data), secret) {
		t.Errorf("run.approve = %s, want the secret answer", e.Data)
	}
	if r.Stores(secret) {
		t.Error("the database contains the secret answer")
	}
	h.Send(protocol.RunPermissionResolved, "run_a", 4, `{"request_id":"q1","decision":"approve"}`)
	h.Acked("run_a", 4)
	// After a restart the server has lost the secret answer, so it withdraws the decision.
	r.Restart()
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 4}))
	h.Send(protocol.RunOutput, "run_a", 5, servertest.Output("x"))
	h.Acked("run_a", 5)
	if _, body := r.Do(servertest.Viewer, "GET", "/inbox", nil); !strings.Contains(string(body), `"state":"open"`) || !strings.Contains(string(body), `"q2"`) || strings.Contains(string(body), `"q1"`) {
		t.Errorf("inbox after the restart = %s, want only q2, open", body)
	}
}

// TestSeedMachineGetsNoKeys checks that a machine of protocol 1 receives no message that it does
// not support.
func TestSeedMachineGetsNoKeys(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	a := r.App(servertest.Operator, "")
	for typ, data := range map[string]string{protocol.RunSendKeys: `{"keys":"x"}`, protocol.RunResize: `{"cols":1,"rows":1}`} {
		a.Send(typ, "run_a", 0, data)
		if d := a.NextError(); d.Code != protocol.UnknownType || !strings.Contains(d.Message, typ) {
			t.Errorf("error = %+v, want unknown_type for the message type", d)
		}
	}
}

// TestPassedThrough checks that the server forwards unknown and encrypted parts unchanged: of a
// command, an RPC and its answer.
func TestPassedThrough(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", protocol.HelloData{})
	h.Begin("run_a")
	h.Send(protocol.RunPermissionRequested, "run_a", 2, `{"request_id":"q","reason":"choice","prompt":"?"}`)
	h.Acked("run_a", 2)
	a := r.HelloApp(servertest.Operator, "&follow=none")
	const enc = `,"enc":{"kid":"k","alg":"A256GCM"}`
	for _, c := range []struct{ typ, id, enc, data string }{
		{protocol.RunSendInput, "i1", "", `{"input_id":"i1","text":"<b>","later":[1]}`}, {protocol.RunSendInput, "i2", enc, `{"ct":"x"}`}, {protocol.RunApprove, "q", enc, `{"ct":"y"}`},
		{protocol.RunResize, "", "", `{"cols":80,"rows":24,"later":[1]}`}, {"rpc.fs.read", "c1", "", `{"request_id":"c1","path":"a","later":[1]}`}, {"rpc.bash", "c2", enc, `{"ct":"z"}`},
	} {
		a.Raw([]byte(`{"type":"` + c.typ + `","ts":"2025-01-01T00:00:00Z","run_id":"run_a","id":"e` + c.id + `","new":{"x":1.50},"data":` + c.data + c.enc + `}`))
		want := c.id
		if c.enc != "" {
			want = "e" + c.id // the server cannot read the id in encrypted data, so it uses the envelope's id
		}
		if c.typ == protocol.RunApprove { // no request has this id
			if d := a.NextError(); d.Code != protocol.UnknownRequest {
				t.Errorf("error = %+v, want unknown_request", d)
			}
			continue
		}
		e := h.Next(c.typ)
		extra := 1
		if c.enc != "" {
			extra = 2 // the name of the user is in the envelope
		}
		if (string(e.Enc) != "") != (c.enc != "") || len(e.Extra) != extra || string(e.Extra[0].Value) != `{"x":1.50}` || c.enc == "" && !strings.Contains(string(e.Data), `"later":[1]`) ||
			c.enc != "" && !strings.Contains(string(e.Data), `"ct":`) || c.typ == protocol.RunSendInput && e.ID != want {
			t.Errorf("the machine received %s, want the unknown and encrypted parts unchanged", e.Append(nil))
		}
	}
	h.Raw([]byte(`{"type":"rpc.response","ts":"2025-01-01T00:00:00Z","run_id":"run_a","re":"ec2","data":{"ct":"w"},"new":2` + enc + `}`))
	if e := a.Next(protocol.RPCResponse); string(e.Data) != `{"ct":"w"}` || e.Enc == nil || len(e.Extra) != 1 || e.Re != "ec2" {
		t.Errorf("the app received %s, want the encrypted answer unchanged", e.Append(nil))
	}
}

// TestDecidedElsewhere checks a decision on a request that is already decided. The refusal names
// the user and the decision, also if the request was decided at the machine or closed without a
// decision.
func TestDecidedElsewhere(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", protocol.HelloData{})
	h.Begin("run_a")
	seq := int64(1)
	for id, c := range map[string]struct{ resolved, message string }{
		"q1": {`{"request_id":"q1","decision":"deny","actor":"cli","by":"bob"}`, "already decided by bob: deny"},
		"q2": {`{"request_id":"q2","decision":"approve","actor":"local"}`, "already decided by local: approve"},
		"q3": {`{"request_id":"q3","decision":"expired"}`, "the request is already closed: expired"},
	} {
		h.Send(protocol.RunPermissionRequested, "run_a", seq+1, `{"request_id":"`+id+`","reason":"choice","prompt":"?"}`)
		h.Send(protocol.RunPermissionResolved, "run_a", seq+2, c.resolved)
		seq += 2
		h.Acked("run_a", seq)
		status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/permissions/"+id, map[string]string{"decision": "approve"})
		if status != 409 || !strings.Contains(string(body), `"code":"already_decided","message":"`+c.message+`"`) {
			t.Errorf("%s: response = %d %s, want 409 already_decided with the reason", id, status, body)
		}
	}
}
