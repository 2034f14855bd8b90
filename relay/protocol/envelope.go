package protocol

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/jcs"
)

// Envelope is a decoded frame. A missing field is "", 0 or nil. Missing data are {}.
type Envelope struct {
	Type      string
	TS        string // time of the sender's clock, in RFC 3339; not used for ordering
	MachineID string
	RunID     string
	Seq       int64  // number of the event in the run, counted from 1
	ID        string // id of a command, chosen by the sender
	Re        string // ID of the message to which this one is the response
	Enc       json.RawMessage
	Data      json.RawMessage // JSON object
	Extra     []Member        // unknown fields, in their order
}

// Member is a field of a JSON object.
type Member struct {
	Name  string
	Value json.RawMessage
}

// Parse parses a frame. If it returns a Refusal, the envelope contains the fields that could be
// read.
func Parse(frame []byte) (Envelope, *Refusal) {
	var e Envelope
	switch {
	case len(frame) > MaxFrame:
		return e, &Refusal{Code: TooLarge, Why: "a frame must have at most " + strconv.Itoa(MaxFrame) + " bytes", Close: CloseTooBig}
	case !utf8.Valid(frame):
		return e, &Refusal{Code: BadMessage, Why: "a frame must be UTF-8", Close: CloseInvalidUTF8}
	case tooDeep(frame):
		return e, bad("a frame must not nest arrays and objects deeper than %d", MaxDepth)
	}
	members, why := membersOf(frame)
	if why != "" {
		return e, bad("%s", why)
	}
	var first *Refusal
	for _, m := range members {
		if r := e.set(m); r != nil && first == nil {
			first = r
		}
	}
	if e.Data == nil {
		e.Data = json.RawMessage("{}")
	}
	switch {
	case first != nil:
		return e, first
	case e.Type == "":
		return e, bad("type is missing")
	case e.TS == "":
		return e, bad("ts is missing")
	}
	return e, nil
}

// tooDeep reports whether the brackets outside strings are nested too deeply. frame may be invalid
// JSON.
func tooDeep(frame []byte) bool {
	depth, inText := 0, false
	for i := 0; i < len(frame); i++ {
		switch c := frame[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// membersOf returns the members of an object in order. why is the reason of a failure, or "".
func membersOf(frame []byte) (all []Member, why string) {
	d := json.NewDecoder(bytes.NewReader(frame))
	if t, err := d.Token(); err != nil {
		return nil, "a frame must be JSON"
	} else if t != json.Delim('{') {
		return nil, "a frame must be an object"
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, "a frame must be JSON"
		}
		m := Member{Name: name.(string)} // object keys are always strings
		if err := d.Decode(&m.Value); err != nil {
			return nil, "a frame must be JSON"
		}
		for _, other := range all {
			if other.Name == m.Name {
				return nil, m.Name + " is there twice"
			}
		}
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, "a frame must be JSON"
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, "a frame must be one object"
	}
	return all, ""
}

// set sets the envelope's field that has the member's name. A null value counts as an omitted
// field.
func (e *Envelope) set(m Member) *Refusal {
	at, form, ok := e.field(m.Name)
	switch {
	case !ok:
		e.Extra = append(e.Extra, m)
	case isNull(m.Value):
	case at != nil:
		var t string
		if kindOf(m.Value) != text || json.Unmarshal(m.Value, &t) != nil || !form.is(t) {
			return bad("%s must be %s", m.Name, form.what)
		}
		*at = t
	case m.Name == "seq":
		return e.setSeq(m.Value)
	case kindOf(m.Value) != object:
		return bad("%s must be an object", m.Name)
	case m.Name == "data":
		e.Data = m.Value
	default:
		e.Enc = m.Value
	}
	return nil
}

var (
	typeForm  = form{"1 to 64 of a-z 0-9 _ .", "^[a-z0-9_.]{1,64}$", isType}
	shortForm = form{"a text of 1 to 64 bytes", "", func(t string) bool { return len(t) <= 64 && t != "" }}
)

// field returns a pointer to the text field with the given name, and the form of the field. known
// is false if there is no such field.
func (e *Envelope) field(name string) (at *string, f form, known bool) {
	switch name {
	case "type":
		return &e.Type, typeForm, true
	case "ts":
		return &e.TS, forms["time"], true
	case "host_id":
		return &e.MachineID, forms["id"], true
	case "run_id":
		return &e.RunID, forms["id"], true
	case "id":
		return &e.ID, shortForm, true
	case "re":
		return &e.Re, shortForm, true
	case "seq", "data", "enc":
		return nil, form{}, true
	}
	return nil, form{}, false
}

func (e *Envelope) setSeq(v json.RawMessage) *Refusal {
	if isNull(v) {
		return nil
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 1 || n > MaxSeq {
		return bad("seq must be an integer from 1 to %d", int64(MaxSeq))
	}
	e.Seq = n
	return nil
}

func isType(t string) bool {
	if t == "" || len(t) > 64 {
		return false
	}
	for i := range len(t) {
		c := t[i]
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.') {
			return false
		}
	}
	return true
}

// Append appends the envelope as a frame. The known fields come first, in the order of the struct.
// The unknown fields follow.
func (e *Envelope) Append(b []byte) []byte {
	b = append(b, '{')
	text := func(name, v string) {
		if v != "" {
			b = jcs.AppendText(appendName(b, name), v)
		}
	}
	raw := func(name string, v json.RawMessage) {
		if v != nil {
			b = append(appendName(b, name), v...)
		}
	}
	text("type", e.Type)
	text("ts", e.TS)
	text("host_id", e.MachineID)
	text("run_id", e.RunID)
	if e.Seq != 0 {
		b = strconv.AppendInt(appendName(b, "seq"), e.Seq, 10)
	}
	text("id", e.ID)
	text("re", e.Re)
	raw("enc", e.Enc)
	raw("data", e.Data)
	for _, m := range e.Extra {
		raw(m.Name, m.Value)
	}
	return append(b, '}')
}

func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(jcs.AppendText(b, name), ':')
}

// Timestamp returns a time as the protocol writes it: in UTC, with milliseconds.
func Timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// New returns an envelope with the given type, time and data. data is one of the structs of this
// package.
func New(typ string, now time.Time, data any) Envelope {
	text, err := json.Marshal(data)
	if err != nil {
		panic("protocol: " + typ + " is no JSON: " + err.Error())
	}
	return Envelope{Type: typ, TS: Timestamp(now), Data: text}
}

// SameEvent reports whether two events with the same sequence number have the same type, enc and
// data. The order of members is ignored.
func SameEvent(a, b *Envelope) bool {
	return a.Type == b.Type && sameObject(a.Enc, b.Enc) && sameObject(a.Data, b.Data)
}

// sameObject reports whether two objects are equal, or both missing.
func sameObject(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, errA := jcs.Canonical(a)
	y, errB := jcs.Canonical(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
