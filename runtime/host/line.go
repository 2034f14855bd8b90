package host

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// longText is the length from which a text is encoded while it is written.
const longText = 1 << 20

// pieceSize is the amount of a long text that is encoded at once.
const pieceSize = 64 << 10

// A line is sent to a host, including its line end. Long texts in it are encoded while they are
// written, so until the host reads the line they use no memory besides the program's own.
type line struct {
	short []byte // all but the long parts
	long  []longPart
	frame lineFrame // the keeper's header, for a kept process
}

// longPart is a long text within a line.
type longPart struct {
	offset int // position in line.short before which it is written
	text   string
	encode func(dst []byte, part string) []byte // parts are cut between characters and line ends
	size   int                                  // encoded size in bytes
}

func newLongPart(at int, text string, encode func([]byte, string) []byte) longPart {
	s := longPart{offset: at, text: text, encode: encode}
	// The encoder cannot fail, and encoding twice is cheaper than storing the result.
	_ = s.eachPiece(func(b []byte) error { s.size += len(b); return nil })
	return s
}

// eachPiece calls yield with pieces of the encoded text. A piece is valid until yield returns.
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
// character nor within "\r
//
// ".
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

// eachPiece calls yield with pieces of the line. A piece is valid until yield returns.
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
	_ = l.eachPiece(func(piece []byte) error { b = append(b, piece...); return nil }) // never fails
	return b
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
	o.long = append(o.long, newLongPart(len(o.Bytes), s, value.AppendEscaped))
	o.Bytes = append(o.Bytes, '"')
}

func (o *longObject) toLine() line { return line{short: ndjson.End(o.End(), 0), long: o.long} }
