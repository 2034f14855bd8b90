package link_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// clock is a stopped clock. A timer fires at once if fire accepts its duration, and
// otherwise never.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	fire  func(time.Duration) bool
	asked chan time.Duration
}

func newClock(fire func(time.Duration) bool) *clock {
	return &clock{now: time.Unix(1e9, 0), fire: fire, asked: make(chan time.Duration, 1000)}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked <- d
	if d > 0 && !c.fire(d) { // a time in the past is reached at once
		return nil
	}
	c.now = c.now.Add(max(d, 0))
	out := make(chan time.Time, 1)
	out <- c.now
	return out
}

func never(time.Duration) bool { return false }

// server is a server of the relay that the test plays. It accepts one connection at a time.
type server struct {
	t     *testing.T
	web   *httptest.Server
	conns chan *peer
}

// peer is the server's side of a machine's connection.
type peer struct {
	t    *testing.T
	conn *websocket.Conn
	end  chan struct{}
	req  *http.Request
}

func serve(t *testing.T, admit func(*http.Request) bool) *server {
	s := &server{t: t, conns: make(chan *peer, 10)}
	s.web = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/base/ws/host" || r.URL.Query().Get("host_id") != "host_a" || !admit(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		p := &peer{t, conn, make(chan struct{}), r}
		s.conns <- p
		<-p.end
		_ = conn.CloseNow()
	}))
	t.Cleanup(s.web.Close)
	return s
}

func byHeader(r *http.Request) bool {
	return r.Header.Get("Authorization") == "Bearer s3cret" && !strings.Contains(r.URL.RawQuery, "s3cret")
}

func (s *server) accept() *peer {
	s.t.Helper()
	select {
	case p := <-s.conns:
		return p
	case <-time.After(2 * time.Minute):
		s.t.Fatal("no machine has connected")
		return nil
	}
}

// drop closes the connection without a close frame.
func (p *peer) drop() { close(p.end) }

func (p *peer) close(code int) {
	_ = p.conn.Close(websocket.StatusCode(code), "test")
	p.drop()
}

