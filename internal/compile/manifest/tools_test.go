package manifest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

func parseTools(text string) (*ToolFile, diag.List) {
	return ParseTools(source.NewFile("tools.yaml", []byte(text)))
}

func TestToolErrors(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, a *golden.Archive) {
		_, l := ParseTools(source.NewFile("tools.yaml", []byte(a.Input("tools.yaml"))))
		var b strings.Builder
		if err := diag.Text(&b, l.Sorted(), diag.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		a.Check("diagnostics", b.String())
	})
}

// TestToolForms defines the same tool in YAML, in JSON and in the manifest. All three must result
// in the same configuration.
func TestToolForms(t *testing.T) {
	const want = `{"name":"query","description":"Query","parameters":{"type":"object","properties":{"sql":{"type":"string","maxLength":9007199254740993}},"required":["sql"]},"version":2,"timeout":1.5,"command":{"run":["a","b"]}}`
	yaml := `tools:
  - name: query
    description: Query
    parameters:
      type: object
      properties:
        sql: {type: string, maxLength: 9007199254740993}
      required: [sql]
    version: 2
    timeout: 1.5
    command: [a, b]
`
	text := `{"tools": [{"name": "query", "description": "Query", "parameters": {"type": "object", "properties": {"sql": {"type": "string", "maxLength": 9007199254740993}}, "required": ["sql"]}, "version": 2, "timeout": 1.5, "command": ["a", "b"]}]}`
	for name, text := range map[string]string{"yaml": yaml, "json": text, "crlf": strings.ReplaceAll(yaml, "\n", "\r\n"), "mark": bom + yaml} {
		f, l := parseTools(text)
		if l.Len() > 0 {
			t.Fatalf("%s: unexpected diagnostics: %s", name, lines(l))
		}
		if got := string(f.Tools[0].Config); got != want || f.Tools[0].Handler != "command" || f.Tools[0].Version != 2 {
			t.Errorf("%s: tool = %s, want %s", name, got, want)
		}
	}
	m, l := parse("[tools.query]\ndescription = \"Query\"\nparameters = { type = \"object\", properties = { sql = { type = \"string\", maxLength = 9007199254740993 } }, required = [\"sql\"] }\n" +
		"version = 2\ntimeout = 1.5\ncommand = [\"a\", \"b\"]\n")
	if l.Len() > 0 {
		t.Fatal(lines(l))
	}
	if got := string(m.Tools[0].Config); got != want {
		t.Errorf("tool of the manifest = %s, want %s", got, want)
	}
}

// TestNamelessTool checks that a tool without a name is reported.
func TestNamelessTool(t *testing.T) {
	_, l := ParseTools(source.NewFile("tools.yaml", []byte("tools:\n  - description: D\n    command: [a]\n")))
	if got := lines(l); !strings.Contains(got, "E0917: this tool has no `name`") || l.Len() != 1 {
		t.Error(got)
	}
}

