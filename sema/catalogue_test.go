package sema_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/prefix"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// manifest is the Concerto.toml of the programs in the tests.
var manifest = &sema.Manifest{
	File:   "Concerto.toml",
	Source: source.NewFile("Concerto.toml", []byte("[project]\n")),
	Connections: map[string]sema.ManifestConnection{
		"demo":   {Scripted: true},
		"plain":  {},
		"open":   {Endpoint: models.Endpoint{Provider: "openai"}},
		"vendor": {Endpoint: models.Endpoint{Provider: "anthropic"}},
	},
	Hosts: map[string]sema.ManifestHost{
		"worker": {OutputFormat: "json"},
		"plain":  {},
		"quiet":  {OutputFormat: "json", MessageTypes: []string{"progress", "result"}},
	},
	Mcp: map[string]bool{"Files": true},
}

// TestCatalogueRendered compares the diagnostics and fixes of each entry's wrong programs with the
// golden file.
func TestCatalogueRendered(t *testing.T) {
	a := golden.Open(t, "testdata/catalogue.golden")
	defer a.Close()
	for _, info := range diag.Catalogue() {
		if info.Manifest || info.Tools {
			continue
		}
		fixes := 0
		for i, p := range info.Pairs() {
			_, list := check("bad.conc", p.Bad)
			var out bytes.Buffer
			diag.Text(&out, list.Sorted(), diag.TextOptions{})
			checkFixes(t, list.Sorted(), p.Bad)
			for _, d := range list.Sorted() {
				for _, f := range d.Fixes {
					fixes++
					fmt.Fprintf(&out, "fix: %s%s\n", f.Title, map[bool]string{true: " (safe)"}[f.Safe])
				}
			}
			section := info.Code
			if i > 0 {
				section += fmt.Sprintf(".%d", i+1)
			}
			a.Check(section, out.String())
		}
		if (fixes > 0) == (info.NoFix != "") {
			t.Errorf("%s: %d fixes for the wrong programs, but NoFix = %q", info.Code, fixes, info.NoFix)
		}
	}
}

func check(name, src string) (*sema.Program, diag.List) {
	file, list := parser.Parse(source.NewFile(name, []byte(src)))
	prog, found := sema.Check(sema.Config{Name: "t", Library: stdlib.Library(), Manifest: manifest}, file)
	list.Append(found)
	if prog != nil && !list.HasErrors() {
		list.Append(prefix.Check(prog, func(a *sema.Agent) bool {
			uses := a.ModelUses(manifest.Connections)
			return len(uses) > 0 && manifest.Connections[a.Connection].Endpoint.Model(uses[0].Model).Caches()
		}))
	}
	return prog, list
}

func codes(l diag.List) string {
	var out []string
	for _, d := range l.Sorted() {
		out = append(out, d.Info.Code+" "+d.Message)
	}
	return strings.Join(out, "\n")
}

// checkFixes applies each fix to a text and checks the result. The result must not have
// the fixed diagnostic. After a safe fix, it must have no diagnostics at all.
func checkFixes(t *testing.T, found []*diag.Diagnostic, text string) {
	t.Helper()
	for _, d := range found {
		for _, f := range d.Fixes {
			if f.Edits[0].File != nil && f.Edits[0].File.Name != "bad.conc" {
				continue // a fix that changes the manifest; the script tests of the CLI cover these fixes
			}
			fixed := string(repair.Apply(source.NewFile("bad.conc", []byte(text)), f.Edits))
			_, left := check("bad.conc", fixed)
			for _, x := range left.Sorted() {
				if x.Info == d.Info || f.Safe {
					t.Errorf("%s: the fix %q\nproduces\n%s\nfrom\n%s\nwhich has the diagnostics %s", d.Info.Code, f.Title, fixed, text, codes(left))
				}
			}
		}
	}
}

// TestCatalogue checks the programs of each entry. The wrong program must cause only the entry's
// diagnostic, and the corrected program none.
func TestCatalogue(t *testing.T) {
	for _, info := range diag.Catalogue() {
		if info.Manifest || info.Tools || info.Code < "E0200" || info.Code >= "E0800" && info.Code < "W" || info.Code > "W0800" {
			continue
		}
		t.Run(info.Code, func(t *testing.T) {
			for _, p := range info.Pairs() {
				_, bad := check("bad.conc", p.Bad)
				ds := bad.Sorted()
				if len(ds) != 1 || ds[0].Info != info {
					t.Errorf("wrong program:\n%s\nhas the diagnostics:\n%s\nwant only %s", p.Bad, codes(bad), info.Code)
				}
				for _, d := range ds {
					if len(d.Hints) == 0 {
						t.Errorf("%s has no hint: %s", d.Info.Code, d.Message)
					}
				}
				if _, good := check("good.conc", p.Good); len(good.Sorted()) > 0 {
					t.Errorf("corrected program:\n%s\nhas the diagnostics:\n%s", p.Good, codes(good))
				}
			}
		})
	}
}
