// Package source holds source texts and places in them. Every stage builds on
// it, and it on none. Positions are byte offsets into one File; they become
// lines and columns only when they are shown to a person.
package source

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// File is a source text. Diagnostics print its name: the path as the user gave
// it, with forward slashes. A File is immutable and safe for concurrent use.
type File struct {
	Name  string
	Text  []byte
	text  string // the same
	read  []byte // what was read, where Text hides a part of it
	lines []Pos  // offset of each line's first byte
	// marks are places within lines longer than stride, by line from 1. With them
	// a column is not counted from the line's start each time.
	marks map[int][]columnMark
}

// NewFile makes a File and its line table.
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

// Masked returns the file with the text of spans hidden, for showing. Its characters are where they
// were. Original still returns what was read.
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

// masks are what hides a character, by its length in bytes.
var masks = [...]string{1: "*", 2: "·", 3: "•", 4: "🔒"}

// Original returns the text that was read. Edits of the file are made in it, never in Text, which
// hides secrets.
func (f *File) Original() []byte {
	if f.read != nil {
		return f.read
	}
	return f.Text
}

// String is the whole text.
func (f *File) String() string { return f.text }

// Lines is the number of lines. A text that ends in a newline has an empty last
// line.
func (f *File) Lines() int { return len(f.lines) }

// LineStart is the offset of the first byte of line n (1-based).
func (f *File) LineStart(n int) Pos { return f.lines[n-1] }

// Line is the text of line n (1-based) without its line end.
func (f *File) Line(n int) []byte {
	start := int(f.lines[n-1])
	end := len(f.Text)
	if n < len(f.lines) {
		end = int(f.lines[n]) - 1
	}
	return bytes.TrimSuffix(f.Text[start:end], []byte{'\r'})
}

// LineOf is the 1-based line that holds p.
func (f *File) LineOf(p Pos) int {
	return sort.Search(len(f.lines), func(i int) bool { return f.lines[i] > p })
}

// Position is p as line and column, both 1-based, the column in code points.
func (f *File) Position(p Pos) Position {
	c := Cursor{File: f}
	return c.Position(p)
}

// Pos is the place of a line and a column as Position gives them: the line's end for a column beyond it, the
// text's for a line beyond that.
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

// Cursor gives the positions of places that are near each other, like those of a
// function. It looks first on the line of the place before.
type Cursor struct {
	File *File
	line int // of the place before; 0 at first
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

// holds says whether p lies on the cursor's line.
func (c *Cursor) holds(p Pos) bool {
	lines := c.File.lines
	return c.line > 0 && c.line <= len(lines) && lines[c.line-1] <= p && (c.line == len(lines) || p < lines[c.line])
}

// Slice is the text that s covers.
func (f *File) Slice(s Span) string { return f.text[s.Start:s.End] }
