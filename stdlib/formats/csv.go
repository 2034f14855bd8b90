package formats

import (
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/csvtext"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var CSV = native.Table{
	{"csv.parse", func(a *vm.Args) (value.Slot, error) { return csvRead(a, false) }},
	{"csv.parse_records", func(a *vm.Args) (value.Slot, error) { return csvRead(a, true) }},
	{"csv.stringify", csvStringify},
}

// separator returns argument 1, which must be a single character.
func separator(a *vm.Args) (rune, error) {
	s := a.String(1)
	c, size := utf8.DecodeRuneInString(s)
	if s == "" || size != len(s) || c == '"' || c == '\r' || c == '\n' || c == utf8.RuneError {
		return 0, value.Faultf("the separator %q must be one character other than a quote or a line break", s)
	}
	return c, nil
}

// csvRead parses CSV. The arguments are (text, separator). If records is set, the first row
// contains the names of the columns.
func csvRead(a *vm.Args, records bool) (value.Slot, error) {
	comma, err := separator(a)
	if err != nil {
		return value.Nil, err
	}
	r := csvtext.NewReader(a.String(0), comma)
	rows := value.NewArray()
	var names []string
	for {
		row, line, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows.Slot(), nil
		}
		if bad, ok := errors.AsType[*csvtext.Error](err); ok {
			return value.Nil, formatError(bad.Line, bad.Column, "%s", bad.Message)
		}
		size := 0
		for i := range row {
			row[i] = strings.Clone(row[i]) // a field that is not cloned would keep the text of its whole row in memory
			size += len(row[i]) + 64
		}
		a.Pace().Bytes(size)
		a.Room(size)
		switch {
		case !records:
			rows.Push(value.StringArray(append([]string(nil), row...)))
		case names == nil:
			names = append([]string{}, row...)
			if twice := duplicate(names); twice != "" {
				return value.Nil, formatError(line, 0, "two columns have the name %q", twice)
			}
		case len(row) != len(names):
			return value.Nil, formatError(line, 0, "the row has %s, but the first row has %d", native.Count(len(row), "column"), len(names))
		default:
			m := value.NewMap(len(names))
			for i, name := range names {
				m.SetString(name, value.String(row[i]))
			}
			rows.Push(m.Slot())
		}
	}
}

func duplicate(names []string) string {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return n
		}
		seen[n] = true
	}
	return ""
}

// csvStringify writes CSV. The arguments are (rows, separator).
func csvStringify(a *vm.Args) (value.Slot, error) {
	comma, err := separator(a)
	if err != nil {
		return value.Nil, err
	}
	var b []byte
	text := native.Growing{Args: a}
	rows := a.Array(0)
	var fields []string
	for i := range rows.Len {
		cells := value.Flatten(rows.At(i)).Array()
		fields = fields[:0]
		for j := range cells.Len {
			cell, field := value.Flatten(cells.At(j)), ""
			if !cell.IsNil() {
				field = string(value.AppendTextWithin(nil, cell, a.TextBound()))
			}
			a.Pace().Bytes(len(field) + 8)
			fields = append(fields, field)
		}
		b = csvtext.AppendRow(b, fields, comma)
		if err := text.Reserve(len(b), "stringify"); err != nil {
			return value.Nil, err
		}
	}
	return value.StringOwning(b), nil
}
