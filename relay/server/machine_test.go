package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// TestSeedMachine plays a machine of protocol 1. Events are acknowledged up to a missing one, and
// beyond it once the missing event arrives. Repeated events are acknowledged again. The machine
// receives no messages of newer protocols.
func TestSeedMachine(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	a := r.App(servertest.Viewer, "")
	h.Begin("run_a")
	h.Send(protocol.RunOutput, "run_a", 3, servertest.Output("three"))
	h.Send(protocol.RunOutput, "run_a", 4, servertest.Output("four"))
	h.Acked("run_a", 1) // event 3 is stored, but not acknowledged, because event 2 is missing
	h.Send(protocol.RunOutput, "run_a", 2, servertest.Output("two"))
	h.Acked("run_a", 4)
	if got := a.Seqs("run_a", 4); !slices.Equal(got, []int64{1, 2, 3, 4}) {
		t.Errorf("sequence numbers of the app = %v, want 1 to 4", got)
	}
	h.Send(protocol.RunOutput, "run_a", 2, `{"text":"two", "stream":"stdout"}`)
	h.Acked("run_a", 4)
	h.Send(protocol.RunOutput, "run_a", 2, servertest.Output("another"))
	if d := h.NextError(); d.Code != protocol.SeqConflict || d.RunID != "run_a" || d.Seq != 2 {
		t.Errorf("error of another event with number 2 = %+v, want seq_conflict", d)
	}
	h.Send(protocol.Heartbeat, "", 0, "{}")
	h.Send("run.novelty", "run_a", 5, `{"x":1}`)
	e := a.Next("run.novelty")
	if e.Seq != 5 || e.MachineID != "host_a" || string(e.Data) != `{"x":1}` {
		t.Errorf("event of an unknown type = %s, want it unchanged", e.Append(nil))
	}
	// The first event of run_b is missing, so nothing is acknowledged.
	h.Send(protocol.RunOutput, "run_b", 2, servertest.Output("x"))
	h.Acked("run_b", 0)
	h.Send(protocol.RunStarted, "run_c", 41, servertest.Started)
	h.Acked("run_c", 41)
}

// TestFrames checks that invalid frames are refused, and that a violation of the WebSocket protocol
// closes the connection.
func TestFrames(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	for name, row := range map[string]struct {
		kind  websocket.MessageType
		frame []byte
		code  int
	}{
		"binary": {websocket.MessageBinary, []byte("{}"), protocol.CloseBinary},
		"UTF-8":  {websocket.MessageText, []byte("{\"type\":\"\xff\"}"), protocol.CloseInvalidUTF8},
		"long":   {websocket.MessageText, []byte(`{"type":"run.output","x":"` + strings.Repeat("x", protocol.MaxFrame) + `"}`), protocol.CloseTooBig},
	} {
		for what, p := range map[string]*servertest.Peer{"host": r.Machine("host_x"), "app": r.App(servertest.Viewer, "")} {
			_ = p.Write(row.kind, row.frame) // the connection may close during the write
			if code := p.Closed(); code != row.code {
				t.Errorf("%s, %s: close code = %d, want %d", name, what, code, row.code)
			}
		}
	}
	p := r.Machine("host_x")
	bad := []string{"x", "[]", `{"ts":"2025-01-01T00:00:00Z"}`, `{"type":"run.output","ts":"2025-01-01T00:00:00Z","seq":9007199254740992}`,
		strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65)}
	for i := range protocol.MaxBadMessages {
		if i == protocol.MaxBadMessages-1 {
			for range 4 { // invalid frames that are more than a minute old do not count
				r.Advance(time.Minute / 4)
				p.Ping()
			}
			p.Raw([]byte(bad[0]))
			if d := p.NextError(); d.Code != protocol.BadMessage {
				t.Errorf("error of an invalid frame = %+v, want bad_message", d)
			}
			break
		}
		p.Raw([]byte(bad[i%len(bad)]))
		if d := p.NextError(); d.Code != protocol.BadMessage || d.Message == "" {
			t.Errorf("error of an invalid frame = %+v, want bad_message with a reason", d)
		}
	}
	p.Begin("run_a") // the connection is still open
	for range protocol.MaxBadMessages - 1 {
		p.Raw([]byte("x"))
	}
	if code := p.Closed(); code != protocol.ClosePolicy {
		t.Errorf("close code after too many invalid frames = %d, want a policy violation", code)
	}
	if p, status := servertest.TryDial(t, r.URL+"/ws/host?host_id=host_x&host_token=wrong"); p != nil || status != 401 {
		t.Errorf("status of a machine with a wrong token = %d, want 401", status)
	}
	if p, status := servertest.TryDial(t, r.URL+"/ws/host?host_id=a/b&host_token=x"); p != nil || status != 400 {
		t.Errorf("status of an invalid machine id = %d, want 400", status)
	}
	if p, status := servertest.TryDial(t, r.URL+"/ws/app"); p != nil || status != 401 {
		t.Errorf("status of an app without a token = %d, want 401", status)
	}
}

