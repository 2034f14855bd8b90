package continuity

import (
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Handover describes an exchange that a new process continues because its old process was lost. The
// program may still be handling requests of the old process. If the new process repeats such a
// request, the program does not receive the request again, and its reply answers the repeated
// request. A Handover is safe for concurrent use.
type Handover struct {
	Note       HandoverNote
	Resumption adapter.Resumption

	mu      sync.Mutex
	pending []*pendingRequest
}

// Predecessor identifies the exchange that the new process continues, by the numbers that the
// exchange had when it was opened.
type Predecessor struct {
	Process int64 `json:"process"`
	Turn    int64 `json:"turn"`
}

// HandoverNote is the part of a handover that the keeper stores for a Concerto process that resumes
// the run.
type HandoverNote struct {
	Predecessor
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

// NewHandover returns a handover of the exchange with the given history.
func (c *History) NewHandover() *Handover {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addSums()
	n := HandoverNote{Predecessor{c.opened.Process, c.opened.Turn}, c.replies, c.last, slices.Clone(c.pending)}
	v := RestoreHandover(n)
	v.Resumption = c.answered
	if len(c.tasks) > 0 {
		v.Resumption.Lost = adapter.Titles(c.tasks)
	}
	return v
}

func RestoreHandover(n HandoverNote) *Handover {
	v := &Handover{Note: n}
	for _, w := range n.Asked {
		v.pending = append(v.pending, &pendingRequest{hostRequest: w})
	}
	return v
}

// MatchMessage compares a message of the new process with the pending requests of the lost process.
// known means that the program has already received the request. reply is the answer that waited
// for the repeated request, or nil. gone lists the IDs of pending requests that the new process
// will not repeat.
func (v *Handover) MatchMessage(m *effect.HostMessage) (known bool, reply *effect.ExchangeReply, gone []string) {
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
func (v *Handover) withdrawPending(fits func(*pendingRequest) bool) (gone []string) {
	for _, a := range v.pending {
		if !a.done && fits(a) {
			if a.done = true; a.waitingReply == nil {
				gone = append(gone, a.ID)
			}
		}
	}
	return gone
}

// RouteReply returns the request ID that the new process expects in the reply. held means that the
// reply waits until the new process repeats the request.
func (v *Handover) RouteReply(r *effect.ExchangeReply) (to string, held bool) {
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

// MarkSent records that a reply was sent.
func (v *Handover) MarkSent(r *effect.ExchangeReply) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, a := range v.pending {
		if !a.done && a.repeated && a.ID == r.AnswerTo && a.Type == r.InReplyTo {
			a.done = true
			return
		}
	}
}

// MarkAnswered records that the replies were sent, except those in missing.
func (v *Handover) MarkAnswered(replies, missing []*effect.ExchangeReply) {
	for _, r := range replies {
		if !slices.Contains(missing, r) {
			v.MarkSent(r)
		}
	}
}
