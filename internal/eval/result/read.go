package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/internal/text/suggest"
	"github.com/concerto-lang/concerto/internal/text/utf8cut"
	"github.com/concerto-lang/concerto/ir"
)

// Read reads a result. It accepts only what spec/49-eval.md describes: it rejects members that are
// unknown, repeated or have another type, scores of metrics that the first line does not list, and
// a repetition of a case that occurs twice. Its errors are *ReadError. name is the file's name for
// them.
func Read(name string, data []byte) (*Result, error) {
	r := &reader{result: &Result{}, cases: map[string]*caseLines{}}
	lines := ndjson.NewReader(bytes.NewReader(data), 0)
	for {
		line, err := lines.NextLine()
		switch {
		case errors.Is(err, io.EOF) && r.result.Eval == 0:
			return nil, &ReadError{name, 0, errors.New("the file is empty")}
		case errors.Is(err, io.EOF):
			return r.result, nil
		case err != nil:
			return nil, &ReadError{name, lineOf(data, err), err}
		}
		r.line = int(line.Number)
		if err := r.read(line.Text); err != nil {
			return nil, &ReadError{name, r.line, err}
		}
	}
}

// ReadError is an error in a result. Line is 0 if it concerns the file as a whole.
type ReadError struct {
	File string
	Line int
	Err  error
}

func (e *ReadError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *ReadError) Unwrap() error { return e.Err }

// lineOf returns the number of the line that a reader of lines could not read.
func lineOf(data []byte, err error) int {
	var offset int64
	if e, ok := errors.AsType[*ndjson.EncodingError](err); ok {
		offset = e.Offset
	} else if e, ok := errors.AsType[*ndjson.TooLongError](err); ok {
		offset = e.Offset
	}
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}

// reader is the state of Read.
type reader struct {
	result *Result
	line   int // number of the current line
	cases  map[string]*caseLines
}

// caseLines is what the lines of a case have in common.
type caseLines struct {
	last             int         // highest repetition
	lines            map[int]int // line numbers by repetition
	content, cluster string
	rowLine          int // first line with a row, or 0
}

// read reads a line.
func (r *reader) read(text []byte) error {
	members, err := jsonread.List(text)
	switch {
	case err != nil:
		return err
	case r.result.Eval == 0:
		return r.readHeader(members)
	case r.result.End != nil:
		return errors.New("a line follows the end of the result")
	case slices.ContainsFunc(members, func(m jsonread.Member) bool { return m.Name == "end" }):
		return readObject(members, []field{{"end", "an object with the exit code", true, func(value []byte) error {
			r.result.End = &End{}
			return decodeStrictly(value, r.result.End)
		}}})
	}
	s := &Sample{Status: StatusScored}
	if err := readObject(members, s.fields()); err != nil {
		return err
	}
	if err := r.add(s); err != nil {
		return err
	}
	return r.result.checkScores(s)
}

func (r *reader) readHeader(members []jsonread.Member) error {
	h := Header{}
	for _, m := range members {
		if m.Name != "eval" {
			continue
		}
		if err := json.Unmarshal(m.Value, &h.Eval); err != nil || h.Eval < 1 {
			return fmt.Errorf("`eval` must be the version of the format, 1, not %s", shorten(m.Value))
		}
		if h.Eval > Version {
			return fmt.Errorf("the result has version %d of the format, and this concerto reads version %d: use the version of concerto that created it, or a newer one", h.Eval, Version)
		}
	}
	if h.Eval == 0 {
		return errors.New(`this is no result of an eval: its first line has no member "eval"`)
	}
	if err := readObject(members, h.fields()); err != nil {
		return err
	}
	for i, m := range h.Metrics {
		if h.Metric(m.Name) != &h.Metrics[i] {
			return fmt.Errorf("duplicate metric %q", m.Name)
		}
	}
	r.result.Header = h
	return nil
}

