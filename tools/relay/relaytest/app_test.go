//go:build linux

package relaytest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// patience is the time limit of each wait. It is long, because the relay notices some faults only
// after 45 s.
const patience = 2 * time.Minute

// app follows runs over a WebSocket. It reconnects and continues at its cursor. It compares the
// sequence number of each event with that of the previous one.
type app struct {
	t     testing.TB
	url   string
	token string
	ctx   context.Context
	end   context.CancelFunc
	wg    sync.WaitGroup

	mu     sync.Mutex
	conn   *websocket.Conn
	events map[string][]protocol.Envelope
	states map[string]string // states of commands by id
	wrong  []string
	news   chan struct{} // closed and replaced when a message arrives
}

// refusedState is the state of an input that the server refused.
const refusedState = "refused"

func startApp(t testing.TB, url, token string) *app {
	a := &app{t: t, url: url, token: token, events: map[string][]protocol.Envelope{}, states: map[string]string{}, news: make(chan struct{})}
	a.ctx, a.end = context.WithCancel(context.Background())
	a.wg.Go(a.follow)
	t.Cleanup(func() {
		a.end()
		a.wg.Wait()
	})
	return a
}

func (a *app) follow() {
	for a.ctx.Err() == nil {
		a.session()
	}
}

// session runs one connection.
func (a *app) session() {
	c, _, err := websocket.Dial(a.ctx, strings.Replace(a.url, "http", "ws", 1)+"/ws/app?follow=none&token="+a.token, nil)
	if err != nil {
		time.Sleep(20 * time.Millisecond) // the server may be restarting
		return
	}
	defer c.CloseNow()
	c.SetReadLimit(2 * protocol.MaxFrame)
	send := func(e protocol.Envelope) { _ = c.Write(a.ctx, websocket.MessageText, e.Append(nil)) }
	send(protocol.New(protocol.Hello, time.Now(), json.RawMessage(`{"protocol":2,"agent":"relaytest/1"}`)))
	cursor, _ := json.Marshal(map[string]any{"cursor": a.cursor(), "rest": "start"})
	send(protocol.New(protocol.RunSubscribe, time.Now(), json.RawMessage(cursor)))
	a.mu.Lock()
	a.conn = c
	a.mu.Unlock()
	for {
		_, frame, err := c.Read(a.ctx)
		if err != nil {
			return
		}
		if !a.take(frame) {
			return
		}
	}
}

func (a *app) cursor() map[string]int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]int64{}
	for run, events := range a.events {
		all[run] = events[len(events)-1].Seq
	}
	return all
}

// take handles a frame. It returns false if the app must reconnect, because a sequence number is
// missing.
func (a *app) take(frame []byte) (good bool) {
	if os.Getenv("RELAYTEST_SHOW") != "" {
		println(string(frame[:min(len(frame), 300)]))
	}
	e, refused := protocol.Parse(frame)
	if refused != nil {
		a.mu.Lock()
		a.wrong = append(a.wrong, fmt.Sprintf("%s: %v", frame, refused))
		a.mu.Unlock()
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() {
		close(a.news)
		a.news = make(chan struct{})
	}()
	switch {
	case e.Type == protocol.CommandState:
		s, err := protocol.Decode[protocol.State](&e)
		if err != nil {
			a.wrong = append(a.wrong, err.Error())
			break
		}
		a.states[s.ID] = string(s.State)
	case e.Type == protocol.Failure:
		f, err := protocol.Decode[protocol.ErrorData](&e)
		if f.Code == protocol.RateLimited {
			return false // the next connection requests the event again
		}
		if err != nil || f.InputID == "" {
			a.wrong = append(a.wrong, string(frame))
			break
		}
		a.states[f.InputID] = refusedState
	case e.Seq > 0 && e.RunID != "":
		return a.event(e)
	}
	return true
}

func (a *app) event(e protocol.Envelope) (good bool) {
	events := a.events[e.RunID]
	last := int64(0)
	if len(events) > 0 {
		last = events[len(events)-1].Seq
	}
	first := e.Seq
	if e.Type == protocol.RunGap {
		var gap protocol.Gap
		if json.Unmarshal(e.Data, &gap) == nil {
			first = gap.From
		}
	}
	if first == last+1 {
		a.events[e.RunID] = append(events, e)
		return true
	}
	if len(a.wrong) < 10 {
		a.wrong = append(a.wrong, fmt.Sprintf("%s: after %d came %s %d", e.RunID, last, e.Type, e.Seq))
	}
	return true
}

// await waits until a condition holds. what describes the condition.
func (a *app) await(what string, is func() bool) {
	a.t.Helper()
	late := time.After(patience)
	for {
		a.mu.Lock()
		ok, news := is(), a.news
		a.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-news:
		case <-late:
			a.mu.Lock()
			defer a.mu.Unlock()
			a.t.Fatalf("timeout: %s; errors: %q; states: %v", what, a.wrong, a.states)
		}
	}
}

// grows waits until the given number of further events of a run has arrived.
func (a *app) grows(run string, by int) {
	a.t.Helper()
	a.mu.Lock()
	have := len(a.events[run])
	a.mu.Unlock()
	a.await(fmt.Sprintf("%d more events of %s", by, run), func() bool { return len(a.events[run]) >= have+by })
}

// settle sends an input and waits until it has a final state. It sends the input again on each new
// connection, which is harmless because the id is the same.
func (a *app) settle(run, id, text string) string {
	a.t.Helper()
	data, _ := json.Marshal(protocol.SendInput{InputID: id, Text: text})
	var last *websocket.Conn
	state := ""
	a.await("the end of "+id, func() bool {
		state = a.states[id]
		if slices.Contains([]string{"applied", "rejected", "expired", "indeterminate", refusedState}, state) {
			return true
		}
		if a.conn != nil && a.conn != last {
			last = a.conn
			a.write(run, data)
		}
		return false
	})
	return state
}

// input sends an input once and does not wait for its state.
func (a *app) input(run, id, text string) {
	data, _ := json.Marshal(protocol.SendInput{InputID: id, Text: text})
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conn != nil {
		a.write(run, data)
	}
}

func (a *app) write(run string, data []byte) {
	e := protocol.New(protocol.RunSendInput, time.Now(), json.RawMessage(data))
	e.RunID = run
	_ = a.conn.Write(a.ctx, websocket.MessageText, e.Append(nil)) // the app reconnects after an error
}

// text returns the output of a run as the app received it.
func (a *app) text(run string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var b strings.Builder
	for i := range a.events[run] {
		if e := &a.events[run][i]; e.Type == protocol.RunOutput {
			o, err := protocol.Decode[protocol.Output](e)
			if err != nil {
				a.wrong = append(a.wrong, err.Error())
			}
			b.WriteString(o.Text)
		}
	}
	return b.String()
}

// types counts the events of a run by type.
func (a *app) types(run string) map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := map[string]int{}
	for i := range a.events[run] {
		n[a.events[run][i].Type]++
	}
	return n
}

// login returns a token.
func login(t testing.TB, url, user, password string) string {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"username": user, "password": password})
	r, err := http.Post(url+"/auth/login", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body)
	var resp struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(text, &resp); err != nil || resp.Token == "" {
		t.Fatalf("login: %s %s", r.Status, text)
	}
	return resp.Token
}
