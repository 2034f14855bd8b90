package host

import (
	"errors"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// wire records a line, if anybody records.
func (p *process) wire(dir hosttrace.Dir, text string) {
	p.hosts.record(p.cfg, hosttrace.Line{Dir: dir, Proc: p.number, Session: p.conversation(), Text: p.entry.Mask(text)})
}

func (h *Hosts) record(c *Config, l hosttrace.Line) {
	if h.opts.Wire != nil {
		l.Host = c.Name
		h.opts.Wire(l)
	}
}

// wireHeard records what has been read.
func (p *process) wireHeard(line []byte) {
	if p.hosts.opts.Wire != nil {
		p.wire(hosttrace.From, string(line))
	}
}

// wireSent records what is about to be sent, so that it stands before its answer.
func (p *process) wireSent(lines []byte) {
	for line := range strings.Lines(string(lines)) {
		p.wire(hosttrace.To, strings.TrimSuffix(line, "\n"))
	}
}

// wireBroken records the line, if it is one, over which reading failed.
func (p *process) wireBroken(err error) {
	var bad *ndjson.EncodingError
	if p.hosts.opts.Wire != nil && errors.As(err, &bad) {
		p.wire(hosttrace.From, string(bad.Text))
	}
}

// wireExit records the end of the process.
func (p *process) wireExit() {
	const killed = 128 + 9
	if code := p.conn.Exit().Code; code == killed {
		p.wire(hosttrace.Fate, hosttrace.Killed)
	} else {
		p.wire(hosttrace.Fate, hosttrace.Exit+strconv.Itoa(code))
	}
}
