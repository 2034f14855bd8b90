package host

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
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
