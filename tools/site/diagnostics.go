package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// maxShown is the maximum length in bytes of a program that a page shows.
const maxShown = 2000

func (s *site) readDiagnostics() (*section, error) {
	sec := &section{Name: "diagnostics", Title: "Errors", About: "Every error and warning of the compiler, with a wrong program, its message and a corrected program."}
	text, err := os.ReadFile(filepath.Join(s.root, "spec", "diagnostics.md"))
	if err != nil {
		return nil, err
	}
	settings := ""
	for _, b := range blocksOf(string(text)) {
		if b.Word == "toml" && slices.Equal(b.Marks, []string{"page"}) {
			settings = b.Text
		}
	}
	all := slices.Clone(diag.Catalogue())
	slices.SortFunc(all, func(x, y *diag.Info) int {
		return cmp.Or(strings.Compare(x.Code[1:], y.Code[1:]), strings.Compare(x.Code, y.Code))
	})
	var b strings.Builder
	b.WriteString("# Errors and warnings\n\nEvery error and warning has a code. `concerto explain CODE` shows its page in the terminal. A program\nwith errors (E) does not run; one with warnings (W) does.\n")
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		name, entries, _ := strings.Cut(part, "\n")
		fmt.Fprintf(&b, "\n## %s\n\n| code | message |\n| --- | --- |\n", name)
		for _, i := range all {
			if strings.Contains(entries, "\n### "+i.Code+":") {
				fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", i.Code, i.Code, strings.ReplaceAll(i.Title, "|", `\|`))
			}
		}
	}
	fmt.Fprintf(&b, "\n## The manifest\n\nPrograms on these pages that use a connection or a host are compiled with this manifest:\n\n```toml\n%s```\n", settings)
	if _, err := s.add(sec, &page{Path: "diagnostics/index", Text: b.String()}); err != nil {
		return nil, err
	}
	for _, i := range all {
		if _, err := s.add(sec, diagnosticPage(i, settings)); err != nil {
			return nil, err
		}
	}
	return sec, nil
}

// diagnosticPage returns the page of a diagnostic.
func diagnosticPage(i *diag.Info, settings string) *page {
	p := &page{Path: "diagnostics/" + i.Code, fixes: map[string]string{}}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n%s\n", i.Code, i.Title, i.Explain)
	mark := "error=" + i.Code
	if i.Severity() == diag.Warning {
		mark = "warn=" + i.Code
	}
	word := "concerto"
	switch {
	case i.Manifest:
		word = "toml"
	case i.Tools:
		word = "yaml"
	}
	for n, pair := range i.Pairs() {
		if len(pair.Bad) > maxShown || !utf8.ValidString(pair.Bad) {
			continue
		}
		suffix := ""
		if n > 0 {
			suffix = fmt.Sprintf(" (%d)", n+1)
		}
		bad := withLineEnd(pair.Bad)
		fmt.Fprintf(&b, "\n## Wrong%s\n\n```%s %s\n%s```\n", suffix, word, mark, bad)
		found := findings(i, bad, settings)
		if text := message(found); text != "" {
			fmt.Fprintf(&b, "\n```diagnostics\n%s```\n", text)
		}
		if fix, fixed := fixOf(i, found, bad); fix != "" {
			p.fixes[bad] = fixed
			fmt.Fprintf(&b, "\nThe fix: %s.\n", fix)
		} else if i.NoFix != "" {
			fmt.Fprintf(&b, "\nNo fix is offered: %s.\n", strings.TrimSuffix(i.NoFix, "."))
		}
		if pair.Good != "" {
			rightMark := ""
			if word == "concerto" {
				rightMark = " norun"
			}
			fmt.Fprintf(&b, "\n## Right%s\n\n```%s%s\n%s```\n", suffix, word, rightMark, withLineEnd(pair.Good))
		}
	}
	if len(i.Pairs()) == 0 {
		b.WriteString("\nNo short program causes this diagnostic.\n")
	}
	p.Text = b.String()
	return p
}

func withLineEnd(text string) string { return strings.TrimSuffix(text, "\n") + "\n" }

// findings returns the diagnostics of a wrong text.
func findings(i *diag.Info, text, settings string) []*diag.Diagnostic {
	if i.Tools {
		_, found := manifest.ParseTools(source.NewFile("tools.yaml", []byte(text)))
		return found.Sorted()
	}
	files := fstest.MapFS{"main.conc": {Data: []byte(text)}, "Concerto.toml": {Data: []byte(settings)}}
	if i.Manifest {
		files = fstest.MapFS{"main.conc": {Data: []byte("fn main() {}\n")}, "Concerto.toml": {Data: []byte(text)}}
	}
	dir, err := filepath.Abs(string(filepath.Separator) + "sample")
	if err != nil {
		return nil
	}
	in, err := driver.Load(driver.Request{Path: "main.conc", Dir: dir, Sources: driver.FromFS(files, dir)})
	if err != nil {
		return nil
	}
	found := driver.Check(in)
	return found.Sorted()
}

// message returns diagnostics as the command prints them.
func message(found []*diag.Diagnostic) string {
	var b strings.Builder
	if err := diag.Text(&b, found, diag.TextOptions{}); err != nil {
		return ""
	}
	return b.String()
}

// fixOf returns the title of a fix of a diagnostic, and the fixed text. Safe fixes come first.
func fixOf(i *diag.Info, found []*diag.Diagnostic, text string) (title, fixed string) {
	for _, safe := range []bool{true, false} {
		for _, d := range found {
			if d.Info != i {
				continue
			}
			for _, f := range d.Fixes {
				own := f.Edits[0].File == nil || f.Edits[0].File == d.File
				if f.Safe == safe && own && d.File != nil {
					if fixed := string(repair.Apply(d.File, f.Edits)); fixed != text {
						return f.Title, fixed
					}
				}
			}
		}
	}
	return "", ""
}
