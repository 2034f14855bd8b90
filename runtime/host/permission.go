package host

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/decision"
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/hostmsg"
	"github.com/concerto-lang/concerto/internal/hostpolicy"
	"github.com/concerto-lang/concerto/internal/procgroup"
	"github.com/concerto-lang/concerto/internal/value"
)

// policy is what [hosts.X.permissions] says, read where the process works; nil
// without the section.
func (c *Config) policy(environ []string) (*hostpolicy.Policy, error) {
	if c.Permissions == nil {
		return nil, nil
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, c.failure("cannot be started in '%s': %v", c.Dir, err)
	}
	home, _ := procgroup.LookupEnv(environ, "HOME")
	return hostpolicy.New(*c.Permissions, hostpolicy.Place{Dir: dir, Home: home, Link: func(path string) (string, bool) {
		to, err := os.Readlink(path)
		return to, err == nil
	}}), nil
}

// denied is the reason of what the rules deny.
func (c *Config) denied() string { return "denied by [hosts." + c.Connector + ".permissions]" }

// decide answers an approval that the rules decide, and makes m what the program
// hears of it. It is done as soon as the approval is read, so that no handler that
// runs holds it up.
func (r *reader) decide(t *turn, m *effect.HostMessage, line []byte) error {
	if r.rules == nil || m.Type != hostmsg.Approval {
		return nil
	}
	switch vendor := r.words != nil; {
	case vendor && t.one:
		return r.decideAside(m, line, "no exchange is running that could decide it")
	case t.one:
		return nil // it is no acknowledgement
	case t.in.dropping():
		if vendor {
			return r.answer(m, "the exchange is cancelled")
		}
		return nil
	}
	verdict := r.decidedBefore(m)
	if verdict == hostpolicy.Ask {
		verdict = r.rules.Decide(hostpolicy.Of(line))
	}
	if verdict == hostpolicy.Ask {
		return nil
	}
	if err := r.answer(m, r.answerOf(verdict)); err != nil {
		return err
	}
	*m = r.decided(verdict, m, line)
	return nil
}

// decidedBefore is how an approval was decided, and answered, by the process before this one, whose journal does not have it: what the rules
// say now may be another thing. It is Ask where nothing was.
func (r *reader) decidedBefore(m *effect.HostMessage) hostpolicy.Verdict {
	if r.kept == nil || r.repeat.none() {
		return hostpolicy.Ask
	}
	for _, v := range []hostpolicy.Verdict{hostpolicy.Allow, hostpolicy.Deny} {
		l := line{short: appendReply(nil, answering(m, r.answerOf(v)))}
		if r.repeat.has(l.sum()) {
			return v
		}
	}
	return hostpolicy.Ask
}

// answerOf is the answer to what the rules have decided.
func (r *reader) answerOf(v hostpolicy.Verdict) string {
	if v == hostpolicy.Allow {
		return r.allowance()
	}
	return r.cfg.denied()
}

// answering is the reply to a message with a text.
func answering(m *effect.HostMessage, text string) *effect.ExchangeReply {
	return &effect.ExchangeReply{InReplyTo: m.Type, AnswerTo: m.ID, Value: value.AppendString(nil, text)}
}

// decideAside answers an approval that a vendor's agent asks for while nobody could
// be asked: what the rules do not allow is denied, so that it need not wait.
func (r *reader) decideAside(m *effect.HostMessage, line []byte, nobody string) error {
	switch r.rules.Decide(hostpolicy.Of(line)) {
	case hostpolicy.Allow:
		nobody = r.allowance()
	case hostpolicy.Deny:
		nobody = r.cfg.denied()
	}
	return r.answer(m, nobody)
}

// answer answers a message with a text.
func (r *reader) answer(m *effect.HostMessage, text string) error {
	if _, ok := r.send(appendReply(nil, answering(m, text)), false); !ok {
		return errDeaf
	}
	return nil
}

// allowance is the answer that allows: a host of ours gets a word that people give.
func (r *reader) allowance() string {
	if r.words == nil {
		return "yes"
	}
	return decision.Once
}

// decided is what the program hears of an approval that was decided.
func (r *reader) decided(verdict hostpolicy.Verdict, m *effect.HostMessage, line []byte) effect.HostMessage {
	var a struct {
		Description json.RawMessage `json:"description"`
	}
	_ = json.Unmarshal(line, &a) // it has been read as a message
	o := newObject(effect.Decided)
	o.text("host", r.cfg.Name)
	for _, m := range []member{{"id", json.RawMessage(m.ID)}, {"decision", encode(verdict)}, {"description", a.Description}, {effect.DecidedAsked, value.AppendJSON(nil, m.Payload)}} {
		if len(m.value) == 0 {
			m.value = json.RawMessage("null")
		}
		o.raw(m.name, m.value)
	}
	text := o.end()
	typ, _, payload, err := value.ParseMessage(text)
	if err != nil {
		panic("host: what was decided does not parse: " + err.Error())
	}
	return effect.HostMessage{Type: typ, Payload: payload, Text: text, Decided: true}
}
