package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server"
	"github.com/concerto-lang/concerto/relay/server/servertest"
	"github.com/concerto-lang/concerto/relay/store"
)

// trio are three servers on one database.
type trio struct {
	*testing.T
	one, two, three *servertest.Relay
	bus             *servertest.Bus
}

// TestReplicas runs three servers on a shared database, with and without notifications between
// them. Any server must be able to serve any client.
func TestReplicas(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	n := 0
	for name, play := range map[string]func(*trio){"events": (*trio).events, "commands": (*trio).commands, "secrets": (*trio).secrets, "calls": (*trio).calls,
		"calls end": (*trio).callsEnd, "one connection": (*trio).oneConnection, "copies": (*trio).machineCopies, "live": (*trio).live, "bus breaks": (*trio).busBreaks, "late": (*trio).late, "comes over": (*trio).machineMoves, "caught up": (*trio).caughtUp, "forgets": (*trio).forgets, "sealed": (*trio).sealed} {
		for _, notified := range []bool{true, false} {
			n++
			db := fmt.Sprintf("db%d", n)
			t.Run(fmt.Sprintf("%s, told %v", name, notified), func(t *testing.T) {
				t.Parallel()
				url := pgtest.Make(t, pg, db)
				w := &trio{T: t}
				var bus server.Bus
				if notified {
					w.bus = &servertest.Bus{}
					bus = w.bus
				}
				for _, r := range []**servertest.Relay{&w.one, &w.two, &w.three} {
					*r = servertest.StartBeside(t, url, bus)
				}
				play(w)
			})
		}
	}
}

// events checks that apps at every server receive each event of any machine once and in order. This
// also holds when the machine moves to another server, and when no client of that server follows
// the run yet.
func (w *trio) events() {
	h := w.one.Machine("host_a")
	h.Begin("run_old")
	h.Send(protocol.RunExited, "run_old", 2, `{"exit_code":0}`)
	h.Acked("run_old", 2)
	h.Begin("run_a")
	apps := []*servertest.Peer{w.one.App(servertest.Viewer, ""), w.two.App(servertest.Viewer, ""), w.three.App(servertest.Viewer, "")}
	late := w.three.HelloApp(servertest.Viewer, "&follow=none")
	late.Send(protocol.RunSubscribe, "", 0, `{"cursor":{"run_a":0}}`)
	if got := late.Seqs("run_a", 1); got[0] != 1 {
		w.Errorf("sequence numbers of the new follower = %v, want 1", got)
	}
	var want []int64
	for seq := int64(2); seq <= 60; seq++ {
		if seq == 30 {
			h = w.two.Machine("host_a")
			h.Send(protocol.Heartbeat, "", 0, "{}")
		}
		h.Send(protocol.RunOutput, "run_a", seq, servertest.Output(fmt.Sprint(seq)))
		if seq == 29 {
			h.Acked("run_a", 29)
		}
		want = append(want, seq)
	}
	h.Begin("run_b")
	for i, a := range append(apps, late) {
		if got := a.Seqs("run_a", 59); !slices.Equal(got, want) {
			w.Errorf("app %d: sequence numbers = %v, want each event once and in order", i, got)
		}
		if a != late {
			if e := a.Next(protocol.RunStarted); e.RunID != "run_b" {
				w.Errorf("app %d: event = %s, want the start of run_b", i, e.Append(nil))
			}
		}
	}
	for i, r := range []*servertest.Relay{w.one, w.two, w.three} {
		if _, body := r.Do(servertest.Viewer, "GET", "/hosts", nil); !strings.Contains(string(body), `"online":true`) {
			w.Errorf("machines at server %d = %s, want an online machine", i, body)
		}
	}
	h.Close()
	h.Closed()
	w.three.WaitOffline("host_a")
}

// late sends events of a run that ended before a server was started. Followers at that server must
// receive each event once.
func (w *trio) late() {
	h := w.one.Machine("host_a")
	h.Begin("run_a")
	h.Send(protocol.RunExited, "run_a", 2, `{"exit_code":0}`)
	h.Acked("run_a", 2)
	w.two.Restart()
	a := w.two.App(servertest.Viewer, "")
	h.Send(protocol.RunOutput, "run_a", 3, servertest.Output("after all"))
	h.Send(protocol.RunOutput, "run_a", 4, servertest.Output("and more"))
	if got := a.Seqs("run_a", 2); !slices.Equal(got, []int64{3, 4}) {
		w.Errorf("sequence numbers = %v, want 3 and 4", got)
	}
}

