package server_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestSlowMemory connects apps that never read. Each may use at most 2 MiB, however many events
// there are. Other apps receive all events, and the apps that do not read are disconnected.
func TestSlowMemory(t *testing.T) {
	randtest.Measures(t)
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	var slow []*servertest.SilentPeer
	for range 8 {
		slow = append(slow, r.SilentApp(servertest.Viewer))
	}
	a := r.App(servertest.Viewer, "")
	text := strings.Repeat("x", 64<<10)
	write := func(from, to int64) {
		for seq := from; seq <= to; seq++ {
			h.Send(protocol.RunOutput, "run_a", seq, servertest.Output(text))
			if (seq-from)%16 == 15 || seq == to { // wait only every 16 events, so that a commit contains many of them
				a.Seqs("run_a", int((seq-from)%16)+1)
			}
		}
	}
	write(2, 20)
	before := heap()
	write(21, 420) // 25 MiB of events for each app
	if grown := heap() - before; grown > int64(len(slow))*2<<20 {
		t.Errorf("heap growth with %d apps that do not read = %d bytes, want at most 2 MiB each", len(slow), grown)
	}
	for range 4 {
		r.Clock.Advance(protocol.WriteTimeout / 3)
		h.Ping()
		a.Ping()
	}
	for _, d := range slow {
		if code := d.ReadToEnd(); code != protocol.CloseTooSlow {
			t.Errorf("close code of an app that does not read = %d, want too_slow", code)
		}
	}
	write(421, 421)
}

// TestClocks connects machines and apps whose clocks are wrong by a day. Events are ordered by
// their sequence numbers, and timeouts are measured with the server's clock.
func TestClocks(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	for _, off := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		name := map[bool]string{true: "behind", false: "ahead"}[off < 0]
		at := r.Clock.Now().Add(off)
		h := r.Machine("host_" + name)
		a := r.HelloApp(servertest.Operator, "")
		run := "run_" + name
		send := func(seq int64, typ string, data any) {
			e := protocol.New(typ, at.Add(-time.Duration(seq)*time.Hour), data) // the machine's clock also goes backwards
			e.RunID, e.Seq = run, seq
			h.Raw(e.Append(nil))
		}
		send(1, protocol.RunStarted, json.RawMessage(servertest.Started))
		asks := fmt.Sprintf(`{"request_id":"q","reason":"choice","prompt":"?","expires_at":%q}`, at.Add(-2*time.Hour+10*time.Minute).Format(time.RFC3339))
		send(2, protocol.RunPermissionRequested, json.RawMessage(asks))
		send(3, protocol.RunOutput, protocol.Output{Stream: "stdout", Text: "x"})
		h.Acked(run, 3)
		if got := fmt.Sprint(a.Seqs(run, 3)); got != "[1 2 3]" {
			t.Errorf("%s: sequence numbers = %s, want [1 2 3]", name, got)
		}
		var row struct {
			Started, Active time.Time
		}
		_, body := r.Do(servertest.Viewer, "GET", "/runs/"+run, nil)
		body = []byte(strings.NewReplacer("started_at", "Started", "last_active_at", "Active").Replace(string(body)))
		if err := json.Unmarshal(body, &row); err != nil || row.Started.Sub(r.Clock.Now()).Abs() > time.Minute || row.Active.Sub(r.Clock.Now()).Abs() > time.Minute {
			t.Errorf("%s: run = %s, %v; want times of the server's clock", name, body, err)
		}
		h.Close()
		r.WaitOffline("host_" + name)
		command := func(typ, data string) {
			e := protocol.New(typ, at, json.RawMessage(data))
			e.RunID = run
			a.Raw(e.Append(nil))
		}
		state := func(id string, want protocol.InputState) {
			t.Helper()
			e := a.Next(protocol.CommandState)
			if d, err := protocol.Decode[protocol.State](&e); err != nil || d.ID != id || d.State != want {
				t.Errorf("%s: state = %+v, want %s %s", name, d, id, want)
			}
		}
		command(protocol.RunSendInput, `{"input_id":"i","text":"x","ttl_s":60}`)
		state("i", "accepted")
		command(protocol.RunApprove, `{"request_id":"q"}`)
		state("q", "accepted")
		pass := func(d time.Duration) {
			for ; d > 0; d -= 10 * time.Second {
				r.Advance(10 * time.Second)
				a.Ping()
			}
		}
		pass(50 * time.Second)
		// Nothing has expired yet, so the next message is the answer of the RPC.
		a.Send("rpc.runs.list", run, 0, `{"request_id":"r"}`)
		if e := a.Read(); e.Type == protocol.CommandState {
			t.Errorf("%s: message = %s, want the answer of the RPC", name, e.Append(nil))
		}
		pass(20 * time.Second)
		state("i", "expired")
		pass(10 * time.Minute)
		state("q", "expired")
		a.Close()
	}
}

