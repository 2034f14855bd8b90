package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const header = `{"eval":1,"metrics":[{"name":"correct","kind":"bool"},{"name":"words","better":"lower","gate":false,"margin":2}]}` + "\n"

// TestReadAppliesDefaults reads a result as a person writes it.
func TestReadAppliesDefaults(t *testing.T) {
	r, err := Read("r", []byte("\ufeff"+header+"\n"+`{"case":"a","scores":{"correct":true,"words":7}}`+"\r\n"+`{"case":"a","scores":{"correct":false}}`+"\n"+
		`{"case":"a","rep":7,"scores":{"words":null},"cost_usd":null,"row":{"b":1,"a":2.0}}`+"\n"+`{"case":"a","scores":{},"status":"failed","row":{"a":2,"b":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []Metric{{"correct", KindBool, Higher, true, DefaultMargin}, {"words", KindNumber, Lower, false, 2}}; !reflect.DeepEqual(r.Metrics, want) {
		t.Errorf("metrics %+v, want %+v", r.Metrics, want)
	}
	var reps []string
	for _, s := range r.Samples {
		reps = append(reps, fmt.Sprint(s.Rep, s.Status, s.Scores["correct"], s.Scores["words"], s.Content()))
	}
	want := []string{"1scored{bool 1} {number 7}", "2scored{bool 0} { 0}", `7scored{ 0} { 0}{"a":2,"b":1}`, `8failed{ 0} { 0}{"a":2,"b":1}`}
	if !reflect.DeepEqual(reps, want) {
		t.Errorf("samples %q, want %q", reps, want)
	}
	if r.End != nil {
		t.Errorf("the end is %v, but the result has none", r.End)
	}
}

// TestReadReportsTheLine checks the error for each kind of invalid input.
func TestReadReportsTheLine(t *testing.T) {
	sample := func(members string) string { return header + `{"case":"a","scores":{}}` + "\n\n" + members + "\n" }
	for text, want := range map[string]string{
		"":                                 "r: the file is empty",
		" \n\n":                            "r: the file is empty",
		"{}":                               `r:1: this is no result of an eval: its first line has no member "eval"`,
		"[]":                               "r:1: expected a JSON object, got []",
		"\n{\"eval\":2,\"new\":1}":         "r:2: the result has version 2 of the format, and this concerto reads version 1: use the version of concerto that created it, or a newer one",
		`{"eval":0}`:                       "r:1: `eval` must be the version of the format, 1, not 0",
		`{"eval":"1"}`:                     "r:1: `eval` must be the version of the format, 1, not \"1\"",
		`{"eval":1}`:                       `r:1: missing member "metrics"`,
		`{"eval":1,"metrics":[{}]}`:        `r:1: "metrics": missing member "name"`,
		`{"eval":1,"metrics":{}}`:          `r:1: "metrics" must be an array of objects, not {}`,
		`{"eval":1,"metric":[]}`:           `r:1: unknown member "metric"; did you mean "metrics"?`,
		`{"eval":1,"metrics":[],"line":0}`: `r:1: "line" must be an integer, at least 1, not 0`,
		`{"eval":1,"metrics":[{"name":"a"},{"name":"a"}]}`: `r:1: duplicate metric "a"`,
		`{"eval":1,"metrics":[{"name":"a","kind":"int"}]}`: `r:1: "metrics": "kind" must be "bool" or "number", not "int"`,
		`{"eval":1,"metrics":[{"name":"a","margin":-1}]}`:  `r:1: "metrics": "margin" must be a number that is not negative, not -1`,
		header + "{":                                                                                       "r:2: invalid JSON: unexpected end of JSON input",
		header + "{\"case\":\"\xff\"}":                                                                     "r:2: invalid UTF-8 in a line of 12 bytes at offset 114 (byte 9 of it)",
		sample(`{"case":"a"}`):                                                                             `r:4: missing member "scores"`,
		sample(`{"scores":{}}`):                                                                            `r:4: missing member "case"`,
		sample(`{"case":1,"scores":{}}`):                                                                   `r:4: "case" must be a text, not 1`,
		sample(`{"case":"a","rep":1,"scores":{}}`):                                                         `r:4: duplicate case "a", repetition 1 (first on line 2)`,
		sample(`{"case":"a","rep":0,"scores":{}}`):                                                         `r:4: "rep" must be an integer, at least 1, not 0`,
		sample(`{"case":"a","rep":1.5,"scores":{}}`):                                                       `r:4: "rep" must be an integer, at least 1, not 1.5`,
		sample(`{"case":"a","scoers":{}}`):                                                                 `r:4: unknown member "scoers"; did you mean "scores"?`,
		sample(`{"case":"a","Scores":{}}`):                                                                 `r:4: unknown member "Scores"; did you mean "scores"?`,
		sample(`{"case":"a","case":"b","scores":{}}`):                                                      `r:4: duplicate member "case"`,
		sample(`{"case":"a","scores":[]}`):                                                                 `r:4: "scores" must be an object that has true, false, a number or null for each metric, not []`,
		sample(`{"case":"a","scores":{"correct":1}}`):                                                      `r:4: the score of "correct" must be true, false or null`,
		sample(`{"case":"a","scores":{"words":true}}`):                                                     `r:4: the score of "words" must be a number or null`,
		sample(`{"case":"a","scores":{"words":1e301}}`):                                                    `r:4: "scores" must be an object that has true, false, a number or null for each metric, not {"words":1e301}`,
		sample(`{"case":"a","scores":{"word":1}}`):                                                         `r:4: the score "word" is of a metric that the first line does not list`,
		sample(`{"case":"a","scores":{"words":1,"words":2}}`):                                              `r:4: "scores": duplicate member "words"`,
		sample(`{"case":"a","scores":{},"why":{"x":""}}`):                                                  `r:4: unknown metric "x": the first line does not list it`,
		sample(`{"case":"a","status":"ok","scores":{}}`):                                                   `r:4: "status" must be "scored", "failed" or "error", not "ok"`,
		sample(`{"case":"a","status":"failed","scores":{"words":1}}`):                                      `r:4: the sample has the status "failed", so the score of "words" must be false or null`,
		sample(`{"case":"a","status":"error","scores":{"correct":false}}`):                                 `r:4: the sample has the status "error", so the score of "correct" must be null`,
		sample(`{"case":"a","scores":{},"ms":-1}`):                                                         `r:4: "ms" must be a number that is not negative, not -1`,
		sample(`{"case":"a","rep":9223372036854775807,"scores":{}}`):                                       `r:4: "rep": more than 1000000000000`,
		sample(`{"case":"a","scores":{},"tokens_in":0.5}`):                                                 `r:4: "tokens_in" must be an integer, at least 0, not 0.5`,
		sample(`{"case":"a","scores":{},"cluster":[]}`):                                                    `r:4: "cluster" must be a text, a number, true or false, not []`,
		sample(`{"case":"a","scores":{},"agreements":{"correct":{"judge":true}}}`):                         `r:4: "agreements" must be an object that has {"judge","label"} for each metric, with true or false, not {"correct":{"judge":true}}`,
		sample(`{"case":"a","scores":{},"error":{"text":""}}`):                                             `r:4: "error" must be an object with "kind", "message" and "at", not {"text":""}`,
		sample(`{"end":{"exit":0}}` + "\n" + `{"case":"b","scores":{}}`):                                   "r:5: a line follows the end of the result",
		sample(`{"case":"a","cluster":3,"scores":{}}`):                                                     `r:4: case "a" is in another cluster than in its first repetition`,
		sample(`{"case":"b","row":{"a":1},"scores":{}}` + "\n" + `{"case":"b","row":{"a":2},"scores":{}}`): `r:5: case "b" has another row than on line 4`,
	} {
		if _, err := Read("r", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s\nerror %v\nwant  %s", text, err, want)
		}
	}
}

// TestAnyCaseIsWrittenAndRead checks that cases may have any id.
func TestAnyCaseIsWrittenAndRead(t *testing.T) {
	r := &Result{Header: Header{Eval: 1, Metrics: []Metric{{"correct", KindBool, Higher, true, 0}}}, End: &End{3}}
	for _, id := range []string{"", "..", "a/b\\c", "two\nlines", strings.Repeat("ä", 300), "\u2028\x00\"", "a", "A"} {
		r.Samples = append(r.Samples, &Sample{Case: id, Rep: 1, Status: StatusScored, Scores: map[string]Score{"correct": BoolScore(true)}, Row: json.RawMessage("{\n\"id\": 1}")})
	}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read("r", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for i, s := range got.Samples {
		if s.Case != r.Samples[i].Case || s.Scores["correct"] != BoolScore(true) {
			t.Errorf("case %q is read as %q, with %v", r.Samples[i].Case, s.Case, s.Scores)
		}
	}
	if lines := bytes.Count(text, []byte("\n")); lines != 2+len(r.Samples) || *got.End != (End{3}) {
		t.Errorf("%d lines, end %v:\n%s", lines, got.End, text)
	}
}

// full is a result with each member of the format.
const full = `{"eval":1,"name":"triages","variant":"m","function":"main::triages","file":"main.conc","line":9,"program":"sha256:0","data":{"source":"t.jsonl","sha256":"0a","cases":2},"metrics":[{"name":"correct","kind":"bool","better":"higher","gate":true,"margin":0.03},{"name":"polite","kind":"number","better":"lower","gate":false,"margin":0}],"repeat":2,"seed":7,"started":"2026-01-02T03:04:05Z"}
{"case":"a/1","rep":1,"row":{"id":"a/1"},"cluster":"x","status":"scored","scores":{"correct":true,"polite":0.5},"why":{"polite":"too short"},"judges":{"polite":"ff","correct":"ff"},"agreements":{"correct":{"judge":true,"label":true}},"ms":812.5,"calls":2,"tokens_in":10,"tokens_out":20,"cost_usd":0.001,"judge_cost_usd":0.0005,"cached":true,"tape":"tapes/triages/1.tape"}
{"case":"a/1","rep":2,"row":{"id":"a/1"},"cluster":"x","status":"failed","scores":{"correct":false,"polite":null},"error":{"kind":"panic","message":"index","at":"main.conc:9:4"},"calls":0,"cached":false}
{"case":"b","rep":1,"status":"error","scores":{},"error":{"kind":"AgentError","message":"rate"},"calls":0,"cached":false}
{"end":{"exit":2}}
`

// TestEncodeReturnsTheLinesThatWereRead checks each member of the format.
func TestEncodeReturnsTheLinesThatWereRead(t *testing.T) {
	r, err := Read("full", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []any
	for _, x := range []struct {
		text string
		to   *[]any
	}{{string(text), &got}, {full, &want}} {
		for line := range strings.Lines(x.text) {
			var v any
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			*x.to = append(*x.to, v)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("wrote\n%s\nwant\n%s", text, full)
	}
}

// secondReader reads a result with maps, as the table of the format describes it. It returns the
// scores by case and repetition, or nil if the text is no result.
func secondReader(text string) map[string]any {
	all := map[string]any{}
	last := map[string]int{}
	var first map[string]any
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var m map[string]any
		if json.Unmarshal([]byte(line), &m) != nil {
			return nil
		}
		switch {
		case first == nil:
			if m["eval"] != 1.0 {
				return nil
			}
			first = m
			continue
		case m["end"] != nil:
			continue
		}
		id := m["case"].(string)
		rep := last[id] + 1
		if r, ok := m["rep"].(float64); ok {
			rep = int(r)
		}
		last[id] = max(last[id], rep)
		status := "scored"
		if s, ok := m["status"].(string); ok {
			status = s
		}
		for _, metric := range first["metrics"].([]any) {
			name := metric.(map[string]any)["name"].(string)
			all[fmt.Sprintf("%s %d %s %s", id, rep, status, name)] = m["scores"].(map[string]any)[name]
		}
	}
	return all
}

// TestSecondReaderReadsTheSame compares Read with secondReader.
func TestSecondReaderReadsTheSame(t *testing.T) {
	for _, text := range []string{full, header + `{"case":"a","scores":{"correct":true}}` + "\n" + `{"case":"b","scores":{"words":-1.5e3}}` + "\n" + `{"case":"a","scores":{"correct":null}}`} {
		r, err := Read("r", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		for _, s := range r.Samples {
			for _, m := range r.Metrics {
				var v any
				switch score := s.Scores[m.Name]; score.Kind {
				case KindBool:
					v = score.Value == 1
				case KindNumber:
					v = score.Value
				}
				got[fmt.Sprintf("%s %d %s %s", s.Case, s.Rep, s.Status, m.Name)] = v
			}
		}
		if want := secondReader(text); !reflect.DeepEqual(got, want) {
			t.Errorf("Read returns %v, the second reader %v", got, want)
		}
	}
}

// FuzzRead checks that Read returns the same result for the lines that Encode writes.
func FuzzRead(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte(header + `{"case":"a","scores":{"correct":true,"words":7}}`))
	f.Add([]byte(`{"eval":1,"metrics":[{"name":"\u0061"}]}` + "\n" + `{"case":"\n","scores":{"a":1e-300},"row":[1.50],"cluster":1.0}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read("r", data)
		if err != nil {
			return
		}
		text, err := r.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read("r", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		repeated, err := again.Encode()
		if err != nil || !bytes.Equal(repeated, text) {
			t.Fatalf("%s\nis written as\n%s\n%v", text, repeated, err)
		}
		if !reflect.DeepEqual(again.Metrics, r.Metrics) || len(again.Samples) != len(r.Samples) {
			t.Fatalf("%+v\nis read as\n%+v", r, again)
		}
		for i, s := range again.Samples {
			if s.Case != r.Samples[i].Case || s.Rep != r.Samples[i].Rep || s.Content() != r.Samples[i].Content() || s.ClusterID() != r.Samples[i].ClusterID() || !reflect.DeepEqual(s.Scores, r.Samples[i].Scores) {
				t.Fatalf("%+v\nis read as\n%+v", r.Samples[i], s)
			}
		}
	})
}