// add adds a sample. It sets its repetition if the line has none.
func (r *reader) add(s *Sample) error {
	c := r.cases[s.Case]
	if c == nil {
		c = &caseLines{lines: map[int]int{}, cluster: s.ClusterID()}
		r.cases[s.Case] = c
	}
	if s.Rep == 0 {
		s.Rep = c.last + 1
	}
	if first := c.lines[s.Rep]; first > 0 {
		return fmt.Errorf("duplicate case %q, repetition %d (first on line %d)", s.Case, s.Rep, first)
	}
	if s.ClusterID() != c.cluster {
		return fmt.Errorf("case %q is in another cluster than in its first repetition", s.Case)
	}
	if content := s.Content(); content != "" && c.rowLine == 0 {
		c.content, c.rowLine = content, r.line
	} else if content != "" && content != c.content {
		return fmt.Errorf("case %q has another row than on line %d", s.Case, c.rowLine)
	}
	c.lines[s.Rep] = r.line
	c.last = max(c.last, s.Rep)
	r.result.Samples = append(r.result.Samples, s)
	return nil
}

// checkScores checks the scores of a sample, and what else it states by metric.
func (r *Result) checkScores(s *Sample) error {
	for _, name := range sortedNames(s.Scores) {
		m, score := r.Metric(name), s.Scores[name]
		switch {
		case m == nil:
			return fmt.Errorf("the score %q is of a metric that the first line does not list", name)
		case score.Kind != "" && score.Kind != m.Kind:
			return fmt.Errorf("the score of %q must be %s", name, map[string]string{KindBool: "true, false or null", KindNumber: "a number or null"}[m.Kind])
		case s.Status == StatusError && score.Kind != "":
			return fmt.Errorf("the sample has the status %q, so the score of %q must be null", StatusError, name)
		case s.Status == StatusFailed && score != (Score{}) && score != BoolScore(false):
			return fmt.Errorf("the sample has the status %q, so the score of %q must be false or null", StatusFailed, name)
		}
	}
	for _, list := range [][]string{sortedNames(s.Why), sortedNames(s.Judges), sortedNames(s.Agreements)} {
		for _, name := range list {
			if r.Metric(name) == nil {
				return fmt.Errorf("unknown metric %q: the first line does not list it", name)
			}
		}
	}
	return nil
}

func sortedNames[T any](m map[string]T) []string {
	if len(m) == 0 {
		return nil
	}
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func shorten(text []byte) string {
	const most = 40
	return utf8cut.Short(string(text), most)
}

// field describes a member that an object may have. A member that is null is treated as missing.
type field struct {
	name     string
	form     string // description of its values
	required bool
	read     func(value []byte) error
}

// readObject reads the members of an object.
func readObject(members []jsonread.Member, fields []field) error {
	found := make([]bool, len(fields))
	for _, m := range members {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.Name })
		if i < 0 {
			var names []string
			for _, f := range fields {
				names = append(names, f.name)
			}
			if near := suggest.Nearest(m.Name, names); near != "" {
				return fmt.Errorf("unknown member %q; did you mean %q?", m.Name, near)
			}
			return fmt.Errorf("unknown member %q", m.Name)
		}
		if found[i] {
			return fmt.Errorf("duplicate member %q", m.Name)
		}
		if string(m.Value) == "null" {
			continue
		}
		found[i] = true
		if err := fields[i].read(m.Value); err != nil {
			if inner, ok := errors.AsType[*memberError](err); ok {
				return fmt.Errorf("%q: %w", m.Name, inner)
			}
			return fmt.Errorf("%q must be %s, not %s", m.Name, fields[i].form, shorten(m.Value))
		}
	}
	for i, f := range fields {
		if f.required && !found[i] {
			return fmt.Errorf("missing member %q", f.name)
		}
	}
	return nil
}

// memberError is an error inside of a member's value. Other errors of field.read mean that the
// value does not have the field's form.
type memberError struct{ text string }

