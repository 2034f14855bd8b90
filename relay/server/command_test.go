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
		p.T.Fatalf("%s: %v", e.Append(nil), err)
	}
	return d
}

func isState(p *servertest.Peer, want protocol.State) {
	p.T.Helper()
	if want.RunID = "run_a"; state(p) != want {
		p.T.Errorf("want %+v", want)
	}
}

// TestInputs checks that an input waits for its host, is sent in order, and that its sender
// receives its states.
func TestInputs(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a := r.HelloApp(servertest.Operator, "")
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"y\n","actor":"web"}`)
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "accepted", By: "eve"})
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "sent", By: "eve"})
	e := h.Next(protocol.RunSendInput)
	d, err := protocol.Decode[protocol.SendInput](&e)
	if err != nil || e.RunID != "run_a" || d.Text != "y\n" || d.InputID != "i1" || !strings.Contains(string(e.Data), `"by":"eve"`) {
		t.Errorf("%s", e.Append(nil))
	}
	// a repetition is answered with the state; another text is refused
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"y\n"}`)
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "sent", By: "eve"})
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"n\n"}`)
	if d := a.NextError(); d.Code != protocol.InputConflict || d.InputID != "i1" {
		t.Errorf("%+v", d)
	}
	h.Send(protocol.RunInput, "run_a", 2, `{"actor":"web","input_id":"i1","text_redacted":"y","text_sha256":"x"}`)
	isState(a, protocol.State{ID: "i1", Kind: "input", State: "applied", By: "eve"})
	h.Send(protocol.CommandResult, "run_a", 0, `{"id":"i1","kind":"input","state":"applied"}`)
	if e := h.Next(protocol.CommandAck); string(e.Data) != `{"id":"i1"}` {
		t.Errorf("%s", e.Data)
	}
	// for an offline host: in order, and one of them for only a second
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
	for i, ttl := range []string{"", `,"ttl_s":1`, ""} {
		status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/input", json.RawMessage(fmt.Sprintf(`{"input_id":"w%d","text":"x"%s}`, i, ttl)))
		if status != 202 || !strings.Contains(string(body), `"state":"accepted"`) {
			t.Errorf("%d %s", status, body)
		}
	}
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"w1","text":"x"}`)
	isState(a, protocol.State{ID: "w1", Kind: "input", State: "accepted", By: "eve"})
	r.Advance(2 * time.Second)
	isState(a, protocol.State{ID: "w1", Kind: "input", State: "expired", Error: "expired", By: "eve"})
	if status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/input", json.RawMessage(`{"input_id":"w1","text":"x"}`)); status != 409 || !strings.Contains(string(body), `"expired"`) {
		t.Errorf("%d %s", status, body)
	}
	a.Send(protocol.RunSendKeys, "run_a", 0, `{"keys":"x"}`)
	if d := a.NextError(); d.Code != protocol.HostOffline {
		t.Errorf("%+v", d)
	}
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	for _, id := range []string{"w0", "w2"} {
		if e := h.Next(protocol.RunSendInput); e.ID != id {
			t.Errorf("%s, want %s", e.ID, id)
		}
	}
	// commands of an older connection are sent again to a host that knows them by id
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	for _, id := range []string{"w0", "w2"} {
		if e := h.Next(protocol.RunSendInput); e.ID != id {
			t.Errorf("%s, want %s", e.ID, id)
		}
	}
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"w0","text":"x"}`)
	isState(a, protocol.State{ID: "w0", Kind: "input", State: "sent", By: "eve"})
	h.Send(protocol.CommandResult, "run_a", 0, `{"id":"w0","kind":"input","state":"rejected","error":"no room"}`)
	isState(a, protocol.State{ID: "w0", Kind: "input", State: "rejected", Error: "no room", By: "eve"})
	a.Send(protocol.RunSendKeys, "run_a", 0, `{"keys":"x"}`)
	h.Next(protocol.RunSendKeys)
	a.Send(protocol.RunResize, "run_a", 0, `{"cols":80,"rows":24}`)
	h.Next(protocol.RunResize)
	// a host of protocol 1 may have received it: the state is unknown
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"w2","text":"x"}`)
	isState(a, protocol.State{ID: "w2", Kind: "input", State: "sent", By: "eve"})
	seed := r.Host("host_a")
	seed.Send(protocol.Heartbeat, "", 0, "{}")
	isState(a, protocol.State{ID: "w2", Kind: "input", State: "indeterminate", Error: "the host may have had it", By: "eve"})
	a.Send(protocol.RunStop, "run_a", 0, `{"signal":"kill"}`)
	stop := state(a)
	if stop.Kind != "stop" || stop.State != "accepted" {
		t.Errorf("%+v", stop)
	}
	isState(a, protocol.State{ID: stop.ID, Kind: "stop", State: "sent", By: "eve"})
	if e := seed.Next(protocol.RunStop); !strings.Contains(string(e.Data), `"signal":"kill"`) {
		t.Errorf("%s", e.Data)
	}
	seed.Send(protocol.RunExited, "run_a", 3, `{"exit_code":137}`)
	isState(a, protocol.State{ID: stop.ID, Kind: "stop", State: "applied", By: "eve"})
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"late","text":"x"}`)
	if d := a.NextError(); d.Code != protocol.RunHasExited {
		t.Errorf("%+v", d)
	}
}

// TestDecisions checks that the first decision counts, also for an offline host, and that a request
// whose decision the host rejects is open again.
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
		t.Errorf("%+v", d)
	}
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q9"}`)
	if d := eve.NextError(); d.Code != protocol.UnknownRequest {
		t.Errorf("%+v", d)
	}
	// while the host is offline, the refusal is recorded
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q1","args_sha256":"`+strings.Repeat("ab", 32)+`","text":"go"}`)
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "accepted", By: "eve"})
	adam.Send(protocol.RunDeny, "run_a", 0, `{"request_id":"q1"}`)
	if d := adam.NextError(); d.Code != protocol.AlreadyDecided || !strings.Contains(d.Message, "eve") || !strings.Contains(d.Message, "approve") {
		t.Errorf("%+v", d)
	}
	eve.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q1","text":"go"}`)
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "accepted", By: "eve"})
	if _, body := r.Do(servertest.Viewer, "GET", "/inbox", nil); !strings.Contains(string(body), `"state":"decided"`) || !strings.Contains(string(body), `"prompt":"rm?"`) {
		t.Errorf("%s", body)
	}
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	if e := h.Next(protocol.RunApprove); e.RunID != "run_a" || !strings.Contains(string(e.Data), `"text":"go"`) {
		t.Errorf("%s", e.Append(nil))
	}
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "sent", By: "eve"})
	h.Send(protocol.CommandResult, "run_a", 0, `{"id":"q1","kind":"decision","state":"rejected","error":"invalid_answer: name is missing"}`)
	h.Next(protocol.CommandAck)
	isState(eve, protocol.State{ID: "q1", Kind: "decision", State: "rejected", Error: "invalid_answer: name is missing", By: "eve"})
	// open again: another user may decide
	if status, body := r.Do("operator:adam", "POST", "/runs/run_a/permissions/q1", map[string]string{"decision": "deny"}); status != 200 || string(body) != `{"state":"sent"}`+"\n" {
		t.Errorf("%d %s", status, body)
	}
	h.Next(protocol.RunDeny)
	if status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/permissions/q1", map[string]string{"decision": "approve"}); status != 409 || !strings.Contains(string(body), `"code":"already_decided"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, _ := r.Do(servertest.Operator, "POST", "/runs/run_a/permissions/q1", map[string]string{"decision": "perhaps"}); status != 400 {
		t.Errorf("%d", status)
	}
	if status, _ := r.Do(servertest.Operator, "POST", "/runs/run_z/permissions/q1", map[string]string{"decision": "deny"}); status != 404 {
		t.Errorf("%d", status)
	}
	h.Send(protocol.RunPermissionResolved, "run_a", 3, `{"request_id":"q1","decision":"deny","by":"adam"}`)
	h.Acked("run_a", 3)
	if _, body := r.Do(servertest.Viewer, "GET", "/inbox", nil); string(body) != "[]\n" {
		t.Errorf("%s", body)
	}
	// a decision for an offline host waits until its request expires by elapsed time, not by the
	// host's clock
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
	h := r.Host("host_a")
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
			t.Errorf("%s %.80s: %s, want %s", row.path, row.body, got, row.want)
		}
	}
	h.Send(protocol.RunExited, "run_a", 2, `{"exit_code":0}`)
	h.Acked("run_a", 2)
	if got := post("/runs/run_a/input", `{"input_id":"j","text":"x"}`); !strings.HasPrefix(got, `409 {"error":{"code":"run_exited"`) {
		t.Errorf("%s", got)
	}
	limited := ""
	for i := range protocol.CommandBurst + 1 {
		if limited = post("/runs/run_a/input", fmt.Sprintf(`{"input_id":"f%d","text":"x"}`, i)); strings.HasPrefix(limited, "429 ") {
			break
		}
	}
	if !strings.HasPrefix(limited, `429 {"error":{"code":"rate_limited"`) {
		t.Errorf("%s", limited)
	}
}

