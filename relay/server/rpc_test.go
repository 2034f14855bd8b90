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

// answer reads the next answer of an RPC.
func answer(p *servertest.Peer) (protocol.Envelope, protocol.Response) {
	p.T.Helper()
	e := p.Next(protocol.RPCResponse)
	d, err := protocol.Decode[protocol.Response](&e)
	if err != nil {
		p.T.Fatal(err)
	}
	return e, d
}

func read(id string) string { return fmt.Sprintf(`{"request_id":%q,"path":"README.md"}`, id) }

// TestRPCBeforeHello connects a machine that sends no hello. The machine is online at once, and
// receives the pending RPC when the time for the hello has passed.
func TestRPCBeforeHello(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
	a := r.App(servertest.Operator, "")
	a.Send("rpc.fs.read", "run_a", 0, read("r0"))
	if _, d := answer(a); d.ErrorCode != protocol.RPCCode(protocol.MachineOffline) {
		t.Errorf("answer while the machine is offline = %+v, want code host_offline", d)
	}
	h = r.Machine("host_a")
	for {
		if _, body := r.Do(servertest.Viewer, "GET", "/hosts", nil); strings.Contains(string(body), `"online":true`) {
			break
		}
	}
	a.Send("rpc.fs.read", "run_a", 0, read("r1"))
	a.Ping()
	r.Advance(protocol.HelloTimeout)
	h.Next("rpc.fs.read")
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"r1","ok":true,"rpc_type":"rpc.fs.read","result":{"content":"hi"}}`)
	if _, d := answer(a); !d.OK || d.RequestID != "r1" {
		t.Errorf("answer = %+v, want an ok answer to r1", d)
	}
}

// TestKeysBeforeHello sends keys to a connected machine that has not yet sent its hello. The keys
// wait for the hello and are delivered in order. They are refused if the machine sends no hello,
// because protocol 1 has no keys, or if the machine disconnects.
func TestKeysBeforeHello(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a := r.App(servertest.Operator, "")
	comes := func() {
		t.Helper()
		h.Close()
		h.Closed()
		r.WaitOffline("host_a")
		h = r.Machine("host_a")
		for online := false; !online; {
			_, body := r.Do(servertest.Viewer, "GET", "/hosts", nil)
			online = strings.Contains(string(body), `"online":true`)
		}
		for i := range 3 {
			a.Send(protocol.RunSendKeys, "run_a", 0, fmt.Sprintf(`{"keys":"k%d"}`, i))
		}
		a.Ping()
	}
	refused := func(want protocol.Code) {
		t.Helper()
		for range 3 {
			if d := a.NextError(); d.Code != want {
				t.Errorf("error = %+v, want the refusal of the keys", d)
			}
		}
	}
	comes()
	d := hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 1})
	d.Protocol, d.Agent = 2, "x/1"
	h.Send(protocol.Hello, "", 0, d)
	for i := range 3 {
		if e := h.Next(protocol.RunSendKeys); !strings.Contains(string(e.Data), fmt.Sprintf(`"k%d"`, i)) {
			t.Errorf("keys = %s, want them in the order in which they were sent", e.Data)
		}
	}
	comes()
	r.Advance(protocol.HelloTimeout)
	refused(protocol.UnknownType)
	comes()
	h.Close()
	refused(protocol.MachineOffline)
}

// TestRPC sends calls to a machine. Only the caller receives the answer, and a repeated call is not
// performed a second time.
func TestRPC(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a, other := r.App(servertest.Operator, ""), r.App("operator:adam", "")
	a.Raw([]byte(`{"type":"rpc.fs.read","ts":"2025-01-01T00:00:00Z","run_id":"run_a","id":"mine","data":` + read("r1") + `}`))
	e := h.Next("rpc.fs.read")
	if e.RunID != "run_a" || !strings.Contains(string(e.Data), `"path":"README.md"`) {
		t.Errorf("the machine received %s, want the call with its run and path", e.Append(nil))
	}
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"r1","ok":true,"rpc_type":"rpc.fs.read","result":{"content":"hi"}}`)
	e, d := answer(a)
	if !d.OK || string(d.Result) != `{"content":"hi"}` || e.Re != "mine" || e.RunID != "run_a" || e.MachineID != "host_a" {
		t.Errorf("answer = %s, want the machine's result with re, run and machine", e.Append(nil))
	}
	a.Send("rpc.fs.read", "run_a", 0, read("r1"))
	if _, d := answer(a); !d.OK {
		t.Errorf("answer to the repeated call = %+v, want ok", d)
	}
	for what, ask := range map[string]func(){
		"other args": func() { a.Send("rpc.fs.read", "run_a", 0, `{"request_id":"r1","path":"x"}`) },
		"other type": func() { a.Send("rpc.fs.list", "run_a", 0, `{"request_id":"r1"}`) },
	} {
		ask()
		if _, d := answer(a); d.OK || d.ErrorCode != protocol.RPCCode(protocol.InputConflict) || d.RequestID != "r1" {
			t.Errorf("%s: answer = %+v, want input_conflict", what, d)
		}
	}
	other.Send("rpc.fs.read", "run_a", 0, read("r1"))
	if _, d := answer(other); d.ErrorCode != protocol.RPCCode(protocol.InputConflict) {
		t.Errorf("answer to another machine's call = %+v, want input_conflict", d)
	}
	a.Send("rpc.fs.read", "run_z", 0, read("r2"))
	if _, d := answer(a); d.ErrorCode != protocol.RPCCode(protocol.UnknownRun) || d.RPCType != "rpc.fs.read" {
		t.Errorf("answer for an unknown run = %+v, want unknown_run", d)
	}
	a.Send("rpc.host.info", "", 0, `{"request_id":"r3","host_id":"host_z"}`)
	if _, d := answer(a); d.ErrorCode != protocol.RPCCode(protocol.UnknownMachine) {
		t.Errorf("answer for an unknown machine = %+v, want unknown_host", d)
	}
	// The server ignores an answer from another machine, and adds a code to an error of protocol 1.
	b := r.Machine("host_b")
	b.Begin("run_b")
	a.Send("rpc.fs.read", "run_a", 0, read("r4"))
	h.Next("rpc.fs.read")
	b.Send(protocol.RPCResponse, "", 0, `{"request_id":"r4","ok":true,"rpc_type":"rpc.fs.read","result":{"content":"forged"}}`)
	b.Ping()
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"r4","ok":false,"rpc_type":"rpc.fs.read","error":"no"}`)
	if _, d := answer(a); d.OK || d.Error != "no" || d.ErrorCode != "internal" {
		t.Errorf("answer = %+v, want the machine's error with code internal", d)
	}
	// The machine does not answer in time.
	a.Send("rpc.fs.read", "run_a", 0, read("r5"))
	h.Next("rpc.fs.read")
	r.Advance(protocol.RPCTimeout)
	if _, d := answer(a); d.ErrorCode != protocol.Timeout {
		t.Errorf("answer without a response of the machine = %+v, want timeout", d)
	}
	a.Ping()
	h.Ping()
	// A machine starts a run, and the answer contains the run's id.
	a.Send("rpc.run.start", "", 0, `{"request_id":"r6","host_id":"host_a","tool":"codex","cmd":""}`)
	h.Next("rpc.run.start")
	h.Send(protocol.RPCResponse, "run_new", 0, `{"request_id":"r6","ok":true,"rpc_type":"rpc.run.start","result":{"run_id":"run_new"}}`)
	if e, d := answer(a); e.RunID != "run_new" || !d.OK {
		t.Errorf("answer to rpc.run.start = %s, want run_new", e.Append(nil))
	}
	// A session may have only a limited number of concurrent calls.
	for i := range protocol.MaxConcurrentRPCs + 1 {
		a.Send("rpc.fs.read", "run_a", 0, read(fmt.Sprint("many", i)))
	}
	if d := a.NextError(); d.Code != protocol.RateLimited || d.RequestID != "many16" {
		t.Errorf("error of the call above the limit = %+v, want rate_limited for many16", d)
	}
	// After the machine has reconnected, the server sends it the calls that may be repeated.
	h.Close()
	h.Closed()
	r.WaitOffline("host_a")
	other.Send("rpc.fs.read", "run_a", 0, read("r7"))
	if _, d := answer(other); d.ErrorCode != protocol.RPCCode(protocol.MachineOffline) {
		t.Errorf("answer while the machine is offline = %+v, want host_offline", d)
	}
	h, _ = r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 1}))
	for range protocol.MaxConcurrentRPCs {
		e := h.Next("rpc.fs.read")
		h.Send(protocol.RPCResponse, "run_a", 0, fmt.Sprintf(`{"request_id":%q,"ok":true,"rpc_type":"rpc.fs.read","result":{}}`, requestOf(e)))
		if _, d := answer(a); !d.OK {
			t.Errorf("answer of the reconnected machine = %+v, want ok", d)
		}
	}
}

func requestOf(e protocol.Envelope) string {
	var d struct {
		RequestID string `json:"request_id"`
	}
	_ = json.Unmarshal(e.Data, &d)
	return d.RequestID
}

// TestGated sends an RPC that requires an approval. The RPC waits for the approval without a time
// limit. After the machine disconnects, the result is unknown, and the RPC is not performed again.
func TestGated(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a := r.HelloApp(servertest.Operator, "")
	a.Send("rpc.bash", "run_a", 0, `{"request_id":"g1","cmd":"make"}`)
	h.Next("rpc.bash")
	h.Send(protocol.RunPermissionRequested, "run_a", 2, `{"request_id":"g1","reason":"permission","prompt":"make?"}`)
	h.Acked("run_a", 2)
	for range 8 {
		r.Advance(10 * time.Second)
		a.Ping()
		h.Ping()
	}
	a.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"g1"}`)
	h.Next(protocol.RunApprove)
	h.Send(protocol.RunPermissionResolved, "run_a", 3, `{"request_id":"g1","decision":"approve"}`)
	h.Acked("run_a", 3)
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"g1","ok":true,"rpc_type":"rpc.bash","result":{"exit_code":0}}`)
	if _, d := answer(a); !d.OK {
		t.Errorf("answer to the approved call = %+v, want ok", d)
	}
	a.Send("rpc.bash", "run_a", 0, `{"request_id":"g2","cmd":"make"}`)
	h.Next("rpc.bash")
	h.Close()
	h.Closed()
	if _, d := answer(a); d.OK || !strings.HasPrefix(d.Error, "indeterminate") {
		t.Errorf("answer after the machine has disconnected = %+v, want an indeterminate error", d)
	}
	h, _ = r.Hello("host_a", hello("two", 2, protocol.RunAt{RunID: "run_a", LastSeq: 3}))
	h.Send(protocol.RunOutput, "run_a", 4, servertest.Output("x"))
	if e := h.Read(); e.Type != protocol.RunAck {
		t.Errorf("the machine received %s, want only the acknowledgement", e.Append(nil))
	}
}

// TestPostRPC sends a call over HTTP. The request waits for the answer, and a second request with
// the same id returns the same answer.
func TestPostRPC(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, _ := r.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	body := json.RawMessage(`{"type":"rpc.fs.read","run_id":"run_a","data":` + read("p1") + `}`)
	type got struct {
		status int
		body   []byte
	}
	answers := make(chan got, 1)
	ask := func() {
		status, text := r.Do(servertest.Operator, "POST", "/rpc", body)
		answers <- got{status, text}
	}
	go ask()
	h.Next("rpc.fs.read")
	h.Ping()
	// The timers are those of the sweep, the call and the HTTP request.
	for waits := r.Clock.Timers(); waits < 3; waits = r.Clock.Timers() {
		time.Sleep(time.Millisecond)
	}
	r.Advance(25 * time.Second)
	if a := <-answers; a.status != 202 || !strings.Contains(string(a.body), `"state":"asked"`) {
		t.Errorf("response without an answer = %d %s, want 202 with the state asked", a.status, a.body)
	}
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"p1","ok":true,"rpc_type":"rpc.fs.read","result":{"content":"hi"}}`)
	go ask()
	if a := <-answers; a.status != 200 || !strings.Contains(string(a.body), `"content":"hi"`) || !strings.Contains(string(a.body), `"type":"rpc.response"`) {
		t.Errorf("response to the repeated call = %d %s, want 200 with the result", a.status, a.body)
	}
	for want, body := range map[string]string{
		`404 {"error":{"code":"unknown_type"`:                `{"type":"rpc.nothing","data":{}}`,
		`400 {"error":{"code":"bad_message","message":"type`: `{"type":7}`,
		`400 {"error":{"code":"bad_message"`:                 `{"type":"rpc.fs.read","run_id":"run_a","data":{"request_id":"p2"}}`,
		`404 {"error":{"code":"unknown_host"`:                `{"type":"rpc.host.info","data":{"request_id":"p3","host_id":"nobody"}}`,
		`409 {"error":{"code":"input_conflict"`:              `{"type":"rpc.fs.read","run_id":"run_a","data":{"request_id":"p1","path":"x"}}`,
	} {
		status, text := r.Do(servertest.Operator, "POST", "/rpc", json.RawMessage(body))
		if got := fmt.Sprintf("%d %s", status, text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: response = %s, want the status and body of the table", body, got)
		}
	}
	if status, _ := r.Do(servertest.Viewer, "POST", "/rpc", body); status != 403 {
		t.Errorf("status for a viewer = %d, want 403", status)
	}
}
