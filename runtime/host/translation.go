package host

import (
	"path/filepath"
	"sync"

	"github.com/concerto-lang/concerto/runtime/host/adapter"
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

// send sends a line of ours, in the vendor's words if the host is one, beyond the
// outbox's limit when force is set. It gives the offset of its first byte in all that
// was sent, and whether it fitted.
func (p *process) send(text []byte, force bool) (offset int64, ok bool) {
	return p.sendLine(line{short: text}, force)
}

func (p *process) sendLine(l line, force bool) (offset int64, ok bool) {
	if p.kept.repeated(&l) {
		return 0, true
	}
	t := p.words
	if t == nil {
		return p.out.put(l, force)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !force && p.out.full() {
		return 0, false
	}
	ours := l.bytes()
	s := t.a.Say(ours)
	f := p.saying(l.frame, ours)
	f.sides = p.kept.sides(s.Bridge)
	offset, ok = p.out.put(line{short: adapter.JoinLines(s.Lines), frame: f}, true)
	p.help.Perform(t.dated(s.Requests))
	p.door.answer(s.Bridge)
	return offset, ok
}
