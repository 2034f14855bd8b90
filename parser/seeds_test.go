package parser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// assumed contains the declarations that fragments use and do not show, by name.
var assumed = map[string]string{
	"ClaudeCode":       `host ClaudeCode { connector: claude_code, output_format: "json" }`,
	"TestRunner":       `host TestRunner { connector: test_runner, output_format: "json" }`,
	"Architect":        `agent Architect uses openai { model: "m" }`,
	"QaLead":           `agent QaLead uses openai { model: "m" }`,
	"SecurityReviewer": `agent SecurityReviewer uses openai { model: "m" }`,
	"Supervisor":       `agent Supervisor uses openai { model: "m" }`,
	"DataAnalyst":      `agent DataAnalyst uses openai { model: "m" }`,
	"db":               `const db: Map<String, String> = {};`,
}

// refused lists the programs that do not compile, with the code of their first error.
// docs/decisions/seeds.md has the reasons.
var refused = map[string]string{
	"004_00.conc": "E0101", // option A: handlers after a call, without listen
	"004_01.conc": "E0303", // option B: a map of functions
	"004_02.conc": "E0301", // option C: an id in place of the message, and no arm for other messages
	"004_10.conc": "E0501", // assigns to a variable without `mut`
}

// TestSeeds compiles the programs of the founding documents as they are printed. A fragment becomes
// a program with the declarations that it uses and does not show.
func TestSeeds(t *testing.T) {
	paths, err := filepath.Glob("testdata/seeds/*.conc")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 24 {
		t.Fatalf("found only %d programs in testdata/seeds", len(paths))
	}
	for _, path := range paths {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			printed, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := parser.AsProgram(string(printed))
			for name, declaration := range assumed {
				declared := regexp.MustCompile(`(?m)^(host|agent|const) ` + name + `\b`)
				if used := regexp.MustCompile(`\b` + name + `\b`); used.MatchString(text) && !declared.MatchString(text) {
					text += "\n" + declaration
				}
			}
			tree, found := parser.Parse(source.NewFile(name, []byte(text)))
			if !found.HasErrors() {
				_, more := sema.Check(sema.Config{Name: "main", Library: stdlib.Library(), Manifest: &sema.Manifest{
					Hosts: map[string]sema.ManifestHost{
						"claude_code": {OutputFormat: "json"}, "claude_code_host": {OutputFormat: "json"}, "test_runner": {OutputFormat: "json"},
					},
					Connections: map[string]sema.ManifestConnection{"openai": {}, "anthropic": {}},
				}}, tree)
				found.Append(more)
			}
			var codes []string
			for _, d := range found.Sorted() {
				if d.Severity() == diag.Error {
					codes = append(codes, d.Info.Code)
					if refused[name] == "" {
						t.Errorf("%s: %s", d.Info.Code, d.Message)
					}
				}
			}
			if want := refused[name]; want != "" && !slices.Contains(codes, want) {
				t.Errorf("the errors are %v, want %s", codes, want)
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// TestCopiesOfSeeds compares the copies with the founding documents, if the documents are
// available.
func TestCopiesOfSeeds(t *testing.T) {
	docs, err := filepath.Glob("../../shared/seeds/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(docs) == 0 {
		t.Skip("the founding documents are not available")
	}
	fence := regexp.MustCompile("(?s)```concerto\n(.*?)```")
	n := 0
	for _, doc := range docs {
		text, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range fence.FindAllSubmatch(text, -1) {
			n++
			name := fmt.Sprintf("%s_%02d.conc", filepath.Base(doc)[:3], i)
			copied, err := os.ReadFile(filepath.Join("testdata/seeds", name))
			if err != nil || string(copied) != string(m[1]) {
				t.Errorf("testdata/seeds/%s differs from program %d of %s (error %v)", name, i, filepath.Base(doc), err)
			}
		}
	}
	if copies, _ := filepath.Glob("testdata/seeds/*.conc"); len(copies) != n {
		t.Errorf("testdata/seeds contains %d programs, want %d", len(copies), n)
	}
}
