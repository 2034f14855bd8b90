package tests

import (
	"bytes"
	"cmp"
	"encoding/json"
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

// junitSuite is a part of the report of --format junit: a group of tests. The tests of a file that
// belong to no group also form a suite.
type junitSuite struct {
	name     string
	failures int
	took     time.Duration
	cases    []engine.TestResult
}

// writeJUnitReport writes the report of --format junit, in the form that build servers read.
func writeJUnitReport(w io.Writer, r *testReport) error {
	var suites []*junitSuite
	byName := map[string]*junitSuite{}
	for _, x := range r.Results {
		name := cmp.Or(x.Group, x.File)
		s := byName[name]
		if s == nil {
			s = &junitSuite{name: name}
			byName[name], suites = s, append(suites, s)
		}
		s.cases, s.took = append(s.cases, x), s.took+x.Took
		if x.Failure != nil {
			s.failures++
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"%d\" failures=\"%d\" time=\"%s\">\n", len(r.Results), r.failed(), seconds(r.Took))
	for _, s := range suites {
		fmt.Fprintf(&b, "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" time=\"%s\">\n", xmlText(s.name), len(s.cases), s.failures, seconds(s.took))
		for _, x := range s.cases {
			fmt.Fprintf(&b, "    <testcase name=\"%s\" classname=\"%s\" file=\"%s\" line=\"%d\" time=\"%s\">", xmlText(x.Name), xmlText(s.name), xmlText(x.File), x.Line, seconds(x.Took))
			if x.Failure != nil {
				kind, message, text := junitFailure(x)
				fmt.Fprintf(&b, "\n      <failure type=\"%s\" message=\"%s\">%s</failure>", xmlText(kind), xmlText(message), xmlText(text))
			}
			if x.Record.Output != "" {
				fmt.Fprintf(&b, "\n      <system-out>%s</system-out>", xmlText(x.Record.Output))
			}
			if x.Failure != nil || x.Record.Output != "" {
				b.WriteString("\n    ")
			}
			b.WriteString("</testcase>\n")
		}
		b.WriteString("  </testsuite>\n")
	}
	b.WriteString("</testsuites>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// junitFailure returns the attributes and the text of a failure in the report.
func junitFailure(x engine.TestResult) (kind, message, text string) {
	f := x.Failure
	place := f.Place
	if place.Line == 0 {
		place = testPlace(x.Test)
	}
	var b strings.Builder
	uncaught.WriteFailure(&b, failureTitle(f), place, f.Trace, false)
	return cmp.Or(f.Kind, "failure"), f.Message, b.String()
}

// seconds formats a duration in seconds, for JUnit.
func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

// xmlEscapes replaces what has a meaning in XML, and what an attribute would lose.
var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;", "\n", "&#xA;", "\t", "&#x9;")

// xmlText returns a text for XML, without the characters that XML does not allow.
// Source: https://www.w3.org/TR/xml/#charsets
func xmlText(s string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0xFFFE || r == 0xFFFF {
			return -1
		}
		return r
	}, s))
}