// machineMoves moves a machine to a server that has not yet polled the database. Followers there
// must miss no events, neither of a run that the server does not know nor of a run that ended
// before the server started.
func (w *trio) machineMoves() {
	h := w.one.Machine("host_a")
	h.Begin("run_old")
	h.Send(protocol.RunExited, "run_old", 2, `{"exit_code":0}`)
	h.Acked("run_old", 2)
	w.two.Restart()
	all, live := w.two.HelloApp(servertest.Viewer, "&follow=none"), w.two.HelloApp(servertest.Viewer, "")
	all.Send(protocol.RunSubscribe, "", 0, `{"rest":"start"}`)
	all.Next(protocol.CaughtUp)
	live.Ping()
	send := func(from, to int64) {
		for seq := from; seq <= to; seq++ {
			h.Send(protocol.RunOutput, "run_a", seq, servertest.Output(fmt.Sprint(seq)))
			h.Send(protocol.RunOutput, "run_old", seq+1, servertest.Output(fmt.Sprint(seq)))
		}
		h.Acked("run_old", to+1) // the last event of run_old
	}
	look := sync.OnceFunc(server.HoldChecks(w.two.Server))
	defer look()
	h.Begin("run_a")
	send(2, 9)
	h = w.two.Machine("host_a")
	send(10, 11)
	look()
	send(12, 20)
	for i, a := range []*servertest.Peer{all, live} {
		next := map[string]int64{"run_a": 2, "run_old": 3}
		for range 19 + 18 {
			e := a.Next(protocol.RunOutput)
			if e.Seq != next[e.RunID] {
				w.Fatalf("app %d: event of %s has sequence number %d, want %d", i, e.RunID, e.Seq, next[e.RunID])
			}
			next[e.RunID]++
		}
	}
}

// caughtUp checks that run.caught_up follows all events that were stored before the subscription.
// This also holds if the last events are in memory and the server has not yet polled the events
// that another server stored.
func (w *trio) caughtUp() {
	h, live := w.one.Machine("host_a"), w.one.HelloApp(servertest.Viewer, "")
	h.Begin("run_a")
	send := func(from, to int64) {
		for seq := from; seq <= to; seq++ {
			h.Send(protocol.RunOutput, "run_a", seq, servertest.Output(fmt.Sprint(seq)))
		}
		h.Acked("run_a", to)
	}
	send(2, 9)
	live.Seqs("run_a", 9)
	look := sync.OnceFunc(server.HoldChecks(w.one.Server))
	defer look()
	h = w.two.Machine("host_a")
	send(10, 20)
	for _, data := range []string{`{"cursor":{"run_a":4}}`, `{"rest":"start"}`} {
		a := w.one.HelloApp(servertest.Viewer, "&follow=none")
		a.Send(protocol.RunSubscribe, "", 0, data)
		last := int64(0)
		for e := a.Read(); e.Type != protocol.CaughtUp; e = a.Read() {
			last = e.Seq
		}
		if last != 20 {
			w.Errorf("%s: last event before run.caught_up = %d, want 20", data, last)
		}
	}
	look()
	if got := live.Seqs("run_a", 11); got[0] != 10 || got[10] != 20 {
		w.Errorf("sequence numbers of the live follower = %v, want 10 to 20", got)
	}
}

