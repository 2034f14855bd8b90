package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/push/pushtest"
)

// phone is the app of a user. It follows all runs, decides requests, and sends messages to hosts. A
// phone that has crashed has forgotten everything.
type phone struct {
	r           *relay
	user, token string

	// The following are guarded by r.mu.
	p          *process
	conn       *websocket.Conn // nil while it is not connected
	runs       map[string]*shown
	browser    *pushtest.Browser // nil until its subscription is confirmed
	subscribed int               // order of the confirmation
}

// shown is a run as a phone shows it.
type shown struct {
	title string
	seq   int64
	open  map[string]*protocol.PermissionRequested
	ended bool
}

// userCommand is a decision or a message of a user. It is sent over each connection until its end
// is known.
type userCommand struct {
	user, title, run, id, typ string
	data                      json.RawMessage
	value                     string // of a decision
	at                        time.Time
	state                     string
}

// isFinal reports whether the state of a command does not change any more.
func (c *userCommand) isFinal() bool {
	return c.state != "" && c.state != string(protocol.InputAccepted) && c.state != string(protocol.InputSent)
}

// phonePauses are the times before a decision.
var phonePauses = []time.Duration{0, 211 * time.Millisecond, 1733 * time.Millisecond, 9049 * time.Millisecond, 70_051 * time.Millisecond, 290_057 * time.Millisecond}

// run runs the app.
func (x *phone) run(ctx context.Context, p *process) error {
	x.r.mu.Lock()
	x.p, x.runs = p, map[string]*shown{}
	isSubscribed := x.browser != nil
	x.r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		if !isSubscribed {
			x.subscribe(ctx, p)
		}
	}()
	for ctx.Err() == nil {
		x.session(ctx, p)
		pause(ctx, time.Duration(500+70*len(x.user)+int(x.user[0]))*time.Millisecond)
	}
	<-done
	return context.Cause(ctx)
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// session uses one connection.
func (x *phone) session(ctx context.Context, p *process) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	dialing, cancel := context.WithTimeout(ctx, 10*time.Second)
	c, _, err := websocket.Dial(dialing, "ws://"+serverAddress+"/ws/app?follow=none", &websocket.DialOptions{HTTPClient: x.r.wires.client(p), HTTPHeader: http.Header{"Authorization": {"Bearer " + x.token}}})
	cancel()
	if err != nil {
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(2 * protocol.MaxFrame)
	x.r.mu.Lock()
	cursor := map[string]int64{}
	for id, s := range x.runs {
		cursor[id] = s.seq
	}
	x.r.mu.Unlock()
	if x.send(ctx, c, protocol.Hello, "", protocol.HelloData{Protocol: protocol.Version, Agent: "sim/1"}) != nil || x.send(ctx, c, protocol.RunSubscribe, "", protocol.Subscribe{Cursor: cursor, Rest: "start"}) != nil {
		return
	}
	x.r.mu.Lock()
	x.conn = c
	var again []*userCommand
	for _, c := range x.r.seen.commands {
		if c.user == x.user && !c.isFinal() {
			again = append(again, c)
		}
	}
	x.r.mu.Unlock()
	for _, c := range again {
		x.sendCommand(c)
	}
	go func() { // a connection that no byte arrives on ends
		for ctx.Err() == nil {
			pause(ctx, 20*time.Second)
			ping, cancel := context.WithTimeout(ctx, 10*time.Second)
			if c.Ping(ping) != nil {
				end()
			}
			cancel()
		}
	}()
	for {
		_, frame, err := c.Read(ctx)
		if err != nil {
			break
		}
		x.take(p, frame)
	}
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	x.conn = nil
}

// send sends a message.
func (x *phone) send(ctx context.Context, c *websocket.Conn, typ, run string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	e := protocol.New(typ, time.Now(), json.RawMessage(text))
	e.RunID = run
	return c.Write(ctx, websocket.MessageText, e.Append(nil))
}

