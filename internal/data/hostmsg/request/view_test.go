package request_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
)

// files are those that the requests of the corpus change.
var files = map[string]string{
	"/repo/steps.go":  "package steps\n\n// Step is one.\ntype Step int\n\nfunc Steps(n int) []Step {\n\treturn make([]Step, 0, n)\n}\n",
	"/repo/twice.txt": "same\nsame\n", "/repo/logo.png": "\x89PNG\x00",
}

func read(name string) ([]byte, error) {
	if text, ok := files[name]; ok {
		return []byte(text), nil
	}
	return nil, errors.New("there is no such file")
}

// corpus returns the collected requests: the forms of vendors' agents, of own hosts and of tools.
func corpus(t testing.TB) (names []string, asked []json.RawMessage) {
	text, err := os.ReadFile("testdata/corpus.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var c struct {
			Name  string          `json:"name"`
			Asked json.RawMessage `json:"asked"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		names, asked = append(names, c.Name), append(asked, c.Asked)
	}
	return names, asked
}

// TestViews compares the views of the corpus with the golden file.
func TestViews(t *testing.T) {
	a := golden.Open(t, "testdata/views.golden")
	defer a.Close()
	names, asked := corpus(t)
	for i, name := range names {
		a.Check(name, describe(request.Of(asked[i], read)))
	}
	if len(names) < 60 {
		t.Errorf("%d requests, want 60", len(names))
	}
}

// describe returns all that a view contains.
func describe(v *request.View) string {
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, strings.TrimSuffix(fmt.Sprintf("%q", text)[1:], `"`))
		}
	}
	line("title", v.Title)
	if v.IsOwn {
		line("title", "is the host's")
	}
	line("command", v.Command)
	line("in", v.Dir)
	for _, c := range v.Files {
		fmt.Fprintf(&b, "%s %q +%d -%d\n", c.Kind, c.Path, c.Added, c.Removed)
		line("  to", c.To)
		line("  note", c.Note)
		for _, h := range c.Hunks {
			fmt.Fprintf(&b, "  at %d, %d\n", h.Old, h.New)
			for _, l := range h.Lines {
				fmt.Fprintf(&b, "  %c%s\n", l.Op, strings.ReplaceAll(l.Text, "\r", `\r`))
			}
		}
	}
	line("text", v.Text)
	for _, f := range v.Fields {
		line("field "+f.Name, f.Text())
	}
	line("reason", v.Reason)
	line("risk", v.Risk)
	return b.String()
}

// TestNothingTwice checks for each request of the corpus that a text of more than 12 characters is
// in one part of the view only.
func TestNothingTwice(t *testing.T) {
	names, asked := corpus(t)
	for i, name := range names {
		v := request.Of(asked[i], read)
		parts := []string{v.Title, v.Command, v.Text, v.Reason}
		for _, f := range v.Fields {
			parts = append(parts, f.Text())
		}
		for j, a := range parts {
			for k, b := range parts {
				for line := range strings.Lines(a) {
					if line = strings.Join(strings.Fields(line), " "); j != k && len(line) > 12 && strings.Contains(strings.Join(strings.Fields(b), " "), line) {
						t.Errorf("%s: %q is shown twice", name, line)
					}
				}
			}
		}
	}
}

// TestListing checks for each request of the corpus that its line contains the command, the texts
// and the arguments, and once each.
func TestListing(t *testing.T) {
	names, asked := corpus(t)
	for i, name := range names {
		v := request.Of(asked[i], read)
		line := v.Listing()
		parts := []string{v.Title, strings.TrimRight(v.Command, "\n"), v.Dir, v.Text, v.Reason}
		for _, f := range v.Fields {
			parts = append(parts, f.Text())
		}
		for _, part := range parts {
			part = strings.ReplaceAll(part, "\n", "⏎")
			if !strings.Contains(line, part) || len(part) > 12 && strings.Count(line, part) != 1 {
				t.Errorf("%s: the line %q does not contain %q once", name, line, part)
			}
		}
	}
}

