package host

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// handover describes an exchange that a new process continues because its old process was lost. The
// program may still be handling requests of the old process. If the new process repeats such a
// request, the program does not receive the request again, and its reply answers the repeated
// request. A handover is safe for concurrent use.
type handover struct {
	note       handoverNote
	resumption adapter.Resumption

	mu      lock[handoverLock]
	pending []*pendingRequest
}

// predecessor identifies the exchange that the new process continues, by the numbers that the
// exchange had when it was opened.
type predecessor struct {
	Process int64 `json:"process"`
	Turn    int64 `json:"turn"`
}

// handoverNote is the part of a handover that the keeper stores for a Concerto process that resumes
// the run.
type handoverNote struct {
	predecessor
	Replies int           `json:"replies"`        // number of replies before the handover
	Last    string        `json:"last,omitempty"` // digest of the newest reply's line
	Asked   []hostRequest `json:"asked,omitempty"`
}

type pendingRequest struct {
	hostRequest
	repeated     bool                  // the new process has repeated the request
	newID        string                // ID of the repeated request
	waitingReply *effect.ExchangeReply // reply to send when the new process repeats the request; nil if none
	done         bool                  // the request was answered or withdrawn
}

// newHandover returns a handover of the exchange with the given history.
func (c *History) newHandover() *handover {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addSums()
	n := handoverNote{predecessor{c.opened.Process, c.opened.Turn}, c.replies, c.last, slices.Clone(c.pending)}
	v := restoreHandover(n)
	v.resumption = c.answered
	if len(c.tasks) > 0 {
		v.resumption.Lost = adapter.Titles(c.tasks)
	}
	return v
}

func restoreHandover(n handoverNote) *handover {
	v := &handover{note: n}
	for _, w := range n.Asked {
		v.pending = append(v.pending, &pendingRequest{hostRequest: w})
	}
	return v
}

// matchMessage compares a message of the new process with the pending requests of the lost process.
// known means that the program has already received the request. reply is the answer that waited
// for the repeated request, or nil. gone lists the IDs of pending requests that the new process
// will not repeat.
func (v *handover) matchMessage(m *effect.HostMessage) (known bool, reply *effect.ExchangeReply, gone []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch row := hostmsg.Lookup(m.Type); {
	case row.Waits():
		now := newHostRequest(m).withSum()
		for _, a := range v.pending {
			if a.repeated || a.done || a.Type != now.Type || a.Sum != now.Sum {
				continue
			}
			a.repeated, a.newID = true, m.ID
			a.done = a.waitingReply != nil
			return true, a.waitingReply, nil
		}
		return false, nil, v.withdrawPending(func(a *pendingRequest) bool { return a.ID == m.ID && !a.repeated })
	case row.Role == hostmsg.Withdraws:
		for _, a := range v.pending {
			if a.repeated && !a.done && a.newID == m.ID {
				a.done = true
				return true, nil, []string{a.ID}
			}
		}
	case row.Terminal():
		return false, nil, v.withdrawPending(func(*pendingRequest) bool { return true })
	}
	return false, nil, nil
}

// withdrawPending marks the pending requests that satisfy fits as done. It returns the IDs of those
// that have no reply.
func (v *handover) withdrawPending(fits func(*pendingRequest) bool) (gone []string) {
	for _, a := range v.pending {
		if !a.done && fits(a) {
			if a.done = true; a.waitingReply == nil {
				gone = append(gone, a.ID)
			}
		}
	}
	return gone
}

// routeReply returns the request ID that the new process expects in the reply. held means that the
// reply waits until the new process repeats the request.
func (v *handover) routeReply(r *effect.ExchangeReply) (to string, held bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.IndexFunc(v.pending, func(a *pendingRequest) bool {
		return !a.done && a.waitingReply == nil && a.ID == r.AnswerTo && a.Type == r.InReplyTo
	})
	if at < 0 {
		return r.AnswerTo, false
	}
	a := v.pending[at]
	if !a.repeated {
		a.waitingReply = r
		return "", true
	}
	return a.newID, false
}

// markSent records that a reply was sent.
func (v *handover) markSent(r *effect.ExchangeReply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, a := range v.pending {
		if !a.done && a.repeated && a.ID == r.AnswerTo && a.Type == r.InReplyTo {
			a.done = true
			return
		}
	}
}

// filterRepeated passes m, a message of the new process, to the handover. It inserts a withdraw
// message before m for each request that the new process will not repeat. known means that the
// program must not receive m, because it already has the request.
func (r *reader) filterRepeated(t *segment, m **effect.HostMessage) (known bool, err error) {
	known, reply, withdrawn := t.handover.matchMessage(*m)
	if reply != nil {
		if !r.process.forwardReply(reply, (*m).ID) {
			return known, errNotReading
		}
	}
	if len(withdrawn) == 0 {
		return known, nil
	}
	held := **m
	for _, id := range withdrawn {
		if id == "" {
			continue // a request without an ID cannot be withdrawn
		}
		o := jsonobject.New("withdraw")
		o.Raw("id", []byte(id))
		if err := decodeMessage(r.batch.nextMessage(), o.End(), nil); err != nil {
			panic("host: could not parse the withdraw message: " + err.Error())
		}
		r.batch.commitMessage()
	}
	*m = r.batch.nextMessage()
	**m = held
	return known, nil
}

// forwardReply sends a reply of the program and replaces its request ID by to. If the host received
// the reply before the run was resumed, forwardReply does not send it again. ok is false if the
// reply could not be sent.
func (p *process) forwardReply(r *effect.ExchangeReply, to string) (ok bool) {
	was := line{short: appendReply(nil, r)}
	if p.keeper.alreadySent(&was) {
		return true
	}
	now := *r
	now.AnswerTo = to
	_, ok = p.sendLine(line{short: refuseInput(p, appendReply(nil, &now)), frame: lineFrame{kind: keeper.KindSent, note: &lineNote{Sum: was.digest()}}}, false)
	return ok
}

// matchJournaled passes a journaled message, which the program has already received, to the
// handover.
func (t *segment) matchJournaled(text []byte) {
	var m effect.HostMessage
	if t.handover != nil && decodeMessage(&m, text, nil) == nil {
		t.handover.matchMessage(&m)
	}
}
