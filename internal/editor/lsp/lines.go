package lsp

import (
	"sort"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// encoding is the unit in which characters of a line are counted.
type encoding = protocol.PositionEncodingKind

// lines converts between byte offsets of a text and positions of the protocol. A line ends at \n,
// \r\n or \r. A character is a byte, a UTF-16 code unit or a code point, depending on the encoding.
type lines struct {
	text   []byte
	starts []int // offsets of the starts of the lines
	enc    encoding
}

func newLines(text []byte, enc encoding) *lines {
	l := &lines{text: text, starts: []int{0}, enc: enc}
	for i, c := range text {
		if c == '\n' || c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			l.starts = append(l.starts, i+1)
		}
	}
	return l
}

// end returns the offset of the end of a line, before its line end characters.
func (l *lines) end(line int) int {
	if line+1 == len(l.starts) {
		return len(l.text)
	}
	end := l.starts[line+1] - 1
	if end > l.starts[line] && l.text[end] == '\n' && l.text[end-1] == '\r' {
		end--
	}
	return end
}

// units returns the number of characters that a code point counts as. size is its length in bytes.
func (l *lines) units(r rune, size int) int {
	switch {
	case l.enc == protocol.PositionEncodingKindUTF8:
		return size
	case l.enc == protocol.PositionEncodingKindUTF16 && r > 0xFFFF:
		return 2
	}
	return 1
}

// offset returns the offset of a position. For a position after the end of its line or of the text,
// it returns that end. For a position within a code point, it returns the start of the code point.
func (l *lines) offset(p protocol.Position) int {
	if uint64(p.Line) >= uint64(len(l.starts)) {
		return len(l.text)
	}
	at, end, left := l.starts[p.Line], l.end(int(p.Line)), int64(p.Character)
	for at < end {
		r, size := utf8.DecodeRune(l.text[at:end])
		if left -= int64(l.units(r, size)); left < 0 {
			break
		}
		at += size
	}
	return at
}

// position returns the position of an offset. For an offset within the line end characters, it
// returns the end of the line.
func (l *lines) position(offset int) protocol.Position {
	offset = min(max(offset, 0), len(l.text))
	line := sort.SearchInts(l.starts, offset+1) - 1
	at, n := l.starts[line], 0
	for end := min(offset, l.end(line)); at < end; {
		r, size := utf8.DecodeRune(l.text[at:])
		if at+size > end {
			break
		}
		n += l.units(r, size)
		at += size
	}
	return protocol.Position{Line: uint32(line), Character: uint32(n)}
}

// span converts a range to a span. If the range ends before it begins, the span is empty.
func (l *lines) span(r protocol.Range) source.Span {
	start := l.offset(r.Start)
	return source.Span{Start: source.Pos(start), End: source.Pos(max(start, l.offset(r.End)))}
}

// rng converts a span to a range.
func (l *lines) rng(s source.Span) protocol.Range {
	return protocol.Range{Start: l.position(int(s.Start)), End: l.position(int(s.End))}
}