// calls are texts and payloads of progress messages about calls, with the summaries of their views.
var calls = []struct{ text, payload, want string }{
	{"Bash: go test ./...", `{"message":{"content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test ./...","description":"test"}}]}}`, "Run a command: go test ./..."},
	{"Bash: one…", `{"message":{"content":[{"type":"text","text":"x"},{"type":"tool_use","name":"Bash","input":{"command":"one\ntwo"}}]}}`, "Run a command: one\ntwo"},
	{"Read: b", `{"message":{"content":[{"type":"tool_use","name":"Read","input":{"file_path":"a"}},{"type":"tool_use","name":"Read","input":{"file_path":"b","limit":7}}]}}`, "Read b"},
	{"Write: n.txt", `{"message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"n.txt","content":"x"}}]}}`, "Write n.txt"},
	{"mcp__github__create_issue: Steps", `{"message":{"content":[{"type":"tool_use","name":"mcp__github__create_issue","input":{"title":"Steps","labels":[1]}}]}}`, "Use mcp__github__create_issue: Steps"},
	{"Bash: ls", `{"message":{"content":"a text"}}`, "Run a command: ls"},
	{"command: npm test", `{"params":{"item":{"type":"commandExecution","command":"/bin/bash -lc 'npm test'","cwd":"/work"}}}`, "Run a command: npm test"},
	{"fileChange: a.go", `{"params":{"item":{"type":"fileChange","changes":[{"path":"a.go","kind":{"type":"add"},"diff":"package a\n"}]}}}`, "Write a.go"},
	{"docs.search: steps", `{"params":{"item":{"type":"mcpToolCall","server":"docs","tool":"search","arguments":{"query":"steps"}}}}`, "Use docs.search: steps"},
	{"webSearch: steps", `{"params":{"item":{"type":"webSearch","query":"steps"}}}`, "Search for steps"},
	{"execute: touch made.txt", `{"params":{"update":{"kind":"execute","title":"touch made.txt","rawInput":{"command":"touch made.txt"}}}}`, "Run a command: touch made.txt"},
	{"edit: Edit steps.go", `{"params":{"update":{"title":"Edit steps.go","content":[{"type":"diff","path":"/repo/steps.go","oldText":"a\n","newText":"b\n"}]}}}`, "Edit /repo/steps.go"},
	{"think: Plan the work", `{"params":{"update":{}}}`, "Plan the work"},
	{"WebFetch: https://docs.example.com/a", `1`, "Fetch docs.example.com: https://docs.example.com/a"},
	{"Skill", `null`, "Use Skill"},
	{`stdin of \"python3\": exit()`, `{"params":{"itemId":"c1"}}`, `stdin of "python3": exit()`},
}

// TestCalls checks the views of calls that vendors' agents report.
func TestCalls(t *testing.T) {
	for _, c := range calls {
		v := request.OfCall(fmt.Appendf(nil, `{"message":"%s","stage":"tool","payload":%s}`, c.text, c.payload))
		if v == nil || v.Summary() != c.want {
			t.Errorf("%s: view %+v, want %q", c.text, v, c.want)
		}
	}
	for _, other := range []string{`{"message":"x","stage":"start"}`, `{"stage":"tool"}`, `1`, `{"message":1,"stage":"tool"}`} {
		if v := request.OfCall([]byte(other)); v != nil {
			t.Errorf("%s: view %+v, want none", other, v)
		}
	}
}

// FuzzOf checks that each JSON value has a view with a title.
func FuzzOf(f *testing.F) {
	_, asked := corpus(f)
	for _, a := range asked {
		f.Add([]byte(a))
	}
	f.Fuzz(func(t *testing.T, asked []byte) {
		if !json.Valid(asked) {
			return
		}
		if v := request.Of(asked, read); v.Title == "" {
			t.Errorf("%s has no title", asked)
		}
		if v := request.OfCall(asked); v != nil && v.Title == "" {
			t.Errorf("the call %s has no title", asked)
		}
	})
}