// TestCommandRate checks that the refusal of a session with too many commands has the time to wait.
func TestCommandRate(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a := r.HelloApp(servertest.Operator, "")
	for range protocol.CommandBurst + 1 {
		a.Send(protocol.RunStop, "run_z", 0, "{}")
	}
	for range protocol.CommandBurst {
		if d := a.NextError(); d.Code != protocol.UnknownRun {
			t.Fatalf("%+v", d)
		}
	}
	if d := a.NextError(); d.Code != protocol.RateLimited || d.RetryAfterMS != 20 {
		t.Errorf("%+v", d)
	}
	r.Advance(20 * time.Millisecond)
	a.Send(protocol.RunStop, "run_z", 0, "{}")
	if d := a.NextError(); d.Code != protocol.UnknownRun {
		t.Errorf("%+v", d)
	}
}

// TestSecret checks that a secret answer reaches the host and is not in the database.
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
		t.Errorf("%+v", d)
	}
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 3}))
	if e := h.Next(protocol.RunApprove); !strings.Contains(string(e.Data), secret) {
		t.Errorf("%s", e.Data)
	}
	if r.Stores(secret) {
		t.Error("the database has the secret answer")
	}
	h.Send(protocol.RunPermissionResolved, "run_a", 4, `{"request_id":"q1","decision":"approve"}`)
	h.Acked("run_a", 4)
	// the restarted server has lost the payload: it withdraws the decision
	r.Restart()
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 4}))
	h.Send(protocol.RunOutput, "run_a", 5, servertest.Output("x"))
	h.Acked("run_a", 5)
	if _, body := r.Do(servertest.Viewer, "GET", "/inbox", nil); !strings.Contains(string(body), `"state":"open"`) || !strings.Contains(string(body), `"q2"`) || strings.Contains(string(body), `"q1"`) {
		t.Errorf("%s", body)
	}
}

