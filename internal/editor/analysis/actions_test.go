package analysis

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/editor/refactor"
	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/parser"
)

// markOpen and markClose enclose the range for which actions are requested.
const markOpen, markClose = "⟨", "⟩"

// stripMarks returns a text without its marks, and the range between the first two marks.
func stripMarks(text string) (plain string, at source.Span) {
	start := strings.Index(text, markOpen)
	text = strings.Replace(text, markOpen, "", 1)
	end := strings.Index(text, markClose)
	text = strings.Replace(text, markClose, "", 1)
	return strings.NewReplacer(markOpen, "", markClose, "").Replace(text), source.Span{Start: source.Pos(start), End: source.Pos(end)}
}

// TestRefactorings runs the archive of each action. Each program in a "before" section becomes the
// formatted program in its "after" section, and the action is not offered for the "refused"
// sections. The manual shows the first example of each archive.
func TestRefactorings(t *testing.T) {
	for _, r := range refactor.Table {
		t.Run(r.Name, func(t *testing.T) {
			a := golden.Open(t, "testdata/actions/"+r.Name+".txtar")
			defer a.Close()
			dir := t.TempDir()
			if a.Has("Concerto.toml") {
				if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(a.Input("Concerto.toml")), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, section := range a.Sections("before") {
				after := strings.TrimSuffix(section, "before") + "after"
				a.Check(after, applyAction(t, dir, r, a.Input(section), a.Has("wrong")))
			}
			for _, section := range a.Sections(".refused") {
				if got := applyAction(t, dir, r, a.Input(section), a.Has("wrong")); got != "" {
					t.Errorf("%s: the action is offered and produces:\n%s, want no action", section, got)
				}
			}
		})
	}
}

// applyAction returns a marked program after an action, or "" if the action is not offered. The
// program may contain errors before the action only if wrong is set.
func applyAction(t *testing.T, dir string, r refactor.Row, text string, wrong bool) string {
	t.Helper()
	plain, at := stripMarks(text)
	path := filepath.Join(dir, "main.conc")
	w := New(Options{Folders: []string{dir}})
	w.Open(path, plain)
	s := w.Snapshot()
	for p, ds := range mustDiagnose(t, s) {
		for _, d := range ds {
			if d.Severity() == diag.Error && !wrong {
				t.Errorf("%s: error before the action: %s", p, d.Message)
			}
		}
	}
	all, err := s.Actions(context.Background(), path, at, func(k string) bool { return k == r.Kind }, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Title == r.Title {
			return editedText(t, s, a, path)
		}
	}
	return ""
}

func mustDiagnose(t *testing.T, s *Snapshot) map[string][]*diag.Diagnostic {
	t.Helper()
	all, err := s.Diagnostics(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// editedText returns the text of a document after an action. If the text was formatted before the
// action, it must be formatted afterwards.
func editedText(t *testing.T, s *Snapshot, a Action, path string) string {
	t.Helper()
	var edits []diag.Edit
	for _, e := range a.Edits {
		edits = append(edits, diag.Replace(e.Span, e.Text))
	}
	was := s.File(path)
	is := source.NewFile(path, repair.Apply(was, edits))
	styled, found := format.Source(is, 0)
	if found.HasErrors() {
		t.Errorf("the text after %q does not parse:\n%s", a.Title, is.Text)
	} else if repair.Styled(was) && string(styled) != string(is.Text) {
		t.Errorf("the text after %q is not formatted:\n%s", a.Title, is.Text)
	}
	return string(is.Text)
}

// TestActionsAnywhere applies every action offered at random ranges of complete and incomplete
// programs. The actions keep the formatting, add no errors and do not crash.
func TestActionsAnywhere(t *testing.T) {
	paths, texts := corpus(t)
	made := func(seed uint64) (path, text string, at source.Span) {
		r := rand.New(rand.NewPCG(seed, 11))
		path = paths[r.IntN(len(paths))]
		text = texts[path]
		toks, _, _ := lexer.Lex(source.NewFile("", []byte(text)))
		i := r.IntN(len(toks))
		j := min(i+r.IntN(12), len(toks)-1)
		at = source.Span{Start: toks[i].Start, End: toks[j].End}
		switch r.IntN(8) {
		case 0:
			at.End = at.Start
		case 1: // one token is missing
			k := r.IntN(len(toks))
			text = text[:toks[k].Start] + text[toks[k].End:]
		default: // the range of a syntax node
			if nodes := nodesAt(parseText(text), at.Start); len(nodes) > 0 {
				at = nodes[r.IntN(len(nodes))].Span()
			}
		}
		return path, text, at
	}
	show := func(seed uint64) string {
		_, text, at := made(seed)
		return text[:at.Start] + markOpen + text[at.Start:at.End] + markClose + text[at.End:]
	}
	ws := New(Options{})
	randtest.Run(t, "internal/editor/analysis", 60, show, func(t *testing.T, seed uint64) {
		path, text, at := made(seed)
		ws.Open(path, text)
		defer ws.Close(path)
		s := ws.Snapshot()
		all, err := s.Actions(context.Background(), path, at, func(string) bool { return true }, true)
		if err != nil {
			t.Fatal(err)
		}
		before := mustDiagnose(t, s)
		for _, a := range all {
			if a.Mends != nil {
				continue // TestQuickFixes covers fixes
			}
			if d := findNewError(before, mustDiagnose(t, s.withEdits(a.Edits))); d != nil {
				t.Errorf("the action %q adds the error: %s", a.Title, d.Message)
			}
			if _, list := parser.Parse(s.File(path)); !list.HasErrors() {
				editedText(t, s, a, path)
			}
		}
	})
}

func parseText(text string) *ast.File {
	tree, _ := parser.Parse(source.NewFile("", []byte(text)))
	return tree
}

// TestQuickFixes finds the action that each section names, at the section's error, and applies it.
func TestQuickFixes(t *testing.T) {
	a := golden.Open(t, "testdata/actions/quick_fixes.txtar")
	defer a.Close()
	for _, section := range a.Sections(".before") {
		title := strings.TrimSuffix(section, ".before")
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(a.Input("Concerto.toml")), 0o644); err != nil {
			t.Fatal(err)
		}
		plain, at := stripMarks(a.Input(section))
		path := filepath.Join(dir, "main.conc")
		w := New(Options{Folders: []string{dir}})
		w.Open(path, plain)
		s := w.Snapshot()
		all, err := s.Actions(context.Background(), path, at, func(k string) bool { return k == refactor.QuickFix }, false)
		if err != nil {
			t.Fatal(err)
		}
		var titles []string
		for _, x := range all {
			titles = append(titles, x.Title)
			if x.Title == title {
				a.Check(title+".after", fixedText(t, s, x, dir))
			}
		}
		if !slices.Contains(titles, title) {
			t.Errorf("no action %q among %q; diagnostics: %s", title, titles, rows(t, mustDiagnose(t, s)[path]))
		}
	}
}

// fixedText returns the text of each file that a fix changes or creates, after the fix.
func fixedText(t *testing.T, s *Snapshot, a Action, dir string) (text string) {
	t.Helper()
	next := s.withEdits(a.Edits)
	if d := findNewError(mustDiagnose(t, s), mustDiagnose(t, next)); d != nil {
		t.Errorf("the fix %q adds the error: %s", a.Title, d.Message)
	}
	var names []string
	for _, e := range a.Edits {
		if name := strings.TrimPrefix(e.File.Name, shownName(realPath(dir))+"/"); !slices.Contains(names, name) {
			names = append(names, name)
			if len(names) > 1 || name != "main.conc" {
				text += name + ":\n"
			}
			text += string(next.File(pathOfName(e.File.Name)).Text)
		}
	}
	return text
}