func (e *memberError) Error() string { return e.text }

// errForm means that a value does not have the form of its field.
var errForm = errors.New("another form")

func textField(name string, to *string) field {
	return field{name, "a text", false, func(value []byte) error { return json.Unmarshal(value, to) }}
}

// countField is a field for a number of something. least is its minimum.
func countField[T int | int64](name string, least T, to *T) field {
	return field{name, fmt.Sprintf("an integer, at least %d", least), false, func(value []byte) error {
		if err := json.Unmarshal(value, to); err != nil || *to < least {
			return errForm
		}
		if int64(*to) > maxCount {
			return &memberError{fmt.Sprintf("more than %d", int64(maxCount))}
		}
		return nil
	}}
}

// amountField is a field for a number that is not negative.
func amountField(name string, to **float64) field {
	return field{name, "a number that is not negative", false, func(value []byte) error {
		x, err := readNumber(value)
		if err != nil || x < 0 {
			return errForm
		}
		*to = &x
		return nil
	}}
}

// tokensField is a field for a number of tokens.
func tokensField(name string, to **int64) field {
	n := new(int64)
	f := countField(name, 0, n)
	read := f.read
	f.read = func(value []byte) error {
		*to = n
		return read(value)
	}
	return f
}

// maxCount is the limit of integers, so that sums of millions of them are integers, too.
const maxCount = 1_000_000_000_000

// readNumber reads a JSON number.
func readNumber(value []byte) (x float64, err error) {
	if err := json.Unmarshal(value, &x); err != nil || math.Abs(x) > ir.MaxMetric {
		return 0, errForm
	}
	return x, nil
}

// choiceField is a field for one of a few words.
func choiceField(name string, to *string, words ...string) field {
	last := len(words) - 1
	form := `"` + strings.Join(words[:last], `", "`) + `" or "` + words[last] + `"`
	return field{name, form, false, func(value []byte) error {
		if err := json.Unmarshal(value, to); err != nil || !slices.Contains(words, *to) {
			return errForm
		}
		return nil
	}}
}

