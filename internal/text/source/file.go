// Package source contains source texts and positions in them. Every stage depends on it, and it
// depends on none. Positions are byte offsets into one File; they become lines and columns only for
// display.
package source

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// File is a source text. Diagnostics print its name: the path as the user specified it, with
// forward slashes. A File is immutable and safe for concurrent use.
type File struct {
	Name  string
	Text  []byte
	text  string // the same as String
	read  []byte // the original text, if Text hides a part of it
	lines []Pos  // offset of each line's first byte
	// marks are positions within lines longer than stride, by line from 1. They avoid counting a
	// column from the line's start each time.
	marks map[int][]columnMark
}

// NewFile returns a File with its line table.
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

// Masked returns the file with the text of spans hidden, for display. Its characters have unchanged
// positions. Original still returns the original text.
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

// masks are the replacements of a hidden character, by its length in bytes.
var masks = [...]string{1: "*", 2: "·", 3: "•", 4: "🔒"}

// Original returns the original text. Edits of the file must be made in it, never in Text, which
// hides secrets.
func (f *File) Original() []byte {
	if f.read != nil {
		return f.read
	}
	return f.Text
}

// String returns the whole text.
func (f *File) String() string { return f.text }

// Lines returns the number of lines. A text that ends in a newline has an empty last line.
func (f *File) Lines() int { return len(f.lines) }

// LineStart returns the offset of the first byte of line n (1-based).
func (f *File) LineStart(n int) Pos { return f.lines[n-1] }

// Line returns the text of line n (1-based) without its line end.
func (f *File) Line(n int) []byte {
	start := int(f.lines[n-1])
	end := len(f.Text)
	if n < len(f.lines) {
		end = int(f.lines[n]) - 1
	}
	return bytes.TrimSuffix(f.Text[start:end], []byte{'\r'})
}

// LineOf returns the 1-based line that contains p.
func (f *File) LineOf(p Pos) int {
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > p })
}

// Position returns p as line and column, both 1-based, the column in code points.
func (f *File) Position(p Pos) Position {
	c := Cursor{File: f}
	return c.Position(p)
}

// Pos is the inverse of Position. For a column beyond the line's end it returns the line's end; for
// a line beyond the text's end, the text's end.
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

// Cursor computes the Positions of nearby places, like those of a function. It first checks the
// line of the previous place.
type Cursor struct {
	File *File
	line int // of the previous place; initially 0
}

// Position is File.Position.
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

// holds reports whether p is on the cursor's line.
func (c *Cursor) holds(p Pos) bool {
	lines := c.File.lines
	return c.line > 0 && c.line <= len(lines) && lines[c.line-1] <= p && (c.line == len(lines) || p < lines[c.line])
}

// Slice returns the text that s covers.
func (f *File) Slice(s Span) string { return f.text[s.Start:s.End] }
