package vm

import (
	"errors"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
)

// A person may answer a host's message that neither a handler nor a default of the program answers.
// This is like a handler's run without a block: it can be withdrawn, and its time limit can expire.

// questionOf describes a message of the host of the listen as a question for a person.
func (s *scope) questionOf(typ string) effect.Asking {
	return effect.Asking{Host: s.decl.Name, Type: typ, Within: s.timeLimit(typ)}
}

// askPerson asks a person to answer the first message of the queue.
func (t *task) askPerson(s *scope, m *effect.HostMessage) status {
	m = t.beginRun(s, m)
	r := &effect.AskHost{Asking: s.questionOf(m.Type), Message: value.AppendJSON(nil, m.Payload)}
	return t.request(r, &wait{kind: waitPerson, scope: s})
}

// personAnswered continues with a person's answer. If no person could be asked, the message is
// unanswered.
func (t *task) personAnswered(w *wait) status {
	s, m := t.endRun()
	var st status
	var unanswered *effect.Error
	if errors.As(w.err, &unanswered) {
		st = t.answerUnhandled(s, m, hostmsg.Of(m.Type))
	} else {
		a := w.result.(*effect.Answer)
		st = t.replyToMessage(s, m, a.By, a.Value, "")
	}
	if st != running {
		return st
	}
	return t.processMessages(s)
}

// forwardedQuestion returns the host's message that an awaited emit on this channel passes on, in a
// default loop; otherwise nil.
func (t *task) forwardedQuestion(channel string) *effect.Asking {
	s := t.innermost()
	if s == nil || s.run == nil || !s.l.info.Execute || hostmsg.Of(s.run.message.Type).Channel != channel {
		return nil
	}
	a := s.questionOf(s.run.message.Type)
	return &a
}
