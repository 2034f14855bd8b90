package emit

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// Mode is the form of the output. Its names are the values of `--emit`.
type Mode uint8

// The modes of output.
const (
	Text   Mode = iota // lines "[channel] payload", and unchanged printed text
	NDJSON             // lines {"channel":…,"payload":…} and nothing else
	None               // no output
)

// String returns the mode's name on the command line.
func (m Mode) String() string {
	for name, mode := range Modes {
		if mode == m {
			return name
		}
	}
	return "unknown"
}

// Modes maps the names on the command line to modes.
var Modes = map[string]Mode{"text": Text, "ndjson": NDJSON, "none": None}

// format contains the functions that write the output of a mode; a nil function writes nothing.
// lines means that each line is an object, to which details are added as members.
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

// onTerminal contains the formats for a terminal, which escape control characters.
var onTerminal = [...]format{
	Text: {
		emit: func(b []byte, channel string, payload json.RawMessage) []byte {
			return append(b, terminal.Escape(string(textEmit(nil, channel, payload)))...)
		},
		print: func(b []byte, p *effect.Print) []byte {
			return append(b, terminal.Printed(string(textPrint(nil, p)))...)
		},
	},
	NDJSON: {
		emit: func(b []byte, channel string, payload json.RawMessage) []byte {
			return append(b, terminal.JSON(string(jsonEmit(nil, channel, payload)))...)
		},
		print: func(b []byte, p *effect.Print) []byte { return append(b, terminal.JSON(string(jsonPrint(nil, p)))...) },
		lines: true,
	},
	None: {},
}

// indent begins each continuation line of an emit, so that the line cannot be mistaken for an emit.
const indent = "  "

// textEmit appends "[channel] payload". A String is written without quotes, with indented
// continuation lines. Any other value is written as compact JSON. Without a payload, textEmit
// appends "[channel]".
func textEmit(b []byte, channel string, payload json.RawMessage) []byte {
	begin := len(b)
	b = append(b, '[')
	b = append(b, channel...)
	b = append(b, ']')
	if payload != nil {
		b = append(b, ' ')
		b = appendShown(b, payload)
	}
	if bytes.ContainsAny(b[begin:], lineEnds) {
		b = append(b[:begin], indented(string(b[begin:]))...)
	}
	return append(b, '\n')
}

// lineEnds contains the characters after which some readers begin a new line.
const lineEnds = "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029"

// indented returns a text whose continuation lines are indented, except empty lines.
func indented(text string) string {
	var b strings.Builder
	begins := false
	for _, r := range text {
		ends := strings.ContainsRune(lineEnds, r)
		if begins && !ends {
			b.WriteString(indent)
		}
		b.WriteRune(r)
		begins = ends
	}
	return b.String()
}

// appendShown appends a value in the form for people.
func appendShown(b []byte, v json.RawMessage) []byte {
	if len(v) < 2 || v[0] != '"' {
		return append(b, v...)
	}
	if inner := v[1 : len(v)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return append(b, inner...)
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		panic("emit: could not encode a payload as JSON: " + err.Error())
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

// jsonEmit appends an object on one line. It writes a missing payload as null, so that every line
// has both members.
func jsonEmit(b []byte, channel string, payload json.RawMessage) []byte {
	if payload == nil {
		payload = json.RawMessage("null")
	}
	b = value.AppendString(append(b, `{"channel":`...), channel)
	b = append(b, `,"payload":`...)
	b = append(b, payload...)
	return append(b, '}', '\n')
}

// jsonPrint appends printed text as an emit on the channel print, without the newline that println
// adds.
func jsonPrint(b []byte, p *effect.Print) []byte {
	return jsonEmit(b, "print", value.AppendString(nil, p.Text))
}
