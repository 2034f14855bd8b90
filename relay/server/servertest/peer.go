package servertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Peer is the test's side of the connection of a machine or an app.
type Peer struct {
	T    testing.TB
	c    *websocket.Conn
	in   chan []byte
	err  error // the error that ended reading; set before in is closed
	held []protocol.Envelope
	// pass advances a stopped clock briefly while the peer waits for a frame.
	pass func()
	// Now returns the current time of the peer; nil means that the time is constant.
	Now func() time.Time
}

func (p *Peer) now() string {
	if p.Now == nil {
		return "2025-01-01T00:00:00Z"
	}
	return p.Now().UTC().Format(time.RFC3339Nano)
}

// Dial connects a peer. It fails the test if the server refuses.
func Dial(t testing.TB, url string) *Peer {
	t.Helper()
	p, status := TryDial(t, url)
	if p == nil {
		t.Fatalf("connection to %s refused with status %d", url, status)
	}
	return p
}

// TryDial connects a peer. If the server refuses, it returns nil and the HTTP status.
func TryDial(t testing.TB, url string) (*Peer, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, answer, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(url, "http"), nil)
	if err != nil {
		if answer == nil {
			t.Fatal(err)
		}
		return nil, answer.StatusCode
	}
	c.SetReadLimit(2 * protocol.MaxFrame)
	p := &Peer{T: t, c: c, in: make(chan []byte, 1<<14)}
	done := make(chan struct{})
	go func() {
		defer close(p.in)
		for {
			_, frame, err := c.Read(context.Background())
			if err != nil {
				p.err = err
				return
			}
			select {
			case p.in <- frame:
			case <-done:
				return
			}
		}
	}()
	t.Cleanup(func() { close(done); _ = c.CloseNow() })
	return p, http.StatusSwitchingProtocols
}

// Machine connects a machine that speaks protocol 1.
func (r *Relay) Machine(id string) *Peer {
	r.T.Helper()
	p := Dial(r.T, r.URL+"/ws/host?host_id="+id+"&host_token=token-"+id)
	if r.Clock != nil {
		p.pass = func() { r.Clock.Advance(time.Second / protocol.AcksPerSecond) }
	}
	return p
}

// Hello connects a machine, sends a hello and returns the welcome.
func (r *Relay) Hello(id string, h protocol.HelloData) (*Peer, protocol.WelcomeData) {
	r.T.Helper()
	p := r.Machine(id)
	h.Protocol, h.Agent = protocol.Version, "test/1"
	p.Send(protocol.Hello, "", 0, h)
	e := p.Next(protocol.Welcome)
	w, err := protocol.Decode[protocol.WelcomeData](&e)
	if err != nil {
		r.T.Fatal(err)
	}
	return p, w
}

// App connects an app that speaks protocol 1. query is appended to the URL and begins with &,
// unless it is empty.
func (r *Relay) App(token, query string) *Peer {
	r.T.Helper()
	return Dial(r.T, r.URL+"/ws/app?token="+token+query)
}

// HelloApp connects an app and sends a hello.
func (r *Relay) HelloApp(token, query string) *Peer {
	r.T.Helper()
	p := r.App(token, query)
	p.Send(protocol.Hello, "", 0, protocol.HelloData{Protocol: protocol.Version, Agent: "test/1"})
	p.Next(protocol.Welcome)
	return p
}

// Send sends a message.
func (p *Peer) Send(typ, run string, seq int64, data any) {
	p.T.Helper()
	text, ok := data.(string)
	if !ok {
		b, err := json.Marshal(data)
		if err != nil {
			p.T.Fatal(err)
		}
		text = string(b)
	}
	e := protocol.Envelope{Type: typ, TS: p.now(), RunID: run, Seq: seq, Data: json.RawMessage(text)}
	p.Raw(e.Append(nil))
}

// Answer sends the answer to an RPC, unless the connection is closed.
func (p *Peer) Answer(e *protocol.Envelope, with protocol.Response) {
	data, err := json.Marshal(with)
	if err != nil {
		panic(err) // cannot happen: the response can be encoded
	}
	out := protocol.Envelope{Type: protocol.RPCResponse, TS: p.now(), RunID: e.RunID, Data: data}
	_ = p.Write(websocket.MessageText, out.Append(nil))
}

// Raw sends a text frame.
func (p *Peer) Raw(frame []byte) {
	p.T.Helper()
	if err := p.Write(websocket.MessageText, frame); err != nil {
		p.T.Fatal(err)
	}
}