// TestToolsOfTheManifest checks that invalid tools in the manifest have the same diagnostics as in
// a tool file.
func TestToolsOfTheManifest(t *testing.T) {
	_, l := parse(`[tools.query]
name = "other"
requires_aproval = true
timeout = "3"
module = "myapp.tools"
function = "f"
[tools."two words"]
description = "D"
http = "https://example.com"
[tools.price]
description = "D"
http = { url = "https://example.com/?token=s3cret-value" }
command = { run = ["a"], env = { API_TOKEN = "abcdefgh" } }
[tools.x]
[tools]
y = 3
`)
	const want = "2:1: E0913: unknown key `name` in [tools.query] (some keys of this section are "
	got := lines(l)
	for _, part := range []string{want,
		"3:1: E0913: unknown key `requires_aproval` in [tools.query] (did you mean `requires_approval`?)",
		"4:11: E0915: `tools.query.timeout` must be a number (seconds), not a string (write `timeout = 3`)",
		"5:1: E0913: `module` is not a handler: use one of `command`, `http`, `mcp` and `concerto` (command = [\"python3\", \"concerto.py\", \"tool\", \"myapp.tools:f\"])",
		"7:8: E0916: \"two words\" is not a valid tool name",
		"12:16: E0807: the URL `tools.price.http.url` contains a secret",
		"13:1: E0918: tool `tools.price` has both `http` and `command`",
		"13:46: E0807: `tools.price.command.env.API_TOKEN` contains a secret",
		"14:8: E0918: tool `tools.x` has no handler",
		"14:8: E0917: tool `tools.x` has no `description`",
		"16:5: E0915: `tools.y` must be a table, not an integer",
	} {
		if !strings.Contains(got, part) {
			t.Errorf("missing diagnostic: %s\nin:\n%s", part, got)
		}
	}
	if n := strings.Count(got, "\n"); n != 11 {
		t.Errorf("number of diagnostics = %d, want 11:\n%s", n, got)
	}
	if strings.Contains(got, "s3cret") || strings.Contains(got, "abcdefgh") {
		t.Errorf("the diagnostics contain a secret:\n%s", got)
	}
}

func TestInvalidToolFiles(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "1:1: E0911: the file is empty",
		"# nothing\n":              "1:1: E0911: the file is empty",
		"- a\n":                    "1:1: E0911: expected a mapping, found a list",
		"a text":                   "1:1: E0911: expected a mapping, found a text",
		"tools:\n\t- a\n":          "2:1: E0911: ",
		"tools: []\n---\na: 1\n":   "2:1: E0911: a tool file can contain only one document",
		"tools: [\n":               "2:1: E0911: ",
		"tools:\n  - \xff\n":       "2:5: E0911: invalid UTF-8: byte 0xff",
		"tools: 3":                 "1:8: E0915: `tools` must be a list of mappings, not an integer",
		"mcp: {}\n":                "1:1: E0917: the file has no `tools`",
		"tolos: []\n":              "1:1: E0913: unknown key `tolos` in a file of tools (did you mean `tools`?)",
		"? [a]\n: 1\ntools: []\n":  "1:3: E0915: expected a string as a key, found a list",
		`{"tools": [], "tools":1}`: "1:15: E0914: duplicate key `tools`",
		`{"tools": [}`:             "1:12: E0911: ",
		"# " + strings.Repeat("x", MaxToolFile) + "\ntools: []\n": "1:1: E0911: the file has 1048589 bytes, but a tool file can have at most 1048576",
	} {
		f, l := parseTools(text)
		if got := lines(l); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%.40q: diagnostics = %s\nwant one: %s", text, got, want)
		}
		if len(f.Tools) > 0 {
			t.Errorf("%.40q: the file has tools, want none", text)
		}
	}
}

// TestDuplicateToolNames combines the tools of two files. A duplicate name is an error for global
// tools, and allowed for tools with the scope session.
func TestDuplicateToolNames(t *testing.T) {
	file := func(name, text string) []*Tool {
		f, l := ParseTools(source.NewFile(name, []byte(text)))
		if l.HasErrors() {
			t.Fatal(lines(l))
		}
		return f.Tools
	}
	const one = "tools:\n  - {name: a, description: D, command: [c]}\n  - {name: b, description: D, scope: session, command: [c]}\n  - {name: c, version: 2, description: D, command: [c]}\n"
	l := Clashes(file("x.yaml", one), file("y.yaml", one+"  - {name: c, description: D, command: [c]}\n"))
	var got strings.Builder
	for _, d := range l.Sorted() {
		fmt.Fprintf(&got, "%s:%s %s, %s:%s\n", d.File.Name, d.File.Position(d.Span.Start), d.Message, d.Labels[0].File.Name, d.Labels[0].File.Position(d.Labels[0].Span.Start))
	}
	if want := "y.yaml:2:12 duplicate tool `a@1`, x.yaml:2:12\ny.yaml:4:12 duplicate tool `c@2`, x.yaml:4:12\n"; got.String() != want {
		t.Errorf("clashes\n got %s\nwant %s", got.String(), want)
	}
}

