package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/relay/hostd/approvals"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// steerTimeout is the maximum time for a program's reply to a message of a user.
const steerTimeout = time.Minute

// steering holds the messages of users to the hosts of a run that the program has not confirmed.
type steering struct {
	mu      sync.Mutex
	conn    *sourceConn // nil while the program is not connected
	waiting map[string]chan string
}

func (s *steering) connect(l *sourceConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = l
}

// disconnect ends the waiting messages, whose outcome remains unknown.
func (s *steering) disconnect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conn = nil
	for id, c := range s.waiting {
		delete(s.waiting, id)
		close(c)
	}
}

// settle passes the program's reply to the waiting message.
func (s *steering) settle(id, failure string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.waiting[id]; c != nil {
		delete(s.waiting, id)
		c <- failure
	}
}

// begin adds a message. It returns no connection if the program is not connected, and no channel if
// the message is already waiting.
func (s *steering) begin(id string) (*sourceConn, chan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.waiting[id] != nil {
		return s.conn, nil
	}
	if s.waiting == nil {
		s.waiting = map[string]chan string{}
	}
	c := make(chan string, 1)
	s.waiting[id] = c
	return s.conn, c
}

// forget ends the wait for the reply to a message, so that it can be sent again.
func (s *steering) forget(id string, c chan string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[id] == c {
		delete(s.waiting, id)
	}
}

// inputKind is the kind of the notes that store the inputs of a run, and triedKind that of the
// inputs that were sent to the program, and of which it has not confirmed the receipt.
const (
	inputKind = "input"
	triedKind = "input tried"
)

// Steer sends the text of an input to a running host of a run. An input with a known id is not sent
// again: hostd stores the id when the program has confirmed the input, and the program itself
// detects an input that it has sent. hostd also stores that it sends an input, because the program
// may have exited before hostd's restart. The error is an *approvals.Error, or ErrIndeterminate of
// package approvals if it is unknown whether a host has received the text.
func (s *Sources) Steer(ctx context.Context, id, by string, in protocol.SendInput) error {
	r := s.find(id)
	if r == nil {
		return approvals.Errorf(protocol.UnknownRun, "there is no run %s on this machine", id)
	}
	if !protocol.IsID(in.InputID) {
		return approvals.Errorf(protocol.BadMessage, "input_id %q is not a valid id", in.InputID)
	}
	sum := hexsum.SHA256(in.Text)
	switch stored, err := s.o.Spool.Note(ctx, id, inputKind, in.InputID); {
	case err != nil:
		return err
	case stored != nil && string(stored) != fmt.Sprintf("%q", sum):
		return approvals.Errorf(protocol.InputConflict, "input %s of run %s was sent with another text: use a new id", in.InputID, id)
	case stored != nil:
		return nil
	}
	tried, err := s.o.Spool.Note(ctx, id, triedKind, in.InputID)
	if err != nil {
		return err
	}
	conn, reply := r.steering.begin(in.InputID)
	switch {
	case conn == nil && tried != nil:
		return approvals.ErrIndeterminate
	case conn == nil:
		return approvals.Errorf(protocol.Forbidden, "run %s is not connected", id)
	case reply == nil: // the first attempt waits for its reply
		return approvals.ErrIndeterminate
	}
	defer r.steering.forget(in.InputID, reply)
	if err := r.recordTried(in.InputID, json.RawMessage("true")); err != nil {
		return err
	}
	m := protocol.HostdMessage{Steer: &protocol.Steering{ID: in.InputID, Text: in.Text, Host: in.Host, Workspace: in.Workspace, By: by}}
	if err := conn.send(m); err != nil {
		return approvals.ErrIndeterminate
	}
	late := time.NewTimer(steerTimeout)
	defer late.Stop()
	select {
	case failure, known := <-reply:
		switch {
		case !known:
			return approvals.ErrIndeterminate
		case failure != "":
			return errors.Join(approvals.Errorf(protocol.Forbidden, "%s", failure), r.recordTried(in.InputID, nil))
		}
	case <-late.C:
		return approvals.ErrIndeterminate
	case <-ctx.Done():
		return approvals.ErrIndeterminate
	}
	if err := r.recordInput(by, sum, in); err != nil {
		return errors.Join(err, approvals.ErrIndeterminate) // after a restart of hostd, the program may have exited
	}
	return nil
}

// recordTried stores that an input is sent to the program; nil deletes that.
func (r *run) recordTried(id string, tried json.RawMessage) error {
	_, err := r.s.o.Spool.Commit(context.Background(), spool.Change{Run: r.id, Notes: []spool.Note{{Kind: triedKind, Key: id, Data: tried}}})
	return err
}

// recordInput commits the event of an input, together with its id.
func (r *run) recordInput(by, sum string, in protocol.SendInput) error {
	note, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	events := []spool.Event{{Type: protocol.RunInput, Data: protocol.Input{Actor: cmp.Or(in.Actor, "web"), InputID: in.InputID,
		TextRedacted: r.s.o.Redact.In(r.note.Started.Cwd).Text(in.Text), TextSHA256: sum, By: by}}}
	notes := []spool.Note{{Kind: inputKind, Key: in.InputID, Data: note}, {Kind: triedKind, Key: in.InputID}}
	if _, err := r.s.o.Spool.Commit(context.Background(), spool.Change{Run: r.id, Events: events, Notes: notes}); err != nil {
		return fmt.Errorf("store an input of run %s: %w", r.id, err)
	}
	r.log.append(r.id, events)
	return nil
}
