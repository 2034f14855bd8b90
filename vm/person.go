package vm

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// What a host asks, and neither a handler nor a default of the program answers,
// a person may answer. It is a handler's run without a block: it can be withdrawn,
// and its time can be over.

// asking says what a message is by which the host of the listen asks.
func (s *scope) asking(typ string) effect.Asking {
	return effect.Asking{Host: s.decl.Name, Type: typ, Within: s.within(typ)}
}

// askPerson has a person answer the first message of the queue.
func (t *task) askPerson(s *scope, m *effect.HostMessage) status {
	m = t.beginRun(s, m)
	r := &effect.AskHost{Asking: s.asking(m.Type), Message: value.AppendJSON(nil, m.Payload)}
	return t.request(r, &wait{kind: waitPerson, scope: s})
}

// toldByPerson goes on with what a person has answered. When nobody could be
// asked, all is as if nobody were there.
func (t *task) toldByPerson(w *wait) status {
	s, m := t.endRun()
	var st status
	var nobody *effect.Error
	if errors.As(w.err, &nobody) {
		st = t.unanswered(s, m, hostmsg.Of(m.Type))
	} else {
		a := w.result.(*effect.Answer)
		st = t.reply(s, m, a.By, a.Value, "")
	}
	if st != running {
		return st
	}
	return t.pump(s)
}

// handsOn says what the host of a default loop asks, when an awaited emit on
// this channel hands it on; else nil.
func (t *task) handsOn(channel string) *effect.Asking {
	s := t.innermost()
	if s == nil || s.run == nil || !s.l.info.Execute || hostmsg.Of(s.run.message.Type).Channel != channel {
		return nil
	}
	a := s.asking(s.run.message.Type)
	return &a
}
