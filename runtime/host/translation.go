package host

import (
	"encoding/json"
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// ourProtocol is that of spec/host-protocol.md.
var ourProtocol = &adapter.Protocol{Timeout: DefaultTimeout, InitTimeout: DefaultInitTimeout}

// protocol is what the host speaks.
func (c *Config) protocol() *adapter.Protocol {
	if p := adapter.Protocols[c.Transport]; p != nil {
		return p
	}
	return ourProtocol
}

// started is the configuration with the command line as it is started.
func (c *Config) started(resume string) *Config {
	p, run := c.protocol(), *c
	run.Command = Program(c)
	if p.Flags != nil {
		run.Args = append(append([]string(nil), c.Args...), p.Flags(&c.Vendor, resume)...)
	}
	return &run
}

// vendor is what the host's adapter begins with.
func (c *Config) vendor(w wish) (adapter.Config, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return adapter.Config{}, c.failure("cannot be started in '%s': %v", c.Dir, err)
	}
	v := c.Vendor.AdapterConfig(c.Name, dir)
	v.Serves, v.Resume, v.Tools = c.Permissions != nil, w.session, w.tools
	return v, nil
}

// translation is a process's adapter in use: its reader and those who send to it take
// turns. A process that speaks our protocol has none.
type translation struct {
	mu    sync.Mutex
	a     adapter.Adapter
	heard int64 // the number of the line that it has heard last
}

// dated notes with errands which line the adapter had heard last when they came.
func (t *translation) dated(all []adapter.Request) []adapter.Request {
	for i := range all {
		all[i].Heard = t.heard
	}
	return all
}

// conversation is the host's name for the conversation, as last heard; "" when there
// is none.
func (p *process) conversation() string {
	if name := p.talk.Load(); name != nil {
		return *name
	}
	return ""
}

// goesOnWith notes the conversation that an exchange goes on with. An adapter knows
// by itself.
func (p *process) goesOnWith(session string) {
	if session != "" && p.words == nil {
		p.talk.Store(&session)
	}
}

// translate turns a line of the host's into ours, and answers what the adapter can
// answer. A host that leaves so much unread that no answer fits cannot be served.
func (r *reader) translate(l ndjson.Line) ([][]byte, error) {
	_, _, _, beside := r.p.beside(l.Text)
	if !beside {
		r.p.wireHeard(l.Text)
	}
	t := r.p.words
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = l.Number
	s := r.p.hear(l.Text)
	if now := t.a.Conversation(); now != r.p.conversation() {
		r.p.talk.Store(&now)
	}
	if sides := r.p.kept.sides(s.Bridge); len(s.Lines) > 0 || len(sides) > 0 {
		if _, ok := r.p.out.put(line{short: adapter.JoinLines(s.Lines), frame: framing{kind: keeper.KindHeard, heard: l.Number, sides: sides}}, len(s.Lines) == 0); !ok {
			return s.Messages, errDeaf
		}
	}
	r.p.door.answer(s.Bridge)
	if beside && !r.runs(l) {
		r.refuse(idsOf(s.Messages)...)
		s.Messages = nil
	}
	if len(s.Requests) > 0 {
		if r.p.out.full() {
			return s.Messages, errDeaf
		}
		r.p.help.Perform(t.dated(s.Requests))
	}
	if s.Quiet != "" {
		r.p.hosts.remark("debug", r.p.cfg, "says %s", s.Quiet)
	}
	return s.Messages, nil
}

// runs says that the exchange runs in which a line was said.
func (r *reader) runs(l ndjson.Line) bool {
	t := r.turnOf(l)
	return t != nil && t == r.now && !t.one && !t.over && !t.in.refuses()
}

// refuse answers calls of tools, by their ids, that nobody can be asked for. Who calls it has the adapter.
func (r *reader) refuse(calls ...string) {
	for _, id := range calls {
		ours := adapter.Refusal(id, noExchange)
		s := r.p.words.a.Say(ours)
		if len(s.Bridge) == 0 {
			continue // it is answered
		}
		f := r.p.saying(framing{}, ours)
		f.sides = r.p.kept.sides(s.Bridge)
		r.p.out.put(line{frame: f}, true)
	}
}

// idsOf are the ids of messages of ours.
func idsOf(all [][]byte) (ids []string) {
	for _, line := range all {
		ids = append(ids, idOf(line))
	}
	return ids
}

// idOf is the id of a message of ours, a text.
func idOf(line []byte) string {
	var m struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(line, &m) // one without is about nothing
	return m.ID
}
