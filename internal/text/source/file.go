// Package source contains source texts and positions in them. All stages of the compiler use it,
// and it uses none of them. A position is a byte offset in a File. It is converted to a line and a
// column only for display.
package source

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// File is a source text. Diagnostics print the name of the file: the path as the user has specified
// it, with forward slashes. A File is immutable and safe for concurrent use.
type File struct {
	Name  string
	Text  []byte
	text  string // Text as a string
	read  []byte // original text, if Text hides a part of it; nil otherwise
	lines []Pos  // offset of the first byte of each line
	// marks contains positions in lines that are longer than stride, by line number counted from 1.
	// With a mark, a column need not be counted from the start of the line.
	marks map[int][]columnMark
}

// NewFile returns a File and computes its line table.
func NewFile(name string, text []byte) *File {
	lines := make([]Pos, 1, 1+bytes.Count(text, []byte{'\n'}))
	for i := 0; ; {
		j := bytes.IndexByte(text[i:], '\n')
		if j < 0 {
			break
		}
		i += j + 1
		lines = append(lines, Pos(i))
	}
	f := &File{Name: name, Text: text, text: string(text), lines: lines}
	f.markLongLines()
	return f
}

// Masked returns a copy of the file in which the text of the spans is hidden for display. The
// positions of all other characters remain the same. Original still returns the original text.
func (f *File) Masked(spans []Span) *File {
	shown := bytes.Clone(f.Text)
	for _, s := range spans {
		for i := s.Start; i < s.End; {
			r, n := utf8.DecodeRune(f.Text[i:s.End])
			if r != '\n' && r != '\r' {
				copy(shown[i:], masks[n])
			}
			i += Pos(n)
		}
	}
	m := NewFile(f.Name, shown)
	m.read = f.Original()
	return m
}

// masks contains the replacement of a hidden character, by the character's length in bytes.
var masks = [...]string{1: "*", 2: "·", 3: "•", 4: "🔒"}

// Original returns the original text. Edits of the file must use it instead of Text, in which
// secrets may be hidden.
func (f *File) Original() []byte {
	if f.read != nil {
		return f.read
	}
	return f.Text
}

// String returns the whole text, in which secrets may be hidden.
func (f *File) String() string { return f.text }

// Lines returns the number of lines. The last line of a text that ends in a newline is empty.
func (f *File) Lines() int { return len(f.lines) }

// LineStart returns the offset of the first byte of line n, counted from 1.
func (f *File) LineStart(n int) Pos { return f.lines[n-1] }

// Line returns the text of line n, counted from 1, without its line end.
func (f *File) Line(n int) []byte {
	start := int(f.lines[n-1])
	end := len(f.Text)
	if n < len(f.lines) {
		end = int(f.lines[n]) - 1
	}
	return bytes.TrimSuffix(f.Text[start:end], []byte{'\r'})
}

// LineOf returns the number of the line that contains p, counted from 1.
func (f *File) LineOf(p Pos) int {
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > p })
}

// Position converts p to a line and a column. Both are counted from 1, the column in code points.
func (f *File) Position(p Pos) Position {
	c := Cursor{File: f}
	return c.Position(p)
}

// Pos converts a line and a column to an offset. It is the inverse of Position. For a column beyond
// the end of the line it returns the end of the line; for a line that does not exist, the end of
// the text.
func (f *File) Pos(line, column int) Pos {
	if line < 1 || line > len(f.lines) {
		return Pos(len(f.Text))
	}
	at, text := f.LineStart(line), f.Line(line)
	for i := range string(text) {
		if column--; column <= 0 {
			return at + Pos(i)
		}
	}
	return at + Pos(len(text))
}

// Cursor computes the Positions of offsets that are close to each other, such as the offsets in one
// function. It first checks the line of the previous offset.
type Cursor struct {
	File *File
	line int // line of the previous position; 0 if there is none
}

// Position returns the same result as File.Position.
func (c *Cursor) Position(p Pos) Position {
	f := c.File
	if int(p) > len(f.Text) {
		p = Pos(len(f.Text))
	}
	if !c.holds(p) {
		if c.line++; !c.holds(p) {
			c.line = f.LineOf(p)
		}
	}
	m := f.markBefore(c.line, p)
	return Position{Line: c.line, Column: m.before + utf8.RuneCount(f.Text[m.at:p]) + 1}
}

// holds reports whether p is in the cursor's line.
func (c *Cursor) holds(p Pos) bool {
	lines := c.File.lines
	return c.line > 0 && c.line <= len(lines) && lines[c.line-1] <= p && (c.line == len(lines) || p < lines[c.line])
}

// Slice returns the text in the span s.
func (f *File) Slice(s Span) string { return f.text[s.Start:s.End] }