// TestOwner checks that a run belongs to the first machine that sends events of it, and that a
// connection may only send events of its own machine.
func TestOwner(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a, b := r.Machine("host_a"), r.Machine("host_b")
	a.Begin("run_a")
	b.Send(protocol.RunOutput, "run_a", 2, servertest.Output("mine"))
	if d := b.NextError(); d.Code != protocol.NotOwner || d.RunID != "run_a" {
		t.Errorf("error of an event of another machine's run = %+v, want not_owner", d)
	}
	b.Send(protocol.RunOutput, "run_a", 0, servertest.Output("mine"))
	if d := b.NextError(); d.Code != protocol.NotOwner {
		t.Errorf("error of an unstored event of another machine's run = %+v, want not_owner", d)
	}
	e := protocol.New(protocol.RunOutput, r.Clock.Now(), protocol.Output{Stream: "stdout", Text: "x"})
	e.MachineID, e.RunID, e.Seq = "host_a", "run_a", 2
	b.Raw(e.Append(nil))
	if d := b.NextError(); d.Code != protocol.MachineMismatch {
		t.Errorf("error of a frame with another machine id = %+v, want host_mismatch", d)
	}
	b.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i","text":"x"}`)
	if d := b.NextError(); d.Code != protocol.UnknownType {
		t.Errorf("error of a command sent by a machine = %+v, want unknown_type", d)
	}
	b.Begin("run_b") // the connection is still open
}

// TestTakeOver opens two connections for one machine. The newer one wins: events that the older one
// still sends are not stored, and closing the older one does not affect the newer one.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	older := r.Machine("host_a")
	older.Begin("run_a")
	newer := r.Machine("host_a")
	newer.Send(protocol.RunOutput, "run_a", 2, servertest.Output("two"))
	newer.Acked("run_a", 2)
	if code := older.Closed(); code != protocol.CloseSuperseded {
		t.Errorf("close code of the older connection = %d, want superseded", code)
	}
	if status, body := r.Do(servertest.Viewer, "GET", "/hosts", nil); status != 200 || !strings.Contains(string(body), `"online":true`) {
		t.Errorf("machines = %d %s, want an online machine", status, body)
	}
	// A connection that sends no hello is accepted after HelloTimeout.
	third := r.Machine("host_a")
	third.Ping()
	r.Advance(protocol.HelloTimeout)
	if code := newer.Closed(); code != protocol.CloseSuperseded {
		t.Errorf("close code of the second connection = %d, want superseded", code)
	}
	third.Send(protocol.RunOutput, "run_a", 3, servertest.Output("three"))
	third.Acked("run_a", 3)
}

func hello(instance string, epoch int64, runs ...protocol.RunAt) protocol.HelloData {
	return protocol.HelloData{Instance: instance, Epoch: &epoch, Runs: runs}
}

