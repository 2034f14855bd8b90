package eventtext_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
)

// forms contains an emit on each channel of the runtime and the library, and its text on a
// terminal.
var forms = map[string]struct{ payload, text string }{
	"audit:tool":               {`{"subject":{"tool":"T"}}`, ""},
	"host:approval":            {`{"description":"Bash: rm x","tool":"Bash","kind":"execute","args":{"command":"rm x"}}`, "Run a command: rm x"},
	"host:blocked":             {`{"host":"H","address":"a:1"}`, "H: blocked: a:1"},
	"host:decided":             {`{"host":"H","decision":"deny","description":"rm"}`, "H: denied: rm"},
	"host:log":                 {`{"level":"warn","message":"m"}`, "warn: m"},
	"host:plan_limit":          {`{"window":"5h","status":"near","used_percent":90}`, "the limit of 5h is near (90 % used)"},
	"host:progress":            {`{"percent":40,"message":"m"}`, "40 % m"},
	"host:question":            {`{"question":"which?"}`, "which?"},
	"host:steered":             {`{"host":"H","text":"go on"}`, "H received: go on"},
	"listen:complete":          {`{"host":"H"}`, ""},
	"listen:error":             {`{"host":"H"}`, ""},
	"listen:invalid":           {`{"host":"H","type":"question","error":"e"}`, "H sent question, which is not valid: e"},
	"listen:start":             {`{"host":"H"}`, ""},
	"listen:unhandled":         {`{"host":"H","type":"x","message":{"type":"x","n":1,"s":"t"}}`, "H sent x: n 1, s t"},
	"mcp:elicitation":          {`{"server":"S","tool":"t","message":"Which?","schema":{}}`, "S: Which?"},
	"mcp:elicitation_complete": {`{"id":"e"}`, ""},
	"mcp:progress":             {`{"server":"S","tool":"t","progress":1,"total":4,"message":"m"}`, "S.t: 1 of 4 (25 %) m"},
	"merge:failed":             {`{"queue":"q","kind":"conflict","change":"c","message":"m"}`, "q: conflict c: m"},
	"host:undelivered":         {`{"host":"H","id":"r","reason":"r"}`, "H: a decision did not arrive: r"},
	"host:gate":                {`{"host":"H","gate":"make","turn":2,"passed":true}`, "H: proved by make (turn 2)"},
	"host:plan_resumed":        {`{"host":"H"}`, "H continues: the limit of its plan no longer applies"},
	"host:plan_wait":           {`{"host":"H","window":"5h","until":1771390800000}`, "H waits until 2026-02-18T05:00:00Z for a limit of its plan"},
	"host:repair":              {`{"host":"H","turn":1,"error":"e"}`, "H: asked again: e"},
	"host:refused":             {`{"host":"H","reason":"r"}`, "H: refused: r"},
	"merge:gate":               {`{"queue":"q","ok":false,"changes":["c"]}`, "q: the gate failed for c"},
	"merge:landed":             {`{"queue":"q","commit":"1","changes":["c"]}`, "q: merged c"},
	"pipeline:complete":        {`{"name":"P"}`, ""},
	"pipeline:error":           {`{"name":"P","error":"e"}`, ""},
	"pipeline:stage_complete":  {`{"name":"P","stage":"s"}`, ""},
	"pipeline:stage_start":     {`{"name":"P","stage":"s"}`, ""},
	"pipeline:start":           {`{"name":"P"}`, ""},
	"run:progress":             {`{"done":1,"of":4,"message":"m"}`, "1 of 4 (25 %) m"},
	"run:unknown":              {`{"effect":1,"kind":"http","request":{},"key":"k"}`, "the outcome of http is unknown: retry, fail or done?"},
	"tool:approval":            {`{"tool":"T","call_id":"c","description":"d"}`, "T: d"},
	"tool:progress":            {`{"tool":"T","call_id":"c","progress":2}`, "T: 2"},
}

// TestForms checks the text of each channel of the runtime and the library.
func TestForms(t *testing.T) {
	for channel, x := range forms {
		e, ok := eventtext.Read(channel, []byte(x.payload))
		if !ok || e.Text != x.text {
			t.Errorf("%s %s: text %q (known: %t), want %q", channel, x.payload, e.Text, ok, x.text)
		}
	}
	for channel, want := range map[string]string{
		"pipeline:start":          "P starts",
		"pipeline:stage_start":    "P: s starts",
		"pipeline:stage_complete": "P: s ends",
		"pipeline:complete":       "P ends",
		"pipeline:error":          "P failed",
	} {
		if e, _ := eventtext.Read(channel, []byte(forms[channel].payload)); e.Line != want {
			t.Errorf("%s: line %q, want %q", channel, e.Line, want)
		}
	}
}

// named matches a channel of the runtime in its source.
var named = regexp.MustCompile(`"((?:audit|host|listen|mcp|merge|pipeline|run|tool):[a-z_]+)"`)

// TestEveryChannelHasAForm reports a channel that the source of the runtime or the library names
// and that has no text: it would be JSON on a terminal.
func TestEveryChannelHasAForm(t *testing.T) {
	var used []string
	for _, m := range hostmsg.Messages() {
		if m.Channel != "" {
			used = append(used, m.Channel)
		}
	}
	for _, pattern := range []string{"codegen/*.go", "internal/data/effect/*.go", "internal/record/journal/*.go", "runtime/*/*.go", "stdlib/*.conc", "stdlib/*.go", "vm/*.go"} {
		files, err := filepath.Glob(filepath.Join("../../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(text), -1) {
				used = append(used, m[1])
			}
		}
	}
	slices.Sort(used)
	for _, channel := range slices.Compact(used) {
		if _, ok := forms[channel]; !ok {
			t.Errorf("channel %s has no text on a terminal: add a row to the table of eventtext, and to forms", channel)
		}
	}
}
