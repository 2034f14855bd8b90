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
	})
}