func (p *peer) read() protocol.Envelope {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	kind, frame, err := p.conn.Read(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	e, refused := protocol.Parse(frame)
	if refused == nil {
		refused = protocol.Check(&e)
	}
	if refused != nil || kind != websocket.MessageText || e.MachineID != "host_a" {
		p.t.Fatalf("invalid frame %s: %v", frame, refused)
	}
	return e
}

// readShort reads n messages and returns a short form of each.
func (p *peer) readShort(n int) (all []string) {
	p.t.Helper()
	for range n {
		e := p.read()
		short := fmt.Sprintf("%s %s %d", e.RunID, e.Type, e.Seq)
		switch e.Type {
		case protocol.RunOutput:
			out, _ := protocol.Decode[protocol.Output](&e)
			short = fmt.Sprintf("%s %d %s", e.RunID, e.Seq, out.Text)
		case protocol.RunGap, protocol.CommandResult, protocol.RPCResponse, protocol.Failure:
			short += " " + string(e.Data)
		}
		all = append(all, short)
	}
	return all
}

func (p *peer) send(typ, run, data string) {
	p.t.Helper()
	frame := fmt.Sprintf(`{"type":%q,"ts":"2025-01-01T00:00:00Z","id":"c1","data":%s}`, typ, data)
	if run != "" {
		frame = fmt.Sprintf(`{"type":%q,"ts":"2025-01-01T00:00:00Z","id":"c1","by":"ada","run_id":%q,"data":%s}`, typ, run, data)
	}
	if err := p.conn.Write(context.Background(), websocket.MessageText, []byte(frame)); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) welcome(window int, runs string) {
	p.t.Helper()
	p.send(protocol.Welcome, "", fmt.Sprintf(`{"protocol":2,"agent":"fake/1","features":[],"heartbeat_s":20,"max_frame":4194304,"window":%d,"runs":%s}`, window, runs))
}

func (p *peer) hello() protocol.HelloData {
	p.t.Helper()
	e := p.read()
	h, err := protocol.Decode[protocol.HelloData](&e)
	if e.Type != protocol.Hello || err != nil {
		p.t.Fatalf("message = %+v, error = %v; want a hello", e, err)
	}
	return h
}

// tools records the commands that it receives.
type tools struct {
	mu    sync.Mutex
	lines []string
	first func() // called before an RPC is answered; nil does nothing
}

func (x *tools) did(format string, args ...any) link.Outcome {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lines = append(x.lines, fmt.Sprintf(format, args...))
	return link.Applied
}

func (x *tools) Input(_ context.Context, run, _ string, c protocol.SendInput) link.Outcome {
	if run == "run_x" {
		return link.Outcome{State: "rejected", Error: "unknown_run"}
	}
	return x.did("input %s %s %s", run, c.InputID, c.Text)
}
func (x *tools) Keys(_ context.Context, run string, c protocol.SendKeys) {
	x.did("keys %s %s", run, c.Keys)
}
func (x *tools) Stop(_ context.Context, run string, c protocol.Stop) link.Outcome {
	return x.did("stop %s %s", run, c.Signal)
}
func (x *tools) Resize(_ context.Context, run string, c protocol.Resize) {
	x.did("resize %s %d %d", run, c.Cols, c.Rows)
}
func (x *tools) Decide(_ context.Context, a link.Admission, by string, c protocol.Decide) link.Outcome {
	return x.did("decide %s %s %v by %s", a.Command.RunID, c.RequestID, a.Command.Type == protocol.RunApprove, by)
}
func (x *tools) RPC(_ context.Context, a link.Admission) (string, protocol.Response) {
	e := a.Command
	x.did("rpc %s %s", e.RunID, e.Type)
	x.mu.Lock()
	first := x.first
	x.mu.Unlock()
	if first != nil {
		first()
	}
	return e.RunID, protocol.Response{RequestID: "q1", OK: true, RPCType: e.Type, Result: json.RawMessage(`{"a":1}`)}
}

// machine is a spool with a link to a server.
type machine struct {
	t     *testing.T
	spool *spool.Spool
	tools *tools
	link  *link.Link
	clock *clock
}

func connect(t *testing.T, url string, c *clock, before func(*spool.Spool)) *machine {
	t.Helper()
	return connectBy(t, url, c, nil, before)
}

// connectBy connects a machine. If key is not nil, the machine authenticates by the returned key.
func connectBy(t *testing.T, url string, c *clock, key func() (*link.Key, error), before func(*spool.Spool)) *machine {
	t.Helper()
	h := &machine{t: t, tools: &tools{}, clock: c}
	var err error
	if h.spool, err = spool.Open(context.Background(), filepath.Join(t.TempDir(), "spool.db"), spool.Options{}); err != nil {
		t.Fatal(err)
	}
	if before != nil {
		before(h.spool)
	}
	o := link.Options{URL: url, MachineID: "host_a", Token: func() (string, error) { return "s3cret", nil }, Key: key, Agent: "test/1", Instance: "i1",
		Spool: h.spool, Commands: h.tools, Random: func() float64 { return 0 }}
	if c != nil { // without a clock, use the system clock and no retry delays
		o.Clock, o.Random = c, func() float64 { return 1 }
	}
	h.link, err = link.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); h.link.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		if err := h.spool.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *machine) output(run string, texts ...string) {
	h.t.Helper()
	outputs(h.t, h.spool, run, texts...)
}

