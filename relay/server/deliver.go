package server

import (
	"errors"
	"maps"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// deliver sends a machine the commands that wait for it, in the order in which they were accepted.
// It sends each command at most once on a connection. If an older connection sent a command and its
// result is unknown, deliver sends the command again to a machine that recognises ids; for other
// machines the command becomes indeterminate.
func (h *machine) deliver() {
	h.delivery.sending.Lock()
	defer h.delivery.sending.Unlock()
	all, err := h.srv.store.Pending(h.srv.ctx, h.id, h.delivery.older != nil && len(h.delivery.older) == 0)
	if err != nil {
		if h.srv.ctx.Err() == nil {
			h.srv.failed(err, protocol.Internal)
		}
		return
	}
	if h.delivery.older == nil {
		h.delivery.older = map[int64]bool{}
		for _, c := range all {
			h.delivery.older[c.N] = c.State == protocol.InputSent
		}
		maps.DeleteFunc(h.delivery.older, func(_ int64, sent bool) bool { return !sent })
	}
	for _, c := range all {
		if c.State == protocol.InputSent && !h.delivery.older[c.N] {
			continue // the command was already sent on this connection
		}
		if h.socket.closed.Load() {
			return
		}
		if !h.socket.hasRoom() {
			h.delivery.waiting.Store(true)
			h.socket.kick()
			return
		}
		if h.deliverOne(c) {
			delete(h.delivery.older, c.N)
		}
	}
	h.delivery.owes.Store(len(h.delivery.older) > 0)
}

// deliverOne sends a command, or moves it to a final state. It returns false if neither is possible
// yet.
func (h *machine) deliverOne(c *store.Command) bool {
	p, there := h.srv.commands.payload(c)
	switch {
	case !there && h.srv.peers.requestPayload(c, h.id):
		return false
	case !there:
		h.rejectLost(c)
	case c.State == protocol.InputAccepted && c.Expires <= h.srv.now():
		h.srv.step(c, protocol.OutcomeExpired, string(protocol.Expired))
	case c.State == protocol.InputAccepted:
		if h.markSent(c) {
			h.command(c, p)
		}
	case h.socket.speaks2():
		h.command(c, p)
	default:
		h.srv.step(c, protocol.OutcomeUnknown, "the connection ended before the machine reported whether it received this")
	}
	return true
}

// markSent records that a command is sent on this connection. It returns false if the connection no
// longer owns the machine.
func (h *machine) markSent(c *store.Command) bool {
	out, moved, err := h.srv.store.Send(h.srv.ctx, c, h.id, h.life.generation())
	switch {
	case errors.Is(err, store.ErrStale):
		h.socket.close(protocol.CloseSuperseded, "a newer connection of this machine has taken over")
	case err != nil && h.srv.ctx.Err() == nil:
		h.srv.failed(err, protocol.Internal)
	case moved:
		h.srv.notifyState(out, "")
	}
	return moved
}

// hasRoom reports whether the connection's queue has room for a command.
func (x *socket) hasRoom() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.size <= queueBytes/2
}

func (h *machine) command(c *store.Command, p payload) {
	e := protocol.Envelope{Type: p.Type, TS: h.srv.ts(), MachineID: h.id, RunID: c.RunID, ID: c.ID, Enc: p.Enc, Data: p.Data, Extra: p.Extra}
	h.socket.push(e.Append(nil))
}

// rejectLost finishes a command whose secret text was lost in a restart, because such a text is
// never stored. A user can then send it again. A duplicate decision does no harm, because a machine
// resolves a request only once. An input that was sent may have been written.
func (h *machine) rejectLost(c *store.Command) {
	on, again := protocol.OutcomeExpired, "send it again"
	switch {
	case c.State == protocol.InputSent && c.Kind == store.InputCommand:
		on, again = protocol.OutcomeUnknown, "the machine may have received it"
	case c.State == protocol.InputSent:
		on = protocol.OutcomeRejected
	}
	h.srv.step(c, on, "it is secret, so it was only in memory, and the server has restarted since: "+again)
}

// resultOutcomes maps the state in a machine's command.result to the outcome of the command.
var resultOutcomes = map[protocol.InputState]protocol.Outcome{
	protocol.InputApplied: protocol.OutcomeApplied, protocol.InputRejected: protocol.OutcomeRejected,
	protocol.InputExpired: protocol.OutcomeRejected, protocol.InputIndeterminate: protocol.OutcomeUnknown,
}

// handleResult stores the result of a command and acknowledges it to the machine, even if the
// command is unknown.
func (h *machine) handleResult(e *protocol.Envelope) {
	d, err := protocol.Decode[protocol.CommandDone](e)
	if err != nil {
		h.socket.refuse(e, refuse(protocol.BadMessage, "command.result: %v", err))
		return
	}
	if e.RunID == "" {
		h.socket.refuse(e, refuse(protocol.BadMessage, "command.result requires a run_id"))
		return
	}
	r, err := h.srv.store.Run(h.srv.ctx, e.RunID)
	switch {
	case err == nil && r.MachineID != h.id:
		h.recordViolation(e, refuse(protocol.NotOwner, "run %s belongs to another machine", e.RunID))
		return
	case err == nil:
		_, _, err = h.recordResult(e.RunID, &d)
	}
	if err != nil && !errors.Is(err, store.ErrUnknown) {
		h.srv.failed(err, protocol.Internal)
		return // without an acknowledgement the machine sends the result again
	}
	out := protocol.New(protocol.CommandAck, h.srv.clock.Now(), protocol.CommandAcked{ID: d.ID})
	out.RunID, out.Re = e.RunID, e.ID
	h.socket.push(out.Append(nil))
}

func (h *machine) recordResult(run string, d *protocol.CommandDone) (*store.Command, bool, error) {
	why, state := d.Error, d.State
	if why == "" && state == protocol.InputExpired {
		why = string(protocol.Expired)
	}
	c, moved, err := h.srv.store.Step(h.srv.ctx, run, d.Kind, d.ID, resultOutcomes[state], why)
	// The server that sent the command was killed before it recorded the state "sent".
	if err == nil && !moved && c.State == protocol.InputAccepted {
		if _, _, err = h.srv.store.Step(h.srv.ctx, run, d.Kind, d.ID, protocol.OutcomeSent, ""); err == nil {
			c, moved, err = h.srv.store.Step(h.srv.ctx, run, d.Kind, d.ID, resultOutcomes[state], why)
		}
	}
	if err == nil && moved {
		h.srv.notifyState(c, why)
	}
	return c, moved, err
}