// TestScalars checks that scalars follow YAML 1.2, also where YAML 1.1 differs.
func TestScalars(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "-0": "0", "+7": "7", "007": "7", "0x1F": "31", "0o17": "15", "-12": "-12", "99999999999999999999": "99999999999999999999",
		"1.50": "1.5", ".5": "0.5", "1.": "1.0", "1e3": "1000.0", "-1.5E-2": "-0.015",
		"~": "null", "": "null", "null": "null", "true": "true", "False": "false",
		"yes": `"yes"`, "no": `"no"`, "on": `"on"`, "1_000": `"1_000"`, "0b1": `"0b1"`, "2024-01-01": `"2024-01-01"`, "1:30": `"1:30"`, "+-1": `"+-1"`, "-": `"-"`, ".": `"."`,
		"e3": `"e3"`, "1e": `"1e"`, "0x": `"0x"`, "-0x1": `"-0x1"`, "'1'": `"1"`, `"\u00e9\n"`: `"é\n"`, "'it''s'": `"it's"`,
	} {
		f, l := parseTools("tools: [{name: a, description: d, parameters: {type: object, default: " + text + "}, command: [c]}]\n")
		if text == "-" {
			continue // "- " begins a list
		}
		var config struct {
			Parameters struct{ Default json.RawMessage }
		}
		if l.Len() > 0 || json.Unmarshal(f.Tools[0].Config, &config) != nil || string(config.Parameters.Default) != want {
			t.Errorf("default %s = %s, want %s; diagnostics:\n%s", text, config.Parameters.Default, want, lines(l))
		}
	}
}

// TestLongLines parses one long line with 9000 errors. The test would be very slow if the parser
// searched the position of each error from the start of the line.
func TestLongLines(t *testing.T) {
	var b strings.Builder
	b.WriteString("{tools: [")
	for i := range 9000 {
		fmt.Fprintf(&b, "{name: é%d, description: d, command: [c]},", i)
	}
	b.WriteString("]}")
	_, l := parseTools(b.String())
	if all := l.Sorted(); len(all) != 9000 || all[8999].File.Slice(all[8999].Span) != "é8999" {
		t.Errorf("number of diagnostics = %d, want 9000, the last one at the last name", len(all))
	}
}

// FuzzTools parses arbitrary text as a tool file. The result must be valid tools, or errors with a
// position in the file.
func FuzzTools(f *testing.F) {
	for _, i := range diag.Catalogue() {
		if i.Tools {
			f.Add(i.Bad)
			f.Add(i.Good)
		}
	}
	f.Add("tools: [{name: a, http: \"https://x\", description: \"\\u00e9\"}]")
	f.Add("{\"tools\": [{\"name\": \"a\", \"parameters\": {\"type\": \"object\", \"$ref\": \"#\"}}]}")
	f.Add("a: &b\n  - *b\n? {c: d}\n: |\n  e\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, l := parseTools(text)
		for _, d := range l.Sorted() {
			if d.Span.Start < 0 || int(d.Span.End) > len(text) || d.Span.End < d.Span.Start {
				t.Fatalf("%s: span %v is not in the file", d.Message, d.Span)
			}
			if len(d.Hints) == 0 {
				t.Errorf("diagnostic %q has no hint", d.Message)
			}
		}
		for _, x := range file.Tools {
			if !json.Valid(x.Config) {
				t.Fatalf("tool %s: configuration %s is not JSON", x.Name, x.Config)
			}
			if !l.HasErrors() && (x.Name == "" || x.Handler == "") {
				t.Errorf("tool without a name or handler: %+v", x)
			}
		}
	})
}
