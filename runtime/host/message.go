package host

import (
	"errors"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// errNotMessage is a line that is no message: text, or JSON of another shape.
var errNotMessage = errors.New("not a message")

// room holds what one message unfolds to within a limit.
type room struct {
	limit int // in bytes; 0 is none
	asked int
}

// errNoRoom is a message that unfolds to more than there is room for.
var errNoRoom = errors.New("no room")

func (r *room) take(n int) {
	if r.asked += n; r.asked > r.limit {
		panic(errNoRoom)
	}
}

// decodeIn is decode within the room: it gives errNoRoom when that does not do.
func (r *room) decodeIn(m *effect.HostMessage, text []byte) (err error) {
	if r.limit == 0 {
		return decode(m, text, nil)
	}
	defer func() {
		if p := recover(); p != nil {
			if p != errNoRoom {
				panic(p)
			}
			err = errNoRoom
		}
	}()
	r.asked = 0
	return decode(m, text, r)
}

// decode reads a line into m. A line that is no message gives errNotMessage; one
// that begins as an object and cannot be read gives the *value.SyntaxError.
func decode(m *effect.HostMessage, text []byte, in *room) error {
	ask := func(int) {}
	if in != nil {
		ask = in.take
	}
	typ, id, payload, err := value.ParseMessageIn(text, ask)
	if err != nil {
		return unread(text, err)
	}
	m.Type, m.ID, m.Payload, m.Text = typ, "", payload, text
	if id != nil {
		m.ID = string(id)
	}
	return nil
}

// unread says why a line was not read as a message.
func unread(text []byte, err error) error {
	var broken *value.SyntaxError
	// What nests so deep was never meant to be read by people.
	if errors.As(err, &broken) && (broken.Deep || jsonobject.Begins(text)) {
		return err
	}
	return errNotMessage
}

// plain makes m the result with the line as its text.
func plain(m *effect.HostMessage, text []byte) {
	as := jsonobject.New(hostmsg.Result)
	as.Text("text", string(text))
	typ, _, payload, err := value.ParseMessage(as.End())
	if err != nil {
		panic("host: a quoted line does not parse: " + err.Error())
	}
	m.Type, m.ID, m.Payload, m.Text = typ, "", payload, text
}

// batch is what the reader hands on at once. A terminal message is its last.
type batch struct {
	msgs     []effect.HostMessage
	size     int  // of the lines
	requests int  // how many of the messages are
	takeBack bool // it holds a withdraw
	terminal bool
	lines    *effect.HostLines // that it was read from; nil where nobody keeps the process
}

// read adds a line, and those before it that said nothing.
func (b *batch) read(l ndjson.Line) {
	if b.lines == nil {
		b.lines = &effect.HostLines{First: l.Number}
	}
	for b.lines.Last() < l.Number-1 {
		b.lines.Text = append(b.lines.Text, "")
	}
	b.lines.Text = append(b.lines.Text, string(l.Text))
}

// follow adds the lines of the batch behind it.
func (b *batch) follow(next *batch) {
	switch {
	case b.lines == nil:
		b.lines = next.lines
	case next.lines != nil:
		for b.lines.Last() < next.lines.First-1 {
			b.lines.Text = append(b.lines.Text, "")
		}
		b.lines.Text = append(b.lines.Text, next.lines.Text...)
	}
}

// room is where the next message goes: decoded in place, a flood's messages are
// not copied. It is one of the batch when keep says so.
func (b *batch) room() *effect.HostMessage {
	n := len(b.msgs)
	if n == cap(b.msgs) {
		b.msgs = slices.Grow(b.msgs, 1)
	}
	return &b.msgs[:n+1][n]
}

func (b *batch) keep() {
	b.msgs = b.msgs[:len(b.msgs)+1]
	m := &b.msgs[len(b.msgs)-1]
	switch row := hostmsg.Of(m.Type); {
	case row.Waits():
		b.requests++
	case row.Role == hostmsg.TakesBack:
		b.takeBack = true
	case row.Terminal():
		b.terminal = true
	}
	b.size += len(m.Text)
}

// full says that nothing more may be added.
func (b *batch) full() bool {
	return b.terminal || len(b.msgs) == batchMessages || b.size >= batchBytes
}
