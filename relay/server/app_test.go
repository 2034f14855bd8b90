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

// outputs makes a host write a number of outputs of a run, from a seq on, and waits until they are
// stored.
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

// TestFollow checks that a new connection follows all runs from their ends; one with a cursor
// receives the events after it once and in order, then live; invalid parts are reported, and the
// others apply.
func TestFollow(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
	h.Begin("run_a")
	outputs(h, "run_a", 2, 600) // more than a ring and a page
	h.Begin("run_b")
	fresh := r.App(servertest.Viewer, "")
	none := r.HelloApp(servertest.Viewer, "&follow=none")
	outputs(h, "run_a", 602, 3)
	if got := fresh.Seqs("run_a", 3); !slices.Equal(got, span(602, 604)) {
		t.Errorf("a new app received %v", got)
	}
	none.Raw([]byte(`{"type":"run.subscribe","ts":"2025-01-01T00:00:00Z","id":"s1","data":{"cursor":{"run_a":5,"run_b":9,"run_z":1}}}`))
	bad, unknown := none.NextError(), none.NextError()
	if bad.Code != protocol.BadCursor || bad.RunID != "run_b" || bad.Re != "s1" || unknown.Code != protocol.UnknownRun || unknown.RunID != "run_z" {
		t.Errorf("%+v, %+v", bad, unknown)
	}
	if got := none.Seqs("run_a", 599); !slices.Equal(got, span(6, 604)) {
		t.Errorf("after 5: %v", got)
	}
	caught := none.Next(protocol.CaughtUp)
	if string(caught.Data) != `{"cursor":{"run_a":604}}` || caught.Re != "s1" {
		t.Errorf("%s", caught.Append(nil))
	}
	outputs(h, "run_b", 2, 1)
	outputs(h, "run_a", 605, 2)
	if got := none.Seqs("run_a", 2); !slices.Equal(got, span(605, 606)) {
		t.Errorf("live: %v", got)
	}
	// all from the start, the named run from its cursor
	none.Send(protocol.RunSubscribe, "", 0, `{"cursor":{"run_a":606},"rest":"start"}`)
	if got := none.Seqs("run_b", 2); !slices.Equal(got, span(1, 2)) {
		t.Errorf("run_b: %v", got)
	}
	caught = none.Next(protocol.CaughtUp)
	if string(caught.Data) != `{"cursor":{"run_a":606,"run_b":2}}` {
		t.Errorf("%s", caught.Data)
	}
	none.Send(protocol.RunUnsubscribe, "", 0, `{"runs":["run_b"]}`)
	none.Ping()
	outputs(h, "run_b", 3, 1)
	h.Begin("run_c")
	outputs(h, "run_a", 607, 1)
	if e := none.Next(protocol.RunStarted); e.RunID != "run_c" || e.Seq != 1 {
		t.Errorf("%s", e.Append(nil))
	}
	if got := none.Seqs("run_a", 1); got[0] != 607 {
		t.Errorf("%v", got)
	}
	if e := fresh.Next(protocol.RunStarted); e.RunID != "run_c" {
		t.Errorf("%s", e.Append(nil))
	}
}

// TestSeedForm checks the subscription form of protocol 1, and that a client without a hello
// receives no newer messages.
func TestSeedForm(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
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
		t.Errorf("%s", e.Append(nil))
	}
	a.Send(protocol.RunSubscribe, "", 0, `{"run_id":"run_b","replace":true,"include_output":true}`)
	a.Ping()
	outputs(h, "run_a", 5, 1)
	outputs(h, "run_b", 3, 1)
	if e := a.Read(); e.RunID != "run_b" || e.Seq != 3 {
		t.Errorf("%s", e.Append(nil))
	}
}

// TestProgress checks that a client without output receives its size once a second.
func TestProgress(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
	h.Begin("run_a")
	a := r.HelloApp(servertest.Viewer, "")
	a.Send(protocol.RunSubscribe, "", 0, `{"output":false}`)
	a.Next(protocol.CaughtUp)
	outputs(h, "run_a", 2, 1)
	e := a.Next(protocol.Progress)
	if e.RunID != "run_a" || e.Seq != 0 || string(e.Data) != `{"seq":2,"bytes":1}` {
		t.Errorf("%s", e.Append(nil))
	}
	outputs(h, "run_a", 3, 5)
	h.Send(protocol.RunMeta, "run_a", 8, `{"title":"new"}`)
	if e := a.Read(); e.Type != protocol.RunMeta {
		t.Errorf("%s", e.Append(nil))
	}
	r.Advance(time.Second)
	if e := a.Read(); e.Type != protocol.Progress || string(e.Data) != `{"seq":7,"bytes":5}` {
		t.Errorf("%s", e.Append(nil))
	}
}

