package source

import (
	"sort"
	"unicode/utf8"
)

// columnMark records, for a position in a line, the number of code points that precede it.
type columnMark struct {
	at     Pos
	before int
}

// stride is the approximate distance between two marks, in bytes.
const stride = 512

// markLongLines creates marks for all lines that are longer than stride.
func (f *File) markLongLines() {
	for i, start := range f.lines {
		end := Pos(len(f.Text))
		if i+1 < len(f.lines) {
			end = f.lines[i+1]
		}
		if end-start <= stride {
			continue
		}
		if f.marks == nil {
			f.marks = map[int][]columnMark{}
		}
		m := columnMark{at: start}
		for m.at+stride < end {
			next := f.runeStart(m.at + stride)
			m = columnMark{next, m.before + utf8.RuneCount(f.Text[m.at:next])}
			f.marks[i+1] = append(f.marks[i+1], m)
		}
	}
}

// runeStart returns the start of the code point that contains p.
func (f *File) runeStart(p Pos) Pos {
	for q := p; q > p-utf8.UTFMax; q-- {
		if utf8.RuneStart(f.Text[q]) {
			if _, size := utf8.DecodeRune(f.Text[q:]); q+Pos(size) > p {
				return q
			}
			break
		}
	}
	return p
}

// markBefore returns the last mark in a line at or before p. If there is none, it returns a mark
// for the start of the line.
func (f *File) markBefore(line int, p Pos) columnMark {
	marks := f.marks[line]
	if i := sort.Search(len(marks), func(i int) bool { return marks[i].at > p }); i > 0 {
		return marks[i-1]
	}
	return columnMark{at: f.lines[line-1]}
}
