package analysis

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/text/source"
)

var mark = regexp.MustCompile(`/\*([a-z]+[0-9]+)\*/`)

// markedProject is a workspace whose files contain marked positions. The files come from an
// archive.
type markedProject struct {
	t     *testing.T
	dir   string
	ws    *Workspace
	names []string          // names of the marks, in order
	path  map[string]string // path of the file that contains each mark
	pos   map[string]source.Pos
}

// loadMarked removes the marks from an archive's texts.
func loadMarked(t *testing.T, archive string) *markedProject {
	t.Helper()
	m := &markedProject{t: t, path: map[string]string{}, pos: map[string]source.Pos{}}
	a := txtar.Parse([]byte(archive))
	m.dir = realPath(t.TempDir())
	for i, f := range a.Files {
		text := string(f.Data)
		path := filepath.Join(m.dir, filepath.FromSlash(f.Name))
		for {
			at := mark.FindStringSubmatchIndex(text)
			if at == nil {
				break
			}
			name := text[at[2]:at[3]]
			m.names = append(m.names, name)
			m.path[name], m.pos[name] = path, source.Pos(at[0])
			text = text[:at[0]] + text[at[1]:]
		}
		a.Files[i].Data = []byte(text)
	}
	if err := txtar.Write(a, m.dir); err != nil {
		t.Fatal(err)
	}
	m.ws = New(Options{Folders: []string{m.dir}})
	return m
}

// show formats a location for the golden files.
func (m *markedProject) show(l Location) string {
	name, err := filepath.Rel(m.dir, filepath.FromSlash(l.File.Name))
	if err != nil || strings.HasPrefix(l.File.Name, stdPrefix) {
		name = l.File.Name
	}
	return fmt.Sprintf("%s:%s %q", filepath.ToSlash(name), l.File.Position(l.Span.Start), l.File.Slice(l.Span))
}

func (m *markedProject) list(ls []Location) string {
	var parts []string
	for _, l := range ls {
		parts = append(parts, m.show(l))
	}
	return strings.Join(parts, ", ")
}

// TestQueries compares the results of the queries at each mark with the golden files.
func TestQueries(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, a *golden.Archive) {
		m := loadMarkedArchive(t, a)
		ctx, s := context.Background(), m.ws.Snapshot()
		var b strings.Builder
		for p, rows := range diagnosticRows(t, s) {
			if rows != "[]\n" {
				t.Errorf("%s has diagnostics: %s", p, rows)
			}
		}
		for _, name := range m.names {
			p, pos := m.path[name], m.pos[name]
			fmt.Fprintf(&b, "== %s\n", name)
			if h := s.Hover(ctx, p, pos); h != nil {
				fmt.Fprintf(&b, "%s\n", strings.TrimRight(h.Text, "\n"))
			}
			fmt.Fprintf(&b, "definition: %s\n", m.list(s.Definition(ctx, p, pos)))
			if ls := s.TypeDefinition(ctx, p, pos); len(ls) > 0 {
				fmt.Fprintf(&b, "type: %s\n", m.list(ls))
			}
			fmt.Fprintf(&b, "references: %s\n", m.list(s.References(ctx, p, pos, true)))
			for _, h := range s.Highlights(ctx, p, pos) {
				kind := "read"
				if h.Write {
					kind = "write"
				}
				fmt.Fprintf(&b, "%s %s\n", kind, s.File(p).Position(h.Span.Start))
			}
		}
		a.Check("answers", b.String())
		var y strings.Builder
		for _, p := range s.Files() {
			fmt.Fprintf(&y, "== %s\n", filepath.Base(p))
			writeOutline(t, &y, s.Symbols(p), "")
		}
		a.Check("symbols", y.String())
	})
}

// loadMarkedArchive calls loadMarked with the programs of a golden archive.
func loadMarkedArchive(t *testing.T, a *golden.Archive) *markedProject {
	t.Helper()
	var ar txtar.Archive
	for _, ext := range []string{".toml", ".conc"} {
		for _, name := range a.Sections(ext) {
			ar.Files = append(ar.Files, txtar.File{Name: name, Data: []byte(a.Input(name))})
		}
	}
	return loadMarked(t, string(txtar.Format(&ar)))
}

// writeOutline writes the symbols of a document.
func writeOutline(t *testing.T, b *strings.Builder, all []Symbol, indent string) {
	t.Helper()
	for _, y := range all {
		fmt.Fprintf(b, "%s%d %s %s %s\n", indent, y.Kind, y.Name, y.Detail, y.File.Position(y.NameSpan.Start))
		if !y.Span.Contains(y.NameSpan) {
			t.Errorf("symbol %s: the span of the name is outside of the symbol's span", y.Name)
		}
		writeOutline(t, b, y.Children, indent+"  ")
	}
}

func TestWorkspaceSymbols(t *testing.T) {
	dir := writeTree(t, "-- a.conc --\nfn name() { }\nstruct P { main: Int }\nfn MaNy() { }\n@test(\"x\")\nfn nano() { }\n-- b.conc --\nfn main() { }\n")
	s := New(Options{Folders: []string{dir}}).Snapshot()
	for query, want := range map[string]string{
		"na": `name"" nano"test"`, "mn": `main"P" MaNy"" main""`, "zzz": "", "": `name"" P"" main"P" MaNy"" nano"test" main""`, "many": `MaNy""`,
	} {
		var got []string
		for _, y := range s.WorkspaceSymbols(query) {
			got = append(got, fmt.Sprintf("%s%q", y.Name, y.Container))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("symbols for %q = %s, want %s", query, got, want)
		}
	}
	if s.Symbols("/nowhere.conc") == nil || s.WorkspaceSymbols("zzz") == nil {
		t.Error("the list of no symbols is nil, want an empty list")
	}
}