// take handles a frame.
func (x *phone) take(p *process, frame []byte) {
	if p.dead.Load() {
		return
	}
	e, refused := protocol.Parse(frame)
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	switch {
	case refused != nil:
		x.r.fail("J8", "the server has sent %s an invalid frame: %v", x.user, refused)
	case e.Type == protocol.CommandState:
		s, err := protocol.Decode[protocol.State](&e)
		if err == nil {
			x.settle(s.RunID, s.ID, string(s.State), s.Error)
		}
	case e.Type == protocol.Failure:
		f, err := protocol.Decode[protocol.ErrorData](&e)
		if id := f.RequestID + f.InputID; err == nil && id != "" && f.Code != protocol.RateLimited && f.Code != protocol.Internal {
			x.settle(f.RunID, id, "refused", string(f.Code)+": "+f.Message)
		} else {
			x.r.note(x.p.name, "receives the error %s: %s", f.Code, f.Message)
		}
	case e.Seq > 0 && e.RunID != "":
		x.event(&e)
	}
}

// settle records the state of a command. The caller has locked r.mu.
func (x *phone) settle(run, id, state, why string) {
	for _, c := range x.r.seen.commands {
		if c.user == x.user && c.run == run && c.id == id && !c.isFinal() {
			if c.state = state; c.isFinal() {
				x.r.note(x.p.name, "learns that %s %s of %s is %s %s", c.typ, id, c.title, state, why)
			}
		}
	}
}

// event handles an event of a run. The caller has locked r.mu.
func (x *phone) event(e *protocol.Envelope) {
	s := x.runs[e.RunID]
	if s == nil {
		s = &shown{open: map[string]*protocol.PermissionRequested{}}
		x.runs[e.RunID] = s
	}
	x.r.compare(x, s, e)
	s.seq = e.Seq
	switch e.Type {
	case protocol.RunStarted:
		d, err := protocol.Decode[protocol.Started](e)
		if err == nil {
			s.title = d.Title
			x.maybeSteer(e.RunID, s.title)
		}
	case protocol.RunPermissionRequested:
		d, err := protocol.Decode[protocol.PermissionRequested](e)
		if err == nil {
			s.open[d.RequestID] = &d
			x.maybeDecide(s.title, &d)
		}
	case protocol.RunPermissionResolved:
		d, err := protocol.Decode[protocol.PermissionResolved](e)
		if err == nil {
			delete(s.open, d.RequestID)
		}
	case protocol.RunExited:
		s.ended = true
	}
}

// maybeDecide lets the user decide a request later, or not at all. The caller has locked r.mu.
func (x *phone) maybeDecide(title string, q *protocol.PermissionRequested) {
	how := chance(x.r.plan.People, fmt.Sprintf("%s decides %s of %s", x.p.name, q.RequestID, title))
	if q.From != nil && q.From.Channel == finalChannel || how%4 == 0 {
		return
	}
	p := x.p
	time.AfterFunc(phonePauses[how/4%uint64(len(phonePauses))]+time.Duration(how%1e5), func() {
		if x.isRunning(p) {
			x.decide(title, q.RequestID, how>>16%2 == 0)
		}
	})
}

// isRunning reports whether the app is still the process p.
func (x *phone) isRunning(p *process) bool {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	return x.p == p && !p.dead.Load() && !x.r.phase.isOver
}

// decide decides a request that the phone shows as open.
func (x *phone) decide(title, id string, approve bool) {
	x.r.mu.Lock()
	run, q := x.find(title, id)
	if q == nil {
		x.r.mu.Unlock()
		return
	}
	x.r.seen.serial++
	c := &userCommand{user: x.user, title: title, run: run, id: id, at: time.Now(), typ: protocol.RunDeny, value: "false"}
	d := protocol.Decide{RequestID: id, Actor: "web"}
	if approve {
		c.typ, c.value = protocol.RunApprove, "true"
	}
	if len(q.Questions) > 0 && q.Questions[0].Kind == protocol.KindText {
		c.typ, c.value = protocol.RunApprove, fmt.Sprintf(`"%s %d"`, x.user, x.r.seen.serial)
		d.Answer = json.RawMessage(c.value)
	}
	c.data, _ = json.Marshal(d) // it consists of texts
	x.r.seen.commands = append(x.r.seen.commands, c)
	x.r.note(x.p.name, "decides %s of %s: %s", id, title, c.value)
	x.r.mu.Unlock()
	x.sendCommand(c)
}