// TestEpochs checks that a copy of a machine's state is refused while the machine itself is
// connected.
func TestEpochs(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	first, w := r.Hello("host_a", hello("one", 100))
	if w.Protocol != 2 || w.HeartbeatS != 20 || w.MaxFrame != protocol.MaxFrame || w.Window != protocol.Window || w.User != "" {
		t.Errorf("welcome = %+v", w)
	}
	first.Begin("run_a")
	copied := r.Machine("host_a")
	h := hello("two", 100)
	h.Protocol, h.Agent = 2, "x/1"
	copied.Send(protocol.Hello, "", 0, h)
	if code := copied.Closed(); code != protocol.CloseSuperseded {
		t.Errorf("close code of a copy of the state = %d, want superseded", code)
	}
	stale := r.Machine("host_a")
	h = hello("three", 99)
	h.Protocol, h.Agent = 2, "x/1"
	stale.Send(protocol.Hello, "", 0, h)
	if code := stale.Closed(); code != protocol.CloseStaleEpoch {
		t.Errorf("close code of an older state = %d, want stale_epoch", code)
	}
	first.Send(protocol.RunOutput, "run_a", 2, servertest.Output("x"))
	first.Acked("run_a", 2)
	// The same process reconnects. Then a later process of the machine connects.
	second, w := r.Hello("host_a", hello("one", 100, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	if code := first.Closed(); code != protocol.CloseSuperseded || w.Runs["run_a"] != 2 {
		t.Errorf("after the reconnection: close code %d, welcome %+v; want superseded and run_a", code, w)
	}
	later, w := r.Hello("host_a", hello("four", 101))
	if code := second.Closed(); code != protocol.CloseSuperseded || len(w.Runs) != 0 {
		t.Errorf("after the later process: close code %d, welcome %+v; want superseded and no runs", code, w)
	}
	// The new process does not know run_a, so the run is lost until its next event.
	if _, body := r.Do(servertest.Viewer, "GET", "/runs/run_a", nil); !strings.Contains(string(body), `"status":"lost"`) {
		t.Errorf("run without its machine = %s, want status lost", body)
	}
	later.Send(protocol.RunOutput, "run_a", 3, servertest.Output("x"))
	later.Acked("run_a", 3)
	if _, body := r.Do(servertest.Viewer, "GET", "/runs/run_a", nil); !strings.Contains(string(body), `"status":"running"`) {
		t.Errorf("run after its next event = %s, want status running", body)
	}
	later.Close()
	later.Closed() // the close code depends on which side closes first
	stale = r.Machine("host_a")
	stale.Send(protocol.Hello, "", 0, h)
	if code := stale.Closed(); code != protocol.CloseStaleEpoch {
		t.Errorf("close code of an older epoch without a connection = %d, want stale_epoch", code)
	}
}

// TestMachineSkipped sends an event of protocol 1 after a missing one. After a minute the server
// writes a gap. The missing event is still stored if it arrives later.
func TestMachineSkipped(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	a := r.App(servertest.Viewer, "")
	h.Begin("run_a")
	h.Send(protocol.RunOutput, "run_a", 7, servertest.Output("seven"))
	h.Send(protocol.RunOutput, "run_a", 4, servertest.Output("four"))
	h.Send(protocol.RunOutput, "run_b", 1, servertest.Output("b"))
	h.Acked("run_b", 1)
	for range 12 { // heartbeats keep the connections open
		r.Advance(protocol.HoleTimeout / 12)
		h.Send(protocol.Heartbeat, "", 0, "{}")
		h.Ping()
		a.Ping()
	}
	r.Advance(time.Second)
	h.Acked("run_a", 4)
	for range 12 {
		r.Advance(protocol.HoleTimeout / 12)
		h.Send(protocol.Heartbeat, "", 0, "{}")
		h.Ping()
		a.Ping()
	}
	r.Advance(time.Second)
	h.Acked("run_a", 7)
	if got := a.Seqs("run_a", 5); !slices.Equal(got, []int64{1, 3, 4, 6, 7}) {
		t.Errorf("sequence numbers of the app = %v, want 1, 3, 4, 6 and 7", got)
	}
	h.Send(protocol.RunOutput, "run_a", 2, servertest.Output("late"))
	r.Advance(time.Second)
	h.Acked("run_a", 7)
	_, body := r.Do(servertest.Viewer, "GET", "/runs/run_a/events", nil)
	if !strings.Contains(string(body), `"late"`) || !strings.Contains(string(body), `"from":2,"to":3,"reason":"host_skipped"`) {
		t.Errorf("events = %s, want the late event and a gap from 2 to 3", body)
	}
}

// TestSilence checks that a silent peer receives a ping, and is disconnected if it sends no pong.
func TestSilence(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, a := r.Machine("host_a"), r.App(servertest.Viewer, "")
	h.Ping()
	a.Ping()
	for range 4 { // peers that answer pings stay connected
		r.Advance(protocol.PingAfter)
		h.Ping()
		a.Ping()
	}
	deaf := []*servertest.SilentPeer{r.SilentMachine("host_b"), r.SilentApp(servertest.Viewer)} // peers that do not answer pings
	r.Advance(protocol.DeadAfter + time.Second)
	for _, d := range deaf {
		if code := d.ReadToEnd(); code != -1 {
			t.Errorf("close code of a silent peer = %d, want -1", code)
		}
	}
}

// TestFlood checks that a machine is read no faster than its limit, and that no event is lost.
func TestFlood(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	a := r.App(servertest.Viewer, "")
	h.Begin("run_a")
	const n = protocol.MachineBurst + 500
	go func() {
		for seq := int64(2); seq <= n; seq++ {
			e := protocol.Envelope{Type: protocol.RunOutput, TS: "2025-01-01T00:00:00Z", RunID: "run_a", Seq: seq, Data: []byte(servertest.Output(fmt.Sprint(seq)))}
			if h.Write(websocket.MessageText, e.Append(nil)) != nil {
				return
			}
		}
	}()
	a.Seqs("run_a", protocol.MachineBurst)
	if run, err := r.Store.Run(t.Context(), "run_a"); err != nil || run.Prefix > protocol.MachineBurst+1 { // the clock advances a little for each read
		t.Errorf("prefix after the burst = %d, %v", run.Prefix, err)
	}
	for range 11 {
		r.Advance(time.Second / 100)
	}
	if got := a.Seqs("run_a", n-protocol.MachineBurst); got[len(got)-1] != n {
		t.Errorf("last sequence number = %d", got[len(got)-1])
	}
}

// TestBacklog checks that an announced backlog is read as fast as it can be stored, while new
// events are limited.
func TestBacklog(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a := r.App(servertest.Viewer, "")
	const backlog = 2 * protocol.MachineBurst
	h, _ := r.Hello("host_a", protocol.HelloData{Runs: []protocol.RunAt{{RunID: "run_a", LastSeq: backlog}}})
	go func() {
		for seq := int64(1); seq <= backlog+protocol.MachineBurst+500; seq++ {
			e := protocol.Envelope{Type: protocol.RunOutput, TS: "2025-01-01T00:00:00Z", RunID: "run_a", Seq: seq, Data: []byte(servertest.Output(fmt.Sprint(seq)))}
			if h.Write(websocket.MessageText, e.Append(nil)) != nil {
				return
			}
		}
	}()
	a.Seqs("run_a", backlog+protocol.MachineBurst)
	if run, err := r.Store.Run(t.Context(), "run_a"); err != nil || run.Prefix > backlog+protocol.MachineBurst+1 {
		t.Errorf("prefix after the backlog and a burst = %d, %v", run.Prefix, err)
	}
}

// TestStoreFails makes the store fail. The server does not acknowledge the events, and the machine
// must send them again.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	a := r.App(servertest.Viewer, "")
	r.Break()
	h.Send(protocol.RunOutput, "run_a", 2, servertest.Output("lost"))
	if code := h.Closed(); code != protocol.CloseInternal {
		t.Errorf("close code after a failed commit = %d, want an internal error", code)
	}
	r.Repair()
	second := r.Machine("host_a")
	second.Send(protocol.RunOutput, "run_a", 2, servertest.Output("kept"))
	second.Acked("run_a", 2)
	if e := a.Next(protocol.RunOutput); !strings.Contains(string(e.Data), "kept") {
		t.Errorf("output after the reconnection = %s, want the event that was sent again", e.Data)
	}
}

// TestShutdown checks that the server closes all sockets with the restart code, and that it stores
// the events it received before.
func TestShutdown(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h, a := r.Machine("host_a"), r.App(servertest.Viewer, "")
	h.Begin("run_a")
	a.Seqs("run_a", 1)
	r.Restart()
	if code := h.Closed(); code != protocol.CloseRestart {
		t.Errorf("close code of the machine = %d, want restart", code)
	}
	if code := a.Closed(); code != protocol.CloseRestart {
		t.Errorf("close code of the app = %d, want restart", code)
	}
	_, w := r.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a"}))
	if w.Runs["run_a"] != 1 {
		t.Errorf("welcome after the restart = %+v, want run_a up to 1", w)
	}
}

// TestHello checks the welcome of a new machine: its list of runs is empty but present, and the
// protocol is the server's. Frames of an unknown type are refused, but do not count as invalid
// frames.
func TestHello(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Send(protocol.Hello, "", 0, protocol.HelloData{Protocol: 7, Agent: "test/1"})
	if w := h.Next(protocol.Welcome); !strings.Contains(string(w.Data), `"runs":{}`) || !strings.Contains(string(w.Data), `"protocol":2,`) {
		t.Errorf("welcome = %s, want an empty list of runs and protocol 2", w.Data)
	}
	for range 2 * protocol.MaxBadMessages {
		h.Send("host.weather", "", 0, `{}`)
		if d := h.NextError(); d.Code != protocol.UnknownType {
			t.Fatalf("error of an unknown message type = %+v, want unknown_type", d)
		}
	}
	h.Send(protocol.RunStarted, "run_a", 5, servertest.Started)
	h.Acked("run_a", 0)
}
