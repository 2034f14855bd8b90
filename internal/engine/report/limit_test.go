package report

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLimit cuts long texts between characters, and removes the texts of the oldest items first.
func TestLimit(t *testing.T) {
	r := &Report{Gaps: []string{}, Decisions: []Decision{{Item: 1, Answer: encode(strings.Repeat("é", 100))}}}
	for i := range 10 {
		r.Items = append(r.Items, &Item{N: i + 1, Texts: Texts{Payload: encode(strings.Repeat("é", 100)), Text: encode("short")}})
	}
	r.limit(51, 300)
	kept := 0
	for i, x := range r.Items {
		if x.Cut["payload"] != 202 || x.Cut["text"] != 0 {
			t.Errorf("item %d: cut %v", x.N, x.Cut)
		}
		if x.Texts.Payload == nil {
			if kept > 0 {
				t.Errorf("item %d has no text, but an older one has", i+1)
			}
			continue
		}
		kept++
		var s string
		if err := json.Unmarshal(x.Texts.Payload, &s); err != nil || !utf8.ValidString(s) || len(s) != 50 {
			t.Errorf("cut text %q, error %v", s, err)
		}
	}
	if kept == 0 || kept == 10 || len(r.Gaps) != 1 || !strings.Contains(r.Gaps[0], "the first ") {
		t.Errorf("%d items have texts; gaps %q", kept, r.Gaps)
	}
	if len(r.Decisions[0].Answer) > 60 {
		t.Errorf("the answer of a decision has %d bytes", len(r.Decisions[0].Answer))
	}
}

// TestWithoutContent checks that no text remains.
func TestWithoutContent(t *testing.T) {
	const text = "what-somebody-wrote"
	v := encode(text)
	x := &Item{N: 1, Kind: "approval", Error: text, Details: Details{Cause: []Cause{{"x", text}}}, Texts: Texts{v, v, v, v, v, v, v, v, v}}
	r := &Report{Run: Run{Args: []string{text}, Inputs: v}, Items: []*Item{x}, Decisions: []Decision{{Item: 1, Request: v, Answer: v}}}
	r.WithoutContent()
	var b strings.Builder
	if err := r.WriteJSON(&b); err != nil || strings.Contains(b.String(), text) {
		t.Errorf("error %v, report %s", err, b.String())
	}
}

// TestRead refuses what is not a report, and reports of newer versions.
func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		``: "not a report", `{}`: "not a report", `[]`: "not a report", `{"concerto_report":"x"}`: "not a report", `{"concerto_report":1,"items":7}`: "not a report",
		`{"concerto_report":99,"items":7}`: "report version 99 is not supported; upgrade concerto",
	} {
		if _, err := Read([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("Read(%s): error %v, want %s", text, err, want)
		}
	}
}