// forgets makes a server forget ended runs. A later event of such a run is delivered once to
// earlier and to new followers, whether the machine is connected to this or to another server.
func (w *trio) forgets() {
	server.ForgetEnded(w.two.Server)
	h := w.one.Machine("host_a")
	before := w.two.HelloApp(servertest.Viewer, "")
	forgotten := func(run string) {
		w.Helper()
		for end := time.Now().Add(2 * time.Minute); server.HasState(w.two.Server, run); {
			if time.Now().After(end) {
				w.Fatalf("%s was not forgotten", run)
			}
		}
	}
	for _, run := range []string{"run_a", "run_b"} {
		h.Begin(run)
		h.Send(protocol.RunOutput, run, 2, servertest.Output("two"))
		h.Send(protocol.RunExited, run, 3, `{"exit_code":0}`)
		h.Acked(run, 3)
		before.Seqs(run, 3)
	}
	forgotten("run_a")
	forgotten("run_b")
	h.Begin("run_on")
	before.Seqs("run_on", 1)
	after := w.two.HelloApp(servertest.Viewer, "")
	is := func(run string, want ...int64) {
		w.Helper()
		for _, a := range []*servertest.Peer{before, after} {
			if got := a.Seqs(run, len(want)); !slices.Equal(got, want) {
				w.Errorf("%s: sequence numbers = %v, want %v", run, got, want)
			}
		}
	}
	h.Send(protocol.RunOutput, "run_a", 4, servertest.Output("late"))
	is("run_a", 4)
	forgotten("run_a")
	h = w.two.Machine("host_a")
	h.Send(protocol.RunOutput, "run_b", 4, servertest.Output("late"))
	h.Send(protocol.RunOutput, "run_b", 5, servertest.Output("later"))
	is("run_b", 4, 5)
	h.Send(protocol.RunOutput, "run_a", 5, servertest.Output("later"))
	is("run_a", 5)
	h.Send(protocol.RunOutput, "run_on", 2, servertest.Output("on"))
	is("run_on", 2)
	if !server.HasState(w.two.Server, "run_on") {
		w.Error("the server forgot a run that has not ended")
	}
}

// commands sends inputs, keys and decisions to a machine at another server. Each reaches the
// machine once, the sender receives each state, and only the first of several decisions counts.
func (w *trio) commands() {
	h, _ := w.one.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	h.Send(protocol.RunPermissionRequested, "run_a", 2, asked)
	h.Acked("run_a", 2)
	a, b := w.two.HelloApp(servertest.Operator, ""), w.three.HelloApp("operator:adam", "")
	is := func(p *servertest.Peer, id, kind, by string, states ...protocol.InputState) {
		w.Helper()
		for _, s := range states {
			isState(p, protocol.State{ID: id, Kind: kind, State: s, By: by})
		}
	}
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i1","text":"y\n"}`)
	is(a, "i1", "input", "eve", "accepted", "sent")
	if e := h.Next(protocol.RunSendInput); !strings.Contains(string(e.Data), `"i1"`) {
		w.Errorf("input = %s, want i1", e.Data)
	}
	h.Send(protocol.RunInput, "run_a", 3, `{"actor":"web","input_id":"i1","text_redacted":"y","text_sha256":"x"}`)
	is(a, "i1", "input", "eve", "applied")
	a.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q1"}`)
	is(a, "q1", "decision", "eve", "accepted")
	b.Send(protocol.RunDeny, "run_a", 0, `{"request_id":"q1"}`)
	if d := b.NextError(); d.Code != protocol.AlreadyDecided {
		w.Errorf("error of the second decision = %+v, want already_decided", d)
	}
	h.Next(protocol.RunApprove)
	h.Send(protocol.CommandResult, "run_a", 0, `{"id":"q1","kind":"decision","state":"rejected","error":"invalid_answer"}`)
	h.Next(protocol.CommandAck)
	is(a, "q1", "decision", "eve", "sent")
	isState(a, protocol.State{ID: "q1", Kind: "decision", State: "rejected", Error: "invalid_answer", By: "eve"})
	b.Send(protocol.RunDeny, "run_a", 0, `{"request_id":"q1"}`)
	h.Next(protocol.RunDeny)
	h.Send(protocol.RunPermissionResolved, "run_a", 4, `{"request_id":"q1","decision":"deny"}`)
	is(b, "q1", "decision", "adam", "accepted", "sent", "applied")
	for i := range 5 {
		b.Send(protocol.RunSendKeys, "run_a", 0, fmt.Sprintf(`{"keys":"k%d"}`, i))
	}
	for i := range 5 {
		if e := h.Next(protocol.RunSendKeys); !strings.Contains(string(e.Data), fmt.Sprintf(`"k%d"`, i)) {
			w.Errorf("keys = %s, want them in the order in which they were sent", e.Data)
		}
	}
	// Many concurrent commands arrive once each.
	const many = 20
	for i := range many {
		a.Send(protocol.RunSendInput, "run_a", 0, fmt.Sprintf(`{"input_id":"a%d","text":"x"}`, i))
		b.Send(protocol.RunSendInput, "run_a", 0, fmt.Sprintf(`{"input_id":"b%d","text":"x"}`, i))
	}
	got := map[string]int{}
	for range 2 * many {
		e := h.Next(protocol.RunSendInput)
		got[store.Text(e.Data, "input_id")]++
	}
	if len(got) != 2*many {
		w.Errorf("number of deliveries by input id = %v, want each input once", got)
	}
}

