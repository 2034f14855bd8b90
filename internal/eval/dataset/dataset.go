// Package dataset reads the datasets of evals: JSON lines and CSV files whose rows have the type of
// an eval's parameter (spec/49-eval.md). It accesses no files.
package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/schema"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
)

// Dataset contains the cases of an eval. SHA256 is the hash of the file's content, or of the
// canonical rows, one per line, if a function returned them.
type Dataset struct {
	SHA256 string
	Cases  []Case
}

// Case is a row of a dataset. Hash is the SHA-256 of Row in hex and identifies the row's content.
type Case struct {
	ID   string
	Row  json.RawMessage // canonical JSON (RFC 8785)
	Hash string
	Line int // of the file, from 1; or number of the row
	// Cluster is the value of the field that groups cases, as JSON; nil for none.
	Cluster json.RawMessage
	// ClusterNumber numbers clusters from 1, in the order of their first cases; 0 for none.
	ClusterNumber int
}

// maxShown is the number of invalid rows that are reported in full, and maxProblems the number of
// problems of a row.
const (
	maxShown    = 20
	maxProblems = 5
)

// RowError describes an invalid row. Line is 0 for an error of the whole dataset.
type RowError struct {
	File    string
	Line    int
	Message string
}

// Error returns the message with its place.
func (e *RowError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Error contains the errors of a dataset, in the order of the rows. More is the number of further
// invalid rows.
type Error struct {
	Rows []*RowError
	More int
}

// Error returns one line for each error.
func (e *Error) Error() string {
	var lines []string
	for _, r := range e.Rows {
		lines = append(lines, r.Error())
	}
	if e.More > 0 {
		lines = append(lines, e.Rest())
	}
	return strings.Join(lines, "\n")
}

// Rest describes the invalid rows that Rows does not contain.
func (e *Error) Rest() string {
	if e.More == 1 {
		return "and 1 more invalid row"
	}
	return fmt.Sprintf("and %d more invalid rows", e.More)
}

// reader collects the cases and errors of a dataset.
type reader struct {
	file     string
	row      *value.Type
	cluster  string // name of the field that groups cases, or ""
	limit    int    // number of rows to read; 0 means all
	cases    []Case
	lines    map[string]int // line of each id
	clusters map[string]int // numbers of clusters
	seen     int
	err      Error
}

// Read reads the rows of a file, whose extension is .jsonl or .csv. The file's name is used in
// errors. cluster is the name of the field that groups cases, or "". If maxRows is above 0, the
// rows after the first maxRows are ignored. The error is an *Error.
func Read(file string, text []byte, row *value.Type, cluster string, maxRows int) (*Dataset, error) {
	r := &reader{file: file, row: row, cluster: cluster, limit: maxRows, lines: map[string]int{}, clusters: map[string]int{}}
	sum := hexsum.SHA256(text)
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if at := utf8cut.Invalid(text); at >= 0 {
		r.fail(1+bytes.Count(text[:at], []byte("\n")), "the text is not UTF-8")
		return nil, &r.err
	}
	if strings.EqualFold(filepath.Ext(file), ".csv") {
		r.readCSV(text)
	} else {
		r.readLines(text)
	}
	return r.finish(sum)
}

// FromRows returns the dataset of rows in JSON, which a function has returned. name is used in
// errors, and cluster is as for Read.
func FromRows(name string, rows [][]byte, row *value.Type, cluster string) (*Dataset, error) {
	r := &reader{file: name, row: row, cluster: cluster, lines: map[string]int{}, clusters: map[string]int{}}
	var all bytes.Buffer
	for i, text := range rows {
		r.add(i+1, text)
	}
	for _, c := range r.cases {
		all.Write(c.Row)
		all.WriteByte('\n')
	}
	return r.finish(hexsum.SHA256(all.Bytes()))
}

func (r *reader) finish(sum string) (*Dataset, error) {
	if len(r.err.Rows) == 0 && len(r.cases) == 0 {
		r.fail(0, "the dataset is empty")
	}
	if len(r.err.Rows) > 0 {
		return nil, &r.err
	}
	return &Dataset{sum, r.cases}, nil
}

// fail adds an error.
func (r *reader) fail(line int, format string, args ...any) {
	if len(r.err.Rows) == maxShown {
		r.err.More++
		return
	}
	r.err.Rows = append(r.err.Rows, &RowError{r.file, line, fmt.Sprintf(format, args...)})
}

// failRow adds an error with the problems of a row.
func (r *reader) failRow(line int, problems []string) {
	rest := ""
	if n := len(problems) - maxProblems; n > 0 {
		problems, rest = problems[:maxProblems], fmt.Sprintf("; and %d more", n)
	}
	r.fail(line, "%s%s", strings.Join(problems, "; "), rest)
}

// isFull reports whether no further rows are read.
func (r *reader) isFull() bool { return r.limit > 0 && r.seen >= r.limit }

// readLines reads JSON lines.
func (r *reader) readLines(text []byte) {
	n := 0
	for line := range bytes.Lines(text) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if r.isFull() {
			return
		}
		r.add(n, line)
	}
}

