package host

import (
	"errors"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
)

// trace records a line, if a trace is configured.
func (p *process) trace(dir hosttrace.Dir, text string) {
	p.hosts.traceLine(p.cfg, hosttrace.Line{Dir: dir, Proc: p.number, Session: p.sessionName(), Text: p.bridgeEntry.Mask(text)})
}

func (h *Hosts) traceLine(c *Config, l hosttrace.Line) {
	if h.opts.Trace != nil {
		l.Host = c.Name
		h.opts.Trace(l)
	}
}

// traceReceived records a line that was read.
func (p *process) traceReceived(line []byte) {
	if p.hosts.opts.Trace != nil {
		p.trace(hosttrace.From, string(line))
	}
}

// traceSent records lines before they are sent, so that they precede their answers in the trace.
func (p *process) traceSent(lines []byte) {
	for line := range strings.Lines(string(lines)) {
		p.trace(hosttrace.To, strings.TrimSuffix(line, "\n"))
	}
}

// traceUnreadable records the line that could not be read.
func (p *process) traceUnreadable(err error) {
	var bad *ndjson.EncodingError
	if p.hosts.opts.Trace != nil && errors.As(err, &bad) {
		p.trace(hosttrace.From, string(bad.Text))
	}
}

// traceExit records how the process exited.
func (p *process) traceExit() {
	const killed = 128 + 9
	if code := p.conn.Exit().Code; code == killed {
		p.trace(hosttrace.Lifecycle, hosttrace.Killed)
	} else {
		p.trace(hosttrace.Lifecycle, hosttrace.Exit+strconv.Itoa(code))
	}
}
