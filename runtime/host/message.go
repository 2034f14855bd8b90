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

// errNotMessage means that a line is not a message: it is text, or JSON of another shape.
var errNotMessage = errors.New("not a message")

// decodeBudget limits the memory of one decoded message.
type decodeBudget struct {
	limit int // in bytes; 0 means no limit
	used  int
}

// errTooLarge means that a decoded message exceeds the budget.
var errTooLarge = errors.New("no room")

func (r *decodeBudget) charge(n int) {
	if r.used += n; r.used > r.limit {
		panic(errTooLarge)
	}
}

// decodeMessage is like the function decodeMessage, but returns errTooLarge if the message exceeds
// the budget.
func (r *decodeBudget) decodeMessage(m *effect.HostMessage, text []byte) (err error) {
	if r.limit == 0 {
		return decodeMessage(m, text, nil)
	}
	defer func() {
		if p := recover(); p != nil {
			if p != errTooLarge {
				panic(p)
			}
			err = errTooLarge
		}
	}()
	r.used = 0
	return decodeMessage(m, text, r)
}

// decodeMessage decodes a line into m. It returns errNotMessage for a line that is not a message,
// and a *value.SyntaxError for a line that begins as an object and cannot be parsed.
func decodeMessage(m *effect.HostMessage, text []byte, in *decodeBudget) error {
	ask := func(int) {}
	if in != nil {
		ask = in.charge
	}
	typ, id, payload, err := value.ParseMessageIn(text, ask)
	if err != nil {
		return classifyParseError(text, err)
	}
	m.Type, m.ID, m.Payload, m.Text = typ, "", payload, text
	if id != nil {
		m.ID = string(id)
	}
	return nil
}

// classifyParseError returns the error for a line that could not be parsed.
func classifyParseError(text []byte, err error) error {
	var broken *value.SyntaxError
	// A value that is nested so deeply was not written as text for people.
	if errors.As(err, &broken) && (broken.Deep || jsonobject.Begins(text)) {
		return err
	}
	return errNotMessage
}

// setPlainResult makes m a result message whose text is the line.
func setPlainResult(m *effect.HostMessage, text []byte) {
	as := jsonobject.New(hostmsg.Result)
	as.Text("text", string(text))
	typ, _, payload, err := value.ParseMessage(as.End())
	if err != nil {
		panic("host: a quoted line does not parse: " + err.Error())
	}
	m.Type, m.ID, m.Payload, m.Text = typ, "", payload, text
}

// batch is a group of messages that the reader delivers at once. A terminal message is its last.
type batch struct {
	msgs          []effect.HostMessage
	size          int  // of the lines, in bytes
	requests      int  // number of messages that are requests
	hasWithdrawal bool // it contains a withdraw message
	hasTerminal   bool
	lines         *effect.HostLines // the lines that it was read from; nil if the process is not kept
}

// addLine adds a line, and empty entries for the lines before it that contained no message.
func (b *batch) addLine(l ndjson.Line) {
	if b.lines == nil {
		b.lines = &effect.HostLines{First: l.Number}
	}
	for b.lines.Last() < l.Number-1 {
		b.lines.Text = append(b.lines.Text, "")
	}
	b.lines.Text = append(b.lines.Text, string(l.Text))
}

// appendLines appends the lines of the next batch.
func (b *batch) appendLines(next *batch) {
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

// nextMessage returns the message that the next line is decoded into, in place to avoid copying.
// commitMessage adds it to the batch.
func (b *batch) nextMessage() *effect.HostMessage {
	n := len(b.msgs)
	if n == cap(b.msgs) {
		b.msgs = slices.Grow(b.msgs, 1)
	}
	return &b.msgs[:n+1][n]
}

func (b *batch) commitMessage() {
	b.msgs = b.msgs[:len(b.msgs)+1]
	m := &b.msgs[len(b.msgs)-1]
	switch row := hostmsg.Of(m.Type); {
	case row.Waits():
		b.requests++
	case row.Role == hostmsg.Withdraws:
		b.hasWithdrawal = true
	case row.Terminal():
		b.hasTerminal = true
	}
	b.size += len(m.Text)
}

// isFull reports whether nothing more may be added.
func (b *batch) isFull() bool {
	return b.hasTerminal || len(b.msgs) == batchMessages || b.size >= batchBytes
}
