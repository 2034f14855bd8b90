package diag

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/text/source"
)

const (
	tabWidth = 4
	// A line with more than maxColumns columns is shown in part: at most maxColumns columns, which
	// start lead columns before the span.
	maxColumns = 160
	lead       = 60
)

// layout contains the columns of the characters of a displayed source line. Spaces replace tabs,
// and visible characters replace those that could control a terminal.
type layout struct {
	line    []byte
	columns []int32 // column of each byte offset, and of the end of the line
}

// layouts caches the layouts of long lines, so that many diagnostics on one line take no longer
// than diagnostics on different lines.
type layouts struct {
	long    map[*source.File]map[int]*layout
	scanned int // number of characters that were read; tests check that it grows linearly
}

// of returns the layout of line n of f.
func (l *layouts) of(f *source.File, n int) *layout {
	if v := l.long[f][n]; v != nil {
		return v
	}
	v := l.newLayout(f.Line(n))
	if len(v.line) <= maxColumns {
		return v
	}
	if l.long == nil {
		l.long = map[*source.File]map[int]*layout{}
	}
	if l.long[f] == nil {
		l.long[f] = map[int]*layout{}
	}
	l.long[f][n] = v
	return v
}

func (l *layouts) newLayout(line []byte) *layout {
	v := &layout{line: line, columns: make([]int32, len(line)+1)}
	col, joined := 0, false
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRune(line[i:])
		_, w := showRune(r, n, col)
		if joined {
			w = 0
		}
		joined = r == 0x200d
		for j := range n {
			v.columns[i+j] = int32(col)
		}
		col += w
		i += n
		l.scanned++
	}
	v.columns[len(line)] = int32(col)
	return v
}

// column returns the column of byte offset i in the whole line.
func (v *layout) column(i int) int {
	return int(v.columns[max(min(i, len(v.columns)-1), 0)])
}

// window is the visible part of a line: all of it, or the text around a span, with ellipses for the
// omitted text.
type window struct {
	*layout
	text  string
	shift int // number of columns that are omitted at the start
	last  int // column after the end of the displayed part
}

// column returns the column of byte offset i in the window.
func (w *window) column(i int) int { return min(max(w.layout.column(i)-w.shift, 0), w.last) }

// around returns the part of a line that is displayed for a span at byte offset at.
func (l *layouts) around(v *layout, at int) *window {
	width := v.column(len(v.line))
	if width <= maxColumns {
		return &window{v, strings.TrimRight(l.shown(v, 0, width), " "), 0, width}
	}
	const gap = "… "
	first := max(v.column(at)-lead, 0)
	from := sort.Search(len(v.columns), func(i int) bool { return int(v.columns[i]) >= first })
	shift := v.column(from)
	text := l.shown(v, from, first+maxColumns)
	if first > 0 {
		text = gap + text
		shift -= 2
	}
	if width > first+maxColumns {
		text += " …"
	}
	return &window{v, text, shift, maxColumns + 2}
}

// shown returns the characters from byte offset i that start before column end.
func (l *layouts) shown(v *layout, i, end int) string {
	var b strings.Builder
	for i < len(v.line) && v.column(i) < end {
		r, n := utf8.DecodeRune(v.line[i:])
		cell, _ := showRune(r, n, v.column(i))
		b.WriteString(cell)
		i += n
		l.scanned++
	}
	return b.String()
}

// showRune returns the text to print for a character of n bytes at a column, and its width.
func showRune(r rune, n, col int) (string, int) {
	switch {
	case r == '\t':
		w := tabWidth - col%tabWidth
		return strings.Repeat(" ", w), w
	case r == utf8.RuneError && n <= 1:
		return "\ufffd", 1
	case r < 0x20:
		return string(0x2400 + r), 1
	case r == 0x7f:
		return "\u2421", 1
	case isControl(r):
		return "\ufffd", 1
	}
	return string(r), runeWidth(r)
}
