package stdlib_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/testkit/compiletest"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/foreign"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/parser"
	"github.com/concerto-lang/concerto/sema"
	"github.com/concerto-lang/concerto/stdlib"
)

// TestForeignWords checks each pair of testdata/foreign: the program of another language has the
// hints that are listed, the program that follows them compiles and runs, and each safe fix leads
// to a program that prints the same. Each row of the table of foreign words has a pair, and every
// name of the row gets its hint.
func TestForeignWords(t *testing.T) {
	a := golden.Open(t, "testdata/foreign/words.txtar")
	defer a.Close()
	pairs := map[string]bool{}
	for _, section := range a.Sections("/bad") {
		name := strings.TrimSuffix(section, "/bad")
		bad, good := a.Input(section), a.Input(name+"/good")
		place, word, _ := strings.Cut(name, " ")
		pairs[place+" "+word] = true
		t.Run(name, func(t *testing.T) {
			found := diagnose(bad)
			a.Check(name+"/hints", describe(found))
			wanted := printed(t, good)
			for _, d := range found {
				for _, f := range d.Fixes {
					if f.Edits[0].File != nil && f.Edits[0].File.Name != "main.conc" {
						continue // a fix of Concerto.toml
					}
					fixed := string(repair.Apply(source.NewFile("main.conc", []byte(bad)), f.Edits))
					left := diagnose(fixed)
					if countLike(left, d) >= countLike(found, d) {
						t.Errorf("the fix %q does not repair the error:\n%s", f.Title, fixed)
					}
					if f.Safe && len(found) == 1 {
						if got := printed(t, fixed); got != wanted {
							t.Errorf("the safe fix %q leads to\n%s\nwhich prints %q, want %q", f.Title, fixed, got, wanted)
						}
					}
				}
			}
		})
	}
	for _, r := range foreign.Rows() {
		if r.Place == foreign.Manifest || r.Place == foreign.Server {
			continue // keys of Concerto.toml, which the tests of package manifest check
		}
		key := r.Place.String()
		if r.On != "" {
			key += "/" + r.On
		}
		key += " " + r.Names[0]
		if !pairs[key] {
			t.Errorf("testdata/foreign has no pair %q", key)
			continue
		}
		bad := a.Input(key + "/bad")
		before, after, ok := aroundName(bad, r)
		if !ok {
			t.Errorf("%s: no diagnostic of the program is about a name of the row", key)
		}
		for _, name := range r.Names {
			text := before + name[strings.LastIndex(name, ":")+1:] + after
			if found := diagnose(text); len(found) > 0 && !hasHint(found, r) {
				t.Errorf("%s: no hint of the row in the diagnostics of\n%s%s", key, text, describe(found))
			}
		}
	}
}

// countLike returns the number of diagnostics with the message of d.
func countLike(found []*diag.Diagnostic, d *diag.Diagnostic) (n int) {
	for _, x := range found {
		if x.Info == d.Info && x.Message == d.Message {
			n++
		}
	}
	return n
}

// aroundName returns the text before and after the name of the row in a program, which is at or
// after the start of a diagnostic with the row's hint.
func aroundName(text string, r foreign.Row) (before, after string, ok bool) {
	for _, d := range diagnose(text) {
		if !hasHint([]*diag.Diagnostic{d}, r) {
			continue
		}
		for _, at := range regexp.MustCompile(`\w+`).FindAllStringIndex(text, -1) {
			if word := text[at[0]:at[1]]; source.Pos(at[1]) > d.Span.Start && slices.ContainsFunc(r.Names, func(n string) bool {
				n = n[strings.LastIndex(n, ":")+1:]
				return word == n || foreign.Plain(word) == n
			}) {
				return text[:at[0]], text[at[1]:], true
			}
		}
	}
	return "", "", false
}

func hasHint(found []*diag.Diagnostic, r foreign.Row) bool {
	for _, d := range found {
		for _, h := range d.Hints {
			if r.Hint != "" && strings.Contains(h, strings.TrimPrefix(r.Hint, "remove it")) || r.Hint == "" && slices.ContainsFunc(r.Ours, func(ours string) bool { return strings.Contains(h, "`"+ours+"`") || strings.Contains(h, "`@"+ours+"`") }) {
				return true
			}
		}
	}
	return false
}

// diagnose returns the diagnostics of a program, of the checker also if it does not parse.
func diagnose(text string) []*diag.Diagnostic {
	tree, found := parser.Parse(source.NewFile("main.conc", []byte(text)))
	_, more := sema.Check(sema.Config{Name: "main", Library: stdlib.Library(), Manifest: &sema.Manifest{
		Hosts: map[string]sema.ManifestHost{"worker": {OutputFormat: "json"}},
	}}, tree)
	found.Append(more)
	return found.Sorted()
}

func describe(found []*diag.Diagnostic) string {
	var b strings.Builder
	for _, d := range found {
		fmt.Fprintf(&b, "%s: %s\n", d.Info.Code, d.Message)
		for _, h := range d.Hints {
			fmt.Fprintf(&b, "  hint: %s\n", h)
		}
		for _, f := range d.Fixes {
			fmt.Fprintf(&b, "  fix: %s%s\n", f.Title, map[bool]string{true: " (safe)"}[f.Safe])
		}
	}
	return b.String()
}

// printed runs a program without diagnostics and returns its output.
func printed(t *testing.T, text string) string {
	t.Helper()
	w := newWorld(t)
	_, failed, err := compiletest.Run(context.Background(), compiletest.Config(compiletest.CompileClean(t, text), w, false))
	if err != nil || failed != nil && !strings.Contains(text, `panic("…")`) {
		t.Error(err, compiletest.Failure(failed), text)
	}
	return strings.Join(w.lines, "\n")
}

// TestSafeFixesKeepTheMeaning applies the safe fixes of the catalogue's wrong programs. A program
// that had only warnings prints the same as before, and any other program the same as the corrected
// program of the catalogue.
func TestSafeFixesKeepTheMeaning(t *testing.T) {
	compared := 0
	for _, info := range diag.Catalogue() {
		if info.Manifest || info.Tools {
			continue
		}
		for _, p := range info.Pairs() {
			for _, d := range diagnose(p.Bad) {
				for _, f := range d.Fixes {
					if !f.Safe || f.Edits[0].File != nil && f.Edits[0].File.Name != "main.conc" {
						continue
					}
					fixed := string(repair.Apply(source.NewFile("main.conc", []byte(p.Bad)), f.Edits))
					got, ok := outcome(t, fixed)
					want, before := outcome(t, p.Bad)
					if !before {
						want, before = outcome(t, p.Good)
					}
					if !ok || !before {
						continue // the program needs a host, or a connection of a manifest
					}
					if compared++; got != want {
						t.Errorf("%s: after the safe fix %q the program\n%s\nprints %q, want %q", info.Code, f.Title, fixed, got, want)
					}
				}
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d safe fixes were compared", compared)
	}
}

// outcome returns what a program prints, and the error with which it ends. It returns false if the
// program has errors.
func outcome(t *testing.T, text string) (string, bool) {
	t.Helper()
	p, found := compiletest.Source(text)
	if found.HasErrors() {
		return "", false
	}
	if strings.Contains(text, "listen ") {
		return "", false // the world of these tests has no hosts
	}
	w := newWorld(t)
	_, failed, err := compiletest.Run(context.Background(), compiletest.Config(p, w, false))
	return fmt.Sprint(strings.Join(w.lines, "\n"), compiletest.Failure(failed), err), true
}
