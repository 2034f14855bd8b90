package ingest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync/atomic"

	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// run is a run whose program reports its events.
type run struct {
	s         *Sources
	id        string
	note      runNote
	log       *eventLog
	started   bool        // run.started is committed
	committed int64       // number of committed events
	stopTimer func() bool // stops the timer for reconnecting; nil while the run is connected
	hasEnded  atomic.Bool

	steering steering
}

// sourceEvents contains the types of events that a program may send.
var sourceEvents = []string{protocol.RunStarted, protocol.RunOutput, protocol.RunMeta, protocol.RunEmit, protocol.RunListen, protocol.RunDecision, protocol.RunGap, protocol.RunExited, protocol.ToolCall, protocol.ToolResult}

// sourceConn is the connection of a run's program.
type sourceConn struct {
	*run
	conn      net.Conn
	in        *bufio.Reader
	wantsAcks bool // whether the program has requested acknowledgements

	batch  []spool.Event
	events int64            // number of events in the batch, including lost ones
	exit   *protocol.Exited // the exit that the program has reported; nil before
	// writing contains an element while a line is written to the connection. A mutex would stop
	// virtual time, in which crashes are simulated.
	writing chan struct{}
}

// serve handles lines of the program until the connection closes.
func (l *sourceConn) serve() {
	l.steering.connect(l)
	err := l.read()
	l.steering.disconnect()
	switch {
	case l.s.ctx.Err() != nil: // hostd is closing, and the run continues
	case l.exit != nil:
		l.end(*l.exit)
	default:
		if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			l.s.o.Log.Warn("closing the connection of a source", "run", l.id, "error", err)
		}
		l.end(protocol.Exited{ExitCode: -1, Reason: protocol.ExitedLost})
	}
}

// end commits the end of the run. Only the first call has an effect.
func (r *run) end(e protocol.Exited) {
	if r.hasEnded.Swap(true) {
		return
	}
	ctx := context.Background()
	if r.started {
		err := r.s.o.Approvals.CloseRun(ctx, r.id)
		events := []spool.Event{{Type: protocol.RunExited, Data: e}}
		if err == nil {
			next := r.committed + 1
			_, err = r.s.o.Spool.Commit(ctx, spool.Change{Run: r.id, Events: events, Offset: &next, Notes: []spool.Note{{Kind: noteKind, Key: noteKey}}})
		}
		if err == nil {
			r.log.append(r.id, events)
		}
		if err != nil {
			r.s.o.Log.Error("report the end of a run", "run", r.id, "error", err)
		}
	}
	r.s.mu.Lock()
	delete(r.s.runs, r.id)
	r.s.addEnded(r.id)
	r.s.mu.Unlock()
}

func (l *sourceConn) read() error {
	for l.exit == nil {
		text, err := l.readLine()
		if err != nil {
			return errors.Join(l.commit(), err)
		}
		if err := l.handleLine(text); err != nil {
			return err
		}
		if len(l.batch) > 0 && (l.in.Buffered() == 0 || len(l.batch) >= protocol.BatchEvents) {
			if err := l.commit(); err != nil {
				return err
			}
		}
	}
	return l.commit()
}

