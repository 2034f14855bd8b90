package doc_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/editor/doc"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// contextual lists the words that are keywords only in certain positions.
var contextual = []string{"ask", "mock", "on", "parallel", "queue", "race", "uses", "with_persistence"}

func names(t *testing.T, group string) []string {
	t.Helper()
	for _, g := range doc.Groups() {
		if g.Name == group {
			var out []string
			for _, x := range g.Topics {
				out = append(out, x.Name)
			}
			slices.Sort(out)
			return out
		}
	}
	t.Fatalf("no group %s", group)
	return nil
}

// TestAllWords checks that the documented keywords and decorators are exactly those of the
// language.
func TestAllWords(t *testing.T) {
	want := slices.Clone(contextual)
	for k := lexer.Let; k < lexer.NumKinds; k++ {
		want = append(want, k.Info().Text)
	}
	slices.Sort(want)
	if got := names(t, "keywords"); !slices.Equal(got, want) {
		t.Errorf("keywords:\n%v\nwant\n%v", got, want)
	}
	want = nil
	for _, d := range sema.Decorators() {
		want = append(want, "@"+d)
	}
	slices.Sort(want)
	if got := names(t, "decorators"); !slices.Equal(got, want) {
		t.Errorf("decorators:\n%v\nwant\n%v", got, want)
	}
}

// TestAllTypes checks that every built-in type is documented.
func TestAllTypes(t *testing.T) {
	for _, name := range sema.BuiltinTypes() {
		topics, group := doc.Find(name)
		if group == nil && (len(topics) == 0 || topics[0].Doc == "") {
			t.Errorf("no topic for %s: add a file in stdlib, or an entry in plainTypes", name)
		}
	}
}

// TestNamesAreUniqueInGroups checks that each name occurs only once in its group. If a name has
// several meanings, one topic describes them all.
func TestNamesAreUniqueInGroups(t *testing.T) {
	for _, g := range doc.Groups() {
		seen := map[string]bool{}
		for _, x := range g.Topics {
			if seen[x.Name] {
				t.Errorf("group %s contains the topic %s twice", g.Name, x.Name)
			}
			seen[x.Name] = true
		}
	}
	topics, _ := doc.Find("Array.sort")
	if len(topics) != 1 || !strings.Contains(topics[0].Signature, "Array<Float>: fn sort(self) -> Array<Float>\nArray<String>: ") ||
		!strings.Contains(topics[0].Doc, "Of `Array<Float>`: Returns the elements in ascending order, NaN first.") || topics[0].Summary() != "Returns the elements in ascending order." {
		t.Errorf("topics of Array.sort = %+v", topics)
	}
}

// TestAllKeys checks that every key of the manifest is found by its path, also if the path contains
// a user-defined name. The example of each key is a valid manifest.
func TestAllKeys(t *testing.T) {
	for _, k := range manifest.Keys() {
		own := "mine"
		if strings.HasPrefix(k.Path, "guard.agents.") {
			own = "codex" // the names are those of agents
		}
		for _, name := range []string{k.Path, strings.Replace(k.Path, "*", own, 1)} {
			topics, _ := doc.Find(name)
			if len(topics) != 1 || topics[0].Name != k.Path || topics[0].Doc == "" || !strings.Contains(topics[0].Example, k.Example) || strings.Contains(topics[0].Example, "*") != strings.Contains(k.Example, "*") {
				t.Errorf("Find(%q) = %+v", name, topics)
			}
		}
	}
}

// TestExamplesOfWords compiles the examples of the keywords and runs their tests. An example of a
// keyword that is reserved for later versions must fail for that reason only.
func TestExamplesOfWords(t *testing.T) {
	done := map[string]bool{}
	for _, group := range []string{"keywords", "decorators", "types"} {
		for _, name := range names(t, group) {
			topics, _ := doc.Find(name)
			text := topics[0].Example
			if done[text] {
				continue
			}
			done[text] = true
			t.Run(name, func(t *testing.T) { runExample(t, text+"\n") })
		}
	}
}

func runExample(t *testing.T, text string) {
	dir := t.TempDir()
	for file, content := range map[string]string{
		"Concerto.toml": "[project]\nname = \"example\"\n\n[hosts.worker]\ncommand = \"worker\"\n\n[mcp.Files]\ncommand = \"files\"\n",
		"main.conc":     text,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, found, err := engine.CompileSource(driver.Request{Path: "main.conc", Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range found.Sorted() {
		if d.Info.Severity() == diag.Error {
			t.Errorf("the example has the diagnostic %s: %s", d.Info.Code, d.Message)
		}
	}
	if t.Failed() {
		return
	}
	results, _, err := p.RunTests(context.Background(), engine.TestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Failure != nil {
			t.Errorf("test %s of the example failed: %s: %s", r.Name, r.Failure.Kind, r.Failure.Message)
		}
	}
}

// TestFind checks that a topic is found by its full name, by its last part, and in the spellings
// that users type.
func TestFind(t *testing.T) {
	for name, want := range map[string]string{
		"json::parse":                         "json::parse",
		"std::json::parse":                    "json::parse",
		"json::parse()":                       "json::parse",
		"parse":                               "csv::parse json::parse time::parse toml::parse yaml::parse",
		"Array.push":                          "Array.push",
		"Array::push":                         "Array.push",
		"test":                                "@test",
		"@test":                               "@test",
		"self":                                "self",
		"Self":                                "Self",
		"Set::new":                            "Set.new",
		"connections.main.retry.max_attempts": "connections.*.retry.max_attempts",
		"max_run_seconds":                     "limits.max_run_seconds",
		"json":                                "(json)",
		"std::json":                           "(json)",
		"[permissions]":                       "(permissions)",
		"hosts.coder":                         "(hosts.*)",
		"String":                              "(String)",
		"nothing":                             "",
		"":                                    "",
		"ush":                                 "",
	} {
		topics, group := doc.Find(name)
		var got []string
		for _, x := range topics {
			got = append(got, x.Name)
		}
		if group != nil {
			got = append(got, "("+group.Name+")")
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("Find(%q) = %s, want %s", name, s, want)
		}
	}
	for name, want := range map[string]string{"Arry.push": "Array.push", "base64_encde": "crypto::base64_encode", "listn": "listen", "zzzzzz": "",
		"fs.read": "fs::read_file", "fs.exists": "fs::exists", "fs::exist": "fs::exists", "Array::pussh": "Array.push", "fs.zzzzzz": ""} {
		if got := doc.Near(name); got != want {
			t.Errorf("Near(%q) = %q, want %q", name, got, want)
		}
	}
}

// TestPageIsCurrent checks that spec/words.md matches the topics.
func TestPageIsCurrent(t *testing.T) {
	text, err := os.ReadFile("../../../spec/words.md")
	if err != nil || string(text) != doc.Words() {
		t.Errorf("spec/words.md is out of date: run `make gen`: %v", err)
	}
}