// TestUnstoredEvent checks that an event without a number is shown to the run's followers and not
// stored.
func TestUnstoredEvent(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
	a := r.App(servertest.Viewer, "")
	h.Begin("run_a")
	a.Seqs("run_a", 1)
	h.Send(protocol.RunOutput, "run_a", 0, servertest.Output("now"))
	e := a.Read()
	if e.Type != protocol.RunOutput || e.Seq != 0 || e.HostID != "host_a" {
		t.Errorf("%s", e.Append(nil))
	}
	if _, body := r.Do(servertest.Viewer, "GET", "/runs/run_a/events", nil); strings.Contains(string(body), "now") {
		t.Errorf("%s", body)
	}
}

// TestInvisibleRuns checks that invisible runs seem not to exist.
func TestInvisibleRuns(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
	a := r.HelloApp("operator:eve:run_a,x*", "")
	h.Begin("run_b")
	h.Begin("run_a")
	if e := a.Next(protocol.RunStarted); e.RunID != "run_a" {
		t.Errorf("%s", e.Append(nil))
	}
	for typ, data := range map[string]string{protocol.RunSendInput: `{"input_id":"i","text":"x"}`, protocol.RunApprove: `{"request_id":"q"}`, protocol.RunStop: `{}`, protocol.RunSendKeys: `{"keys":"x"}`} {
		a.Send(typ, "run_b", 0, data)
		if d := a.NextError(); d.Code != protocol.UnknownRun {
			t.Errorf("%s: %+v", typ, d)
		}
	}
	a.Send("rpc.host.info", "", 0, `{"request_id":"r","host_id":"host_a"}`)
	if d := a.NextError(); d.Code != protocol.Forbidden || d.RequestID != "r" {
		t.Errorf("%+v", d)
	}
	for typ, want := range map[string]protocol.Code{"rpc.run.start": protocol.Forbidden, "rpc.host.doctor": protocol.Forbidden, "rpc.runs.list": protocol.Forbidden, "rpc.fs.read": protocol.UnknownRun, "rpc.bash": protocol.UnknownRun, "rpc.run.stop": protocol.UnknownRun} {
		data := map[string]any{"request_id": "x" + typ[4:5] + typ[len(typ)-2:], "host_id": "host_a", "tool": "codex", "cmd": "codex", "path": "a", "signal": "term"}
		status, body := r.Do("operator:eve:run_a,x*", "POST", "/rpc", map[string]any{"type": typ, "run_id": "run_b", "data": data})
		if !strings.Contains(string(body), `"`+string(want)+`"`) || strings.Contains(string(body), `"ok":true`) {
			t.Errorf("%s: %d %s", typ, status, body)
		}
	}
	if status, body := r.Do("viewer:eve:run_a", "GET", "/hosts", nil); status != 403 {
		t.Errorf("%d %s", status, body)
	}
	for path, want := range map[string]int{"/runs/run_b": 404, "/runs/run_b/events": 404, "/runs/run_b/messages": 404, "/runs/run_a": 200, "/events?cursor=run_b:0": 404} {
		if status, body := r.Do("viewer:eve:run_a", "GET", path, nil); status != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	_, body := r.Do("viewer:eve:run_a", "GET", "/runs", nil)
	if strings.Contains(string(body), "run_b") || !strings.Contains(string(body), "run_a") {
		t.Errorf("%s", body)
	}
	if status, _ := r.Do("viewer:eve", "POST", "/runs/run_a/input", map[string]string{"input_id": "i", "text": "x"}); status != 403 {
		t.Errorf("a viewer's input: %d", status)
	}
}

// TestEnded checks that a connection closes with its credentials.
func TestEnded(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	a, b := r.App(servertest.Viewer, ""), r.App(servertest.Operator, "")
	r.Auth.End(servertest.Viewer)
	if code := a.Closed(); code != protocol.CloseUnauthorized {
		t.Errorf("%d", code)
	}
	b.Ping()
}

// TestSlow checks that an app that does not read is disconnected without affecting others, and that
// it receives the missed events when it reconnects.
func TestSlow(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
	h.Begin("run_a")
	slow := r.SilentApp(servertest.Viewer)
	a := r.App(servertest.Viewer, "")
	text := strings.Repeat("x", 64<<10)
	const n = 64 // 4 MB: more than its sockets hold
	for seq := int64(2); seq <= n; seq++ {
		h.Send(protocol.RunOutput, "run_a", seq, servertest.Output(text))
		a.Seqs("run_a", 1)
	}
	// writes to it remain unread; on a busy machine that takes a long time
	for range 1000 {
		if r.Server.Figures()["relay_sockets_closing"] > 0 {
			break
		}
		r.Clock.Advance(protocol.WriteTimeout / 3)
		h.Ping()
		a.Ping()
	}
	if code := slow.ReadToEnd(); code != protocol.CloseTooSlow {
		t.Errorf("%d", code)
	}
	a.Ping()
}

// TestPoll checks the cursor of a long poll.
func TestPoll(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
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
			t.Fatalf("%d %s", status, body)
		}
		for _, e := range raw.Events {
			seqs = append(seqs, e.Seq)
		}
		return seqs, page.Cursor, page.More
	}
	seqs, cursor, more := get("cursor=run_a:3&limit=4")
	if !slices.Equal(seqs, span(4, 7)) || cursor["run_a"] != 7 || !more {
		t.Errorf("%v %v %v", seqs, cursor, more)
	}
	seqs, cursor, more = get("cursor=run_a:7&limit=3")
	if !slices.Equal(seqs, span(8, 10)) || cursor["run_a"] != 10 || more {
		t.Errorf("%v %v %v", seqs, cursor, more)
	}
	seqs, cursor, _ = get("wait=0")
	if len(seqs) != 0 || cursor["run_a"] != 10 {
		t.Errorf("%v %v", seqs, cursor)
	}
	seqs, cursor, _ = get("rest=start&cursor=")
	if !slices.Equal(seqs, span(1, 10)) || cursor["run_a"] != 10 {
		t.Errorf("%v %v", seqs, cursor)
	}
	waited := make(chan []int64, 1)
	before := r.Clock.Timers()
	go func() {
		seqs, _, _ := get("cursor=run_a:10&wait=30")
		waited <- seqs
	}()
	for r.Clock.Timers() == before {
		time.Sleep(time.Millisecond) // until it waits
	}
	h.Send(protocol.RunOutput, "run_a", 11, servertest.Output("x"))
	if got := <-waited; !slices.Equal(got, []int64{11}) {
		t.Errorf("%v", got)
	}
	for _, query := range []string{"cursor=run_a", "cursor=run_a:x", "cursor=run_a:1,run_a:2", "cursor=run_a:99", "rest=now", "wait=31", "limit=0", "limit=1001"} {
		if status, body := r.Do(servertest.Viewer, "GET", "/events?"+query, nil); status != 400 || !strings.Contains(string(body), `"code":"bad_`) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

// TestStream checks the cursor of server-sent events.
func TestStream(t *testing.T) {
	t.Parallel()
	r := servertest.Start(t)
	h := r.Host("host_a")
	h.Begin("run_a")
	h.Begin("run_b")
	outputs(h, "run_a", 2, 9)
	s := r.Stream("/events?cursor=run_a:3,run_b:1", "")
	if got := s.Header.Get("Content-Type") + s.Header.Get("X-Accel-Buffering") + s.Header.Get("Content-Encoding"); got != "text/event-streamno" {
		t.Errorf("%s", got)
	}
	for seq := int64(4); seq <= 10; seq++ {
		id, data := s.Event()
		e, why := protocol.Parse([]byte(data))
		if why != nil || e.Seq != seq || e.RunID != "run_a" || id != fmt.Sprintf("run_a:%d,run_b:1", seq) {
			t.Fatalf("%s: %s", id, data)
		}
	}
	h.Begin("run_c") // not in the subscription
	outputs(h, "run_b", 2, 1)
	if id, _ := s.Event(); id != "run_a:10,run_b:2" {
		t.Errorf("%s", id)
	}
	second := r.Stream("/events?cursor=run_a:1", "run_a:9,run_b:2")
	if id, data := second.Event(); id != "run_a:10,run_b:2" || !strings.Contains(data, `"seq":10`) {
		t.Errorf("%s: %s", id, data)
	}
	all := r.Stream("/events", "")
	outputs(h, "run_c", 2, 1)
	if id, data := all.Event(); id != "run_a:10,run_b:2,run_c:2" || !strings.Contains(data, `"run_c"`) {
		t.Errorf("%s: %s", id, data)
	}
	r.Advance(20 * time.Second)
	all.Comment()
}