// Write sends a frame.
func (p *Peer) Write(kind websocket.MessageType, frame []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return p.c.Write(ctx, kind, frame)
}

// Read returns the next frame.
func (p *Peer) Read() protocol.Envelope {
	p.T.Helper()
	if len(p.held) > 0 {
		e := p.held[0]
		p.held = p.held[1:]
		return e
	}
	return p.wait("anything")
}

func (p *Peer) wait(what string) protocol.Envelope {
	p.T.Helper()
	over := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case frame, ok := <-p.in:
			if !ok {
				p.T.Fatalf("the connection closed before %s: %v", what, p.err)
			}
			e, why := protocol.Parse(frame)
			if why != nil {
				p.T.Fatalf("invalid frame %s: %v", frame, why)
			}
			return e
		case <-tick.C:
			if p.pass != nil {
				p.pass()
			}
		case <-over:
			p.T.Fatalf("no message arrived, want %s", what)
		}
	}
}

// Next returns the next frame of a type. Later calls return the frames of other types that Next
// skips.
func (p *Peer) Next(typ string) protocol.Envelope {
	p.T.Helper()
	for i, e := range p.held {
		if e.Type == typ {
			p.held = append(p.held[:i:i], p.held[i+1:]...)
			return e
		}
	}
	for {
		e := p.wait(typ)
		if e.Type == typ {
			return e
		}
		p.held = append(p.held, e)
	}
}

// Each calls do with each later frame in a new goroutine, until the connection closes. The other
// reading methods must not be called after Each.
func (p *Peer) Each(do func(e protocol.Envelope)) {
	held := p.held
	go func() {
		for _, e := range held {
			do(e)
		}
		for frame := range p.in {
			if e, why := protocol.Parse(frame); why == nil {
				do(e)
			}
		}
	}()
}

// NextError returns the next error.
func (p *Peer) NextError() protocol.ErrorData {
	p.T.Helper()
	e := p.Next(protocol.Failure)
	d, err := protocol.Decode[protocol.ErrorData](&e)
	if err != nil {
		p.T.Fatal(err)
	}
	return d
}

// Acked waits until events of a run are acknowledged up to seq. It fails the test if a later event
// is acknowledged.
func (p *Peer) Acked(run string, seq int64) {
	p.T.Helper()
	for {
		e := p.Next(protocol.RunAck)
		d, err := protocol.Decode[protocol.Ack](&e)
		switch {
		case err != nil:
			p.T.Fatal(err)
		case d.RunID == run && d.LastSeq > seq:
			p.T.Fatalf("acknowledgement of %s = %d, want %d", run, d.LastSeq, seq)
		case d.RunID == run && d.LastSeq == seq:
			return
		}
	}
}

// Seqs reads n events of a run and returns their sequence numbers.
func (p *Peer) Seqs(run string, n int) (all []int64) {
	p.T.Helper()
	var others []protocol.Envelope
	for len(all) < n {
		e := p.Read()
		if e.RunID != run || e.Seq == 0 {
			others = append(others, e)
			continue
		}
		all = append(all, e.Seq)
	}
	p.held = append(others, p.held...)
	return all
}

// Closed waits until the connection is closed, and returns the close code or -1.
func (p *Peer) Closed() int {
	p.T.Helper()
	for {
		select {
		case _, ok := <-p.in:
			if !ok {
				return int(websocket.CloseStatus(p.err))
			}
		case <-time.After(patience):
			p.T.Fatal("the connection was not closed")
		}
	}
}

// Close closes the connection.
func (p *Peer) Close() { _ = p.c.Close(websocket.StatusNormalClosure, "") }

// Ping sends a ping and waits for the pong. The server has then read all frames sent before.
func (p *Peer) Ping() {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.c.Ping(ctx); err != nil {
		p.T.Fatal(err)
	}
}

// Started is the data of a run.started.
const Started = `{"tool":"codex","cwd":"/w","command":"codex -q","title":"t"}`

// Output returns the data of a run.output.
func Output(text string) string { return fmt.Sprintf(`{"stream":"stdout","text":%q}`, text) }

// Begin makes a machine start a run and waits until the server has stored the event.
func (p *Peer) Begin(run string) {
	p.T.Helper()
	p.Send(protocol.RunStarted, run, 1, Started)
	p.Acked(run, 1)
}
