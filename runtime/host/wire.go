package host

import (
	"fmt"

	"github.com/concerto-lang/concerto/internal/ndjson"
)

// Wire is a line of what passed between us and a process of a host, for those who
// record it.
type Wire struct {
	Dir     string // "<" from the host, ">" to it, "!" its standard error, "." what became of it
	Host    string // the declaration's name
	Proc    int    // the how-manieth process of the host, from 1; 0 for none of them
	Session string // the conversation, when it is known
	Line    string // for ".": "start", "exit CODE", "killed" or "version V"
}

const (
	fromHost = "<"
	toHost   = ">"
	asideOf  = "!"
	fateOf   = "."
)

// wire records a line.
func (p *process) wire(dir, line string) {
	p.hosts.record(p.cfg, Wire{Dir: dir, Proc: p.number, Session: p.conversation(), Line: line})
}

func (h *Hosts) record(c *Config, w Wire) {
	if h.opts.Wire != nil {
		w.Host = c.Name
		h.opts.Wire(w)
	}
}

// wireExit records the end of the process.
func (p *process) wireExit() {
	const killed = 128 + 9
	if code := p.conn.Exit().Code; code == killed {
		p.wire(fateOf, "killed")
	} else {
		p.wire(fateOf, fmt.Sprintf("exit %d", code))
	}
}

// translate turns a line of the host's into ours, and answers what the adapter can
// answer. A host that leaves so much unread that no answer fits cannot be served.
func (r *reader) translate(l ndjson.Line) ([][]byte, error) {
	if r.hosts.opts.Wire != nil {
		r.wire(fromHost, string(l.Text))
	}
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
	if s.quiet != "" {
		r.hosts.remark("debug", r.cfg, "says %s", s.quiet)
	}
	return s.ours, nil
}
