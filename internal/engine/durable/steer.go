package durable

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/runtime/host"
)

// Steerer sends messages of other processes to running hosts.
type Steerer interface {
	Steer(ctx context.Context, m host.Message) (name, outcome string, err error)
	// SetDelivered records that the journal contains a message: it is not sent again.
	SetDelivered(*effect.SteeredNote)
}

// steers are the messages of other processes to the run's hosts.
type steers struct {
	mu        sync.Mutex
	to        Steerer         // nil until messages can be sent
	ready     Steerer         // receives messages from the end of the replay on
	sending   map[string]bool // messages that are being sent, by id
	journaled map[string]bool // messages that the journal contains, by id
}

// SetSteerer sets the receiver of messages to the run's hosts. It must be called before the run
// begins.
func SetSteerer(r *Run, s Steerer) {
	r.talks.steers.mu.Lock()
	defer r.talks.steers.mu.Unlock()
	r.talks.steers.ready = s
	if r.c.History == nil {
		r.talks.steers.to = s
	}
}

// beginSteering sends the stored messages at the end of the replay.
func beginSteering(r *Run) {
	r.talks.steers.mu.Lock()
	r.talks.steers.to = r.talks.steers.ready
	r.talks.steers.mu.Unlock()
	go applySteers(r, true)
}

// ApplySteers sends the messages that other processes have stored.
func ApplySteers(r *Run) { applySteers(r, false) }

// applySteers sends the stored messages. resumed reports whether an earlier process of the run may
// have received them: their senders no longer wait for a reply.
func applySteers(r *Run, resumed bool) {
	s := &r.talks.steers
	s.mu.Lock()
	to := s.to
	s.mu.Unlock()
	if to == nil || r.Err() != nil {
		return
	}
	all, err := journal.Steers(r.c.Stored)
	if err != nil {
		if _, damaged := errors.AsType[*journal.DamagedError](err); !damaged { // its reader reports a damaged answer
			r.Suspend(err)
		}
		return
	}
	for id, a := range all {
		if s.begin(id) {
			go sendSteer(r, to, id, a, resumed)
		}
	}
}

// begin marks a message as being sent. It returns false if it already was.
func (s *steers) begin(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sending[id] {
		return false
	}
	if s.sending == nil {
		s.sending = map[string]bool{}
	}
	s.sending[id] = true
	return true
}

// sendSteer sends a message and stores the reply. The message stays stored until the journal
// contains it, so that another process sends it if this one exits; the hosts detect a message that
// they have received. A refused message is removed before its sender is notified: if this process
// is killed in between, no other one sends it.
func sendSteer(r *Run, to Steerer, id string, a *journal.Answer, resumed bool) {
	var q journal.SteerRequest
	reply := &journal.SteerReply{}
	if err := json.Unmarshal(a.Value, &q); err != nil {
		reply.Error = "the message cannot be read: " + err.Error()
	} else {
		name, outcome, err := to.Steer(context.Background(), host.Message{
			Key: id, Host: q.Host, Workspace: q.Workspace, Text: q.Text, Interrupt: q.Interrupt, By: effect.ByAnswer, Name: a.By, MayBeSent: resumed,
			Unrecorded: func() { dropUnrecorded(r, id, a.By) },
		})
		reply.Host, reply.Outcome = name, outcome
		if selected, ok := errors.AsType[*host.SelectError](err); ok {
			reply.Matches = len(selected.Running)
			for _, x := range selected.All() {
				reply.Running = append(reply.Running, journal.SteeredHost(x))
			}
		} else if e := programError(err); e != nil {
			reply.Error = e.Message
		} else if err != nil {
			return // the run is being suspended: the process that resumes it sends the message
		}
	}
	isSent := reply.Outcome != ""
	if resumed && !isSent {
		r.c.Remark("a message of " + a.By + " was not sent again: " + cmp.Or(reply.Error, "not exactly one running host matches it"))
	}
	if !isSent {
		if err := r.c.Stored.DropAnswer(id); err != nil {
			reply = &journal.SteerReply{Error: "the message was not sent, but it cannot be removed, so that it may be sent later: " + err.Error()}
		}
	}
	if err := journal.PutSteerReply(r.c.Stored, id, reply); err != nil {
		r.c.Remark("could not confirm a message to a host: " + err.Error())
	}
	if isSent && r.talks.steers.isJournaled(id) { // otherwise the journal's record removes it
		_ = r.c.Stored.DropAnswer(id) // a message that remains is not sent again
	}
}

// dropUnrecorded removes a message that a host has received and that the journal will not contain,
// because the program closed the exchange first. Another exchange must not receive it.
func dropUnrecorded(r *Run, id, by string) {
	r.c.Remark("the ledger does not contain a message of " + by + ": the program closed the exchange that received it")
	if err := r.c.Stored.DropAnswer(id); err != nil {
		r.c.Remark("could not remove a message to a host: " + err.Error())
	}
}

// isJournaled reports whether the journal contains a message.
func (s *steers) isJournaled(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journaled[id]
}

// noteSteered records that the journal contains the messages to hosts in m. With appended, they
// have just been appended, and the stored messages are no longer needed.
func noteSteered(r *Run, m *effect.ExchangeMessages, appended bool) {
	for i := range m.Messages {
		n := m.Messages[i].Steering()
		if n == nil {
			continue
		}
		if s := r.talks.steers.setJournaled(n.Key); s != nil {
			s.SetDelivered(n)
		}
		if appended && journal.IsSteerID(n.Key) {
			r.c.Writer.ConsumeAnswer(n.Key)
		}
	}
}

// setJournaled records that the journal contains a message, and returns the receiver of messages.
func (s *steers) setJournaled(id string) Steerer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.journaled == nil {
		s.journaled = map[string]bool{}
	}
	s.journaled[id] = true
	return s.ready
}
