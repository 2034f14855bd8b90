package host

import (
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// longText is the length from which a text in a line is not copied into it.
const longText = 1 << 20

// stretchPiece is how much of a long text is encoded at once.
const stretchPiece = 64 << 10

// A line is sent to a host, with its end. A long text in it is encoded while it is
// written: until the host has read it, which may be never, it takes no memory but the
// program's.
type line struct {
	short []byte // all but what is long
	long  []stretch
	frame framing // what stands before it where the process is kept
}

// stretch is a long text within a line.
type stretch struct {
	at     int // it stands before short[at]
	text   string
	encode func(dst []byte, part string) []byte // parts are cut between characters and line ends
	size   int                                  // encoded, in bytes
}

func newStretch(at int, text string, encode func([]byte, string) []byte) stretch {
	s := stretch{at: at, text: text, encode: encode}
	// What the encoder never fails over is cheaper to encode twice than to keep.
	_ = s.pieces(func(b []byte) error { s.size += len(b); return nil })
	return s
}

// pieces gives the encoded text in pieces that are valid until the next one.
func (s *stretch) pieces(yield func([]byte) error) error {
	var b []byte
	for rest := s.text; rest != ""; {
		n := cut(rest, stretchPiece)
		b = s.encode(b[:0], rest[:n])
		if err := yield(b); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// cut gives the length of a beginning of text, about as long as most, that ends
// neither within a character nor within "\r\n".
func cut(text string, most int) int {
	if len(text) <= most {
		return len(text)
	}
	n := utf8cut.Before(text, most)
	if text[n-1] == '\r' {
		n--
	}
	return n
}

// size is how many bytes the line has.
func (l *line) size() int { return len(l.short) + sizeOf(l.long) }

func sizeOf(long []stretch) (n int) {
	for i := range long {
		n += long[i].size
	}
	return n
}

// each gives the line in pieces that are valid until the next one.
func (l *line) each(yield func([]byte) error) error {
	from := 0
	for i := range l.long {
		s := &l.long[i]
		if err := yield(l.short[from:s.at]); err != nil {
			return err
		}
		if err := s.pieces(yield); err != nil {
			return err
		}
		from = s.at
	}
	return yield(l.short[from:])
}

// bytes is the line whole.
func (l *line) bytes() []byte {
	if len(l.long) == 0 {
		return l.short
	}
	b := make([]byte, 0, l.size())
	_ = l.each(func(piece []byte) error { b = append(b, piece...); return nil }) // nothing fails
	return b
}

// longObject builds an object with a text in it that may be long.
type longObject struct {
	jsonobject.Object
	long []stretch
}

func (o *longObject) text(name, s string) {
	if len(s) < longText {
		o.Object.Text(name, s)
		return
	}
	o.Key(name)
	o.Bytes = append(o.Bytes, '"')
	o.long = append(o.long, newStretch(len(o.Bytes), s, value.AppendEscaped))
	o.Bytes = append(o.Bytes, '"')
}

func (o *longObject) line() line { return line{short: ndjson.End(o.End(), 0), long: o.long} }
