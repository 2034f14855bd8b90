package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/servertest"
)

// outputs makes a machine send n output events of a run, starting with sequence number from. It
// waits until the server has stored them.
func outputs(h *servertest.Peer, run string, from, n int64) {
	for seq := from; seq < from+n; seq++ {
		h.Send(protocol.RunOutput, run, seq, servertest.Output(fmt.Sprint(seq)))
	}
	h.Acked(run, from+n-1)
}

func span(from, to int64) (all []int64) {
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// TestFollow checks which events apps receive. A new connection receives all events that are stored
// from then on. A subscription with a cursor receives the events after the cursor once and in
// order, and then later ones. Invalid parts of a subscription are reported, and its valid parts are
// applied.
func TestFollow(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	outputs(h, "run_a", 2, 600) // more events than a ring holds, and more than a page
	h.Begin("run_b")
	fresh := r.App(servertest.Viewer, "")
	none := r.HelloApp(servertest.Viewer, "&follow=none")
	outputs(h, "run_a", 602, 3)
	if got := fresh.Seqs("run_a", 3); !slices.Equal(got, span(602, 604)) {
		t.Errorf("sequence numbers of a new app = %v, want 602 to 604", got)
	}
	none.Raw([]byte(`{"type":"run.subscribe","ts":"2025-01-01T00:00:00Z","id":"s1","data":{"cursor":{"run_a":5,"run_b":9,"run_z":1}}}`))
	bad, unknown := none.NextError(), none.NextError()
	if bad.Code != protocol.BadCursor || bad.RunID != "run_b" || bad.Re != "s1" || unknown.Code != protocol.UnknownRun || unknown.RunID != "run_z" {
		t.Errorf("errors = %+v, %+v; want bad_cursor for run_b and unknown_run for run_z", bad, unknown)
	}
	if got := none.Seqs("run_a", 599); !slices.Equal(got, span(6, 604)) {
		t.Errorf("sequence numbers after cursor 5 = %v, want 6 to 604", got)
	}
	caught := none.Next(protocol.CaughtUp)
	if string(caught.Data) != `{"cursor":{"run_a":604}}` || caught.Re != "s1" {
		t.Errorf("run.caught_up = %s, want run_a at 604 as the answer to s1", caught.Append(nil))
	}
	outputs(h, "run_b", 2, 1)
	outputs(h, "run_a", 605, 2)
	if got := none.Seqs("run_a", 2); !slices.Equal(got, span(605, 606)) {
		t.Errorf("sequence numbers of later events = %v, want 605 and 606", got)
	}
	// Follow run_a from its cursor and all other runs from the start.
	none.Send(protocol.RunSubscribe, "", 0, `{"cursor":{"run_a":606},"rest":"start"}`)
	if got := none.Seqs("run_b", 2); !slices.Equal(got, span(1, 2)) {
		t.Errorf("sequence numbers of run_b = %v, want 1 and 2", got)
	}
	caught = none.Next(protocol.CaughtUp)
	if string(caught.Data) != `{"cursor":{"run_a":606,"run_b":2}}` {
		t.Errorf("run.caught_up = %s, want run_a at 606 and run_b at 2", caught.Data)
	}
	none.Send(protocol.RunUnsubscribe, "", 0, `{"runs":["run_b"]}`)
	none.Ping()
	outputs(h, "run_b", 3, 1)
	h.Begin("run_c")
	outputs(h, "run_a", 607, 1)
	if e := none.Next(protocol.RunStarted); e.RunID != "run_c" || e.Seq != 1 {
		t.Errorf("event = %s, want the start of run_c", e.Append(nil))
	}
	if got := none.Seqs("run_a", 1); got[0] != 607 {
		t.Errorf("sequence numbers of run_a = %v, want 607", got)
	}
	if e := fresh.Next(protocol.RunStarted); e.RunID != "run_c" {
		t.Errorf("event = %s, want the start of run_c", e.Append(nil))
	}
}

// TestSeedForm checks the subscription of protocol 1. A client that sends no hello receives no
// messages of newer protocols.
func TestSeedForm(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	h.Begin("run_b")
	a := r.App(servertest.Operator, "")
	a.Send(protocol.RunSubscribe, "", 0, `{"run_id":"run_a","replace":true,"include_output":false}`)
	a.Ping()
	outputs(h, "run_a", 2, 2)
	outputs(h, "run_b", 2, 1)
	a.Send(protocol.RunSendInput, "run_a", 0, `{"input_id":"i","text":"y\n"}`)
	h.Next(protocol.RunSendInput)
	h.Send(protocol.RunInput, "run_a", 4, `{"actor":"web","input_id":"i","text_redacted":"y\n","text_sha256":"x"}`)
	if e := a.Read(); e.Type != protocol.RunInput || e.Seq != 4 {
		t.Errorf("event = %s, want run.input with number 4", e.Append(nil))
	}
	a.Send(protocol.RunSubscribe, "", 0, `{"run_id":"run_b","replace":true,"include_output":true}`)
	a.Ping()
	outputs(h, "run_a", 5, 1)
	outputs(h, "run_b", 3, 1)
	if e := a.Read(); e.RunID != "run_b" || e.Seq != 3 {
		t.Errorf("event = %s, want number 3 of run_b", e.Append(nil))
	}
}

// TestProgress subscribes without output. The client receives the size of the omitted output at
// most once a second.
func TestProgress(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	a := r.HelloApp(servertest.Viewer, "")
	a.Send(protocol.RunSubscribe, "", 0, `{"output":false}`)
	a.Next(protocol.CaughtUp)
	outputs(h, "run_a", 2, 1)
	e := a.Next(protocol.Progress)
	if e.RunID != "run_a" || e.Seq != 0 || string(e.Data) != `{"seq":2,"bytes":1}` {
		t.Errorf("run.progress = %s, want 1 byte up to number 2", e.Append(nil))
	}
	outputs(h, "run_a", 3, 5)
	h.Send(protocol.RunMeta, "run_a", 8, `{"title":"new"}`)
	if e := a.Read(); e.Type != protocol.RunMeta {
		t.Errorf("event = %s, want run.meta", e.Append(nil))
	}
	r.Advance(time.Second)
	if e := a.Read(); e.Type != protocol.Progress || string(e.Data) != `{"seq":7,"bytes":5}` {
		t.Errorf("event = %s, want run.progress with 5 bytes up to number 7", e.Append(nil))
	}
}

// TestUnstoredEvent sends an event without a sequence number. The run's followers receive it, but
// it is not stored.
func TestUnstoredEvent(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	a := r.App(servertest.Viewer, "")
	h.Begin("run_a")
	a.Seqs("run_a", 1)
	h.Send(protocol.RunOutput, "run_a", 0, servertest.Output("now"))
	e := a.Read()
	if e.Type != protocol.RunOutput || e.Seq != 0 || e.MachineID != "host_a" {
		t.Errorf("event = %s, want the output of host_a without a sequence number", e.Append(nil))
	}
	if _, body := r.Do(servertest.Viewer, "GET", "/runs/run_a/events", nil); strings.Contains(string(body), "now") {
		t.Errorf("stored events = %s, want none with the unstored output", body)
	}
}

// TestInvisibleRuns checks that requests for a run that the caller may not see are answered as if
// the run did not exist.
func TestInvisibleRuns(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	a := r.HelloApp("operator:eve:run_a,x*", "")
	h.Begin("run_b")
	h.Begin("run_a")
	if e := a.Next(protocol.RunStarted); e.RunID != "run_a" {
		t.Errorf("event = %s, want the start of run_a", e.Append(nil))
	}
	for typ, data := range map[string]string{protocol.RunSendInput: `{"input_id":"i","text":"x"}`, protocol.RunApprove: `{"request_id":"q"}`, protocol.RunStop: `{}`, protocol.RunSendKeys: `{"keys":"x"}`} {
		a.Send(typ, "run_b", 0, data)
		if d := a.NextError(); d.Code != protocol.UnknownRun {
			t.Errorf("error of %s = %+v, want unknown_run", typ, d)
		}
	}
	a.Send("rpc.host.info", "", 0, `{"request_id":"r","host_id":"host_a"}`)
	if d := a.NextError(); d.Code != protocol.Forbidden || d.RequestID != "r" {
		t.Errorf("error of rpc.host.info = %+v, want forbidden", d)
	}
	for typ, want := range map[string]protocol.Code{"rpc.run.start": protocol.Forbidden, "rpc.host.doctor": protocol.Forbidden, "rpc.runs.list": protocol.Forbidden, "rpc.fs.read": protocol.UnknownRun, "rpc.bash": protocol.UnknownRun, "rpc.run.stop": protocol.UnknownRun} {
		data := map[string]any{"request_id": "x" + typ[4:5] + typ[len(typ)-2:], "host_id": "host_a", "tool": "codex", "cmd": "codex", "path": "a", "signal": "term"}
		status, body := r.Do("operator:eve:run_a,x*", "POST", "/rpc", map[string]any{"type": typ, "run_id": "run_b", "data": data})
		if !strings.Contains(string(body), `"`+string(want)+`"`) || strings.Contains(string(body), `"ok":true`) {
			t.Errorf("response to %s = %d %s, want a refusal", typ, status, body)
		}
	}
	if _, body := r.Do("operator:eve:run_a", "POST", "/rpc", map[string]any{"type": "rpc.fs.read", "data": map[string]any{"request_id": "without", "path": "a"}}); !strings.Contains(string(body), "rpc.fs.read requires run_id") {
		t.Errorf("response to rpc.fs.read without run_id = %s", body)
	}
	if status, body := r.Do("viewer:eve:run_a", "GET", "/hosts", nil); status != 403 {
		t.Errorf("response to GET /hosts = %d %s, want 403", status, body)
	}
	for path, want := range map[string]int{"/runs/run_b": 404, "/runs/run_b/events": 404, "/runs/run_b/messages": 404, "/runs/run_a": 200, "/events?cursor=run_b:0": 404} {
		if status, body := r.Do("viewer:eve:run_a", "GET", path, nil); status != want {
			t.Errorf("response to GET %s = %d %s", path, status, body)
		}
	}
	_, body := r.Do("viewer:eve:run_a", "GET", "/runs", nil)
	if strings.Contains(string(body), "run_b") || !strings.Contains(string(body), "run_a") {
		t.Errorf("runs = %s, want only run_a", body)
	}
	if status, _ := r.Do("viewer:eve", "POST", "/runs/run_a/input", map[string]string{"input_id": "i", "text": "x"}); status != 403 {
		t.Errorf("status of a viewer's input = %d, want 403", status)
	}
}

// TestEnded checks that an app's connection is closed when its credentials end.
func TestEnded(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a, b := r.App(servertest.Viewer, ""), r.App(servertest.Operator, "")
	r.Auth.End(servertest.Viewer)
	if code := a.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("close code after the end of the credentials = %d, want unauthorized", code)
	}
	b.Ping()
}

