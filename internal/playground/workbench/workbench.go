// Package workbench answers the queries of the playground's editor about the files of the page:
// diagnostics with fixes, completions, descriptions of names, formatting, graph and IR. Positions
// are offsets in UTF-16 units, as JavaScript counts them. Names of files are relative to the
// directory of the page.
package workbench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/playground/link"
	"github.com/concerto-lang/concerto/internal/playground/world"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/ir"
)

// Workbench contains the files of a page. It is not safe for concurrent use.
type Workbench struct {
	dir   string
	files map[string]string
	space *analysis.Workspace
}

// New returns a Workbench without files. dir is the absolute path of an existing directory, which
// the Workbench owns.
func New(dir string) *Workbench {
	return &Workbench{dir: dir, files: map[string]string{}, space: analysis.New(analysis.Options{})}
}

// Put replaces all files.
func (w *Workbench) Put(files map[string]string) error {
	for name := range w.files {
		if _, kept := files[name]; !kept {
			w.space.Close(w.path(name))
			delete(w.files, name)
			if err := os.Remove(w.path(name)); err != nil {
				return err
			}
			w.space.FilesChanged(w.path(name))
		}
	}
	for name, text := range files {
		if err := w.Change(name, text); err != nil {
			return err
		}
	}
	return nil
}

// Change sets the text of a file.
func (w *Workbench) Change(name, text string) error {
	if old, ok := w.files[name]; ok && old == text {
		return nil
	}
	path := w.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	w.files[name] = text
	if !w.space.Change(path, text) {
		w.space.Open(path, text)
	}
	return nil
}

func (w *Workbench) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

// name returns the name of a file of the page by its path or by its name in diagnostics.
func (w *Workbench) name(path string) string {
	return strings.TrimPrefix(filepath.ToSlash(path), filepath.ToSlash(w.dir)+"/")
}

// Entry returns the name of the program that a page runs: main.conc, or "" for the project of the
// manifest, or else the open file or the first program.
func Entry(files map[string]string, open string) string {
	_, project := files[manifest.FileName]
	_, hasMain := files["main.conc"]
	switch {
	case hasMain:
		return "main.conc"
	case project:
		return ""
	case filepath.Ext(open) == driver.SourceExt:
		return open
	}
	var programs []string
	for name := range files {
		if filepath.Ext(name) == driver.SourceExt {
			programs = append(programs, name)
		}
	}
	slices.Sort(programs)
	if len(programs) == 0 {
		return "main.conc"
	}
	return programs[0]
}

