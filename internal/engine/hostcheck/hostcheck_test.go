package hostcheck

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// TestManual checks that the manual's table contains the names of all checks in order.
func TestManual(t *testing.T) {
	chapter, err := os.ReadFile("../../../spec/34-host.md")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)\| check \| passes when \|\n(.*?)\n\n`).FindSubmatch(chapter)
	if table == nil {
		t.Fatal("spec/34-host.md has no table of checks")
	}
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllSubmatch(table[1], -1) {
		for _, name := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllSubmatch(row[1], -1) {
			named = append(named, string(name[1]))
		}
	}
	if diff := cmp.Diff(Names(), named); diff != "" {
		t.Errorf("the names of the checks differ from the manual's table (-checks +manual):\n%s", diff)
	}
	for _, c := range checks() {
		if c.hint == "" {
			t.Errorf("the check %s has no hint", c.name)
		}
	}
}

// TestShapes checks the reports of missing or wrong members of messages, which depend on the
// schemas in the library.
func TestShapes(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"progress","message":"half","percent":50}`:          "",
		`{"type":"progress","message":"half","percent":null}`:        "",
		`{"type":"progress","percent":50}`:                           "progress with message",
		`{"type":"progress","message":null}`:                         "progress with message",
		`{"type":"progress","message":"half","percent":0.5}`:         "percent of progress as Int",
		`{"type":"partial","chunk":"a"}`:                             "",
		`{"type":"partial","chunk":1}`:                               "text of partial as String",
		`{"type":"partial"}`:                                         "partial with text",
		`{"type":"question","id":7,"question":"?","options":["a"]}`:  "",
		`{"type":"question","id":true,"question":"?"}`:               "id of question as String",
		`{"type":"question","question":"?","options":["a",1]}`:       "options of question as Array<String>",
		`{"type":"question","question":"?","options":"a"}`:           "options of question as Array<String>",
		`{"type":"question","question":"?","questions":[{"a":1},2]}`: "",
		`{"type":"approval","description":"d","args":[1],"more":{}}`: "",
		`{"type":"tool_call","id":"t","tool":"x","args":[]}`:         "args of tool_call as Map<String, Any>",
		`{"type":"tool_call","id":"t","tool":"x","args":{"a":1}}`:    "",
		`{"type":"result","files":1}`:                                "",
		`{"type":"result","text":1}`:                                 "text of result as String",
		`{"type":"error","message":"no disk"}`:                       "",
		`{"type":"error","code":"E1"}`:                               "error with a string as message",
		`{"type":"of its own","message":[1]}`:                        "",
		`{"type":"withdraw","id":"q1"}`:                              "",
	} {
		typ := regexp.MustCompile(`"type":"(.*?)"`).FindStringSubmatch(line)[1]
		if got := misshapen(hostmsg.Lookup(typ), []byte(line)); got != want {
			t.Errorf("misshapen(%s) = %q, want %q", line, got, want)
		}
	}
	if !slices.Contains(fieldsOf(hostmsg.Lookup("progress")), field{"percent", "Int", true}) {
		t.Error("the schema of progress has no percent")
	}
}