// TestSlow connects an app that does not read. It is disconnected without affecting other apps, and
// receives the missed events when it reconnects.
func TestSlow(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	slow := r.SilentApp(servertest.Viewer)
	a := r.App(servertest.Viewer, "")
	text := strings.Repeat("x", 64<<10)
	const n = 64 // 4 MB, which is more than the buffers of the sockets hold
	for seq := int64(2); seq <= n; seq++ {
		h.Send(protocol.RunOutput, "run_a", seq, servertest.Output(text))
		a.Seqs("run_a", 1)
	}
	// Writes to the slow app do not return. On a busy machine it takes long until the server
	// notices.
	for range 1000 {
		if r.Server.Figures()["relay_sockets_closing"] > 0 {
			break
		}
		r.Clock.Advance(protocol.WriteTimeout / 3)
		h.Ping()
		a.Ping()
	}
	if code := slow.ReadToEnd(); code != protocol.CloseTooSlow {
		t.Errorf("close code of the app that does not read = %d, want too_slow", code)
	}
	a.Ping()
}

// TestPoll checks the cursors of long polls.
func TestPoll(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	outputs(h, "run_a", 2, 9)
	get := func(query string) (seqs []int64, cursor map[string]int64, more bool) {
		t.Helper()
		status, body := r.Do(servertest.Viewer, "GET", "/events?"+query, nil)
		var page struct {
			Events []protocol.Cursor
			Cursor map[string]int64
			More   bool
		}
		var raw struct{ Events []struct{ Seq int64 } }
		if status != 200 || json.Unmarshal(body, &page) != nil || json.Unmarshal(body, &raw) != nil {
			t.Fatalf("response to GET /events = %d %s, want 200", status, body)
		}
		for _, e := range raw.Events {
			seqs = append(seqs, e.Seq)
		}
		return seqs, page.Cursor, page.More
	}
	seqs, cursor, more := get("cursor=run_a:3&limit=4")
	if !slices.Equal(seqs, span(4, 7)) || cursor["run_a"] != 7 || !more {
		t.Errorf("first page: sequence numbers %v, cursor %v, more %v; want 4 to 7 and more", seqs, cursor, more)
	}
	seqs, cursor, more = get("cursor=run_a:7&limit=3")
	if !slices.Equal(seqs, span(8, 10)) || cursor["run_a"] != 10 || more {
		t.Errorf("last page: sequence numbers %v, cursor %v, more %v; want 8 to 10 and no more", seqs, cursor, more)
	}
	seqs, cursor, _ = get("wait=0")
	if len(seqs) != 0 || cursor["run_a"] != 10 {
		t.Errorf("poll without a cursor: sequence numbers %v, cursor %v; want none and 10", seqs, cursor)
	}
	seqs, cursor, _ = get("rest=start&cursor=")
	if !slices.Equal(seqs, span(1, 10)) || cursor["run_a"] != 10 {
		t.Errorf("poll from the start: sequence numbers %v, cursor %v; want 1 to 10", seqs, cursor)
	}
	waited := make(chan []int64, 1)
	before := r.Clock.Timers()
	go func() {
		seqs, _, _ := get("cursor=run_a:10&wait=30")
		waited <- seqs
	}()
	for r.Clock.Timers() == before {
		time.Sleep(time.Millisecond) // give the poll time to begin waiting
	}
	h.Send(protocol.RunOutput, "run_a", 11, servertest.Output("x"))
	if got := <-waited; !slices.Equal(got, []int64{11}) {
		t.Errorf("sequence numbers of the waiting poll = %v, want 11", got)
	}
	for _, query := range []string{"cursor=run_a", "cursor=run_a:x", "cursor=run_a:1,run_a:2", "cursor=run_a:99", "rest=now", "wait=31", "limit=0", "limit=1001"} {
		if status, body := r.Do(servertest.Viewer, "GET", "/events?"+query, nil); status != 400 || !strings.Contains(string(body), `"code":"bad_`) {
			t.Errorf("response to GET /events?%s = %d %s, want 400", query, status, body)
		}
	}
}

