package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/stdlib/csvtext"
)

// readCSV reads a CSV file (RFC 4180), whose first line contains the names of the fields.
func (r *reader) readCSV(text []byte) {
	t := r.row
	if t.Kind != value.TypeStruct && t.Kind != value.TypeSchema {
		r.fail(0, "a row of a CSV file needs a struct or a schema, but the eval's rows are of type %s: use a .jsonl file", t)
		return
	}
	in := csvtext.NewReader(string(text), ',')
	head, _, err := in.Read()
	if errors.Is(err, io.EOF) {
		return
	}
	if err != nil {
		r.failCSV(err)
		return
	}
	fields, ok := r.readHead(head)
	if !ok {
		return
	}
	for {
		cells, line, err := in.Read()
		if errors.Is(err, io.EOF) || r.isFull() {
			return
		}
		if err != nil {
			r.failCSV(err)
			return // the rest of the file cannot be divided into records
		}
		if len(cells) != len(fields) {
			r.seen++
			r.fail(line, "the record has %d cells, and the first line %d", len(cells), len(fields))
			continue
		}
		r.add(line, rowOf(fields, cells))
	}
}

// failCSV adds an error of the CSV reader.
func (r *reader) failCSV(err error) {
	if e, ok := errors.AsType[*csvtext.Error](err); ok {
		r.fail(e.Line, "not valid CSV: %s in column %d", e.Message, e.Column)
		return
	}
	r.fail(0, "%v", err)
}

// readHead returns the fields that the first line names.
func (r *reader) readHead(names []string) (fields []*value.Field, ok bool) {
	seen := map[string]bool{}
	var problems []string
	for _, name := range names {
		name = strings.TrimSpace(name)
		i := r.row.FieldIndex(name)
		switch {
		case i < 0:
			problems = append(problems, unknownField(name, r.row.Fields))
			continue
		case seen[name]:
			problems = append(problems, fmt.Sprintf("the field %q has two columns", name))
		}
		seen[name] = true
		fields = append(fields, &r.row.Fields[i])
	}
	if len(problems) > 0 {
		r.failRow(1, problems)
	}
	return fields, len(problems) == 0
}

// rowOf returns the JSON object of a record.
func rowOf(fields []*value.Field, cells []string) []byte {
	b := []byte("{")
	for i, f := range fields {
		if cells[i] == "" && (f.Optional || f.Type.Kind == value.TypeOption) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = jcs.AppendText(b, f.Name)
		b = append(b, ':')
		b = appendCell(b, f.Type, cells[i])
	}
	return append(b, '}')
}

// appendCell appends the JSON of a cell: a text as it is, and other values as JSON. A cell that is
// no JSON becomes a text, so that the error of its field names it.
func appendCell(b []byte, t *value.Type, cell string) []byte {
	if t.Kind == value.TypeOption && len(t.Args) > 0 {
		t = t.Args[0]
	}
	text := strings.TrimSpace(cell)
	switch t.Kind {
	case value.TypeString, value.TypeUnion:
		return jcs.AppendText(b, cell)
	case value.TypeEnum:
		if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, `"`) {
			return jcs.AppendText(b, cell)
		}
	}
	if json.Valid([]byte(text)) {
		return append(b, text...)
	}
	return jcs.AppendText(b, cell)
}