// secrets checks that a secret answer reaches a machine at another server, and is not written to
// the database.
func (w *trio) secrets() {
	h, _ := w.one.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	h.Send(protocol.RunPermissionRequested, "run_a", 2, `{"request_id":"q1","reason":"prompt","prompt":"password?","questions":[{"id":"p","question":"password?","kind":"text","secret":true}]}`)
	h.Acked("run_a", 2)
	a := w.two.HelloApp(servertest.Operator, "")
	const secret = "correct-horse-battery"
	a.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"q1","answers":{"p":"`+secret+`"}}`)
	if e := h.Next(protocol.RunApprove); !strings.Contains(string(e.Data), secret) {
		w.Errorf("decision = %s, want the secret answer", e.Data)
	}
	c, err := w.one.Store.Command(context.Background(), "run_a", store.DecisionCommand, "q1")
	if err != nil || len(c.Payload) != 0 {
		w.Errorf("stored command = %+v, %v; want it without a payload", c, err)
	}
	// The machine moves to a third server before it has reported the result.
	h, _ = w.three.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	if e := h.Next(protocol.RunApprove); !strings.Contains(string(e.Data), secret) {
		w.Errorf("decision at the third server = %s, want the secret answer", e.Data)
	}
	// After the first server has stopped, the two others still have the secret answer.
	w.two.Stop()
	h, _ = w.one.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	if e := h.Next(protocol.RunApprove); !strings.Contains(string(e.Data), secret) {
		w.Errorf("decision after a server has stopped = %s, want the secret answer", e.Data)
	}
	// All servers that have the secret answer have stopped, so the decision is withdrawn.
	w.one.Stop()
	w.three.Restart()
	h, _ = w.three.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	h.Send(protocol.RunOutput, "run_a", 3, servertest.Output("x"))
	h.Acked("run_a", 3)
	if _, body := w.three.Do(servertest.Viewer, "GET", "/inbox", nil); !strings.Contains(string(body), `"state":"open"`) {
		w.Errorf("inbox = %s, want an open request", body)
	}
}

// calls checks that an RPC may be sent to any server, is performed once, and can be answered by
// every server, also after all servers have restarted.
func (w *trio) calls() {
	h, _ := w.one.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a, b := w.two.HelloApp(servertest.Operator, ""), w.three.HelloApp(servertest.Operator, "")
	a.Send("rpc.fs.read", "run_a", 0, read("r1"))
	h.Next("rpc.fs.read")
	b.Send("rpc.fs.read", "run_a", 0, read("r1"))
	b.Ping()
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"r1","ok":true,"rpc_type":"rpc.fs.read","result":{"content":"hi"}}`)
	right := func(p *servertest.Peer) {
		w.Helper()
		if e, d := answer(p); !d.OK || string(d.Result) != `{"content":"hi"}` || e.MachineID != "host_a" {
			w.Errorf("answer = %s, want the machine's result", e.Append(nil))
		}
	}
	right(a)
	right(b)
	b.Send("rpc.fs.read", "run_a", 0, read("r1"))
	right(b)
	b.Send("rpc.fs.read", "run_a", 0, `{"request_id":"r1","path":"x"}`)
	if _, d := answer(b); d.ErrorCode != protocol.RPCCode(protocol.InputConflict) {
		w.Errorf("answer to a call with the same id and other data = %+v, want input_conflict", d)
	}
	h.Ping()
	status, body := w.three.Do(servertest.Operator, "POST", "/rpc", json.RawMessage(`{"type":"rpc.fs.read","run_id":"run_a","data":`+read("r1")+`}`))
	if status != 200 || !strings.Contains(string(body), `"content":"hi"`) {
		w.Errorf("response of another server = %d %s, want 200 with the result", status, body)
	}
	for _, r := range []*servertest.Relay{w.one, w.two, w.three} {
		r.Restart()
	}
	a = w.three.HelloApp(servertest.Operator, "")
	a.Send("rpc.fs.read", "run_a", 0, read("r1"))
	right(a)
	a.Send("rpc.fs.read", "run_a", 0, read("r2"))
	if _, d := answer(a); d.ErrorCode != protocol.RPCCode(protocol.MachineOffline) {
		w.Errorf("answer without the machine = %+v, want host_offline", d)
	}
}