// Diagnostic is a diagnostic of a file.
type Diagnostic struct {
	File     string   `json:"file"`
	Start    int      `json:"start"`
	End      int      `json:"end"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Code     string   `json:"code"`
	Severity string   `json:"severity"`
	Message  string   `json:"message"`
	Labels   []string `json:"labels"`
	Hints    []string `json:"hints"`
	Fixes    []Fix    `json:"fixes"`
}

// Fix is a change that fixes a diagnostic.
type Fix struct {
	Title string `json:"title"`
	Safe  bool   `json:"safe"`
	Edits []Edit `json:"edits"`
}

// Edit replaces a range of a file.
type Edit struct {
	File  string `json:"file"`
	Start int    `json:"start"`
	End   int    `json:"end"`
	Text  string `json:"text"`
}

// Diagnostics returns the diagnostics of all files, those of an earlier file first.
func (w *Workbench) Diagnostics() []Diagnostic {
	out := []Diagnostic{}
	if text, ok := w.files[manifest.FileName]; ok && world.HasDependencies(text) {
		out = append(out, w.noPackages(text))
	}
	all, err := w.space.Snapshot().Diagnostics(context.Background())
	if err != nil {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, d := range all[name] {
			out = append(out, w.diagnostic(d))
		}
	}
	return out
}

// Warm checks a small program, which differs for each n. A page calls it several times, because its
// browser compiles and improves the functions of WebAssembly when they are used.
func (w *Workbench) Warm(n int) {
	space := analysis.New(analysis.Options{})
	const name = "untitled:warm"
	for i, text := range []string{"", "$", "."} {
		program := fmt.Sprintf("struct P { x: Int }\n\nfn f%d(p: P) -> Int {\n    let y = p.x + %d;\n    y%s\n}\n\nfn main() {\n    println(\"${f%d(P { x: 1 })}\");\n}\n", n, i, text, n)
		space.Open(name, program)
		_, _ = space.Snapshot().DiagnosticsOf(context.Background(), name) // the error is that of the context
		space.Snapshot().Completion(context.Background(), name, source.Pos(strings.Index(program, "p.x")+2))
	}
}

// noPackages returns the diagnostic of a manifest with dependencies.
func (w *Workbench) noPackages(text string) Diagnostic {
	start := max(strings.Index(text, "[dependencies"), 0)
	line := 1 + strings.Count(text[:start], "\n")
	at := units(text[:start])
	return Diagnostic{File: manifest.FileName, Start: at, End: at + len("[dependencies]"), Line: line, Column: 1, Severity: "error", Message: world.NoPackages,
		Labels: []string{}, Hints: []string{}, Fixes: []Fix{}}
}

func (w *Workbench) diagnostic(d *diag.Diagnostic) Diagnostic {
	out := Diagnostic{Code: d.Info.Code, Severity: d.Severity().String(), Message: w.relative(d.Message), Labels: []string{}, Hints: []string{}, Fixes: []Fix{}}
	if d.File != nil {
		pos := d.File.Position(d.Span.Start)
		out.File, out.Line, out.Column = w.name(d.File.Name), pos.Line, pos.Column
		out.Start, out.End = span(d.File, d.Span)
	}
	for _, l := range d.Labels {
		out.Labels = append(out.Labels, w.relative(l.Text))
	}
	for _, h := range d.Hints {
		out.Hints = append(out.Hints, w.relative(h))
	}
	for _, f := range d.Fixes {
		x := Fix{Title: f.Title, Safe: f.Safe, Edits: []Edit{}}
		for _, e := range f.Edits {
			file := e.File
			if file == nil {
				file = d.File
			}
			start, end := span(file, e.Span)
			x.Edits = append(x.Edits, Edit{w.name(file.Name), start, end, e.Text})
		}
		out.Fixes = append(out.Fixes, x)
	}
	return out
}

// relative removes the directory of the page from a message.
func (w *Workbench) relative(text string) string {
	return strings.ReplaceAll(text, filepath.ToSlash(w.dir)+"/", "")
}

// Check returns the diagnostics of the program in the form of `concerto check --format json`.
func (w *Workbench) Check(open string) json.RawMessage {
	if text, ok := w.files[manifest.FileName]; ok && world.HasDependencies(text) {
		out, _ := json.Marshal([]Diagnostic{w.noPackages(text)}) // it is encodable
		return out
	}
	in, err := driver.Load(driver.Request{Path: Entry(w.files, open), Dir: w.dir})
	if err != nil {
		out, _ := json.Marshal([]map[string]any{{"code": "", "severity": "error", "message": w.relative(err.Error()), "labels": []string{}, "hints": []string{}, "fixes": []string{}}})
		return out
	}
	var b bytes.Buffer
	found := driver.CheckEntry(in)
	if err := diag.JSON(&b, found.Sorted()); err != nil {
		return json.RawMessage("[]")
	}
	return b.Bytes()
}

// Item is a completion.
type Item struct {
	Label     string `json:"label"`
	Signature string `json:"signature"`
	Origin    string `json:"origin"`
	Doc       string `json:"doc"`
	Edits     []Edit `json:"edits"` // the first one inserts the item
}

// Complete returns the completions at an offset.
func (w *Workbench) Complete(name string, offset int) []Item {
	out := []Item{}
	text, ok := w.files[name]
	if !ok {
		return out
	}
	s := w.space.Snapshot()
	found := s.Completion(context.Background(), w.path(name), source.Pos(bytesOf(text, offset)))
	file := s.File(w.path(name))
	start, end := span(file, found.Replace)
	for i := range found.Items {
		x := &found.Items[i]
		item := Item{Label: x.Label, Signature: x.Signature, Origin: x.Origin, Edits: []Edit{{name, start, end, x.Text}}}
		if i < documented {
			item.Doc = x.Doc()
		}
		for _, e := range x.Edits {
			from, to := span(e.File, e.Span)
			item.Edits = append(item.Edits, Edit{w.name(e.File.Name), from, to, e.Text})
		}
		out = append(out, item)
	}
	return out
}

// documented is the number of completions that contain their documentation.
const documented = 20

// Hover returns the description of the name at an offset as Markdown, or "".
func (w *Workbench) Hover(name string, offset int) string {
	text, ok := w.files[name]
	if !ok {
		return ""
	}
	h := w.space.Snapshot().Hover(context.Background(), w.path(name), source.Pos(bytesOf(text, offset)))
	if h == nil {
		return ""
	}
	return w.relative(h.Text)
}

// Format returns the formatted text of a file. ok is false if it has syntax errors or is no
// program.
func (w *Workbench) Format(name string) (text string, ok bool) {
	old, found := w.files[name]
	if !found || filepath.Ext(name) != driver.SourceExt {
		return "", false
	}
	out, list := format.Source(source.NewFile(name, []byte(old)), 0)
	return string(out), !list.HasErrors()
}

// ErrErrors is the error of a view of a program that does not compile.
var ErrErrors = errors.New("the program does not compile")

// HasSecret reports whether a manifest contains a secret.
func (w *Workbench) HasSecret() bool {
	for name, text := range w.files {
		if path.Base(name) == manifest.FileName && link.HasSecret(text) {
			return true
		}
	}
	return false
}

// build compiles the program.
func (w *Workbench) build(open string) (*ir.Program, error) {
	in, err := driver.Load(driver.Request{Path: Entry(w.files, open), Dir: w.dir})
	if err != nil {
		return nil, err
	}
	p, _ := driver.Build(in)
	if p == nil {
		return nil, ErrErrors
	}
	return p, nil
}

// Graph returns the graph of the program with its drawing, as JSON.
func (w *Workbench) Graph(open string) (json.RawMessage, error) {
	p, err := w.build(open)
	if err != nil {
		return nil, err
	}
	g, err := graph.Build(p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(struct {
		Nodes   []graph.Node   `json:"nodes"`
		Edges   []graph.Edge   `json:"edges"`
		Drawing *graph.Drawing `json:"drawing"`
	}{append([]graph.Node{}, g.Nodes...), append([]graph.Edge{}, g.Edges...), g.Layout()})
}

// IR returns the compiled program as readable text.
func (w *Workbench) IR(open string) (string, error) {
	p, err := w.build(open)
	if err != nil {
		return "", err
	}
	return ir.Disassemble(p), nil
}

// span converts a span of a file to offsets in UTF-16 units.
func span(f *source.File, s source.Span) (start, end int) {
	if f == nil {
		return 0, 0
	}
	text := string(f.Text)
	from, to := min(int(s.Start), len(text)), min(int(s.End), len(text))
	start = units(text[:from])
	return start, start + units(text[from:max(from, to)])
}

// units returns the length of a text in UTF-16 units.
func units(text string) (n int) {
	for _, r := range text {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// bytesOf converts an offset in UTF-16 units to one in bytes.
func bytesOf(text string, offset int) int {
	n := 0
	for i, r := range text {
		if n >= offset {
			return i
		}
		if n++; r >= 0x10000 {
			n++
		}
	}
	return len(text)
}
