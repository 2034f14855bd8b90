package vm

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/hostmsg"
	"github.com/concerto-lang/concerto/internal/value"
)

// messages are those of an exchange that have come and wait to be dealt with.
type messages struct {
	queue  []effect.HostMessage
	queued int // in bytes of lines
}

// What may wait while the program is busy; beyond it the host's pipe fills up.
const (
	queueLimit = 4096    // messages
	queueBytes = 4 << 20 // of lines; the last batch may go beyond
)

func (q *messages) full() bool { return len(q.queue) >= queueLimit || q.queued >= queueBytes }

func (q *messages) add(m *effect.HostMessage) {
	q.queue = append(q.queue, *m)
	q.queued += len(m.Text)
}

// drop takes the first message off the queue.
func (q *messages) drop() {
	q.queued -= len(q.queue[0].Text)
	q.queue[0] = effect.HostMessage{}
	if q.queue = q.queue[1:]; len(q.queue) == 0 {
		q.queue = nil
	}
}

// takeBack removes the message with this id, and says whether there is one.
func (q *messages) takeBack(id string) bool {
	for i := range q.queue {
		if q.queue[i].ID == id {
			q.queued -= len(q.queue[i].Text)
			q.queue = append(q.queue[:i:i], q.queue[i+1:]...)
			return true
		}
	}
	return false
}

// fallback gives the declared default answer to a message.
func (d *Host) fallback(row *hostmsg.Message) (json.RawMessage, bool) {
	answer, ok := d.Defaults[row.Default]
	return answer, ok
}

// tooLate is the answer to a message that nobody has answered in time: the default,
// or what the host is told instead.
func (d *Host) tooLate(typ string) (answer json.RawMessage, problem string) {
	answer, ok := d.fallback(hostmsg.Of(typ))
	if !ok {
		problem = typ + " timed out after " + seconds(d.QuestionTimeout)
	}
	return answer, problem
}

// openingOf makes the request for an exchange with a host, as its builders want it.
func (m *VM) openingOf(d *Host, host value.Slot, prompt string) *effect.ExchangeOpen {
	r := &effect.ExchangeOpen{Host: d.Name, Prompt: prompt}
	f := host.Party()
	if c := f[value.PartyContext]; !c.IsNil() {
		r.Context = value.AppendJSON(nil, c)
	}
	if x := f[value.PartySchema]; !x.IsNil() {
		r.Schema = json.RawMessage(x.AsString())
	}
	if name := f[value.PartySession]; !name.IsNil() {
		r.Session = name.AsString()
	}
	r.Tools = m.toolsFor(d, host)
	return r
}

// toolsFor are the tools that a host is told of.
func (m *VM) toolsFor(d *Host, host value.Slot) []effect.ToolSpec {
	if !d.Told {
		return nil
	}
	tools := m.toolsOf(host, &m.pace)
	if tools.Array().Len == 0 {
		return nil
	}
	return Specs(m.offered(tools, &m.pace))
}
