package host

import (
	"math"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// replayAdapter restores the state of an adapter by replaying the received and sent lines in order.
// Answers of the adapter are not sent again. Messages from lines after the last journaled one go to
// the exchange. It is called before the reader starts. A process that uses Concerto's protocol has
// no adapter.
func (r *restoredProcess) replayAdapter(t *segment, journaled int64) {
	p := r.process
	if p.translation == nil {
		return
	}
	last, from := journaled, journaled+1
	if t.ended {
		last, from = 0, math.MaxInt64 // no message belongs to an exchange
	}
	begun := int64(0)
	for i, e := range r.script {
		last = max(last, e.LastLine)
		if i == r.lastBeginIndex && r.lastBegin != nil {
			from, begun = max(from, e.LastLine+1), e.LastLine
		}
	}
	read := p.reader
	read.current = t
	var requests []adapter.Request
	at := r.replaySent(0, 0, &requests) // index of the next entry of the script
	for p.translation.lastLine < last {
		l, err := p.conn.ReadLine()
		if err != nil {
			read.closed, read.err, read.lastLine = true, err, l
			break
		}
		p.translation.lastLine = l.Number
		s := p.translateFromHost(l)
		if len(s.Lines)+len(s.Bridge) > 0 {
			if at < len(r.script) && r.script[at].Kind == keeper.KindReply && r.script[at].LastLine == l.Number {
				at++
			} else {
				p.out.enqueueLine(line{short: adapter.JoinLines(s.Lines), frame: lineFrame{kind: keeper.KindReply, lastLine: l.Number, sides: p.keeper.bridgeSides(s.Bridge)}}, true)
			}
		}
		requests = append(requests, p.translation.stampLastLine(s.Requests)...)
		if read.steered = s.Steered; len(s.Steered) > 0 && l.Number > begun { // earlier exchanges have used the same IDs
			read.settleSteered()
		}
		read.steered = nil
		at = r.replaySent(at, l.Number, &requests)
		r.replayAcks(s.Messages)
		p.outside.noteRequests(s.Messages, l.Number, p.cfg.background() == adapter.BackgroundDetach && (t.ended || startOf(l) < t.offset))
		if t.handover != nil && l.Number < from && l.Number > begun {
			for _, text := range s.Messages {
				t.matchJournaled(text)
			}
		}
		if l.Number >= from {
			read.batch.addLine(l)
			if _, _, _, beside := p.parseBridgeLine(l.Text); beside && !read.isRunning(l) {
				read.refuseCalls(idsOf(s.Messages)...)
				continue
			}
			read.handleBlocked(l)
			read.refused, read.lost, read.own = s.Refused, s.Lost, s.Own
			read.reportOwn(l)
			read.reportRefused(l)
			read.reportUndelivered(l)
			for _, text := range s.Messages {
				line := l
				line.Text = text
				if err := read.handleMessage(line); err != nil {
					read.closed, read.err, read.lastLine = true, err, l
				}
			}
		}
	}
	if a, ok := p.translation.adapter.(*adapter.ACP); ok && t.ended {
		read.refuseCalls(a.OpenCalls()...)
	}
	p.settling.note(p.translation.adapter)
	p.outside.repeatRequests(p.translation.adapter)
	now := p.translation.adapter.Conversation()
	p.session.Store(&now)
	read.flushBatch(false)
	p.service.PerformRequests(r.unansweredRequests(requests))
}

// unansweredRequests returns the requests in all that the script does not answer.
func (r *restoredProcess) unansweredRequests(all []adapter.Request) []adapter.Request {
	done := map[int64]bool{}
	for _, n := range r.notes {
		done[n.Request] = true
	}
	return slices.DeleteFunc(all, func(e adapter.Request) bool { return done[e.Number] })
}

// replaySent passes the script's lines from index at to the adapter: those that were sent after the
// host's line lastLine was received and before the next one. It returns the index of the next
// entry, and appends the adapter's requests to requests.
func (r *restoredProcess) replaySent(at int, lastLine int64, requests *[]adapter.Request) int {
	for at < len(r.script) && r.script[at].LastLine <= lastLine && r.script[at].Kind != keeper.KindReply {
		if n := &r.notes[at]; n.Ours != "" {
			if n.Begun != nil {
				r.process.translation.since = n.Begun.Since
			}
			s := r.process.translation.adapter.ToAgent([]byte(n.Ours))
			*requests = append(*requests, r.process.translation.stampLastLine(s.Requests)...)
		}
		at++
	}
	return at
}

// replayAcks reads the acknowledgements in lines that the adapter has translated.
func (r *restoredProcess) replayAcks(ours [][]byte) {
	for _, text := range ours {
		var m effect.HostMessage
		if decodeMessage(&m, text, nil) == nil && hostmsg.Lookup(m.Type).Role == hostmsg.Acknowledges {
			r.process.announced.parseAck(text, r.process.translation != nil)
			r.ready = true
		}
	}
}
