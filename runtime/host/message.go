package host

import (
	"errors"
	"regexp"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// errNotMessage means that a line is text, or JSON of another shape, and not a message.
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

// decodeMessage is like the function decodeMessage, but returns errTooLarge if the decoded message
// exceeds the limit.
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
// and a *value.SyntaxError for a line that begins as an object and cannot be parsed. If
// only a number is out of range, m is the message without the number.
func decodeMessage(m *effect.HostMessage, text []byte, in *decodeBudget) error {
	text = withoutEscapes(text)
	ask := func(int) {}
	if in != nil {
		ask = in.charge
	}
	typ, id, payload, err := value.ParseMessageIn(text, ask)
	if err != nil && !isOutOfRange(err) {
		return classifyParseError(text, err)
	}
	m.Type, m.ID, m.Payload, m.Text = typ, "", payload, text
	if id != nil {
		m.ID = string(id)
	}
	return err
}

// withoutEscapes returns the JSON object of a line that begins with a byte order mark or escape
// sequences of a terminal, such as that of a library which shows the cursor when it exits. Other
// lines are returned unchanged.
func withoutEscapes(text []byte) []byte {
	if len(text) == 0 || text[0] != '\x1b' && text[0] != '\xef' {
		return text
	}
	if rest := text[len(leadingEscapes().Find(text)):]; jsonobject.Begins(rest) {
		return rest
	}
	return text
}

// leadingEscapes matches byte order marks and escape sequences (ECMA-48): CSI, OSC and those of two
// characters.
var leadingEscapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:\x{FEFF}|\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~])*`)
})

// isOutOfRange reports whether a line is a message with a number that is out of range.
func isOutOfRange(err error) bool {
	broken, ok := errors.AsType[*value.SyntaxError](err)
	return ok && broken.Range
}

// classifyParseError returns the error for a line that is not valid JSON.
func classifyParseError(text []byte, err error) error {
	var broken *value.SyntaxError
	// A line with such deep nesting is data and not text for people.
	if errors.As(err, &broken) && (broken.Deep || jsonobject.Begins(text)) {
		return err
	}
	return errNotMessage
}

// setPlainResult makes m a result message whose text is the line.
func setPlainResult(m *effect.HostMessage, text []byte) {
	as := jsonobject.New(hostmsg.Result)
	as.Text("text", string(text))
	*m = mustMessage(as.End())
	m.Text = text
}

// mustMessage returns the message with a text that Concerto has written. It panics if the text does
// not parse.
func mustMessage(text []byte) effect.HostMessage {
	typ, _, payload, err := value.ParseMessage(text)
	if err != nil {
		panic("host: a message of Concerto does not parse: " + err.Error())
	}
	return effect.HostMessage{Type: typ, Payload: payload, Text: text}
}

// batch is a group of messages that the reader delivers together. A terminal message is the last of
// its batch.
type batch struct {
	msgs          []effect.HostMessage
	size          int  // total size of the lines in bytes
	requests      int  // number of messages that are requests
	hasWithdrawal bool // it contains a withdraw message
	hasTerminal   bool
	stop          *effect.Error     // error with which the exchange must stop after this batch; nil if it continues
	lines         *effect.HostLines // lines from which the batch was read; nil if no keeper runs the process
}

// addLine adds a line. It also adds empty entries for preceding lines that contained no message.
func (b *batch) addLine(l ndjson.Line) {
	if b.lines == nil {
		b.lines = &effect.HostLines{First: l.Number}
	}
	for b.lines.Last() < l.Number-1 {
		b.lines.Text = append(b.lines.Text, "")
	}
	b.lines.Text = append(b.lines.Text, string(l.Text))
}

// appendLines appends the lines of another batch.
func (b *batch) appendLines(next *batch) {
	switch {
	case b.lines == nil, next.lines != nil && len(b.lines.Text) == 0:
		b.lines = next.lines
	case next.lines != nil:
		for b.lines.Last() < next.lines.First-1 {
			b.lines.Text = append(b.lines.Text, "")
		}
		b.lines.Text = append(b.lines.Text, next.lines.Text...)
	}
}

// nextMessage returns a pointer to the message after the last one in the batch. The caller decodes
// a line into it, which avoids a copy, and adds it with commitMessage.
func (b *batch) nextMessage() *effect.HostMessage {
	n := len(b.msgs)
	if n == cap(b.msgs) {
		b.msgs = slices.Grow(b.msgs, 1)
	}
	return &b.msgs[:n+1][n]
}

// commitMessage adds the message that nextMessage has returned.
func (b *batch) commitMessage() {
	b.commitAs(hostmsg.Lookup(b.msgs[:len(b.msgs)+1][len(b.msgs)].Type))
}

// commitAs is commitMessage for a message whose row is known.
func (b *batch) commitAs(row *hostmsg.Message) {
	b.msgs = b.msgs[:len(b.msgs)+1]
	m := &b.msgs[len(b.msgs)-1]
	switch {
	case row.Waits():
		b.requests++
	case row.Role == hostmsg.Withdraws:
		b.hasWithdrawal = true
	case row.Terminal():
		b.hasTerminal = true
	}
	b.size += len(m.Text)
}

// isFull reports whether the batch has reached one of its limits.
func (b *batch) isFull() bool {
	return b.hasTerminal || b.stop != nil || len(b.msgs) >= batchMessages || b.size >= batchBytes
}
