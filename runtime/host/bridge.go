package host

import (
	"fmt"
	"runtime"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/mcpbridge"
)

// localBridge is the bridge through which a process's clients call the program's tools. It runs in
// the Concerto process. If a keeper runs the process, the bridge runs in the keeper instead.
type localBridge struct {
	process *process
	bridge  *mcpbridge.Bridge
}

// openBridge opens the bridge to the program's tools and sets the bridge entry that the agent
// receives. path is the path of an existing bridge in the keeper, or "" to choose a new path.
func (p *process) openBridge(path string) error {
	h := p.hosts
	switch {
	case runtime.GOOS == "windows":
		return p.cfg.errorf("cannot use tools on Windows: remove its tools")
	case h.executable() == "":
		return p.cfg.errorf("cannot use tools: the path of the concerto program is unknown: set Options.Executable")
	}
	if path == "" {
		path = mcpbridge.Path()
	}
	p.bridgeEntry = &adapter.BridgeEntry{Command: h.executable(), Args: []string{"host", "bridge", path}}
	if h.opts.Keeper != nil {
		return nil
	}
	d := &localBridge{process: p}
	at, err := mcpbridge.Open(mcpbridge.Options{Path: path, MaxLine: p.cfg.MaxLine, OnUnread: p.logUnreadAnswers,
		OnLine: func(client int, line []byte) {
			d.translateAndInject(func(a *adapter.ACP) adapter.Output { return a.FromBridge(client, line) })
		},
		OnDisconnect: func(client int) {
			d.translateAndInject(func(a *adapter.ACP) adapter.Output { return a.LeftBridge(client) })
		},
	})
	if err != nil {
		return p.cfg.errorf("cannot use tools: %v", err)
	}
	d.bridge, p.bridge = at, d
	return nil
}

// executable returns the path of the concerto program, or "" if the path is unknown.
func (h *Hosts) executable() string {
	if h.opts.Run == nil {
		return ""
	}
	return h.opts.Run.Executable
}

// translateAndInject passes an event of the bridge to the adapter and injects the resulting
// messages into the running exchange.
func (d *localBridge) translateAndInject(translate func(a *adapter.ACP) adapter.Output) {
	s := d.translateLocked(translate)
	for _, line := range s.Messages {
		// The adapter's lock is not held here, because a goroutine that begins an exchange holds
		// the process's lock while it waits for the adapter's lock.
		if problem := d.process.injectMessage(line); problem != "" {
			d.translateLocked(func(a *adapter.ACP) adapter.Output { return a.RefuseCall(idOf(line), problem) })
		}
	}
}

func (d *localBridge) translateLocked(translate func(a *adapter.ACP) adapter.Output) adapter.Output {
	t := d.process.translation
	t.mu.Lock()
	defer t.mu.Unlock()
	s := translate(t.adapter.(*adapter.ACP))
	d.sendLines(s.Bridge)
	return s
}

// sendLines sends lines to the bridge's clients.
func (d *localBridge) sendLines(all []adapter.BridgeLine) {
	if d == nil {
		return
	}
	for _, x := range all {
		d.bridge.Send(x.Client, x.Line)
	}
}

// logUnreadAnswers logs that the bridge closed the connection of a client that did not read its
// answers.
func (p *process) logUnreadAnswers() {
	p.hosts.logf("warn", p.cfg, "does not read the answers of its tools; their connection was closed")
}

// closeBridge closes the bridge and waits until every client is disconnected.
func (d *localBridge) closeBridge() {
	if d != nil {
		d.bridge.End()
	}
}

// noExchange is the error text for a tool call that arrives between exchanges.
const noExchange = "no exchange is running"

// injectMessage adds a message to the running exchange as if the host had sent it. If that is
// impossible, problem is the reason; otherwise it is "".
func (p *process) injectMessage(line []byte) (problem string) {
	var m effect.HostMessage
	if err := decodeMessage(&m, line, nil); err != nil {
		return fmt.Sprintf("the call cannot be read: %v", err)
	}
	return p.injectNotice(m)
}

// injectNotice adds a decoded message to the running exchange. If that is impossible, problem is
// the reason; otherwise it is "".
func (p *process) injectNotice(m effect.HostMessage) (problem string) {
	in, t := p.lifecycle.currentExchange()
	var b batch
	*b.nextMessage() = m
	b.commitMessage()
	if in == nil || t == nil || t.isInit || !in.addNotice(b, p.keeper.conn != nil) {
		return noExchange
	}
	p.reader.lease.interruptReading()
	return ""
}

// parseBridgeLine parses a line from the keeper. ok reports whether the line came from a client of
// the bridge, and not from the process. left means that the client has disconnected.
func (p *process) parseBridgeLine(text []byte) (client int, line []byte, left, ok bool) {
	if inPage || p.keeper.conn == nil || p.bridgeEntry == nil {
		return 0, nil, false, false
	}
	return keeper.ParseBridgeLine(text)
}

// translateFromHost passes a line of the process or of a bridge client to the adapter. The caller
// must hold the adapter's lock.
func (p *process) translateFromHost(l ndjson.Line) adapter.Output {
	if inPage { // no host has an adapter
		return adapter.Output{}
	}
	client, line, left, ok := p.parseBridgeLine(l.Text)
	_, isBlocked := keeper.ParseBlockedLine(l.Text)
	switch {
	case isBlocked && p.box != nil:
		return adapter.Output{} // handleBlocked handles it
	case !ok:
		if a, ok := p.translation.adapter.(adapter.LateReader); ok && startOf(l) < p.translation.since {
			return a.FromAgentLate(withoutEscapes(l.Text))
		}
		return p.translation.adapter.FromAgent(withoutEscapes(l.Text))
	case left:
		return p.translation.adapter.(*adapter.ACP).LeftBridge(client)
	}
	return p.translation.adapter.(*adapter.ACP).FromBridge(client, line)
}

// bridgeSides converts lines for clients of the bridge to the keeper's form. It returns nil if no
// keeper runs the process.
func (c *keeperState) bridgeSides(all []adapter.BridgeLine) (out []keeper.Side) {
	for _, x := range all {
		if c.conn != nil {
			out = append(out, keeper.Side{Client: x.Client, Line: x.Line})
		}
	}
	return out
}
