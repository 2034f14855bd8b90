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

// messageTypes lists the types with a meaning here; what is in a message is the
// loop's concern.
var messageTypes = map[string]role{
	"question":  request,
	"approval":  request,
	"tool_call": request,
	"result":    terminal,
	"error":     terminal,
	"withdraw":  takeBack,
}

// message is a decoded line with its role.
type message struct {
	effect.HostMessage
	role role
}

// decode reads a line. What is not a message is the result with the line as its
// text.
func decode(text []byte) message {
	typ, id, payload, err := value.ParseMessage(text)
	if err != nil {
		return plain(text)
	}
	m := message{effect.HostMessage{Type: typ, Payload: payload, Text: text}, messageTypes[typ]}
	if id != nil {
		m.ID = string(id)
	}
	return m
}

// plain is a line that is no message, as the protocol reads it.
func plain(text []byte) message {
	as := newObject("result")
	as.text("text", string(text))
	typ, _, payload, err := value.ParseMessage(as.end())
	if err != nil {
		panic("host: a quoted line does not parse: " + err.Error())
	}
	return message{effect.HostMessage{Type: typ, Payload: payload, Text: text}, terminal}
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
