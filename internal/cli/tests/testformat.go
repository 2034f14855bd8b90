package tests

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/uncaught"
	"github.com/concerto-lang/concerto/vm"
)

// jsonReport is the report of --format json (spec/16-tests.md).
type jsonReport struct {
	Passed     int          `json:"passed"`
	Failed     int          `json:"failed"`
	DurationMS float64      `json:"duration_ms"`
	Tests      []jsonResult `json:"tests"`
	Coverage   *coverage    `json:"coverage,omitempty"`
}

type jsonResult struct {
	Name       string       `json:"name"`
	Group      string       `json:"group,omitempty"`
	Function   string       `json:"function"`
	File       string       `json:"file"`
	Line       int          `json:"line"`
	Status     string       `json:"status"` // "passed" or "failed"; in an event also "started"
	DurationMS float64      `json:"duration_ms"`
	Failure    *jsonFailure `json:"failure,omitempty"`
	Seed       *int64       `json:"seed,omitempty"`
	Emits      []jsonEmit   `json:"emits"`
	Output     string       `json:"output,omitempty"`
	Log        []string     `json:"log,omitempty"`
}

type jsonFailure struct {
	Kind    string      `json:"kind,omitempty"`
	Message string      `json:"message"`
	Place   *jsonPlace  `json:"place,omitempty"`
	Trace   []jsonPlace `json:"trace,omitempty"`
	Diff    string      `json:"diff,omitempty"`
}

type jsonPlace struct {
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column,omitempty"`
	Times    int    `json:"times,omitempty"` // number of repetitions of a call in a trace
}

type jsonEmit struct {
	Channel string          `json:"channel"`
	Payload json.RawMessage `json:"payload"`
}

func placeJSON(p vm.Place) jsonPlace {
	return jsonPlace{p.Function, p.File, p.Line, p.Column, p.Times}
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(10*time.Microsecond)) / float64(time.Millisecond)
}

func writeJSONReport(w io.Writer, r *testReport) error {
	failed := r.failed()
	out := jsonReport{Passed: len(r.Results) - failed, Failed: failed, DurationMS: milliseconds(r.Took), Tests: []jsonResult{}, Coverage: r.Coverage}
	for _, x := range r.Results {
		out.Tests = append(out.Tests, resultJSON(x))
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// resultJSON returns a test's result as --format json prints it.
func resultJSON(x engine.TestResult) jsonResult {
	t := jsonResult{Name: x.Name, Group: x.Group, Function: x.Function, File: x.File, Line: x.Line, Status: "passed",
		DurationMS: milliseconds(x.Took), Seed: x.Seed, Emits: []jsonEmit{}, Output: x.Record.Output, Log: x.Record.Log}
	for _, e := range x.Record.Emits {
		t.Emits = append(t.Emits, jsonEmit(e))
	}
	if f := x.Failure; f != nil {
		t.Status = "failed"
		t.Failure = &jsonFailure{Kind: f.Kind, Message: f.Message, Diff: f.Diff}
		if f.Place.Line > 0 {
			p := placeJSON(f.Place)
			t.Failure.Place = &p
		}
		for _, p := range f.Trace {
			if p.Left == 0 {
				t.Failure.Trace = append(t.Failure.Trace, placeJSON(p))
			}
		}
	}
	return t
}

// writeEvent writes a line of --format ndjson. r is nil when a test starts.
func writeEvent(a *console.Console, t engine.Test, r *engine.TestResult) {
	line := jsonResult{Name: t.Name, Group: t.Group, Function: t.Function, File: t.File, Line: t.Line, Status: "started", Emits: []jsonEmit{}}
	if r != nil {
		line = resultJSON(*r)
	}
	_ = a.WriteJSON(line) // if the reader has closed the output, the end of the run reports it
}

// The report of --format junit, in the form that build servers read. A suite is a group of tests.
// The tests of a file that belong to no group also form a suite.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Classname string        `xml:"classname,attr"`
	File      string        `xml:"file,attr"`
	Line      int           `xml:"line,attr"`
	Time      string        `xml:"time,attr"`
	Failure   *junitFailure `xml:"failure"`
	Output    string        `xml:"system-out,omitempty"`
}

type junitFailure struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnitReport(w io.Writer, r *testReport) error {
	out := junitSuites{Tests: len(r.Results), Failures: r.failed(), Time: seconds(r.Took)}
	index := map[string]int{}
	spent := map[string]time.Duration{}
	for _, x := range r.Results {
		name := x.Group
		if name == "" {
			name = x.File
		}
		i, ok := index[name]
		if !ok {
			i = len(out.Suites)
			index[name] = i
			out.Suites = append(out.Suites, junitSuite{Name: name})
		}
		s := &out.Suites[i]
		s.Tests++
		spent[name] += x.Took
		s.Time = seconds(spent[name])
		c := junitCase{Name: x.Name, Classname: name, File: x.File, Line: x.Line, Time: seconds(x.Took), Output: clean(x.Record.Output)}
		if x.Failure != nil {
			s.Failures++
			c.Failure = junitFailed(x)
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func junitFailed(x engine.TestResult) *junitFailure {
	f := x.Failure
	place := f.Place
	if place.Line == 0 {
		place = testPlace(x.Test)
	}
	var text strings.Builder
	uncaught.WriteFailure(&text, failureTitle(f), place, f.Trace, false)
	kind := f.Kind
	if kind == "" {
		kind = "failure"
	}
	return &junitFailure{Type: kind, Message: clean(f.Message), Text: clean(text.String())}
}

// seconds formats a duration in seconds, for JUnit.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// clean removes the characters that XML does not allow.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, s)
}
