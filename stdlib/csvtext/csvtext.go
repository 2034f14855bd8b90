// Package csvtext reads and writes CSV (RFC 4180). Unlike encoding/csv it preserves the line breaks
// inside quotes as they are, and a CR alone also ends a line.
package csvtext

import (
	"io"
	"strings"
	"unicode/utf8"
)

// Error is an error in a text. Line and Column start at 1; columns are counted in bytes.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string { return e.Message }

// Reader reads the rows of a text.
type Reader struct {
	text  string
	comma string
	pos   int
	line  int // number of the line at pos
	start int // offset of that line
	row   []string
}

// NewReader returns a Reader of a text without a byte order mark at its start.
func NewReader(text string, comma rune) *Reader {
	return &Reader{text: strings.TrimPrefix(text, "\ufeff"), comma: string(comma), line: 1}
}

// Read returns the next row, which is valid until the next call, and the number of its line. It
// skips empty lines. The error is an *Error, or io.EOF after the last row.
func (r *Reader) Read() (row []string, line int, err error) {
	for r.lineEnd() {
	}
	if r.pos >= len(r.text) {
		return nil, 0, io.EOF
	}
	r.row, line = r.row[:0], r.line
	for {
		field, err := r.field()
		if err != nil {
			return nil, line, err
		}
		r.row = append(r.row, field)
		if strings.HasPrefix(r.text[r.pos:], r.comma) {
			r.pos += len(r.comma)
			continue
		}
		r.lineEnd()
		return r.row, line, nil
	}
}

// lineEnd skips a line end, which is LF, CR or both.
func (r *Reader) lineEnd() bool {
	n := 0
	switch rest := r.text[r.pos:]; {
	case strings.HasPrefix(rest, "\r\n"):
		n = 2
	case rest != "" && (rest[0] == '\n' || rest[0] == '\r'):
		n = 1
	default:
		return false
	}
	r.pos += n
	r.line, r.start = r.line+1, r.pos
	return true
}

// field reads a field up to a separator or the end of its line.
func (r *Reader) field() (string, error) {
	rest := r.text[r.pos:]
	if !strings.HasPrefix(rest, `"`) {
		n := strings.IndexAny(rest, "\r\n\"")
		if end := strings.Index(rest, r.comma); end >= 0 && (n < 0 || end < n) {
			n = end
		}
		if n < 0 {
			n = len(rest)
		}
		if r.pos += n; n < len(rest) && rest[n] == '"' {
			return "", r.fail("a quote in a field that is not quoted")
		}
		return rest[:n], nil
	}
	opened := r.fail("a quoted field is not closed")
	r.pos++
	var b strings.Builder
	for {
		n := strings.IndexAny(r.text[r.pos:], "\"\r\n")
		if n < 0 {
			return "", opened
		}
		b.WriteString(r.text[r.pos : r.pos+n])
		from := r.pos + n
		r.pos = from
		if r.lineEnd() {
			b.WriteString(r.text[from:r.pos])
			continue
		}
		r.pos++
		rest := r.text[r.pos:]
		switch {
		case strings.HasPrefix(rest, `"`):
			b.WriteByte('"')
			r.pos++
		case rest == "", rest[0] == '\r', rest[0] == '\n', strings.HasPrefix(rest, r.comma):
			return b.String(), nil
		default:
			return "", r.fail("text follows the closing quote of a field")
		}
	}
}

func (r *Reader) fail(message string) error { return &Error{r.line, r.pos - r.start + 1, message} }

// AppendRow appends a row with a line feed at its end. Read returns the same row.
func AppendRow(b []byte, row []string, comma rune) []byte {
	for i, field := range row {
		if i > 0 {
			b = utf8.AppendRune(b, comma)
		}
		if !needsQuotes(field, comma) && (field != "" || len(row) > 1) {
			b = append(b, field...)
			continue
		}
		b = append(append(append(b, '"'), strings.ReplaceAll(field, `"`, `""`)...), '"')
	}
	return append(b, '\n')
}

// needsQuotes reports whether a field must be quoted, or should be because other programs would
// read it differently.
func needsQuotes(field string, comma rune) bool {
	return strings.ContainsAny(field, "\"\r\n") || strings.ContainsRune(field, comma) || strings.HasPrefix(field, "\ufeff") ||
		field == `\.` || field != strings.TrimSpace(field)
}
