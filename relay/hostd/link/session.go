package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// session is one connection to the server.
type session struct {
	l    *Link
	conn *websocket.Conn
	ctx  context.Context
	end  context.CancelCauseFunc

	proof    *proof      // what the server must prove; nil if the machine uses a token
	proven   atomic.Bool // the server has proven its key
	useful   atomic.Bool // an event was acknowledged on this connection
	wake     chan struct{}
	welcomes chan resumePoint // receives the positions in the server's welcome, at most once
	lastRead atomic.Int64     // time of the last received frame in Unix ns

	mu      sync.Mutex
	queue   []queuedMessage    // messages that are not stored, in sending order
	acks    map[string]int64   // acknowledged sequence numbers for the sender, by run
	results map[string][]int64 // numbers of the sent results by command id, oldest first
}

// queuedMessage is a message that is not stored. It is sent after the events of its run whose
// sequence number is at most after. If after is 0, it is sent at once.
type queuedMessage struct {
	protocol.Envelope
	after int64
}

type resumePoint struct {
	runs   map[string]int64
	window int64
}

// maxQueued is the maximum number of queued messages.
const maxQueued = 4096

func newSession(l *Link, conn *websocket.Conn) *session {
	s := &session{l: l, conn: conn, wake: make(chan struct{}, 1), welcomes: make(chan resumePoint, 1), acks: map[string]int64{}, results: map[string][]int64{}}
	s.touch()
	return s
}

func (s *session) touch() { s.lastRead.Store(s.l.o.Clock.Now().UnixNano()) }

// run serves the connection until it closes. It returns why it closed.
func (s *session) run(ctx context.Context) error {
	s.ctx, s.end = context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() { s.end(s.readAll()) })
	all.Go(func() { s.end(s.sendAll()) })
	all.Go(func() { s.end(s.pingIdle()) })
	<-s.ctx.Done()
	err := context.Cause(s.ctx)
	if ctx.Err() != nil {
		_ = s.conn.Close(protocol.CloseRestart, "hostd is stopping") // ignore the error: the process is stopping
	}
	_ = s.conn.CloseNow()
	all.Wait()
	return err
}

var errSilent = fmt.Errorf("the server has been silent for %v", protocol.DeadAfter)

// pingIdle sends a ping if the server was silent for a while. It closes the connection if the
// server stays silent.
func (s *session) pingIdle() error {
	clock := s.l.o.Clock
	for {
		silent := clock.Now().Sub(time.Unix(0, s.lastRead.Load()))
		if silent < protocol.PingAfter {
			select {
			case <-clock.After(protocol.PingAfter - silent):
				continue
			case <-s.ctx.Done():
				return context.Cause(s.ctx)
			}
		}
		ctx, cancel := context.WithCancel(s.ctx)
		dead := make(chan struct{})
		go func() {
			defer close(dead)
			select {
			case <-clock.After(protocol.DeadAfter - silent):
				s.end(errSilent) // set the reason before the reader notices that the connection is closed
			case <-ctx.Done():
			}
		}()
		err := s.conn.Ping(ctx)
		cancel()
		<-dead
		if err != nil {
			return fmt.Errorf("ping the server: %w", err)
		}
		s.touch()
	}
}

var errBinary = errors.New("the server sent a binary frame")

func (s *session) readAll() error {
	for {
		kind, frame, err := s.conn.Read(s.ctx)
		if err != nil {
			return err
		}
		s.touch()
		if kind != websocket.MessageText {
			_ = s.conn.Close(protocol.CloseBinary, "frames are text") // ignore the error: run returns the error below
			return errBinary
		}
		e, refused := protocol.Parse(frame)
		if refused == nil && !isRequest(&e) && e.Enc == nil { // the dispatcher checks an RPC, because it must also answer an invalid one; the gate, a sealed command
			refused = protocol.Check(&e)
		}
		switch {
		case refused != nil && refused.Close != 0:
			_ = s.conn.Close(websocket.StatusCode(refused.Close), refused.Why)
			return refused
		case refused != nil:
			s.refuse(&e, refused)
		default:
			if err := s.handle(&e); err != nil {
				return err
			}
		}
	}
}

// isRequest reports whether a message is an RPC with an id, which is answered even if its type is
// unknown.
func isRequest(e *protocol.Envelope) bool {
	return strings.HasPrefix(e.Type, "rpc.") && e.Type != protocol.RPCResponse && CommandID(e) != ""
}

// idIn returns the id with the given member name in the data of a message, or "" if there is none.
func idIn(e *protocol.Envelope, name string) (id string) {
	var data map[string]json.RawMessage
	if json.Unmarshal(e.Data, &data) != nil || json.Unmarshal(data[name], &id) != nil || !protocol.IsID(id) {
		return ""
	}
	return id
}

