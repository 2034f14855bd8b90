package host

import (
	"errors"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/ndjson"
	"github.com/concerto-lang/concerto/internal/wire"
)

// wire records a line, if anybody records.
func (p *process) wire(dir wire.Dir, text string) {
	p.hosts.record(p.cfg, wire.Line{Dir: dir, Proc: p.number, Session: p.conversation(), Text: p.bridge.shown(text)})
}

func (h *Hosts) record(c *Config, l wire.Line) {
	if h.opts.Wire != nil {
		l.Host = c.Name
		h.opts.Wire(l)
	}
}

// wireHeard records what has been read.
func (p *process) wireHeard(line []byte) {
	if p.hosts.opts.Wire != nil {
		p.wire(wire.From, string(line))
	}
}

// wireSent records what is about to be sent, so that it stands before its answer.
func (p *process) wireSent(lines []byte) {
	for line := range strings.Lines(string(lines)) {
		p.wire(wire.To, strings.TrimSuffix(line, "\n"))
	}
}

// wireBroken records the line, if it is one, over which reading failed.
func (p *process) wireBroken(err error) {
	var bad *ndjson.EncodingError
	if p.hosts.opts.Wire != nil && errors.As(err, &bad) {
		p.wire(wire.From, string(bad.Text))
	}
}

// wireExit records the end of the process.
func (p *process) wireExit() {
	const killed = 128 + 9
	if code := p.conn.Exit().Code; code == killed {
		p.wire(wire.Fate, wire.Killed)
	} else {
		p.wire(wire.Fate, wire.Exit+strconv.Itoa(code))
	}
}

// translate turns a line of the host's into ours, and answers what the adapter can
// answer. A host that leaves so much unread that no answer fits cannot be served.
func (r *reader) translate(l ndjson.Line) ([][]byte, error) {
	r.wireHeard(l.Text)
	t := r.words
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.a.hear(l.Text)
	if now := t.a.conversation(); now != r.conversation() {
		r.talk.Store(&now)
	}
	if len(s.theirs) > 0 {
		if _, ok := r.put(lines(s.theirs), false); !ok {
			return s.ours, errDeaf
		}
	}
	r.bridge.answer(s.bridged)
	if len(s.errands) > 0 {
		if r.out.full() {
			return s.ours, errDeaf
		}
		r.serve(s.errands)
	}
	if s.quiet != "" {
		r.hosts.remark("debug", r.cfg, "says %s", s.quiet)
	}
	return s.ours, nil
}
