package host

import (
	"fmt"
	"runtime"

	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/mcpbridge"
)

// door is the bridge to the program's tools of a process that nobody keeps: it is in this process. One that is kept
// has its bridge with the keeper.
type door struct {
	p  *process
	at *mcpbridge.Bridge
}

// bridgeTo makes a process's bridge to the program's tools, and says how the agent gets there. path is where a
// process that is kept has it; "" chooses.
func (p *process) bridgeTo(path string) error {
	h := p.hosts
	switch {
	case runtime.GOOS == "windows":
		return p.cfg.failure("cannot be given its tools: there is no bridge to them on Windows; leave out its tools")
	case h.executable() == "":
		return p.cfg.failure("cannot be given its tools: that needs the program concerto, and its path is not known here: set Options.Executable")
	}
	if path == "" {
		path = mcpbridge.Path()
	}
	p.entry = &adapter.BridgeEntry{Command: h.executable(), Args: []string{"host", "bridge", path}}
	if h.opts.Keeper != nil {
		return nil
	}
	d := &door{p: p}
	at, err := mcpbridge.Open(mcpbridge.Options{Path: path, MaxLine: p.cfg.MaxLine, Unread: p.unread,
		Heard: func(client int, line []byte) {
			d.do(func(a *adapter.ACP) adapter.Output { return a.HearBridge(client, line) })
		},
		Left: func(client int) { d.do(func(a *adapter.ACP) adapter.Output { return a.LeftBridge(client) }) },
	})
	if err != nil {
		return p.cfg.failure("cannot be given its tools: %v", err)
	}
	d.at, p.door = at, d
	return nil
}

// executable is the program concerto; "" where it is not known.
func (h *Hosts) executable() string {
	if h.opts.Run == nil {
		return ""
	}
	return h.opts.Run.Executable
}

// do has the adapter translate something, and does what that leads to.
func (d *door) do(translate func(a *adapter.ACP) adapter.Output) {
	s := d.translated(translate)
	for _, line := range s.Messages {
		// Who begins an exchange holds the process and wants the adapter.
		if problem := d.p.inject(line); problem != "" {
			d.translated(func(a *adapter.ACP) adapter.Output { return a.RefuseCall(idOf(line), problem) })
		}
	}
}

func (d *door) translated(translate func(a *adapter.ACP) adapter.Output) adapter.Output {
	t := d.p.words
	t.mu.Lock()
	defer t.mu.Unlock()
	s := translate(t.a.(*adapter.ACP))
	d.answer(s.Bridge)
	return s
}

// answer sends lines to those who have come.
func (d *door) answer(all []adapter.BridgeLine) {
	if d == nil {
		return
	}
	for _, x := range all {
		d.at.Send(x.Client, x.Line)
	}
}

// unread tells that one was sent away who has come over the bridge.
func (p *process) unread() {
	p.hosts.remark("warn", p.cfg, "leaves the answers of its tools unread; its connection to them is closed")
}

// end closes the bridge, and waits until nobody is on it.
func (d *door) end() {
	if d != nil {
		d.at.End()
	}
}

// noExchange is why a call of a tool that came over the bridge cannot be handed on.
const noExchange = "no exchange is running"

// inject adds a message of ours to the exchange that runs, as if the host had said it.
// It gives why it could not.
func (p *process) inject(line []byte) (problem string) {
	in, t := p.life.current()
	if in == nil || t == nil || t.one || in.refuses() {
		return noExchange
	}
	var b batch
	m := b.room()
	if err := decode(m, line, nil); err != nil {
		return fmt.Sprintf("the call cannot be read: %v", err)
	}
	b.keep()
	in.put(b, false)
	p.read.role.wake()
	return ""
}

// beside takes apart what came over the bridge of a process that is kept; ok is false for a line of its own.
func (p *process) beside(text []byte) (client int, line []byte, left, ok bool) {
	if p.kept.conn == nil || p.entry == nil {
		return 0, nil, false, false
	}
	return keeper.OverBridge(text)
}

// hear has the adapter translate a line of the process. Who calls it has the adapter.
func (p *process) hear(text []byte) adapter.Output {
	client, line, left, ok := p.beside(text)
	switch {
	case !ok:
		return p.words.a.Hear(text)
	case left:
		return p.words.a.(*adapter.ACP).LeftBridge(client)
	}
	return p.words.a.(*adapter.ACP).HearBridge(client, line)
}

// sides are lines over the bridge as the keeper takes them, of a process that is kept.
func (c *custody) sides(all []adapter.BridgeLine) (out []keeper.Side) {
	for _, x := range all {
		if c.conn != nil {
			out = append(out, keeper.Side{Client: x.Client, Line: x.Line})
		}
	}
	return out
}