// TestStream checks the cursors of server-sent events.
func TestStream(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Machine("host_a")
	h.Begin("run_a")
	h.Begin("run_b")
	outputs(h, "run_a", 2, 9)
	s := r.Stream("/events?cursor=run_a:3,run_b:1", "")
	if got := s.Header.Get("Content-Type") + s.Header.Get("X-Accel-Buffering") + s.Header.Get("Content-Encoding"); got != "text/event-streamno" {
		t.Errorf("headers of the stream = %s", got)
	}
	for seq := int64(4); seq <= 10; seq++ {
		id, data := s.Event()
		e, why := protocol.Parse([]byte(data))
		if why != nil || e.Seq != seq || e.RunID != "run_a" || id != fmt.Sprintf("run_a:%d,run_b:1", seq) {
			t.Fatalf("event id = %s, data = %s", id, data)
		}
	}
	h.Begin("run_c") // the stream does not follow run_c
	outputs(h, "run_b", 2, 1)
	if id, _ := s.Event(); id != "run_a:10,run_b:2" {
		t.Errorf("event id = %s, want run_a:10,run_b:2", id)
	}
	second := r.Stream("/events?cursor=run_a:1", "run_a:9,run_b:2")
	if id, data := second.Event(); id != "run_a:10,run_b:2" || !strings.Contains(data, `"seq":10`) {
		t.Errorf("resumed stream: id = %s, data = %s; want number 10 of run_a", id, data)
	}
	all := r.Stream("/events", "")
	outputs(h, "run_c", 2, 1)
	if id, data := all.Event(); id != "run_a:10,run_b:2,run_c:2" || !strings.Contains(data, `"run_c"`) {
		t.Errorf("stream of all runs: id = %s, data = %s; want run_c:2", id, data)
	}
	r.Advance(20 * time.Second)
	all.Comment()
}
