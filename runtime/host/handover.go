package host

import (
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// filterRepeated passes m, a message of the new process, to the handover. It inserts a withdraw
// message before m for each request that the new process will not repeat. known means that the
// program must not receive m, because it already has the request.
func (r *reader) filterRepeated(t *segment, m **effect.HostMessage) (known bool, err error) {
	known, reply, withdrawn := t.handover.MatchMessage(*m)
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
	was := line{short: continuity.AppendReply(nil, r)}
	if p.keeper.alreadySent(&was) {
		return true
	}
	now := *r
	now.AnswerTo = to
	_, ok = p.sendLine(line{short: refuseInput(p, continuity.AppendReply(nil, &now)), frame: lineFrame{kind: keeper.KindSent, note: &lineNote{Sum: was.digest()}}}, false)
	return ok
}

// matchJournaled passes a journaled message, which the program has already received, to the
// handover.
func (t *segment) matchJournaled(text []byte) {
	var m effect.HostMessage
	if t.handover != nil && decodeMessage(&m, text, nil) == nil {
		t.handover.MatchMessage(&m)
	}
}