func (s *session) refuse(e *protocol.Envelope, why *protocol.Refusal) {
	s.l.o.Log.Warn("rejected a message of the server", "type", e.Type, "why", why)
	if e.Type == protocol.Failure {
		return // an invalid error message is not answered with an error
	}
	s.send(s.l.envelope(protocol.Failure, protocol.ErrorData{Code: why.Code, Message: why.Why, Re: e.ID, RunID: e.RunID, RequestID: idIn(e, "request_id"), InputID: idIn(e, "input_id")}))
}

// handle handles a message. If it returns an error, the connection is closed.
func (s *session) handle(e *protocol.Envelope) error {
	if s.proof != nil && !s.proven.Load() && e.Type != protocol.Welcome && e.Type != protocol.Failure {
		return fmt.Errorf("the server sent %s before it proved its key", e.Type)
	}
	switch e.Type {
	case protocol.Welcome:
		return s.handleWelcome(e)
	case protocol.RunAck:
		ack, err := protocol.Decode[protocol.Ack](e)
		if err != nil {
			return err
		}
		s.handleAck(ack)
	case protocol.CommandAck:
		ack, err := protocol.Decode[protocol.CommandAcked](e)
		if err != nil {
			return err
		}
		return s.handleResultAck(ack.ID)
	case protocol.Failure:
		data, err := protocol.Decode[protocol.ErrorData](e)
		if err != nil {
			return err
		}
		s.l.o.Log.Warn("the server reported an error", "code", data.Code, "message", data.Message, "run", data.RunID, "seq", data.Seq)
	default:
		s.l.handleCommand(s, e)
	}
	return nil
}

// maxReported is the maximum sequence number that a server can have. Those of a run whose spool was
// lost continue after the milliseconds since 1970. A larger number would end the run, because no
// event can follow it.
const maxReported = protocol.MaxSeq / 2

// errSealed ends a connection on which nothing may be sent.
var errSealed = errors.New("the server does not support sealed runs, and stores nothing of them: update the server")

func (s *session) handleWelcome(e *protocol.Envelope) error {
	w, err := protocol.Decode[protocol.WelcomeData](e)
	if err != nil {
		return err
	}
	if s.proof != nil && !s.proven.Load() {
		if err := s.proof.verify(w.Signature); err != nil {
			return err
		}
		s.proven.Store(true)
	}
	if s.l.o.Sealed() && !slices.Contains(w.Features, protocol.FeatureSealed) {
		return errSealed
	}
	for run, last := range w.Runs {
		if last < 0 || last > maxReported {
			return fmt.Errorf("the server reports event %d of run %s, which no machine has sent", last, run)
		}
	}
	now := s.l.o.Clock.Now()
	state := State{Connected: true, Protocol: min(w.Protocol, protocol.Version), Server: w.Agent, Since: now}
	if at, err := time.Parse(time.RFC3339, e.TS); err == nil {
		state.Skew = at.Sub(now)
	}
	s.l.setState(state)
	s.l.welcomed.Store(state.Protocol >= protocol.Version)
	s.l.o.Log.Info("connected", "server", w.Agent, "protocol", state.Protocol)
	s.l.o.Welcomed()
	select {
	case s.welcomes <- resumePoint{w.Runs, w.Window}:
	default: // this connection has already received a welcome
	}
	return nil
}

func (s *session) handleAck(a protocol.Ack) {
	s.l.o.Spool.Ack(a.RunID, a.LastSeq)
	s.useful.Store(true)
	s.mu.Lock()
	s.acks[a.RunID] = max(s.acks[a.RunID], a.LastSeq)
	s.mu.Unlock()
	notify(s.wake)
}

// handleResultAck deletes the oldest sent result of a command. Two commands may have the same id;
// then each result is acknowledged separately.
func (s *session) handleResultAck(id string) error {
	s.mu.Lock()
	sent := s.results[id]
	if len(sent) > 1 {
		s.results[id] = sent[1:]
	} else {
		delete(s.results, id)
	}
	s.mu.Unlock()
	if len(sent) == 0 {
		return nil
	}
	return s.l.o.Spool.ResultAcked(s.ctx, sent[0])
}

// send queues a message that is not stored.
func (s *session) send(e protocol.Envelope) { s.sendAfter(e, 0) }

func (s *session) sendAfter(e protocol.Envelope, after int64) {
	s.mu.Lock()
	room := len(s.queue) < maxQueued
	if room {
		s.queue = append(s.queue, queuedMessage{e, after})
	}
	s.mu.Unlock()
	if !room {
		s.end(errors.New("the server does not read this machine's messages"))
	}
	notify(s.wake)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
