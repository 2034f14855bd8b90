package stdlib

import (
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var fmtNatives = native.Table{
	{"fmt.format", fmtFormat},
	{"fmt.truncate", fmtTruncate},
	{"fmt.indent", fmtIndent},
	{"fmt.table", fmtTable},
}

func fmtFormat(a *vm.Args) (value.Slot, error) {
	args, next := a.Array(1), 0
	return fillHoles(a, "format", "{}", func(s string) (value.Slot, int, error) {
		if strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "}}") {
			return value.String(s[:1]), 2, nil
		}
		which, width := placeholder(s)
		switch {
		case width == 0:
			return value.Nil, 0, nil
		case which < 0:
			which, next = next, next+1
		}
		if which >= args.Len {
			return value.Nil, 0, value.Faultf("format: %s refers to argument %d, but there are %d", s[:width], which, args.Len)
		}
		return args.At(which), width, nil
	})
}

// fillHoles returns argument 0 with its placeholders replaced. A placeholder begins with one of the
// bytes in marks. hole returns the value that replaces the first width bytes of s. If width is 0,
// the mark is literal text.
func fillHoles(a *vm.Args, name, marks string, hole func(s string) (v value.Slot, width int, err error)) (value.Slot, error) {
	s := a.String(0)
	var out []byte
	text := native.Growing{Args: a}
	for s != "" {
		i := strings.IndexAny(s[:min(len(s), native.PartSize)], marks)
		a.Step(1 + max(i, 0)>>3)
		if i < 0 && len(s) > native.PartSize {
			out, s = append(out, s[:native.PartSize]...), s[native.PartSize:]
			a.Pace().Bytes(native.PartSize)
			continue
		}
		if i < 0 {
			break
		}
		out, s = append(out, s[:i]...), s[i:]
		v, width, err := hole(s)
		if err != nil {
			return value.Nil, err
		}
		if width == 0 {
			out, s = append(out, s[0]), s[1:]
			continue
		}
		out, s = value.AppendTextWithin(out, v, a.TextBound()), s[width:]
		if err := text.Reserve(len(out), name); err != nil {
			return value.Nil, err
		}
	}
	return value.String(string(append(out, s...))), nil
}

// placeholder reads `{}` or `{0}` at the start of s. which is the number of the argument, or -1 for
// the next one. width is the length of the placeholder in bytes, or 0 if there is none.
func placeholder(s string) (which, width int) {
	end := strings.IndexByte(s[:min(len(s), len("{999999}"))], '}')
	if s[0] != '{' || end < 0 || end > len("{999999") {
		return 0, 0
	}
	if end == 1 {
		return -1, 2
	}
	for _, c := range []byte(s[1:end]) {
		if c < '0' || c > '9' {
			return 0, 0
		}
		which = which*10 + int(c-'0')
	}
	return which, end + 1
}

func fmtTruncate(a *vm.Args) (value.Slot, error) {
	s, suffix := a.Str(0), a.Str(2)
	n, err := count(a, "truncate")
	if err != nil || s.LenIn(a.Pace()) <= n {
		return a.Slot(0), err
	}
	ending := min(n, suffix.Len())
	start, _ := a.Cut(s, 0, int64(n-ending))
	end, _ := suffix.Slice(0, int64(ending))
	return value.String(start.AsString() + end.AsString()), nil
}

func fmtIndent(a *vm.Args) (value.Slot, error) {
	s := a.String(0)
	n, err := count(a, "indent")
	if err != nil {
		return value.Nil, err
	}
	if lines := native.Occurrences(a, s, "\n") + 1; n > (native.MaxText-len(s))/lines {
		return value.Nil, value.Faultf("indent: the result would be longer than 1 GiB")
	}
	a.Room(n)
	margin := native.Repeat(a, " ", n)
	var out strings.Builder
	text := native.Growing{Args: a}
	for line := range strings.Lines(s) {
		if err := text.Reserve(out.Len(), "indent"); err != nil {
			return value.Nil, err
		}
		a.Step(1 + (len(line)+n)>>6)
		if line != "\n" && line != "\r\n" {
			out.WriteString(margin)
		}
		out.WriteString(line)
	}
	return value.String(out.String()), nil
}

// column contains the properties of a table column.
type column struct {
	width   int
	numbers bool // the column has cells, and all of them are numbers
	text    bool // the column has a cell that is not a number
}

func fmtTable(a *vm.Args) (value.Slot, error) {
	rows, headers := a.Array(0), stringsOf(a.Array(1))
	var columns []column
	note := func(i int, cell string) *column {
		for len(columns) <= i {
			columns = append(columns, column{})
		}
		columns[i].width = max(columns[i].width, utf8.RuneCountInString(cell))
		return &columns[i]
	}
	var lines [][]string
	if len(headers) > 0 {
		for i, h := range headers {
			headers[i] = oneLine(h)
			note(i, headers[i])
		}
		lines = append(lines, headers, nil)
	}
	for i := range rows.Len {
		row := rows.At(i).Array()
		if row == nil {
			return value.Nil, value.Faultf("table: row %d is %s, not an Array", i, value.TypeName(rows.At(i)))
		}
		cells := make([]string, row.Len)
		for j := range cells {
			a.Step(16)
			cells[j] = oneLine(string(value.AppendTextWithin(nil, row.At(j), a.TextBound())))
			c := note(j, cells[j])
			_, number := value.Flatten(row.At(j)).Number()
			c.numbers, c.text = c.numbers || number, c.text || !number
		}
		lines = append(lines, cells)
	}
	return drawTable(a, lines, columns)
}

// oneLine replaces line breaks by spaces.
func oneLine(s string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s)
}

// drawTable writes the lines of a table. A nil line is a horizontal rule.
func drawTable(a *vm.Args, lines [][]string, columns []column) (value.Slot, error) {
	total := 2
	for _, c := range columns {
		total += c.width + 2
	}
	if total > native.MaxText/max(len(lines), 1) {
		return value.Nil, value.Faultf("table: the result would be longer than 1 GiB")
	}
	a.Room(total * len(lines))
	var out strings.Builder
	for n, cells := range lines {
		if n > 0 {
			out.WriteByte('\n')
		}
		var line strings.Builder
		for i, c := range columns {
			a.Step(4 + c.width>>4)
			if i > 0 {
				line.WriteString("  ")
			}
			if cells == nil {
				line.WriteString(strings.Repeat("-", c.width))
				continue
			}
			cell := ""
			if i < len(cells) {
				cell = cells[i]
			}
			space := strings.Repeat(" ", c.width-utf8.RuneCountInString(cell))
			if c.numbers && !c.text {
				line.WriteString(space + cell)
			} else {
				line.WriteString(cell + space)
			}
		}
		out.WriteString(strings.TrimRight(line.String(), " "))
	}
	return value.String(out.String()), nil
}