// find returns the open request of the run with a title. The caller has locked r.mu.
func (x *phone) find(title, id string) (run string, q *protocol.PermissionRequested) {
	for run, s := range x.runs {
		if s.title == title && s.open[id] != nil {
			return run, s.open[id]
		}
	}
	return "", nil
}

// shows reports whether the phone shows a request as open.
func (x *phone) shows(title, id string) bool {
	x.r.mu.Lock()
	defer x.r.mu.Unlock()
	_, q := x.find(title, id)
	return q != nil
}

// maybeSteer lets the user send a message to a host of the run later. The caller has locked r.mu.
func (x *phone) maybeSteer(run, title string) {
	how := chance(x.r.plan.People, x.p.name+" steers "+title)
	if how%3 > 0 {
		return
	}
	p := x.p
	time.AfterFunc(phonePauses[how/3%5]+time.Duration(how%1e5), func() {
		if !x.isRunning(p) {
			return
		}
		x.r.mu.Lock()
		x.r.seen.serial++
		c := &userCommand{user: x.user, title: title, run: run, id: fmt.Sprintf("in%d", x.r.seen.serial), at: time.Now(), typ: protocol.RunSendInput}
		c.data, _ = json.Marshal(protocol.SendInput{InputID: c.id, Text: "message " + c.id, Host: "coder"}) // it consists of texts
		x.r.seen.commands = append(x.r.seen.commands, c)
		x.r.note(p.name, "sends %s to %s", c.id, title)
		x.r.mu.Unlock()
		x.sendCommand(c)
	})
}

// sendCommand sends a command if the phone is connected. The next connection sends it otherwise.
func (x *phone) sendCommand(c *userCommand) {
	x.r.mu.Lock()
	conn := x.conn
	x.r.mu.Unlock()
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = x.send(ctx, conn, c.typ, c.run, c.data) // the next connection sends it
}

// subscribe subscribes the phone to push messages, after a time.
func (x *phone) subscribe(ctx context.Context, p *process) {
	pause(ctx, phonePauses[chance(x.r.plan.People, p.name+" subscribes")%4])
	for ctx.Err() == nil {
		if b := x.trySubscribe(ctx, p); b != nil {
			x.r.mu.Lock()
			defer x.r.mu.Unlock()
			x.browser, x.subscribed = b, x.r.seen.next()
			x.r.note(p.name, "is subscribed to push messages")
			return
		}
		pause(ctx, 2111*time.Millisecond)
	}
}

func (x *phone) trySubscribe(ctx context.Context, p *process) *pushtest.Browser {
	text, status := x.request(ctx, p, http.MethodGet, "/push/key", "")
	var key struct{ Key string }
	if status != http.StatusOK || json.Unmarshal(text, &key) != nil {
		return nil
	}
	b := x.r.seen.pushes.Subscribe(strings.ReplaceAll(p.name, "#", "-"), key.Key)
	if _, status := x.request(ctx, p, http.MethodPost, "/push/subscriptions", b.JSON()); status != http.StatusNoContent {
		return nil
	}
	return b
}

// request sends a request to the server. The status is 0 if there is no response.
func (x *phone) request(ctx context.Context, p *process, method, path, body string) (text []byte, status int) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, method, "http://"+serverAddress+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, 0
	}
	q.Header.Set("Authorization", "Bearer "+x.token)
	a, err := x.r.wires.client(p).Do(q)
	if err != nil {
		return nil, 0
	}
	defer a.Body.Close()
	if text, err = io.ReadAll(a.Body); err != nil {
		return nil, 0
	}
	return text, a.StatusCode
}
