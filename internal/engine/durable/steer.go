package durable

import (
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
}

// steers are the messages of other processes to the run's hosts.
type steers struct {
	mu        sync.Mutex
	to        Steerer           // nil until messages can be sent
	ready     Steerer           // receives messages from the end of the replay on
	sending   map[string]bool   // messages that are being sent, by id
	journaled map[string]string // outcomes of the messages that the journal contains, by id
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
	go ApplySteers(r)
}

// ApplySteers sends the messages that other processes have stored.
func ApplySteers(r *Run) {
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
			go sendSteer(r, to, id, a)
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
// they have received.
func sendSteer(r *Run, to Steerer, id string, a *journal.Answer) {
	var q journal.SteerRequest
	reply := &journal.SteerReply{}
	if err := json.Unmarshal(a.Value, &q); err != nil {
		reply.Error = "the message cannot be read: " + err.Error()
	} else if outcome := r.talks.steers.outcome(id); outcome != "" {
		reply.Outcome = outcome // an earlier process has sent and journaled the message
	} else {
		name, outcome, err := to.Steer(context.Background(), host.Message{Key: id, Host: q.Host, Workspace: q.Workspace, Text: q.Text, Interrupt: q.Interrupt, By: effect.ByAnswer, Name: a.By})
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
	if err := journal.PutSteerReply(r.c.Stored, id, reply); err != nil {
		r.c.Remark("could not confirm a message to a host: " + err.Error())
	}
	if reply.Outcome == "" || r.talks.steers.outcome(id) != "" { // otherwise the journal's record removes it
		_ = r.c.Stored.DropAnswer(id) // a message that remains is refused again
	}
}

// outcome returns the outcome of a message that the journal contains, or "".
func (s *steers) outcome(id string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.journaled[id]
}

// noteSteered records that the journal contains the messages to hosts in m. With appended, they
// have just been appended, and the stored messages are no longer needed.
func noteSteered(r *Run, m *effect.ExchangeMessages, appended bool) {
	for i := range m.Messages {
		n := m.Messages[i].Steering()
		if n == nil || !journal.IsSteerID(n.Key) {
			continue
		}
		r.talks.steers.mu.Lock()
		if r.talks.steers.journaled == nil {
			r.talks.steers.journaled = map[string]string{}
		}
		r.talks.steers.journaled[n.Key] = n.Outcome
		r.talks.steers.mu.Unlock()
		if appended {
			r.c.Writer.ConsumeAnswer(n.Key)
		}
	}
}