// readLine returns the next line. It returns an error if the line is longer than
// protocol.SourceLine bytes.
func (l *sourceConn) readLine() (text []byte, err error) {
	for {
		piece, err := l.in.ReadSlice('\n')
		text = append(text, piece...)
		switch {
		case len(text) > protocol.SourceLine:
			return nil, fmt.Errorf("a line has more than %d bytes", protocol.SourceLine)
		case err == nil:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (l *sourceConn) handleLine(text []byte) error {
	var m protocol.SourceMessage
	if err := json.Unmarshal(text, &m); err != nil {
		return fmt.Errorf("a line is no JSON: %w", err)
	}
	switch {
	case m.Event != "":
		return l.addEvent(&m)
	case !l.started && len(l.batch) == 0:
		return errors.New("the first line must be run.started")
	case m.Ask != "":
		if err := l.commit(); err != nil {
			return err
		}
		return l.submit(m.Ask, text)
	case m.Steered != "":
		l.steering.settle(m.Steered, m.Error)
		return nil
	case m.Withdraw != "":
		if err := l.commit(); err != nil {
			return err
		}
		return l.s.o.Approvals.Withdraw(l.s.ctx, l.id, m.Withdraw, "answered elsewhere, or not needed any more")
	}
	return errors.New("a line must be event, ask, withdraw or steered")
}

// addEvent adds an event of the program to the batch.
func (l *sourceConn) addEvent(m *protocol.SourceMessage) error {
	env := protocol.Envelope{Type: m.Event, Data: m.Data}
	if m.Event == protocol.RunGap && m.Lost > 0 {
		l.batch = append(l.batch, spool.Event{Type: protocol.RunGap, Data: protocol.Gap{From: 1, To: m.Lost, Reason: "source_lag"}})
		l.events += m.Lost
		return nil
	}
	// Redaction may have made the event too long, and a sealed run has a lower limit.
	if text, err := json.Marshal(m.Data); err != nil || !l.s.o.Spool.Fits(l.id, m.Event, text) {
		l.s.o.Log.Warn("an event of a source is too long and was dropped", "run", l.id, "type", m.Event, "error", err)
		l.events++
		return l.s.ctx.Err()
	}
	if why := protocol.Check(&env); why != nil || !slices.Contains(sourceEvents, m.Event) {
		l.s.o.Log.Warn("an event of a source was dropped", "run", l.id, "type", m.Event, "error", why)
		l.events++
		return l.s.ctx.Err()
	}
	switch m.Event {
	case protocol.RunStarted:
		return l.start(&env)
	case protocol.RunExited:
		e, err := protocol.Decode[protocol.Exited](&env)
		if err != nil {
			return err
		}
		l.exit = &e
		return nil
	}
	if !l.started {
		return errors.New("the first line must be run.started")
	}
	l.batch = append(l.batch, spool.Event{Type: m.Event, Data: m.Data})
	l.events++
	return nil
}

// start commits run.started, unless it is already committed.
func (l *sourceConn) start(env *protocol.Envelope) error {
	if l.started {
		return nil
	}
	of, err := protocol.Decode[protocol.Started](env)
	if err != nil {
		return err
	}
	of.Command = l.s.o.Redact.In(of.Cwd).Text(of.Command)
	if family := l.note.Ancestors; len(family) > 0 {
		of.ParentRunID = family[0] // takes precedence over the parent that the program sent
	}
	l.note.Started = of
	note, err := json.Marshal(l.note)
	if err != nil {
		return err
	}
	one := int64(1)
	events := []spool.Event{{Type: protocol.RunStarted, Data: of}}
	_, err = l.s.o.Spool.Commit(l.s.ctx, spool.Change{Run: l.id, Events: events, Offset: &one, Notes: []spool.Note{{Kind: noteKind, Key: noteKey, Data: note}}})
	if err != nil {
		return err
	}
	l.log.append(l.id, events)
	l.s.mu.Lock()
	l.started, l.committed = true, 1
	l.s.mu.Unlock()
	return nil
}

// commit commits the batch and acknowledges its events to the program.
func (l *sourceConn) commit() error {
	if l.events == 0 {
		return nil
	}
	received := l.committed + l.events
	if _, err := l.s.o.Spool.Commit(l.s.ctx, spool.Change{Run: l.id, Events: l.batch, Offset: &received}); err != nil {
		return fmt.Errorf("store events of run %s: %w", l.id, err)
	}
	l.log.append(l.id, l.batch)
	l.committed, l.batch, l.events = received, nil, 0
	if !l.wantsAcks {
		return nil
	}
	// Ignore the error: if the program has disconnected, its remaining lines must still be read.
	_ = l.send(protocol.HostdMessage{Committed: received})
	return nil
}

// send writes a line to the program.
func (l *sourceConn) send(m protocol.HostdMessage) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	l.writing <- struct{}{}
	defer func() { <-l.writing }()
	_, err = l.conn.Write(append(text, '\n'))
	return err
}

// submit opens a request of the program. If the request is open since before a restart of hostd,
// submit attaches to it. If it was closed then, the program receives the outcome.
func (l *sourceConn) submit(id string, text []byte) error {
	var data protocol.PermissionRequested
	if err := json.Unmarshal(text, &data); err != nil {
		return fmt.Errorf("request %s: %w", id, err)
	}
	data.RequestID = id
	l.s.o.Redact.Request(&data)
	if open := l.s.o.Approvals.Find(l.id, id); open != nil {
		data = *open // users have seen this one: a program that asks something else now does not accept the answer
	}
	sent := false
	r := approvals.Request{Data: data, Persistent: true, StoreAttempt: true,
		Check: func(d approvals.Decision) error {
			_, err := EncodeAnswer(&data, d)
			return err
		},
		Apply: func(_ context.Context, d approvals.Decision) ([]approvals.Event, error) {
			m, err := EncodeAnswer(&data, d)
			if err == nil {
				err = l.send(m)
			}
			sent = err == nil
			return nil, err
		}}
	switch was, isClosed := l.s.o.Approvals.Outcome(l.id, id); { // the program has not received that
	case isClosed && was.Decision == approvals.Withdrawn:
		return l.send(protocol.HostdMessage{Answer: id, Error: "the request was withdrawn"})
	case isClosed:
		l.sendOutcome(&data, was, false)
		return nil
	}
	wait := l.s.o.Approvals.Attach(l.id, id, r)
	if wait == nil {
		var err error
		if wait, err = l.s.o.Approvals.Submit(l.s.ctx, l.id, r); err != nil {
			return l.send(protocol.HostdMessage{Answer: id, Error: err.Error()})
		}
	}
	l.s.work.Go(func() {
		select {
		case d := <-wait:
			l.sendOutcome(&data, d, sent)
		case <-l.s.ctx.Done():
		}
	})
	return nil
}

// sendOutcome sends the outcome of a request to the program. sent reports whether a decision on the
// request was already sent.
func (l *sourceConn) sendOutcome(data *protocol.PermissionRequested, d approvals.Decision, sent bool) {
	m := protocol.HostdMessage{Answer: data.RequestID, Error: protocol.HasExpired}
	switch d.Decision {
	case approvals.Withdrawn:
		return // the program itself has closed the request
	case approvals.Approve, approvals.Deny, approvals.Answer:
		if sent {
			return
		}
		var err error
		if m, err = EncodeAnswer(data, d); err != nil {
			m = protocol.HostdMessage{Answer: data.RequestID, Error: err.Error()}
		}
	}
	if err := l.send(m); err != nil {
		l.s.o.Log.Warn("answer a source", "run", l.id, "request", data.RequestID, "error", err)
	}
}
