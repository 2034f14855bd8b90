package emit

import (
	"bytes"
	"encoding/json"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/value"
)

// Mode is how output looks: the values of `--emit`.
type Mode uint8

// The modes.
const (
	Text   Mode = iota // "[channel] payload" lines, and printed text as it is
	NDJSON             // {"channel":…,"payload":…} lines and nothing else
	None               // nothing at all
)

// Modes are the modes by their names on the command line.
var Modes = map[string]Mode{"text": Text, "ndjson": NDJSON, "none": None}

// format writes one mode's output; a nil function writes nothing. Lines are
// objects where lines says so: then they take the detail as members.
type format struct {
	emit  func(b []byte, channel string, payload json.RawMessage) []byte
	print func(b []byte, p *effect.Print) []byte
	lines bool
}

var formats = [...]format{
	Text:   {textEmit, textPrint, false},
	NDJSON: {jsonEmit, jsonPrint, true},
	None:   {},
}

// textEmit writes "[channel] payload": a String as it is, anything else as
// compact JSON, and "[channel]" without a payload.
func textEmit(b []byte, channel string, payload json.RawMessage) []byte {
	b = append(b, '[')
	b = append(b, channel...)
	b = append(b, ']')
	if payload != nil {
		b = append(b, ' ')
		b = appendShown(b, payload)
	}
	return append(b, '\n')
}

// appendShown writes a value as people read it.
func appendShown(b []byte, v json.RawMessage) []byte {
	if len(v) < 2 || v[0] != '"' {
		return append(b, v...)
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return append(b, inner...)
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		panic("emit: a payload is no JSON: " + err.Error())
	}
	return append(b, s...)
}

func textPrint(b []byte, p *effect.Print) []byte {
	b = append(b, p.Text...)
	if p.Newline {
		b = append(b, '\n')
	}
	return b
}

// jsonEmit writes one object a line; without a payload it is null, so every
// line has both members.
func jsonEmit(b []byte, channel string, payload json.RawMessage) []byte {
	if payload == nil {
		payload = json.RawMessage("null")
	}
	b = value.AppendString(append(b, `{"channel":`...), channel)
	b = append(b, `,"payload":`...)
	b = append(b, payload...)
	return append(b, '}', '\n')
}

// jsonPrint makes printed text an emit on channel print; the newline is the
// terminal's, not the text's.
func jsonPrint(b []byte, p *effect.Print) []byte {
	return jsonEmit(b, "print", value.AppendString(nil, p.Text))
}