// TestHostileMachine sends forbidden messages from a machine. They are refused and recorded, even
// in a flood. Unusual texts are treated as data, and the server continues to serve other clients.
func TestHostileMachine(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	good := r.Machine("host_good")
	good.Begin("run_good")
	long := r.Machine("host_long")
	go func() { // a frame of 1 GB; the server stops reading it early
		part := []byte(`{"type":"run.output","x":"` + strings.Repeat("x", protocol.MaxFrame) + strings.Repeat("y", 1<<20))
		_ = long.Write(websocket.MessageText, part)
	}()
	if code := long.Closed(); code != protocol.CloseTooBig {
		t.Errorf("close code after a frame of 1 GB = %d, want too_big", code)
	}

	bad := r.Machine("host_bad")
	html := `<img src=x onerror=alert(1)>"'</script><script>alert(2)</script>`
	q, _ := json.Marshal(html)
	bad.Send(protocol.RunStarted, "run_html", 1, fmt.Sprintf(`{"tool":%s,"cwd":%s,"command":%s,"title":%s}`, q, q, q, q))
	bad.Send(protocol.RunMeta, "run_html", 2, fmt.Sprintf(`{"title":%s,"labels":{%s:%s}}`, q, q, q))
	bad.Acked("run_html", 2)
	_, body := r.Do(servertest.Viewer, "GET", "/runs/run_html", nil)
	var row struct{ Tool, Cwd, Command, Title string }
	if err := json.Unmarshal(body, &row); err != nil || row.Tool != html || row.Cwd != html || row.Command != html || row.Title != html || strings.Contains(string(body), "<") {
		t.Errorf("run with markup = %s, %v; want the texts escaped but unchanged", body, err)
	}
	bad.Send(protocol.RunExited, "run_good", 2, `{"exit_code":0}`)
	if d := bad.NextError(); d.Code != protocol.NotOwner {
		t.Errorf("error of an event of another machine's run = %+v, want not_owner", d)
	}
	bad.Send(protocol.CommandResult, "run_good", 0, `{"id":"i","kind":"input","state":"applied"}`)
	if d := bad.NextError(); d.Code != protocol.NotOwner {
		t.Errorf("error of a command result for another machine's run = %+v, want not_owner", d)
	}
	e := protocol.New(protocol.RunExited, r.Clock.Now(), protocol.Exited{})
	e.MachineID, e.RunID, e.Seq = "host_good", "run_good", 2
	bad.Raw(e.Append(nil))
	if d := bad.NextError(); d.Code != protocol.MachineMismatch {
		t.Errorf("error of a frame with another machine id = %+v, want host_mismatch", d)
	}
	bad.Raw([]byte(`{"type":"run.exited","ts":"2025-01-01T00:00:00Z","run_id":"run_html","seq":9007199254740992,"data":{"exit_code":0}}`))
	if d := bad.NextError(); d.Code != protocol.BadMessage {
		t.Errorf("error of a too large sequence number = %+v, want bad_message", d)
	}
	if _, body := r.Do(servertest.Viewer, "GET", "/runs/run_good", nil); !strings.Contains(string(body), `"status":"running"`) {
		t.Errorf("run of the other machine = %s, want status running", body)
	}
	good.Send(protocol.RunOutput, "run_good", 2, servertest.Output("x"))
	good.Acked("run_good", 2)
	lines, err := r.Store.AuditLines(t.Context(), 0, 1000)
	all := strings.Join(lines, "\n")
	for _, code := range []protocol.Code{protocol.NotOwner, protocol.MachineMismatch} {
		if !strings.Contains(all, `"code":"`+string(code)+`"`) || err != nil {
			t.Errorf("violation %s is not in the audit log (%v):\n%s", code, err, all)
		}
	}
}

// TestManyRuns starts more runs on a machine than are allowed. Each excess run is refused, and the
// audit log records only some of the refusals. Existing runs and other machines are not affected.
func TestManyRuns(t *testing.T) {
	t.Parallel()
	r := servertest.StartNow(t)
	bad, good := r.Machine("host_bad"), r.Machine("host_good")
	good.Begin("run_good")
	const begun, more = 100, 2000
	r.Runs("host_bad", protocol.MaxRunsOfMachine-begun)
	frame := func(i int) []byte {
		e := protocol.Envelope{Type: protocol.RunStarted, TS: "2025-01-01T00:00:00Z", RunID: fmt.Sprint("more_", i), Seq: 1, Data: []byte(servertest.Started)}
		return e.Append(nil)
	}
	go func() {
		for i := range begun + more {
			if bad.Write(websocket.MessageText, frame(i)) != nil {
				return
			}
		}
	}()
	for range more {
		if d := bad.NextError(); d.Code != protocol.RateLimited {
			t.Fatalf("error of an excess run = %+v, want rate_limited", d)
		}
	}
	good.Send(protocol.RunOutput, "run_good", 2, servertest.Output("x"))
	good.Acked("run_good", 2)
	bad.Send(protocol.RunOutput, "run_7", 2, servertest.Output("x"))
	bad.Acked("run_7", 2)
	lines, err := r.Store.AuditLines(t.Context(), 0, protocol.MaxRunsOfMachine+2*more)
	n := strings.Count(strings.Join(lines, "\n"), `"code":"rate_limited"`)
	if err != nil || n == 0 || n > more/4 {
		t.Errorf("recorded refusals = %d (error %v), want some but not all", n, err)
	}
}
