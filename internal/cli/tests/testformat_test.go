package tests

import (
	"bytes"
	"encoding/xml"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/engine"
)

// TestJUnitText reads the report as build servers do: each text is there as it was, except for
// characters that XML does not allow.
func TestJUnitText(t *testing.T) {
	const odd = "a <b> & \"c\" 'd'\n\te ]]> \x00\x1b[31m\uFFFEé😀"
	const want = "a <b> & \"c\" 'd'\n\te ]]> [31mé😀"
	x := engine.TestResult{Test: engine.Test{Name: odd, Group: odd, File: odd, Line: 3}}
	x.Failure = &engine.TestFailure{Kind: odd, Message: odd}
	x.Record.Output = odd
	passed := engine.TestResult{Test: engine.Test{Name: "passed", File: "other.conc", Line: 9}}
	var b bytes.Buffer
	if err := writeJUnitReport(&b, &testReport{Results: []engine.TestResult{x, passed}}); err != nil {
		t.Fatal(err)
	}
	type testcase struct {
		Name      string `xml:"name,attr"`
		Classname string `xml:"classname,attr"`
		File      string `xml:"file,attr"`
		Line      int    `xml:"line,attr"`
		Failure   *struct {
			Type    string `xml:"type,attr"`
			Message string `xml:"message,attr"`
			Text    string `xml:",chardata"`
		} `xml:"failure"`
		Output string `xml:"system-out"`
	}
	var got struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Suites   []struct {
			Name  string     `xml:"name,attr"`
			Tests int        `xml:"tests,attr"`
			Cases []testcase `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v in\n%s", err, &b)
	}
	if len(got.Suites) != 2 || got.Tests != 2 || got.Failures != 1 || len(got.Suites[0].Cases) != 1 {
		t.Fatalf("suites = %+v", got)
	}
	c := got.Suites[0].Cases[0]
	for name, text := range map[string]string{"suite": got.Suites[0].Name, "name": c.Name, "classname": c.Classname, "file": c.File,
		"type": c.Failure.Type, "message": c.Failure.Message, "output": c.Output} {
		if diff := cmp.Diff(want, text); diff != "" {
			t.Errorf("%s differs (-want +got):\n%s", name, diff)
		}
	}
	if c.Failure.Text == "" || got.Suites[1].Cases[0].Failure != nil || got.Suites[1].Name != "other.conc" {
		t.Errorf("cases = %+v", got.Suites)
	}
}
