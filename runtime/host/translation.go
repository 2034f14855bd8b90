package host

import (
	"encoding/json"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/service"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// defaultProtocol is the protocol of spec/host-protocol.md.
var defaultProtocol = &adapter.Protocol{Timeout: DefaultTimeout, InitTimeout: DefaultInitTimeout}

// protocol returns the protocol of the host.
func (c *Config) protocol() *adapter.Protocol {
	if p := adapter.Protocols[c.Transport]; p != nil {
		return p
	}
	return defaultProtocol
}

// startConfig returns the configuration with the complete command line.
func (c *Config) startConfig(resume string) *Config {
	p, run := c.protocol(), *c
	run.Command = Program(c)
	if p.Flags != nil {
		run.Args = append(append([]string(nil), c.Args...), p.Flags(&c.Vendor, resume)...)
	}
	return &run
}

// adapterConfig returns the configuration of the host's adapter.
func (c *Config) adapterConfig(w acquireSpec) (adapter.Config, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return adapter.Config{}, c.errorf("cannot be started in '%s': %v", c.Dir, err)
	}
	v := c.Vendor.AdapterConfig(c.Name, dir)
	v.Serves, v.Resume, v.Tools = c.Access.Permissions != nil, w.session, w.start.tools
	if c.protocol().SchemaAtStart {
		v.Schema = w.start.schema
	}
	return v, nil
}

// translation holds a process's adapter. The reader or a sender holds its lock while it uses the
// adapter. A process that uses Concerto's protocol has no translation.
type translation struct {
	mu       lock[translationLock]
	adapter  adapter.Adapter
	lastLine int64 // number of the last line passed to the adapter
	since    int64 // offset in the output at which the exchange begins whose prompt was passed last
}

// stampLastLine sets the requests' line number to the last line passed to the adapter.
func (t *translation) stampLastLine(all []adapter.Request) []adapter.Request {
	for i := range all {
		all[i].LastLine = t.lastLine
	}
	return all
}

// sessionName returns the session that the host reported last, or "".
func (p *process) sessionName() string {
	if name := p.session.Load(); name != nil {
		return *name
	}
	return ""
}

// setSession sets the session that an exchange continues. It does nothing for a vendor's agent,
// whose adapter sets the session.
func (p *process) setSession(session string) {
	if session != "" && p.translation == nil {
		p.session.Store(&session)
	}
}

// translateLine translates a line of a vendor's agent to lines of Concerto's protocol, and sends
// the answers that the adapter produces itself. It fails if the agent leaves so much unread that an
// answer does not fit into the outbox.
func (r *reader) translateLine(l ndjson.Line) ([][]byte, error) {
	_, _, _, beside := r.process.parseBridgeLine(l.Text)
	if !beside {
		r.process.traceReceived(l.Text)
	}
	t := r.process.translation
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lastLine = l.Number
	s := r.process.translateFromHost(l)
	if now := t.adapter.Conversation(); now != r.process.sessionName() {
		r.process.session.Store(&now)
	}
	if sides := r.process.keeper.bridgeSides(s.Bridge); len(s.Lines) > 0 || len(sides) > 0 {
		if _, ok := r.process.out.enqueueLine(line{short: adapter.JoinLines(s.Lines), frame: lineFrame{kind: keeper.KindReply, lastLine: l.Number, sides: sides}}, len(s.Lines) == 0); !ok {
			return s.Messages, errNotReading
		}
	}
	r.process.bridge.sendLines(s.Bridge)
	if beside && !r.isRunning(l) {
		r.refuseCalls(idsOf(s.Messages)...)
		s.Messages = nil
	}
	if len(s.Requests) > 0 {
		if r.process.out.isFull() {
			return s.Messages, errNotReading
		}
		r.process.service.PerformRequests(t.stampLastLine(s.Requests))
	}
	r.process.settling.note(t.adapter)
	r.steered, r.refused, r.lost = append(r.steered, s.Steered...), append(r.refused, s.Refused...), append(r.lost, s.Lost...)
	r.own = append(r.own, s.Own...)
	if s.Quiet != "" {
		r.process.hosts.logf("debug", r.process.cfg, "sends %s", s.Quiet)
	}
	return s.Messages, nil
}

// beginsTurn reports whether the agent begins a turn by itself when its current one has ended.
func (t *translation) beginsTurn() bool {
	if t == nil {
		return false
	}
	a, ok := t.adapter.(adapter.TurnBeginner)
	if !ok {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return a.BeginsTurn()
}

// isRunning reports whether the exchange in which the line was written is still running.
func (r *reader) isRunning(l ndjson.Line) bool {
	t := r.segmentOf(l)
	return t != nil && t == r.current && !t.isInit && !t.hasEnded(l) && !t.inbox.refusesMessages()
}

// refuseCalls refuses the tool calls with the given IDs, because no exchange can handle them. The
// caller must hold the adapter's lock.
func (r *reader) refuseCalls(calls ...string) {
	for _, id := range calls {
		ours := adapter.Refusal(id, noExchange)
		s := r.process.translation.adapter.ToAgent(ours)
		if len(s.Bridge) == 0 {
			continue // the call was already answered
		}
		f := r.process.frameTranslated(lineFrame{}, ours)
		f.sides = r.process.keeper.bridgeSides(s.Bridge)
		r.process.out.enqueueLine(line{frame: f}, true)
	}
}

// idsOf returns the IDs of the messages in the lines.
func idsOf(all [][]byte) (ids []string) {
	for _, line := range all {
		ids = append(ids, idOf(line))
	}
	return ids
}

// idOf returns the ID of the message in the line, or "" if it has none.
func idOf(line []byte) string {
	var m struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(line, &m) // m.ID remains "" if the line has no ID
	return m.ID
}

// serviceOptions returns the options of the service that performs the agent's requests.
func (p *process) serviceOptions() service.Options {
	own := &terminalhost.Set{Name: p.cfg.Name, Start: p.startCommand, Stop: p.hosts.kill.Done()}
	return service.Options{
		Answer:    p.answerRequest,
		IsFull:    func() bool { return p.out.isFull() },
		Room:      func() <-chan struct{} { return p.out.requestSpace },
		MayAccess: func(path string, write bool) error { return mayAccess(p, path, write) },
		Resolve:   func(path string) (string, bool) { return p.rules.Resolve(path) },
		Terminals: func() service.Terminals {
			if p.keeper.conn != nil {
				return p.keeper.conn.Terminals()
			}
			return own
		},
		Dir: p.cfg.Dir,
		Environ: func() []string {
			env, _ := p.cfg.buildEnviron(p.hosts.opts.Environ, p.number)
			return env
		},
		Limits: p.cfg.Bounds.process(),
	}
}

// answerRequest sends the answer to an agent's request.
func (p *process) answerRequest(e *adapter.Request, answer []byte) {
	p.out.enqueueLine(line{short: adapter.JoinLines([][]byte{answer}), frame: lineFrame{kind: keeper.KindDirect, lastLine: e.LastLine, note: &lineNote{Request: e.Number}}}, true)
}
