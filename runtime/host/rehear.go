package host

import (
	"math"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// replay makes the state of an adapter again, which follows from what was heard and said, in the order
// in which it was. What it answers the host has already. Messages of lines behind one are the
// exchange's. It is called before the process is read; one that speaks our protocol has no such state.
func (r *resumed) replay(t *turn, journaled int64) {
	p := r.p
	if p.words == nil {
		return
	}
	last, from := journaled, journaled+1
	if t.over {
		last, from = 0, math.MaxInt64 // no message is anybody's
	}
	begun := int64(0)
	for i, e := range r.script {
		last = max(last, e.Heard)
		if i == r.at && r.turn != nil {
			from, begun = max(from, e.Heard+1), e.Heard
		}
	}
	read := p.read
	read.now = t
	var errands []adapter.Request
	at := r.sayAgain(0, 0, &errands) // in the script
	for p.words.heard < last {
		l, err := p.conn.Read()
		if err != nil {
			read.over, read.err, read.last = true, err, l
			break
		}
		p.words.heard = l.Number
		s := p.hear(l.Text)
		if len(s.Lines)+len(s.Bridge) > 0 {
			if at < len(r.script) && r.script[at].Kind == keeper.KindHeard && r.script[at].Heard == l.Number {
				at++
			} else {
				p.out.put(line{short: adapter.JoinLines(s.Lines), frame: framing{kind: keeper.KindHeard, heard: l.Number, sides: p.kept.sides(s.Bridge)}}, true)
			}
		}
		errands = append(errands, p.words.dated(s.Requests)...)
		at = r.sayAgain(at, l.Number, &errands)
		r.hearAgain(s.Messages)
		if t.again != nil && l.Number < from && l.Number > begun {
			for _, text := range s.Messages {
				t.rematch(text)
			}
		}
		if l.Number >= from {
			read.b.read(l)
			if _, _, _, beside := p.beside(l.Text); beside && !read.runs(l) {
				read.refuse(idsOf(s.Messages)...)
				continue
			}
			for _, text := range s.Messages {
				again := l
				again.Text = text
				if err := read.take(again); err != nil {
					read.over, read.err, read.last = true, err, l
				}
			}
		}
	}
	if a, ok := p.words.a.(*adapter.ACP); ok && t.over {
		read.refuse(a.OpenCalls()...)
	}
	now := p.words.a.Conversation()
	p.talk.Store(&now)
	read.flush(false)
	p.help.Perform(r.undone(errands))
}

// undone are the errands of these that were not answered.
func (r *resumed) undone(all []adapter.Request) []adapter.Request {
	done := map[int64]bool{}
	for _, n := range r.notes {
		done[n.Errand] = true
	}
	return slices.DeleteFunc(all, func(e adapter.Request) bool { return done[e.Number] })
}

// sayAgain tells the adapter what was said when it had heard a line last, and gives the place in the
// script behind it. The errands that the adapter wants done are added.
func (r *resumed) sayAgain(at int, heard int64, errands *[]adapter.Request) int {
	for at < len(r.script) && r.script[at].Heard <= heard && r.script[at].Kind != keeper.KindHeard {
		if n := &r.notes[at]; n.Ours != "" {
			s := r.p.words.a.Say([]byte(n.Ours))
			*errands = append(*errands, r.p.words.dated(s.Requests)...)
		}
		at++
	}
	return at
}

// hearAgain learns what an adapter's lines say of the process.
func (r *resumed) hearAgain(ours [][]byte) {
	for _, text := range ours {
		var m effect.HostMessage
		if decode(&m, text, nil) == nil && hostmsg.Of(m.Type).Role == hostmsg.Acknowledges {
			r.p.announced.read(text, r.p.words != nil)
			r.ready = true
		}
	}
}