// TestSeedHostGetsNoKeys checks that a host of protocol 1 receives no message that it does not
// support.
func TestSeedHostGetsNoKeys(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
	h.Begin("run_a")
	a := r.App(servertest.Operator, "")
	for typ, data := range map[string]string{protocol.RunSendKeys: `{"keys":"x"}`, protocol.RunResize: `{"cols":1,"rows":1}`} {
		a.Send(typ, "run_a", 0, data)
		if d := a.NextError(); d.Code != protocol.UnknownType || !strings.Contains(d.Message, typ) {
			t.Errorf("%+v", d)
		}
	}
}

// TestPassedThrough checks that unknown and encrypted parts of a command, an RPC and its answer
// pass unchanged.
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
			want = "e" + c.id // its data has none that can be read
		}
		if c.typ == protocol.RunApprove { // there is no request of that id
			if d := a.NextError(); d.Code != protocol.UnknownRequest {
				t.Errorf("%+v", d)
			}
			continue
		}
		e := h.Next(c.typ)
		if (string(e.Enc) != "") != (c.enc != "") || len(e.Extra) != 1 || string(e.Extra[0].Value) != `{"x":1.50}` || c.enc == "" && !strings.Contains(string(e.Data), `"later":[1]`) ||
			c.enc != "" && !strings.Contains(string(e.Data), `"ct":`) || c.typ == protocol.RunSendInput && e.ID != want {
			t.Errorf("%s", e.Append(nil))
		}
	}
	h.Raw([]byte(`{"type":"rpc.response","ts":"2025-01-01T00:00:00Z","run_id":"run_a","re":"ec2","data":{"ct":"w"},"new":2` + enc + `}`))
	if e := a.Next(protocol.RPCResponse); string(e.Data) != `{"ct":"w"}` || e.Enc == nil || len(e.Extra) != 1 || e.Re != "ec2" {
		t.Errorf("%s", e.Append(nil))
	}
}

// TestDecidedElsewhere checks that a late decision reports who has decided and what, also at the
// host or without a decision.
func TestDecidedElsewhere(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", protocol.HelloData{})
	h.Begin("run_a")
	seq := int64(1)
	for id, c := range map[string]struct{ resolved, message string }{
		"q1": {`{"request_id":"q1","decision":"deny","actor":"cli","by":"bob"}`, "bob has decided before: deny"},
		"q2": {`{"request_id":"q2","decision":"approve","actor":"local"}`, "local has decided before: approve"},
		"q3": {`{"request_id":"q3","decision":"expired"}`, "the request is already closed: expired"},
	} {
		h.Send(protocol.RunPermissionRequested, "run_a", seq+1, `{"request_id":"`+id+`","reason":"choice","prompt":"?"}`)
		h.Send(protocol.RunPermissionResolved, "run_a", seq+2, c.resolved)
		seq += 2
		h.Acked("run_a", seq)
		status, body := r.Do(servertest.Operator, "POST", "/runs/run_a/permissions/"+id, map[string]string{"decision": "approve"})
		if status != 409 || !strings.Contains(string(body), `"code":"already_decided","message":"`+c.message+`"`) {
			t.Errorf("%s: %d %s", id, status, body)
		}
	}
}
