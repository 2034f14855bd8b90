package host

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/internal/ndjson"
	"github.com/concerto-lang/concerto/value"
)

// role is what a type of message means to an exchange.
type role uint8

const (
	oneWay   role = iota // tells something; also every type not in the table
	request              // waits for a response; a withdraw takes it back
	terminal             // ends the exchange
	takeBack             // withdraws a request
)

// roleOf lists the types with a meaning here; what is in a message is the loop's
// concern.
func roleOf(typ string) role {
	switch typ {
	case "question", "approval", "tool_call":
		return request
	case "result", "error":
		return terminal
	case "withdraw":
		return takeBack
	}
	return oneWay
}

// decode reads a line into m. What is not a message is the result with the line
// as its text.
func decode(m *effect.HostMessage, text []byte) {
	typ, id, payload, err := value.ParseMessage(text)
	if err != nil {
		typ, payload = plain(text)
	}
	m.Type, m.Payload, m.Text = typ, payload, text
	if id != nil {
		m.ID = string(id)
	}
}

// plain is a line that is no message, as the protocol reads it.
func plain(text []byte) (typ string, payload value.Slot) {
	as := newObject("result")
	as.text("text", string(text))
	typ, _, payload, err := value.ParseMessage(as.end())
	if err != nil {
		panic("host: a quoted line does not parse: " + err.Error())
	}
	return typ, payload
}

// batch is what the reader hands on at once. A terminal message is its last.
type batch struct {
	msgs     []effect.HostMessage
	size     int  // of the lines
	requests int  // how many of the messages are
	takeBack bool // it holds a withdraw
	terminal bool
	since    int64 // where the messages of its exchange begin in all that the host says
}

// add decodes a line as the last message, in place: a flood's messages are not
// copied.
func (b *batch) add(text []byte) {
	n := len(b.msgs)
	if n < cap(b.msgs) {
		b.msgs = b.msgs[:n+1]
	} else {
		b.msgs = append(b.msgs, effect.HostMessage{})
	}
	m := &b.msgs[n]
	decode(m, text)
	switch roleOf(m.Type) {
	case request:
		b.requests++
	case takeBack:
		b.takeBack = true
	case terminal:
		b.terminal = true
	}
	b.size += len(text)
}

// full says that nothing more may be added.
func (b *batch) full() bool {
	return b.terminal || len(b.msgs) == batchMessages || b.size >= batchBytes
}

// cutOff says that the host's output ended within a message: a line without an
// end that begins as an object and is none.
func cutOff(l ndjson.Line) bool {
	if !l.Half {
		return false
	}
	for _, c := range l.Text {
		switch c {
		case ' ', '\t':
			continue
		case '{':
			return !json.Valid(l.Text)
		}
		return false
	}
	return false
}