// add adds a row in JSON.
func (r *reader) add(line int, text []byte) {
	r.seen++
	v, errs := schema.DecodeExact(text, r.row, unknownField)
	if len(errs) > 0 {
		var problems []string
		for _, e := range errs {
			problems = append(problems, e.Error())
		}
		r.failRow(line, problems)
		return
	}
	row, err := jcs.Canonical(text)
	if err != nil {
		r.fail(line, "not valid JSON: %v", err)
		return
	}
	c := Case{Row: row, Hash: hexsum.SHA256(row), Line: line}
	c.ID = idOf(v, c.Hash)
	if first, found := r.lines[c.ID]; found {
		r.fail(line, "duplicate id %q (first on line %d)", c.ID, first)
		return
	}
	r.lines[c.ID] = line
	if group := field(v, r.cluster); !group.IsNil() {
		c.Cluster = value.AppendJSON(nil, group)
		n, known := r.clusters[string(c.Cluster)]
		if !known {
			n = len(r.clusters) + 1
			r.clusters[string(c.Cluster)] = n
		}
		c.ClusterNumber = n
	}
	r.cases = append(r.cases, c)
}

// unknownField returns the message for a member of a row that no field declares.
func unknownField(name string, fields []value.Field) string {
	var names []string
	for i := range fields {
		names = append(names, fields[i].Name)
	}
	if near := suggest.Nearest(name, names); near != "" {
		return fmt.Sprintf("unknown field %q: did you mean %q?", name, near)
	}
	return fmt.Sprintf("unknown field %q", name)
}

// idOf returns the id of a row: its field `id`, a text or an Int, or else the first 12 digits of
// the hash.
func idOf(row value.Slot, hash string) string {
	switch id := field(row, "id"); id.Kind() {
	case value.KindString:
		return id.AsString()
	case value.KindInt:
		return strconv.FormatInt(id.AsInt(), 10)
	}
	return hash[:12]
}

// field returns the value of a field of a row, or nil if there is none.
func field(row value.Slot, name string) value.Slot {
	if m := row.Map(); m != nil {
		v, _ := m.GetString(name)
		return v
	}
	if t := row.Type(); t != nil && row.Kind() == value.KindStruct {
		if i := t.FieldIndex(name); i >= 0 {
			return value.Flatten(row.Fields()[i])
		}
	}
	return value.Nil
}

// Select returns n of the cases in their order, the same ones for the same seed. It returns all
// cases if n is 0 or at least their number.
func Select(cases []Case, n int, seed int64) []Case {
	if n <= 0 || n >= len(cases) {
		return cases
	}
	chosen := rand.New(rand.NewPCG(uint64(seed), 0x5eed)).Perm(len(cases))[:n]
	slices.Sort(chosen)
	var out []Case
	for _, i := range chosen {
		out = append(out, cases[i])
	}
	return out
}