func outputs(t *testing.T, s *spool.Spool, run string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := s.Append(context.Background(), run, spool.Event{Type: protocol.RunOutput, Data: protocol.Output{Stream: "stdout", Text: text}}); err != nil {
			t.Fatal(err)
		}
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("messages =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestResume checks which events are sent after a connection. Events that the server has are
// deleted. The other events of each run are sent in order, at most as many as the window allows,
// and the backlog before new events. An acknowledgement moves the window. The next connection
// continues at the positions in the server's welcome.
func TestResume(t *testing.T) {
	s := serve(t, byHeader)
	h := connect(t, s.web.URL+"/base/", newClock(never), func(sp *spool.Spool) {
		outputs(t, sp, "run_a", "1", "2", "3", "4")
		outputs(t, sp, "run_b", "1", "2")
	})
	p := s.accept()
	if got := p.hello(); got.Protocol != 2 || got.Instance != "i1" || *got.Epoch != h.spool.Epoch() || fmt.Sprint(got.Runs) != "[{run_a 4} {run_b 2}]" {
		t.Errorf("hello = %+v", got)
	}
	p.welcome(3, `{"run_a":2}`)
	expect(t, p.readShort(3), "run_a 3 3", "run_a 4 4", "run_b 1 1")
	h.output("run_a", "5")
	p.send(protocol.RunAck, "", `{"run_id":"run_a","last_seq":4}`)
	got := p.readShort(2)
	slices.Sort(got)
	expect(t, got, "run_a 5 5", "run_b 2 2")
	if state := h.link.State(); !state.Connected || state.Protocol != 2 || state.Server != "fake/1" || state.Skew == 0 {
		t.Errorf("state = %+v, want a connection to fake/1", state)
	}
	p.drop()
	p = s.accept() // the machine reconnects at once, because its clock is stopped
	if got := p.hello(); fmt.Sprint(got.Runs) != "[{run_a 5} {run_b 2}]" {
		t.Errorf("hello after the reconnection = %+v", got)
	}
	p.welcome(1000, `{"run_a":1,"run_b":1}`) // the server once had 4 events of run_a and has lost three
	got = p.readShort(3)
	slices.Sort(got)
	expect(t, got, "run_a 5 5", `run_a run.gap 4 {"from":2,"to":4,"reason":"store_lost"}`, "run_b 2 2")
	p.send(protocol.RunAck, "", `{"run_id":"run_a","last_seq":5}`)
	p.send(protocol.RunAck, "", `{"run_id":"run_b","last_seq":2}`)
	h.output("run_c", "live")
	expect(t, p.readShort(1), "run_c 1 live")
	p.send("host.unheard_of", "", `{}`) // the response arrives after the acknowledgements are processed
	p.readShort(1)
	if all := h.spool.Runs(); all[0].Acked != 5 || all[1].Acked != 2 {
		t.Errorf("runs = %+v, want all events acknowledged", all)
	}
	p.drop()
}

// TestSeedServer connects to a server of protocol 1, which sends no welcome. Each connection sends
// all events after the last acknowledgement again, and no results.
func TestSeedServer(t *testing.T) {
	s := serve(t, byHeader)
	h := connect(t, s.web.URL+"/base", newClock(func(d time.Duration) bool { return d == protocol.HelloTimeout }), func(sp *spool.Spool) { outputs(t, sp, "run_a", "1", "2", "3") })
	p := s.accept()
	p.hello()
	expect(t, p.readShort(3), "run_a 1 1", "run_a 2 2", "run_a 3 3")
	p.send(protocol.RunAck, "", `{"run_id":"run_a","last_seq":1}`)
	p.send(protocol.RunSendInput, "run_a", `{"input_id":"i1","text":"x"}`)
	p.send("rpc.fs.read", "run_a", `{"request_id":"q1","path":"a"}`)
	expect(t, p.readShort(1), `run_a rpc.response 0 {"request_id":"q1","ok":true,"rpc_type":"rpc.fs.read","result":{"a":1}}`)
	if h.link.State().Protocol != 1 {
		t.Errorf("state = %+v, want protocol 1", h.link.State())
	}
	p.drop()
	p = s.accept()
	p.hello()
	expect(t, p.readShort(2), "run_a 2 2", "run_a 3 3")
	p.welcome(1000, `{"run_a":3}`) // a late welcome
	h.output("run_a", "4")
	expect(t, p.readShort(1), "run_a 4 4")
	p.drop()
}

// TestCommands checks that the commands of a run are performed in order and with the user's name.
// Results are sent again until they are acknowledged. An invalid command is refused without closing
// the connection.
func TestCommands(t *testing.T) {
	s := serve(t, byHeader)
	h := connect(t, s.web.URL+"/base", newClock(never), nil)
	p := s.accept()
	p.hello()
	p.welcome(1000, `{}`)
	p.send(protocol.RunSendInput, "run_a", `{"input_id":"i1","text":"x"}`)
	p.send(protocol.RunSendKeys, "run_a", `{"keys":"k"}`)
	p.send(protocol.RunResize, "run_a", `{"cols":80,"rows":24}`)
	p.send(protocol.RunApprove, "run_a", `{"request_id":"i1"}`)
	p.send(protocol.RunDeny, "run_a", `{"request_id":"r2"}`)
	p.send(protocol.RunStop, "run_a", `{"signal":"kill"}`)
	want := []string{`run_a command.result 0 {"id":"i1","kind":"input","state":"applied"}`, `run_a command.result 0 {"id":"i1","kind":"decision","state":"applied"}`,
		`run_a command.result 0 {"id":"r2","kind":"decision","state":"applied"}`, `run_a command.result 0 {"id":"c1","kind":"stop","state":"applied"}`}
	expect(t, p.readShort(4), want...)
	expect(t, h.tools.lines, "input run_a i1 x", "keys run_a k", "resize run_a 80 24", "decide run_a i1 true by ada", "decide run_a r2 false by ada", "stop run_a kill")
	p.send(protocol.CommandAck, "", `{"id":"i1"}`) // acknowledges the result of the input, which was sent first
	p.send(protocol.CommandAck, "", `{"id":"r2"}`)
	p.send(protocol.CommandAck, "", `{"id":"never"}`)
	p.send(protocol.RunSendInput, "run_x", `{"input_id":"i3","text":"x"}`)
	want = []string{want[1], want[3], `run_x command.result 0 {"id":"i3","kind":"input","state":"rejected","error":"unknown_run"}`}
	expect(t, p.readShort(1), want[2])
	p.drop()
	p = s.accept()
	if got := p.hello(); len(got.Runs) != 0 {
		t.Errorf("hello = %+v, want no runs", got)
	}
	p.welcome(1000, `{}`)
	expect(t, p.readShort(3), want...)
	p.send(protocol.RunStop, "run_a", `{"signal":"kill"}`) // it has a result, which the server has not acknowledged
	p.send(protocol.RunSendInput, "run_a", `{"input_id":"i4","text":"x"}`)
	expect(t, p.readShort(2), want[1], `run_a command.result 0 {"id":"i4","kind":"input","state":"applied"}`)
	testRefused(t, p)
	if err := p.conn.Write(context.Background(), websocket.MessageBinary, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.conn.Read(context.Background()); websocket.CloseStatus(err) != protocol.CloseBinary {
		t.Errorf("error after a binary frame = %v, want close code for binary frames", err)
	}
	p.drop()
	expect(t, h.tools.lines[6:], "input run_a i4 x")
}

func testRefused(t *testing.T, p *peer) {
	for _, row := range []struct{ typ, run, data, want string }{
		{"run.fly", "run_a", `{}`, `run_a error 0 {"code":"unknown_type","message":"hostd does not support run.fly","re":"c1","run_id":"run_a"}`},
		{protocol.RunSendInput, "run_a", `{"input_id":7}`, `run_a error 0 {"code":"bad_message","message":"run.send_input: data.input_id must be a string","re":"c1","run_id":"run_a"}`},
		{protocol.RunSendInput, "", `{"input_id":"i","text":"x"}`, ` error 0 {"code":"bad_message","message":"run.send_input: run_id is missing","re":"c1","input_id":"i"}`},
		{protocol.RunSubscribe, "", `{}`, ` error 0 {"code":"unknown_type","message":"hostd does not support run.subscribe","re":"c1"}`},
	} {
		p.send(row.typ, row.run, row.data)
		got := p.readShort(1)[0]
		// The envelope of an error contains no run; the data does.
		want := strings.TrimPrefix(row.want, "run_a")
		if strings.TrimPrefix(got, "run_a") != want {
			t.Errorf("refusal = %s, want %s", got, row.want)
		}
	}
	if err := p.conn.Write(context.Background(), websocket.MessageText, []byte("no JSON")); err != nil {
		t.Fatal(err)
	}
	expect(t, p.readShort(1), ` error 0 {"code":"bad_message","message":"a frame must be JSON"}`)
	p.send(protocol.Failure, "", `{"code":"seq_conflict","message":"x"}`) // an error is not answered
}

type broken struct{ tries chan struct{} }

func (b broken) RoundTrip(*http.Request) (*http.Response, error) {
	b.tries <- struct{}{}
	return nil, errors.New("no network, and s3cret")
}

// TestAnswers checks that the answer of an RPC is sent after the events that the RPC has caused,
// and that an unknown RPC is refused.
func TestAnswers(t *testing.T) {
	s := serve(t, byHeader)
	h := connect(t, s.web.URL+"/base", newClock(never), nil)
	p := s.accept()
	p.hello()
	p.welcome(1000, `{}`)
	for i := range 20 {
		text := fmt.Sprint(i)
		h.tools.mu.Lock()
		h.tools.first = func() {
			if _, err := h.spool.Append(context.Background(), "run_a", spool.Event{Type: protocol.RunOutput, Data: protocol.Output{Stream: "stdout", Text: text}}); err != nil {
				t.Error(err)
			}
		}
		h.tools.mu.Unlock()
		p.send("rpc.fs.list", "run_a", fmt.Sprintf(`{"request_id":"q%d"}`, i))
		if got := p.readShort(2); got[0] != fmt.Sprintf("run_a %d %s", i+1, text) || !strings.Contains(got[1], "rpc.response") {
			t.Fatalf("%d: messages = %v, want the event and then the response", i, got)
		}
	}
	h.tools.mu.Lock()
	h.tools.first = nil
	h.tools.mu.Unlock()
	for _, row := range []struct{ typ, data string }{{"rpc.fs.read", `{"request_id":"q","path":7}`}, {"rpc.fly", `{"request_id":"q"}`}} {
		p.send(row.typ, "run_a", row.data)
		if got := p.readShort(1)[0]; !strings.Contains(got, "rpc.response") {
			t.Errorf("response to %s = %s", row.typ, got)
		}
	}
	p.drop()
}

// TestRetryDelays checks the delays between attempts to connect. The first retry is immediate. The
// next delay is at most half a second, and the maximum doubles with each failure up to half a
// minute. The number of attempts is unlimited.
func TestRetryDelays(t *testing.T) {
	c := newClock(func(d time.Duration) bool { return d > 0 })
	b := broken{make(chan struct{}, 1000)}
	l, err := link.New(link.Options{URL: "ws://127.0.0.1:1", MachineID: "host_a", Token: func() (string, error) { return "s3cret", nil }, Clock: c,
		Random: func() float64 { return 1 }, HTTP: &http.Client{Transport: b}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	for range 11 {
		<-b.tries
	}
	cancel()
	<-done
	var got []time.Duration
	for range 9 {
		got = append(got, <-c.asked)
	}
	if fmt.Sprint(got) != "[500ms 1s 2s 4s 8s 16s 30s 30s 30s]" {
		t.Error(got)
	}
	if err := l.State().Err; err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "no network") {
		t.Errorf("error = %v, want it without the token", err)
	}
}

// TestSuperseded checks that a machine waits for half a minute if another machine has taken over
// its id, or if its state is old. The state of the link contains the reason.
func TestSuperseded(t *testing.T) {
	for code, why := range map[int]string{protocol.CloseSuperseded: "another hostd", protocol.CloseStaleEpoch: "an old copy", protocol.CloseUnauthorized: "no longer accepts"} {
		s := serve(t, byHeader)
		h := connect(t, s.web.URL+"/base", newClock(func(d time.Duration) bool { return d == 30*time.Second }), nil)
		p := s.accept()
		p.hello()
		p.close(code)
		p = s.accept()
		waited := false
		for len(h.clock.asked) > 0 {
			waited = <-h.clock.asked == 30*time.Second || waited
		}
		if err := h.link.State().Err; !waited || err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("close code %d: error = %v, waited = %v", code, err, waited)
		}
		p.drop()
	}
}

// TestSilence checks that a silent server receives a ping, and that the link disconnects if there
// is no pong.
func TestSilence(t *testing.T) {
	s := serve(t, byHeader)
	pings := 0
	h := connect(t, s.web.URL+"/base", newClock(func(d time.Duration) bool {
		if d == protocol.PingAfter {
			pings++
			return pings == 1
		}
		return d == protocol.DeadAfter-protocol.PingAfter
	}), nil)
	p := s.accept() // a server that does not read answers no pings
	second := s.accept()
	if err := h.link.State().Err; err == nil || !strings.Contains(err.Error(), "silent for 45s") {
		t.Errorf("error = %v, want a silent server", err)
	}
	p.drop()
	second.drop()
}

// TestToken checks that the token is sent as a query parameter if the server requires that. The
// error for a refused token must not contain the token.
func TestToken(t *testing.T) {
	s := serve(t, func(r *http.Request) bool { return r.URL.Query().Get("host_token") == "s3cret" })
	connect(t, s.web.URL+"/base", newClock(never), nil)
	s.accept().drop()
	s.accept().drop()
	refused := make(chan struct{}, 100)
	s = serve(t, func(r *http.Request) bool { refused <- struct{}{}; return false })
	h := connect(t, s.web.URL+"/base", newClock(never), nil)
	for range 4 { // two attempts, each with the header and the parameter; the second reports the error
		<-refused
	}
	<-h.clock.asked
	if err := h.link.State().Err; err == nil || !strings.Contains(err.Error(), "refused this machine") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error = %v, want a refusal without the token", err)
	}
}

// TestSettings checks that New reports invalid settings.
func TestSettings(t *testing.T) {
	for _, row := range []struct{ url, id, want string }{
		{"ftp://x", "h", "must begin with"}, {"x:1", "h", "must begin with"}, {"http://", "h", "must begin with"}, {"http://u:p@x", "h", "no user"},
		{"http://x/?a=b", "h", "no user, query"}, {"http://x", "a b", "the machine's id"}, {"http://x", "", "the machine's id"}, {":", "h", "URL"},
	} {
		if _, err := link.New(link.Options{URL: row.url, MachineID: row.id}); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("New for %s %s: error = %v", row.url, row.id, err)
		}
	}
	if _, err := link.TokenFile(filepath.Join(t.TempDir(), "x"))(); err == nil {
		t.Error("TokenFile of a missing file returned no error")
	}
}
