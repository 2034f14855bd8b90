package vm

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A person may answer a host's message that neither a handler nor a default of the program answers.
// The VM treats the question to the person as a handler run without a block: the host can withdraw
// the message, and its time limit can expire.

// questionOf describes a message of type typ as a question for a person.
func (s *scope) questionOf(typ string) effect.Asking {
	return effect.Asking{Host: s.decl.Name, Type: typ, Within: s.timeLimit(typ)}
}

// askPerson asks a person to answer the first queued message.
func (t *task) askPerson(s *scope, m *effect.HostMessage) status {
	m = t.beginRun(s, m)
	r := &effect.AskHost{Asking: s.questionOf(m.Type), Message: value.AppendJSON(nil, m.Payload)}
	return t.request(r, &wait{kind: waitPerson, scope: s})
}

// personAnswered continues the listen with a person's answer. If no person could be asked, it
// treats the message as unhandled.
func (t *task) personAnswered(w *wait) status {
	s, m := t.endRun()
	var st status
	var unanswered *effect.Error
	if errors.As(w.err, &unanswered) {
		st = t.answerUnhandled(s, m, hostmsg.Lookup(m.Type))
	} else if a := w.result.(*effect.Answer); schema.CheckAnswer(a.Value, nil) != nil {
		st = t.replyToMessage(s, m, a.By, nil, "the answer is not JSON")
	} else {
		st = t.replyToMessage(s, m, a.By, a.Value, "")
	}
	if st != running {
		return st
	}
	return t.processMessages(s)
}

// forwardedQuestion returns the question that an awaited emit of a default loop forwards on this
// channel. It returns nil if the emit does not forward the host's current message.
func (t *task) forwardedQuestion(channel string) *effect.Asking {
	s := t.innermost()
	if s == nil || s.run == nil || !s.l.info.Execute || hostmsg.Lookup(s.run.message.Type).Channel != channel {
		return nil
	}
	a := s.questionOf(s.run.message.Type)
	return &a
}
