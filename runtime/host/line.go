package host

import (
	"bytes"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// longText is the minimum length, in bytes, of a text that is encoded while it is written.
const longText = 1 << 20

// pieceSize is the number of bytes of a long text that are encoded at once.
const pieceSize = 64 << 10

// line is a line for a host, including its line end. Long texts in the line are encoded while they
// are written. A line that waits for the host therefore needs no memory besides the program's text.
type line struct {
	short []byte // the line without its long parts
	long  []longPart
	frame lineFrame // the keeper's header, if a keeper runs the process
	// secrets are the texts that records of the line do not contain; nil for none.
	secrets []string
	// begins is the segment of the exchange that the line begins; nil for any other line.
	begins *segment
}

// longPart is a long text within a line.
type longPart struct {
	offset int // index into line.short before which the part is written
	text   string
	encode func(dst []byte, part string) []byte // encodes a piece of the text; pieces end at character boundaries and never between "\r" and "\n"
	size   int                                  // encoded size in bytes
}

func newLongPart(at int, text string, encode func([]byte, string) []byte) longPart {
	s := longPart{offset: at, text: text, encode: encode}
	// The encoder cannot fail, and encoding the text twice is cheaper than storing the result.
	_ = s.eachPiece(func(b []byte) error { s.size += len(b); return nil })
	return s
}

// eachPiece calls yield with consecutive pieces of the encoded text. A piece is valid until yield
// returns.
func (s *longPart) eachPiece(yield func([]byte) error) error {
	var b []byte
	for rest := s.text; rest != ""; {
		n := cutLength(rest, pieceSize)
		b = s.encode(b[:0], rest[:n])
		if err := yield(b); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// cutLength returns the length of a prefix of text of about most bytes that ends neither within a
// character nor between a carriage return and its line feed.
func cutLength(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	n := utf8cut.Before(text, most)
	if text[n-1] == '\r' {
		n--
	}
	return n
}

// size returns the number of bytes of the line.
func (l *line) size() int { return len(l.short) + sizeOf(l.long) }

func sizeOf(long []longPart) (n int) {
	for i := range long {
		n += long[i].size
	}
	return n
}

// eachPiece calls yield with consecutive pieces of the line. A piece is valid until yield returns.
func (l *line) eachPiece(yield func([]byte) error) error {
	from := 0
	for i := range l.long {
		s := &l.long[i]
		if err := yield(l.short[from:s.offset]); err != nil {
			return err
		}
		if err := s.eachPiece(yield); err != nil {
			return err
		}
		from = s.offset
	}
	return yield(l.short[from:])
}

// concat returns the whole line.
func (l *line) concat() []byte {
	if len(l.long) == 0 {
		return l.short
	}
	b := make([]byte, 0, l.size())
	_ = l.eachPiece(func(piece []byte) error { b = append(b, piece...); return nil }) // the yield function never fails
	return b
}

// hide returns text, which contains the line, without the line's secrets.
func (l *line) hide(text []byte) []byte {
	for _, s := range l.secrets {
		text = bytes.ReplaceAll(text, jsonwrite.MustEncode(s), []byte(notRecorded))
	}
	return text
}

// longObject builds a JSON object that may contain a long text.
type longObject struct {
	jsonobject.Object
	long []longPart
}

func (o *longObject) textMember(name, s string) {
	if len(s) < longText {
		o.Object.Text(name, s)
		return
	}
	o.Key(name)
	o.Bytes = append(o.Bytes, '"')
	o.long = append(o.long, newLongPart(len(o.Bytes), s, jsonwrite.Plain.AppendEscaped))
	o.Bytes = append(o.Bytes, '"')
}

func (o *longObject) toLine() line { return line{short: ndjson.End(o.End(), 0), long: o.long} }