// callsEnd moves a machine with running calls to another server. Calls that may be repeated are
// sent again, and the other calls become indeterminate.
func (w *trio) callsEnd() {
	h, _ := w.one.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a := w.two.HelloApp(servertest.Operator, "")
	a.Send("rpc.fs.read", "run_a", 0, read("r1"))
	h.Next("rpc.fs.read")
	a.Send("rpc.bash", "run_a", 0, `{"request_id":"g1","cmd":"make"}`)
	h.Next("rpc.bash")
	a.Send("rpc.bash", "run_a", 0, `{"request_id":"g2","cmd":"make"}`)
	h.Next("rpc.bash")
	h.Send(protocol.RunPermissionRequested, "run_a", 2, `{"request_id":"g2","reason":"permission","prompt":"make?"}`)
	h.Acked("run_a", 2)
	for { // until a server has stored that the call waits for an approval
		c, err := w.one.Store.Call(context.Background(), "g2")
		if err != nil {
			w.Fatal(err)
		}
		if c.State == "waiting" {
			break
		}
	}
	h, _ = w.three.Hello("host_a", hello("one", 1, protocol.RunAt{RunID: "run_a", LastSeq: 2}))
	if e := h.Next("rpc.fs.read"); requestOf(e) != "r1" {
		w.Errorf("call after the move = %s, want r1", e.Data)
	}
	if _, d := answer(a); d.RequestID != "g1" || d.OK || !strings.HasPrefix(d.Error, "indeterminate") {
		w.Errorf("answer to g1 = %+v, want an indeterminate error", d)
	}
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"r1","ok":true,"rpc_type":"rpc.fs.read","result":{}}`)
	if _, d := answer(a); d.RequestID != "r1" || !d.OK {
		w.Errorf("answer to r1 = %+v, want ok", d)
	}
	// A call that waits for its approval continues at the new server.
	a.Send(protocol.RunApprove, "run_a", 0, `{"request_id":"g2"}`)
	h.Next(protocol.RunApprove)
	h.Send(protocol.RunPermissionResolved, "run_a", 3, `{"request_id":"g2","decision":"approve"}`)
	h.Send(protocol.RPCResponse, "run_a", 0, `{"request_id":"g2","ok":true,"rpc_type":"rpc.bash","result":{"exit_code":0}}`)
	if _, d := answer(a); d.RequestID != "g2" || !d.OK {
		w.Errorf("answer to g2 = %+v, want ok", d)
	}
}

// oneConnection checks that a machine has only one connection to all servers, and loses it when the
// machine is removed.
func (w *trio) oneConnection() {
	older, _ := w.one.Hello("host_a", hello("one", 100))
	older.Begin("run_a")
	newer, welcome := w.two.Hello("host_a", hello("one", 100, protocol.RunAt{RunID: "run_a", LastSeq: 1}))
	if code := older.Closed(); code != protocol.CloseSuperseded || welcome.Runs["run_a"] != 1 {
		w.Errorf("first connection: close code %d, welcome %v; want superseded and run_a", code, welcome.Runs)
	}
	later, _ := w.three.Hello("host_a", hello("two", 101))
	if code := newer.Closed(); code != protocol.CloseSuperseded {
		w.Errorf("second connection: close code = %d, want superseded", code)
	}
	stale := w.one.Machine("host_a")
	d := hello("three", 99)
	d.Protocol, d.Agent = 2, "x/1"
	stale.Send(protocol.Hello, "", 0, d)
	if code := stale.Closed(); code != protocol.CloseStaleEpoch {
		w.Errorf("connection with an old epoch: close code = %d, want stale_epoch", code)
	}
	if err := w.one.Store.RemoveMachine(context.Background(), "host_a", 5); err != nil {
		w.Fatal(err)
	}
	w.one.Server.CloseMachine("host_a", "the machine was removed")
	if code := later.Closed(); code != protocol.CloseUnauthorized {
		w.Errorf("connection of a removed machine: close code = %d, want unauthorized", code)
	}
}

// hostCopies connects a copy of a machine's state while the machine is connected. Every server must
// refuse the copy.
func (w *trio) machineCopies() {
	first, _ := w.one.Hello("host_a", hello("one", 100))
	first.Begin("run_a")
	copied := w.two.Machine("host_a")
	d := hello("two", 100)
	d.Protocol, d.Agent = 2, "x/1"
	copied.Send(protocol.Hello, "", 0, d)
	if code := copied.Closed(); code != protocol.CloseSuperseded {
		w.Errorf("connection of the copy: close code = %d, want superseded", code)
	}
	first.Send(protocol.RunOutput, "run_a", 2, servertest.Output("x"))
	first.Acked("run_a", 2)
	first.Close()
	first.Closed()
	w.two.WaitOffline("host_a")
	w.two.Hello("host_a", hello("two", 100))
}

// live checks that events that are not stored reach the followers at every server.
func (w *trio) live() {
	h := w.one.Machine("host_a")
	h.Begin("run_a")
	apps := []*servertest.Peer{w.one.App(servertest.Viewer, ""), w.two.App(servertest.Viewer, ""), w.three.App(servertest.Viewer, "")}
	h.Send("run.output", "run_a", 0, servertest.Output("passing"))
	for i, a := range apps {
		if e := a.Next(protocol.RunOutput); e.Seq != 0 || !strings.Contains(string(e.Data), "passing") {
			w.Errorf("app %d: event = %s, want the unstored output", i, e.Append(nil))
		}
	}
}

// busBreaks checks that servers without notifications find all changes a little later.
func (w *trio) busBreaks() {
	if w.bus == nil {
		return
	}
	h, _ := w.one.Hello("host_a", hello("one", 1))
	h.Begin("run_a")
	a := w.two.HelloApp(servertest.Operator, "")
	h.Send(protocol.RunOutput, "run_a", 2, servertest.Output("two"))
	if got := a.Seqs("run_a", 1); got[0] != 2 || w.bus.Published("run") == 0 {
		w.Errorf("sequence numbers = %v, after %d notifications; want 2 after a notification", got, w.bus.Published("run"))
	}
	w.bus.Break()
	h.Send(protocol.RunOutput, "run_a", 3, servertest.Output("three"))
	if got := a.Seqs("run_a", 1); got[0] != 3 {
		w.Errorf("sequence numbers without notifications = %v, want 3", got)
	}
	a.Send(protocol.RunSendKeys, "run_a", 0, `{"keys":"x"}`)
	h.Next(protocol.RunSendKeys)
	a.Send("rpc.fs.read", "run_a", 0, read("r1"))
	h.Next("rpc.fs.read")
}

// sealed sends sealed commands at another server than the machine's. They arrive as they were sent,
// also one that waits for the machine.
func (w *trio) sealed() {
	h := w.one.Machine("host_a")
	h.Begin("run_a")
	h.Close()
	a := w.two.App(servertest.Operator, "&follow=none")
	data := func(id string) string { return `{"ct":"x","device":"d_a","epoch":7,"id":"` + id + `"}` }
	send := func(typ, id string) {
		a.Raw(fmt.Appendf(nil, `{"type":%q,"ts":"2025-01-01T00:00:00Z","run_id":"run_a","id":%q,"enc":{"epoch":7,"v":1},"data":%s}`, typ, id, data(id)))
	}
	expect := func(typ, id string) {
		w.Helper()
		if e := h.Next(typ); string(e.Data) != data(id) || e.ID != id || string(e.Enc) != `{"epoch":7,"v":1}` {
			w.Errorf("%s = %s, want the data %s", typ, e.Append(nil), data(id))
		}
	}
	send(protocol.RunSendInput, "i1")
	h, _ = w.three.Hello("host_a", protocol.HelloData{Account: "a_1"})
	expect(protocol.RunSendInput, "i1")
	send(protocol.RunSendKeys, "k1")
	expect(protocol.RunSendKeys, "k1")
	send(protocol.RPCSealed, "r1")
	expect(protocol.RPCSealed, "r1")
	if _, body := w.two.Do(servertest.Viewer, "GET", "/hosts", nil); !strings.Contains(string(body), `"account":"a_1"`) {
		w.Errorf("machines at another server = %s", body)
	}
}
