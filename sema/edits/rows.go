package edits

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// This file contains fixes that add rows to a list in braces. The result has the formatter's
// layout: if the list has several lines, each new row is a line, and otherwise all rows are on the
// same line.

// Indentation is the white space of one level of indentation in formatted code.
const Indentation = "    "

// NotWritten is a placeholder for a body or a value that the user must write. It compiles, and
// panics when it runs.
const NotWritten = `panic("not written yet")`

// RowList is a list of rows in braces. It contains the positions of the `{` and the `}`, and the
// end of the last row, or 0 without rows.
type RowList struct {
	file              *source.File
	open, close, last source.Pos
}

// ListIn returns the list of a node. The list's `{` is the first one after start, and its `}` is
// the end of the node. last is the end of the last row, or 0 without rows. ok is false if the node
// has no such list.
func ListIn(f *source.File, start, last source.Pos, node source.Span) (l RowList, ok bool) {
	if start >= node.End || last >= node.End || f.Text[node.End-1] != '}' { // the node has syntax errors
		return l, false
	}
	n := strings.IndexByte(f.Slice(source.Span{Start: start, End: node.End}), '{')
	return RowList{f, start + source.Pos(n), node.End - 1, last}, n >= 0
}

func (l RowList) text(from, to source.Pos) string {
	return l.file.Slice(source.Span{Start: from, End: to})
}

// Indent returns the white space at the start of the line that contains a position.
func Indent(f *source.File, at source.Pos) string {
	line := f.Slice(source.Span{Start: f.LineStart(f.LineOf(at)), End: at})
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// lineEnd returns the end of the line that contains a position.
func lineEnd(f *source.File, at source.Pos) source.Pos {
	rest := f.Slice(source.Span{Start: at, End: source.Pos(len(f.Text))})
	if n := strings.IndexByte(rest, '\n'); n >= 0 {
		rest = strings.TrimSuffix(rest[:n], "\r")
	}
	return at + source.Pos(len(rest))
}

// Add returns the edits that add rows to the list. Commas separate the rows.
func (l RowList) Add(rows ...string) []diag.Edit {
	if !strings.Contains(l.text(l.open, l.close), "\n") {
		if l.last == 0 {
			return []diag.Edit{diag.Replace(source.Span{Start: l.open + 1, End: l.close}, " "+strings.Join(rows, ", ")+" ")}
		}
		return []diag.Edit{diag.Insert(l.last, ", "+strings.Join(rows, ", "))}
	}
	var lines strings.Builder
	for _, r := range rows {
		lines.WriteString("\n" + Indent(l.file, l.open) + Indentation + r + ",")
	}
	if l.last == 0 {
		return []diag.Edit{diag.Insert(l.open+1, lines.String())}
	}
	at := lineEnd(l.file, l.last)
	switch rest := strings.TrimSpace(l.text(l.last, min(at, l.close))); {
	case at > l.close: // the last row and the `}` are on the same line
		at = l.last
		return []diag.Edit{diag.Insert(at, ","+lines.String())}
	case strings.HasPrefix(rest, ","):
		return []diag.Edit{diag.Insert(at, lines.String())}
	case rest == "":
		return []diag.Edit{diag.Insert(at, ","+lines.String())}
	}
	return []diag.Edit{diag.Insert(l.last, ","), diag.Insert(at, lines.String())}
}

// AddBlocks returns the edits that add functions with the given heads to the list. Blank lines
// separate the functions.
func (l RowList) AddBlocks(heads []string) []diag.Edit {
	own := "\n" + Indent(l.file, l.open)
	text := Functions(heads, own)
	switch {
	case l.last == 0:
		return []diag.Edit{diag.Replace(source.Span{Start: l.open + 1, End: l.close}, text+own)}
	case !strings.Contains(l.text(l.open, l.close), "\n"):
		return []diag.Edit{
			diag.Replace(source.Span{Start: l.open + 1, End: l.open + 1 + source.Pos(blanks(l.text(l.open+1, l.close)))}, own+Indentation),
			diag.Replace(source.Span{Start: l.last, End: l.close}, "\n"+text+own),
		}
	}
	return []diag.Edit{diag.Insert(lineEnd(l.file, l.last), "\n"+text)}
}

// Functions returns the text of functions with the given heads. own is a line break with the
// indentation of the list; the functions are indented one level more.
func Functions(heads []string, own string) string {
	var all []string
	for _, h := range heads {
		all = append(all, own+Indentation+h+" {"+own+Indentation+Indentation+NotWritten+own+Indentation+"}")
	}
	return strings.Join(all, "\n")
}

// RemoveRow returns the fix that removes a row of a list and the comma that belongs to it.
func RemoveRow(f *source.File, row source.Span, title string, args ...any) diag.Fix {
	after := f.Slice(source.Span{Start: row.End, End: source.Pos(len(f.Text))})
	if rest := strings.TrimLeft(after, " \t"); strings.HasPrefix(rest, ",") {
		row.End += source.Pos(len(after) - len(rest) + 1)
		return diag.UnsafeFix(diag.Remove(WithItsLines(f, row)), title, args...)
	}
	before := strings.TrimRight(f.Slice(source.Span{End: row.Start}), " \t\r\n")
	if strings.HasSuffix(before, ",") {
		row.Start = source.Pos(len(before) - 1)
	}
	return diag.UnsafeFix(diag.Remove(row), title, args...)
}

// WithItsLines extends a span. If the span's lines contain nothing else, the result includes the
// whole lines. Otherwise it includes the spaces after the span.
func WithItsLines(f *source.File, s source.Span) source.Span {
	if lines := WholeLines(f, s); lines != s {
		return lines
	}
	n := blanks(f.Slice(source.Span{Start: s.End, End: source.Pos(len(f.Text))}))
	return source.Span{Start: s.Start, End: s.End + source.Pos(n)}
}

// blanks returns the number of spaces and tabs at the start of a text.
func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// WholeLines extends a span to its whole lines if they contain nothing else.
func WholeLines(f *source.File, s source.Span) source.Span {
	start, end := f.LineStart(f.LineOf(s.Start)), source.Pos(len(f.Text))
	if last := f.LineOf(s.End); last < f.Lines() {
		end = f.LineStart(last + 1)
	}
	if strings.TrimSpace(string(f.Text[start:s.Start])+string(f.Text[s.End:end])) != "" {
		return s
	}
	if start > 0 {
		return source.Span{Start: start, End: end}
	}
	for end < source.Pos(len(f.Text)) && f.Text[end] == '\n' { // if the span is at the start of the file, remove blank lines after it
		end++
	}
	return source.Span{Start: start, End: end}
}