// decodeStrictly decodes an object without unknown members.
func decodeStrictly(value []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// mapField is a field for an object with a value for each metric.
func mapField[T any](name, form string, to *map[string]T, read func(value []byte) (T, error)) field {
	return field{name, form, false, func(value []byte) error {
		members, err := jsonread.List(value)
		if err != nil {
			return errForm
		}
		*to = make(map[string]T, len(members))
		for _, m := range members {
			if _, duplicate := (*to)[m.Name]; duplicate {
				return &memberError{fmt.Sprintf("duplicate member %q", m.Name)}
			}
			if (*to)[m.Name], err = read(m.Value); err != nil {
				return errForm
			}
		}
		return nil
	}}
}

func readText(value []byte) (s string, err error) { return s, unmarshal(value, &s) }

// unmarshal decodes a value other than null.
func unmarshal(value []byte, to any) error {
	if string(value) == "null" {
		return errForm
	}
	return json.Unmarshal(value, to)
}

func readScore(value []byte) (Score, error) {
	switch string(value) {
	case "null":
		return Score{}, nil
	case "true":
		return BoolScore(true), nil
	case "false":
		return BoolScore(false), nil
	}
	x, err := readNumber(value)
	return NumberScore(x), err
}

// readAgreement reads an agreement, which must have both members.
func readAgreement(value []byte) (Agreement, error) {
	var a struct{ Judge, Label *bool }
	if err := decodeStrictly(value, &a); err != nil || a.Judge == nil || a.Label == nil {
		return Agreement{}, errForm
	}
	return Agreement{*a.Judge, *a.Label}, nil
}

// canonicalField is a field for JSON that has a canonical form.
func canonicalField(name, form string, to *json.RawMessage, valid func(value []byte) bool) field {
	return field{name, form, false, func(value []byte) error {
		if !valid(value) {
			return errForm
		}
		if _, err := jcs.Canonical(value); err != nil {
			return &memberError{err.Error()}
		}
		*to = slices.Clone(value)
		return nil
	}}
}

// fields returns the members of a sample's line.
func (s *Sample) fields() []field {
	isID := field{"case", "a text", true, func(value []byte) error { return json.Unmarshal(value, &s.Case) }}
	scores := mapField("scores", "an object that has true, false, a number or null for each metric", &s.Scores, readScore)
	scores.required = true
	isAny := func([]byte) bool { return true }
	isScalar := func(value []byte) bool { return value[0] != '{' && value[0] != '[' }
	return []field{
		isID,
		countField("rep", 1, &s.Rep),
		canonicalField("row", "JSON", &s.Row, isAny),
		canonicalField("cluster", "a text, a number, true or false", &s.Cluster, isScalar),
		choiceField("status", &s.Status, StatusScored, StatusFailed, StatusError),
		scores,
		mapField("why", "an object that has a text for each metric", &s.Why, readText),
		mapField("judges", "an object that has a judge's hash for each metric", &s.Judges, readText),
		mapField("agreements", `an object that has {"judge","label"} for each metric, with true or false`, &s.Agreements, readAgreement),
		{"error", `an object with "kind", "message" and "at"`, false, func(value []byte) error {
			s.Error = &SampleError{}
			return decodeStrictly(value, s.Error)
		}},
		amountField("ms", &s.MS),
		countField("calls", 0, &s.Calls),
		tokensField("tokens_in", &s.TokensIn),
		tokensField("tokens_out", &s.TokensOut),
		countField("tokens_cached", 0, &s.Parts.Cached), countField("tokens_cache_write", 0, &s.CacheWrite), countField("tokens_reasoning", 0, &s.Reasoning),
		amountField("cost_usd", &s.CostUSD),
		amountField("judge_cost_usd", &s.JudgeCostUSD),
		{"cached", "true or false", false, func(value []byte) error { return json.Unmarshal(value, &s.Cached) }},
		textField("tape", &s.Tape),
	}
}

// fields returns the members of the first line.
func (h *Header) fields() []field {
	seed := func(value []byte) error { return json.Unmarshal(value, &h.Seed) }
	return []field{
		countField("eval", 1, &h.Eval),
		textField("name", &h.Name),
		textField("variant", &h.Variant),
		textField("function", &h.Function),
		textField("file", &h.File),
		countField("line", 1, &h.Line),
		textField("program", &h.Program),
		{"data", `an object with "source", "sha256" and "cases"`, false, func(value []byte) error {
			h.Data = &Data{}
			return decodeStrictly(value, h.Data)
		}},
		{"metrics", "an array of objects", true, h.readMetrics},
		countField("repeat", 1, &h.Repeat),
		{"seed", "an integer", false, seed},
		textField("started", &h.Started),
	}
}

func (h *Header) readMetrics(value []byte) error {
	var texts []json.RawMessage
	if err := json.Unmarshal(value, &texts); err != nil {
		return err
	}
	h.Metrics = []Metric{}
	for _, text := range texts {
		members, err := jsonread.List(text)
		if err != nil {
			return err
		}
		m := Metric{Kind: KindNumber, Better: Higher, Gate: true, Margin: DefaultMargin}
		margin := &m.Margin
		name := textField("name", &m.Name)
		name.required = true
		if err := readObject(members, []field{
			name,
			choiceField("kind", &m.Kind, KindBool, KindNumber),
			choiceField("better", &m.Better, Higher, Lower),
			{"gate", "true or false", false, func(value []byte) error { return json.Unmarshal(value, &m.Gate) }},
			amountField("margin", &margin),
		}); err != nil {
			return &memberError{err.Error()}
		}
		m.Margin = *margin
		h.Metrics = append(h.Metrics, m)
	}
	return nil
}
