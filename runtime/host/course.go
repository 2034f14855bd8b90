package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Course is how an exchange of a run whose hosts are kept has gone so far: what a new process of its host needs to
// go on with it when the one that had it is lost with its keeper. It is made of what the program got and said, so a journal
// gives it as well. Safe for concurrent use; nil takes nothing.
type Course struct {
	mu       sync.Mutex
	opened   effect.ExchangeOpened // as it was at first
	process  int64                 // which of the host's it is with
	session  string                // the conversation, as it was named last
	asked    []wanted              // of the host, and not answered
	answered adapter.Resumption    // the newest answer
	replies  int                   // that the program gave
	last     string                // the sum of the newest one's line
}

// wanted is something that a host has asked.
type wanted struct {
	ID   string `json:"id,omitempty"` // as JSON
	Type string `json:"type"`
	Sum  string `json:"sum"` // of what it says, without its id

	line json.RawMessage
}

// Opened takes note of how the exchange was opened.
func (c *Course) Opened(o *effect.ExchangeOpened) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened, c.process, c.session = *o, o.Process, o.Session
}

// Heard takes note of what the host said.
func (c *Course) Heard(m *effect.ExchangeMessages) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := m.Lines; l != nil {
		if l.Session != "" {
			c.session = l.Session
		}
		if l.Process != 0 {
			c.process = l.Process
		}
	}
	for i := range m.Messages {
		switch x, row := &m.Messages[i], hostmsg.Of(m.Messages[i].Type); {
		case x.Decided:
		case row.Waits():
			c.asked = append(c.asked, wantedBy(x))
		case row.Role == hostmsg.TakesBack:
			c.asked = slices.DeleteFunc(c.asked, func(w wanted) bool { return w.ID == x.ID })
		}
	}
}

// Replied takes note of what the host was answered.
func (c *Course) Replied(r *effect.ExchangeReply) {
	if c == nil {
		return
	}
	line := line{short: appendReply(nil, r)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies++
	c.last = line.sum()
	at := slices.IndexFunc(c.asked, func(w wanted) bool { return w.ID == r.AnswerTo && w.Type == r.InReplyTo })
	if at >= 0 {
		c.answered = adapter.Resumption{Answered: c.asked[at].line, Response: bytes.TrimSuffix(line.short, []byte{'\n'})}
		c.asked = slices.Delete(c.asked, at, at+1)
	}
}

// wantedBy is a message that asks.
func wantedBy(m *effect.HostMessage) wanted {
	line := typed(m.Type, value.AppendJSON(nil, m.Payload))
	sum := sha256.New()
	sum.Write([]byte(m.Type))
	for _, member := range jsonobject.MembersOf(line) {
		switch member.Name {
		case "id", "session", "payload": // another process has others
			continue
		}
		sum.Write([]byte(member.Name))
		sum.Write(member.Value)
	}
	return wanted{ID: m.ID, Type: m.Type, Sum: hex.EncodeToString(sum.Sum(nil)[:16]), line: line}
}

// typed is the line of a message with that payload, an object.
func typed(typ string, payload []byte) []byte {
	b := append([]byte(`{"type":`), value.AppendString(nil, typ)...)
	if len(payload) > len("{}") {
		return append(append(b, ','), payload[1:]...)
	}
	return append(b, '}')
}

// conversation is the session that can be gone on with; "" when there is none.
func (c *Course) conversation() string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// is says that the exchange was opened so.
func (c *Course) is(of *predecessor) bool {
	return c != nil && of != nil && of.Process == c.opened.Process && of.Turn == c.opened.Turn
}

// line is the last line that the journal has of a process, where it has the last one of the exchange; 0: none.
func (c *Course) line(last, process int64) int64 {
	if c != nil && c.process != 0 && c.process != process {
		return 0
	}
	return last
}

// sign notes with lines what has changed since the last ones: the conversation, and the process.
func (c *Course) sign(l *effect.HostLines, p *process) {
	if c == nil || l == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := p.conversation(); s != c.session {
		l.Session = s
	}
	if n := int64(p.number); n != c.opened.Process {
		l.Process = n
	}
}

// courseText is a Course as JSON.
type courseText struct {
	Opened   effect.ExchangeOpened `json:"opened"`
	Process  int64                 `json:"process,omitempty"`
	Session  string                `json:"session,omitempty"`
	Asked    []wantedText          `json:"asked,omitempty"`
	Answered adapter.Resumption    `json:"answered"`
	Replies  int                   `json:"replies,omitempty"`
	Last     string                `json:"last,omitempty"`
}

type wantedText struct {
	wanted
	Line json.RawMessage `json:"line"`
}

// MarshalJSON is what UnmarshalJSON reads.
func (c *Course) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := courseText{c.opened, c.process, c.session, nil, c.answered, c.replies, c.last}
	for _, w := range c.asked {
		text.Asked = append(text.Asked, wantedText{w, w.line})
	}
	return jsonwrite.Encode(text) // sums are made of lines
}

// UnmarshalJSON makes a course of what MarshalJSON has written.
func (c *Course) UnmarshalJSON(b []byte) error {
	var text courseText
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened, c.process, c.session, c.answered, c.replies, c.last = text.Opened, text.Process, text.Session, text.Answered, text.Replies, text.Last
	c.asked = nil
	for _, w := range text.Asked {
		w.wanted.line = w.Line
		c.asked = append(c.asked, w.wanted)
	}
	return nil
}
