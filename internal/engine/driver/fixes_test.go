package driver

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

const (
	besideKey      = "sk-proj-Abc123Def456Ghi789Jkl012"
	besideManifest = `[connections.demo]
provider = "scripted"

[connections.plain]
provider = "scripted"

[hosts.worker]
command = "worker"
output_format = "json"

[hosts.plain]
command = "plain"

[hosts.quiet]
command = "quiet"
output_format = "json"
message_types = ["progress", "result"]

[mcp.Files]
command = "files"
`
)

// TestFixesChangeOnlyTheirEdits applies the fixes of each wrong program and manifest of the
// catalogue. Each text is checked unchanged, with comments and secrets in all gaps, with CRLF line
// ends, and in one program with the previous text. Only the edited text may change, no secret may
// be replaced by its mark, and safe fixes may cause no new errors.
func TestFixesChangeOnlyTheirEdits(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(besideManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	program := func(text string) []*diag.Diagnostic {
		in, err := Load(Request{Dir: dir, Inline: &Inline{Name: "main.conc", Text: []byte(text)}})
		if err != nil {
			t.Fatal(err)
		}
		list := Check(in)
		return list.Sorted()
	}
	toml := func(text string) []*diag.Diagnostic {
		_, found := manifest.Parse(source.NewFile("Concerto.toml", []byte(text)))
		return found.Sorted()
	}
	tools := func(text string) []*diag.Diagnostic {
		_, found := manifest.ParseTools(source.NewFile("tools.yaml", []byte(text)))
		return found.Sorted()
	}
	made, before := 0, ""
	for _, info := range diag.Catalogue() {
		for _, p := range info.Pairs() {
			check, forms := program, programForms(p.Bad)
			switch {
			case info.Tools:
				check, forms = tools, configForms(p.Bad)
			case info.Manifest:
				check, forms = toml, configForms(p.Bad)
			case !strings.HasPrefix(info.Code, "E00"):
				forms = append(forms, "mod first {\n"+before+"\n}\n\nmod second {\n"+p.Bad+"\n}\n")
				before = p.Bad
			}
			for _, text := range forms {
				made += tryFixes(t, info, check, text)
			}
		}
	}
	if made < 700 {
		t.Errorf("applied %d fixes, want at least 700", made)
	}
}

// programForms returns three forms of a program: unchanged, with a comment in each gap between
// tokens, and with a comment at the end of each line.
func programForms(text string) []string {
	toks, comments, found := lexer.Lex(source.NewFile("", []byte(text)))
	if found.Len() > 0 || len(comments) > 0 {
		return []string{text}
	}
	gaps, ends := "", ""
	at := source.Pos(0)
	for _, tok := range toks {
		gap := text[at:tok.Start]
		if gap != "" {
			gaps += " /* " + besideKey + " */"
		}
		gaps += gap + text[tok.Start:tok.End]
		ends += strings.ReplaceAll(gap, "\n", " // "+besideKey+"\r\n") + text[tok.Start:tok.End]
		at = tok.End
	}
	return []string{text, gaps, ends + " // " + besideKey + "\r\n"}
}

// configForms returns the same kinds of forms for a TOML or YAML text.
func configForms(text string) []string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return []string{text, strings.Join(lines, " # "+besideKey+"\r\n") + " # " + besideKey + "\r\n"}
}

// tryFixes applies the fixes of a text's diagnostics, first each alone and then each pair that can
// be combined. It returns the number of results.
func tryFixes(t *testing.T, info *diag.Info, check func(string) []*diag.Diagnostic, text string) (made int) {
	t.Helper()
	found := check(text)
	type fix struct {
		diag.Fix
		of *diag.Diagnostic
	}
	var fixes []fix
	for _, d := range found {
		for _, f := range d.Fixes {
			if !slices.ContainsFunc(f.Edits, func(e diag.Edit) bool { return cmp.Or(e.File, d.File).Name != d.File.Name }) {
				fixes = append(fixes, fix{f, d})
			}
		}
	}
	try := func(edits []diag.Edit, safe bool, of ...fix) {
		made++
		file := of[0].of.File
		got := string(repair.Apply(file, edits))
		why := func(problem string) {
			t.Errorf("%s: fix %q of the text %q %s; result:\n%s", info.Code, of[0].Title, text, problem, got)
		}
		if string(file.Original()) != text || !changesOnly(text, got, edits) {
			why("changes what it does not edit")
		}
		if strings.Contains(got, "***") {
			why("hides a secret")
		}
		if !safe {
			return
		}
		for _, d := range check(got) {
			same := func(x *diag.Diagnostic) bool { return x.Info == d.Info && x.Message == d.Message }
			if d.Severity() == diag.Error && !slices.ContainsFunc(found, same) || slices.ContainsFunc(of, func(f fix) bool { return same(f.of) }) && count(found, same) == 1 {
				why("is safe, and leaves " + d.Info.Code + " " + d.Message)
			}
		}
	}
	for i, f := range fixes {
		try(f.Edits, f.Safe, f)
		for _, g := range fixes[:i] {
			if g.of == f.of {
				continue
			}
			if both, apart := repair.Merge(g.Edits, f.Edits); apart {
				try(both, f.Safe && g.Safe, f, g)
			}
		}
	}
	return made
}

func count(found []*diag.Diagnostic, is func(*diag.Diagnostic) bool) (n int) {
	for _, d := range found {
		if is(d) {
			n++
		}
	}
	return n
}

// changesOnly reports whether got differs from text only by the edits.
func changesOnly(text, got string, edits []diag.Edit) bool {
	at := 0
	for _, e := range edits {
		want := text[at:e.Span.Start] + e.Text
		rest, ok := strings.CutPrefix(got, want)
		if !ok {
			return false
		}
		got, at = rest, int(e.Span.End)
	}
	return got == text[at:]
}
