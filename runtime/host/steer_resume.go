package host

import (
	"maps"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Steered is a message to a running host that the journal of a run contains.
type Steered struct {
	Key       string `json:"key"`          // identifies the message in the run
	ID        string `json:"id,omitempty"` // identifies it in its exchange
	Text      string `json:"text,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"`
	Outcome   string `json:"outcome"`
	// Outside means that another process has sent the message. The records of the run contain it.
	Outside bool `json:"outside,omitempty"`
}

// note returns the message as it was sent.
func (s *Steered) note() steerNote {
	return steerNote{ID: s.ID, Key: s.Key, Text: s.Text, Interrupt: s.Interrupt}
}

// steerNotes returns the messages to an exchange that another process continues. Those that wait
// for a later turn are last, in order. The caller must hold the lock of the turns, unless the
// exchange has just begun.
func (t *turns) steerNotes() (all []steerNote) {
	if t.steering == nil {
		return nil
	}
	known := slices.Collect(maps.Values(t.known))
	sortMessages(known)
	for _, m := range known {
		if !slices.Contains(t.queue, m) {
			all = append(all, m.steerNote)
		}
	}
	for _, m := range t.queue {
		n := m.steerNote
		n.Waits = true
		all = append(all, n)
	}
	return all
}

// currentPrompt returns the message that is the prompt of the current turn, or nil if that is the
// prompt of the exchange.
func (t *turns) currentPrompt() *steerMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.steering == nil {
		return nil
	}
	return t.current
}

// endLostTurn prepares the exchange for another process, which begins a turn. The messages that the
// lost process has neither confirmed nor refused are queued, and also the prompt after an
// interrupted turn. With unread, the lost process has not read its newest prompt, nor the messages
// after it. interrupted reports whether the exchange must fail, because the program has interrupted
// it.
func (ex *exchange) endLostTurn(unread bool) (interrupted bool) {
	t := &ex.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.steering
	if s == nil {
		return false
	}
	var first []*steerMessage
	if s.interrupt != nil {
		s.timer.Stop()
		if interrupted = s.interrupt.Text == ""; !interrupted {
			first = append(first, s.interrupt)
		}
		s.interrupt = nil
	}
	for _, m := range s.direct {
		if s.sent[m.ID] != nil {
			delete(s.sent, m.ID)
			m.settle(effect.SteerQueued)
			first = append(first, m)
		} else if unread && (m.Outcome == effect.SteerReceived || m.Begins) {
			first = append(first, m)
		}
	}
	s.direct = nil
	s.queue = append(first, s.queue...)
	ex.inbox.setUnbounded(false)
	return interrupted
}

// sortMessages sorts messages by the numbers in their IDs.
func sortMessages(all []*steerMessage) {
	slices.SortStableFunc(all, func(a, b *steerMessage) int { return numberOf(a.ID) - numberOf(b.ID) })
}

// restoreTurns restores the turns of an exchange that an earlier Concerto process began, from the
// journal and from the notes that the keeper has stored with the exchange; nil means that the
// keeper is lost. It returns the journaled messages that the keeper has not received.
func (ex *exchange) restoreTurns(o *Open, notes []lineNote) (unsent []Steered) {
	past := o.History.EndedTurns()
	all, older, unsent := restoreMessages(o.Steered, notes, past.Prompts)
	t := &ex.inbox.turns
	t.totals.Resume(&past, &o.Used)
	if len(all) == 0 && past.Ends == 0 {
		return unsent
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.steeringState()
	var continued *steerMessage // prompt with which the program has continued the ended exchange, which is not journaled
	for i, m := range all {
		s.addKnown(m)
		switch {
		case m.Continues && i >= older && !slices.Contains(past.Prompts, m.ID):
			continued = m
		case slices.Contains(past.Prompts, m.ID): // its turn has begun
		case m.Waits:
			s.queue = append(s.queue, m)
		case i < older: // part of the conversation that the process continues
		case m.Outcome == "":
			s.sent[m.ID] = m
			s.direct = append(s.direct, m)
			ex.inbox.unbounded = true
		case m.Begins:
			s.direct = append(s.direct, m)
		case m.Outcome == effect.SteerQueued:
			s.queue = append(s.queue, m)
		case m.Interrupt && notes == nil:
			if m.Text != "" {
				s.queue = append(s.queue, m)
			}
		case m.Interrupt && !o.Over:
			ex.awaitTurnEnd(s, m)
		}
		m.Waits = false
		isJournaled := slices.ContainsFunc(o.Steered, func(x Steered) bool { return x.Key == m.Key })
		if m.By != "" && m.Outcome != "" && !isJournaled && !o.Over {
			ex.inbox.addOwn(m.message(ex.pool.cfg.Name), true)
		}
	}
	for _, id := range past.Prompts { // the last one is the current prompt
		if at := slices.IndexFunc(all, func(m *steerMessage) bool { return m.ID == id }); at >= 0 {
			s.current = all[at]
		}
	}
	if continued != nil || o.Over { // the reader has added the totals of the turn when it ended
		t.totals.EndTurn()
	}
	if continued != nil {
		s.current, o.Over = continued, false
		ex.history.RecordContinued(continued.ID)
	}
	return unsent
}

// restoreMessages returns the messages to an exchange, in order: first those that are older than
// its process. prompts are the IDs of those whose turns have begun. It returns separately the
// journaled messages that the keeper has not received.
func restoreMessages(journaled []Steered, notes []lineNote, prompts []string) (all []*steerMessage, older int, unsent []Steered) {
	for _, n := range notes {
		if n.Begun != nil {
			for _, old := range n.Begun.Steered {
				all = append(all, newSteerMessage(old))
			}
			older = len(all)
		}
		if n.Steer == nil {
			continue
		}
		at := slices.IndexFunc(all, func(m *steerMessage) bool { return m.ID == n.Steer.ID })
		switch {
		case at < 0:
			all = append(all, newSteerMessage(*n.Steer))
		case all[at].Outcome == "": // the note of the agent's answer
			all[at].Begins = n.Steer.Begins
			all[at].settle(n.Steer.Outcome)
		}
	}
	for i := range journaled {
		s := &journaled[i]
		switch {
		case slices.ContainsFunc(all, func(m *steerMessage) bool { return m.Key == s.Key }):
		case notes != nil && !slices.Contains(prompts, s.ID):
			unsent = append(unsent, *s)
		default: // the keeper is lost: what a lost process has received is part of the conversation
			n := s.note()
			n.Outcome = s.Outcome
			all = append(all, newSteerMessage(n))
		}
	}
	sortMessages(all[older:])
	return all, older, unsent
}

// resendPrompt sends the prompt of the turn that follows the journaled ones if the keeper has not
// received it: the earlier process was killed after the end of the turn before was journaled. m is
// the prompt; nil if there is none. notes are those of the exchange, from its beginning.
func (ex *exchange) resendPrompt(p *process, m *steerMessage, notes []lineNote) {
	if m == nil || m.Key == "" || slices.ContainsFunc(notes, func(n lineNote) bool { return n.Sum == promptSum(m.Key) }) {
		return
	}
	ex.pool.hosts.logf("debug", ex.pool.cfg, "receives the prompt of a turn that its earlier process has not sent")
	offset, _ := p.sendLine(p.nextPrompt(ex.request, m), true)
	p.lifecycle.beginTurn(offset)
}
