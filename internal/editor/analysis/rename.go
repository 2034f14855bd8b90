package analysis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/repair"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// Renaming is the result of a rename. Warning lists users of the old name that the rename does not
// change, or is "".
type Renaming struct {
	Edits   []Edit
	Warning string
}

// renameTarget is the name to rename.
type renameTarget struct {
	file   *checkedFile
	ref    sema.Ref
	text   string // spelling at the position
	wanted map[identity]bool
	alias  bool // the name is an import alias, which only one file uses
}

// PrepareRename returns the name at a position if it can be renamed. The error explains why it
// cannot be renamed.
func (s *Snapshot) PrepareRename(ctx context.Context, path string, pos source.Pos) (source.Span, string, error) {
	if m, x := s.sectionNameAt(path, pos); m != nil {
		return x.at, x.name, nil
	}
	r, err := s.findRename(ctx, path, pos)
	if err != nil {
		return source.Span{}, "", err
	}
	return r.ref.At, r.text, nil
}

// findRename returns the name at a position if it can be renamed.
func (s *Snapshot) findRename(ctx context.Context, path string, pos source.Pos) (*renameTarget, error) {
	f := s.checkFile(ctx, path)
	if f == nil || f.info == nil {
		return nil, errors.New("no name here can be renamed")
	}
	refs := f.refsAt(pos)
	if len(refs) == 0 {
		return nil, errors.New("no name here can be renamed")
	}
	r := &renameTarget{file: f, ref: refs[0]}
	for _, x := range refs { // if a word names both a field and a variable, the variable is renamed
		if x.Def.Kind != sema.DefField {
			r.ref = x
		}
	}
	d := r.ref.Def
	r.text = f.text.file.Slice(r.ref.At)
	r.alias = r.text != d.Name && d.Kind != sema.DefLabel
	switch {
	case d.Kind == sema.DefConnection || d.Kind == sema.DefConnector:
		if _, ok := f.res.manifestLocation(d); !ok {
			return nil, fmt.Errorf("`%s` is not a section of the manifest", d.Name)
		}
	case r.text == "self" || r.text == "Self":
		return nil, fmt.Errorf("`%s` is part of the language and cannot be renamed", r.text)
	case d.Info == nil || d.Info.Library && !r.alias:
		return nil, fmt.Errorf("`%s` belongs to the library and cannot be renamed", d.Name)
	case d.Kind == sema.DefModule && d.File != nil && !r.alias:
		return nil, fmt.Errorf("`%s` is a file: rename the file", d.Name)
	case d.Kind == sema.DefFunction && d.Name == "main":
		return nil, errors.New("`main` is the entry point of a program and cannot be renamed")
	}
	r.wanted = identities([]sema.Ref{r.ref})
	f.res.mu.Lock()
	defer f.res.mu.Unlock()
	for _, same := range f.res.prog.SameMethod(d) {
		if same.Info.Library && !r.alias {
			return nil, fmt.Errorf("`%s` belongs to a trait of the library and cannot be renamed", d.Name)
		}
		r.wanted[identityOf(same)] = true
	}
	return r, nil
}

// Rename renames the name at a position everywhere. It returns an error if the rename would change
// the meaning of the program.
func (s *Snapshot) Rename(ctx context.Context, path string, pos source.Pos, name string) (*Renaming, error) {
	if m, x := s.sectionNameAt(path, pos); m != nil {
		if uses := s.manifestReferences(ctx, path, pos, false); len(uses) > 0 { // rename as if at the first reference
			return s.Rename(ctx, uses[0].File.Name, uses[0].Span.Start, name)
		}
		if err := checkName(name, x.kind); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(sections(m), func(o section) bool { return o.kind == x.kind && o.name == name && o != x }) {
			return nil, fmt.Errorf("section `%s` already exists", name)
		}
		return &Renaming{Edits: []Edit{{Location{m.File, x.at}, name}}}, nil
	}
	r, err := s.findRename(ctx, path, pos)
	if err != nil {
		return nil, err
	}
	d := r.ref.Def
	if err := checkName(name, d.Kind); err != nil {
		return nil, err
	}
	if d.Kind == sema.DefLabel {
		name = "'" + strings.TrimPrefix(name, "'")
	}
	out := &Renaming{Edits: []Edit{}, Warning: outsideUse(d)}
	if name == r.text {
		return out, nil
	}
	for _, x := range s.rootsSharing(r.file, r.wanted) {
		if r.alias && x.path != r.file.res.root {
			continue
		}
		out.Edits = append(out.Edits, s.renameEdits(ctx, x, r, name)...)
	}
	out.Edits = append(out.Edits, r.file.res.manifestEdits(d, name)...)
	out.Edits = append(out.Edits, s.toolTextEdits(ctx, r, name)...)
	out.Edits = distinctEdits(out.Edits)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.isFresh(r, name) {
		return out, nil
	}
	return out, s.checkUnchanged(ctx, r, out.Edits, name)
}

// checkName returns an error if name is not a valid name for a declaration of kind k.
func checkName(name string, k sema.DefKind) error {
	if k == sema.DefLabel {
		if checkName(strings.TrimPrefix(name, "'"), sema.DefVariable) != nil {
			return fmt.Errorf("`%s` is not a label: a label is `'` followed by a name", name)
		}
		return nil
	}
	toks, _, found := lexer.Lex(source.NewFile("", []byte(name)))
	switch {
	case len(toks) == 2 && toks[0].Kind.IsKeyword():
		return fmt.Errorf("`%s` is a reserved word", name)
	case found.HasErrors() || len(toks) != 2 || toks[0].Kind != lexer.Ident || int(toks[0].End) != len(name) || toks[0].Start != 0:
		return fmt.Errorf("`%s` is not a valid name: a name consists of letters, digits and `_`, and does not begin with a digit", name)
	}
	return nil
}

// outsideUse describes what uses the name of a declaration outside of the program, or returns "".
func outsideUse(d *sema.Def) string {
	_, isFunction := d.Node.(*ast.FnDecl)
	fn, _ := d.Object.(*sema.Function)
	l, _ := d.Object.(*sema.Local)
	switch {
	case d.Kind == sema.DefField && isSchema(d):
		return fmt.Sprintf("`%s` is a key of the JSON that models and hosts write.", d.Name)
	case isFunction && fn != nil && fn.Tool != nil:
		return fmt.Sprintf("`%s` is the name that models use to call it.", d.Name)
	case l != nil && l.Offered:
		return fmt.Sprintf("`%s` is the name that models use for this argument.", d.Name)
	}
	return ""
}

func isSchema(d *sema.Def) bool {
	for _, x := range d.Info.File.Decls {
		if sc, ok := x.(*ast.SchemaDecl); ok && sc.Sp.Contains(d.At) {
			return true
		}
	}
	return false
}

// renameEdits returns the edits of the files of a root.
func (s *Snapshot) renameEdits(ctx context.Context, x *root, r *renameTarget, name string) []Edit {
	res, err := s.check(ctx, x)
	if err != nil {
		return nil
	}
	var out []Edit
	for _, i := range res.own {
		file := i.File.Source
		if r.alias && file != r.file.text.file {
			continue
		}
		for _, ref := range res.refsWithSpelling(i, &spelling{names: []string{r.text}}) {
			old := file.Slice(ref.At)
			if old != r.text || !r.wanted[identityOf(ref.Def)] {
				continue
			}
			text := name
			switch {
			case ref.Short && ref.Def.Kind == sema.DefField:
				text = name + ": " + old
			case ref.Short:
				text = old + ": " + name
			}
			out = append(out, Edit{Location{file, ref.At}, text})
		}
	}
	return out
}

// manifestEdits returns the edits that rename a section of the manifest, its subsections and the
// `fallback` keys that name it.
func (r *result) manifestEdits(d *sema.Def, name string) []Edit {
	l, ok := r.manifestLocation(d)
	if !ok {
		return nil
	}
	table := map[sema.DefKind]string{sema.DefConnection: "connections", sema.DefConnector: "hosts"}[d.Kind]
	out := []Edit{{l, name}}
	for n := 1; n <= l.File.Lines(); n++ {
		line, start := string(l.File.Line(n)), l.File.LineStart(n)
		at := -1
		if i := strings.Index(line, "["+table+"."+d.Name+"."); i >= 0 {
			at = i + len(table) + 2
		} else if i := strings.Index(line, `"`+d.Name+`"`); d.Kind == sema.DefConnection && i >= 0 && strings.HasPrefix(strings.TrimSpace(line), "fallback") {
			at = i + 1
		}
		if at >= 0 {
			p := start + source.Pos(at)
			out = append(out, Edit{Location{l.File, source.Span{Start: p, End: p + source.Pos(len(d.Name))}}, name})
		}
	}
	return out
}

// toolTextEdits returns the edits of strings such as "Tool_function", by which models call a tool's
// function. They are needed if the tool or the function is renamed.
func (s *Snapshot) toolTextEdits(ctx context.Context, r *renameTarget, name string) (out []Edit) {
	d := r.ref.Def
	fn, _ := d.Object.(*sema.Function)
	tool, isTool := d.Node.(*ast.ToolDecl)
	if d.Info == nil {
		return nil
	}
	file := d.Info.File.Source
	switch {
	case isTool:
		for _, m := range tool.Methods {
			for _, l := range s.textReferences(ctx, Location{file, m.Name.Sp}) {
				l.Span.End = l.Span.Start + source.Pos(len(d.Name))
				out = append(out, Edit{l, name})
			}
		}
	case fn != nil && fn.Tool != nil:
		for _, l := range s.textReferences(ctx, Location{file, d.At}) {
			l.Span.Start = l.Span.End - source.Pos(len(d.Name))
			out = append(out, Edit{l, name})
		}
	}
	return out
}

func distinctEdits(es []Edit) []Edit {
	slices.SortFunc(es, func(a, b Edit) int {
		return cmp.Or(cmp.Compare(a.File.Name, b.File.Name), cmp.Compare(a.Span.Start, b.Span.Start))
	})
	return slices.CompactFunc(es, func(a, b Edit) bool { return a.File.Name == b.File.Name && a.Span == b.Span })
}

// withEdits returns a copy of the snapshot with the edits applied.
func (s *Snapshot) withEdits(edits []Edit) *Snapshot {
	next := &Snapshot{number: s.number, data: s.data, open: maps.Clone(s.open), disk: s.disk, listed: s.listed, results: s.results.startFrom()}
	for len(edits) > 0 {
		file := edits[0].File
		var own []diag.Edit
		for ; len(edits) > 0 && edits[0].File.Name == file.Name; edits = edits[1:] {
			own = append(own, diag.Replace(edits[0].Span, edits[0].Text))
		}
		path := pathOfName(file.Name)
		next.open[path] = &document{newText(path, repair.Apply(file, own)), s.shownPath(path)}
	}
	return next
}

// checkUnchanged reports whether the program has the same meaning after a rename: all names refer
// to the same declarations, and there are no new errors.
func (s *Snapshot) checkUnchanged(ctx context.Context, r *renameTarget, edits []Edit, name string) error {
	next := s.withEdits(edits)
	before, err := s.Diagnostics(ctx)
	if err != nil {
		return err
	}
	after, err := next.Diagnostics(ctx)
	if err != nil {
		return err
	}
	if d := findNewError(before, after); d != nil {
		if d.Info == diag.DuplicateName || d.Info == diag.DuplicateField {
			return fmt.Errorf("`%s` is already the name of another declaration", name)
		}
		return fmt.Errorf("the program would not compile: %s (line %d)", d.Message, d.File.Position(d.Span.Start).Line)
	}
	if len(edits) == 0 || isManifest(pathOfName(edits[0].File.Name)) {
		return nil
	}
	moved := func(from source.Pos) source.Pos {
		at := from
		for _, e := range edits {
			if e.File == r.file.text.file && e.Span.Start < from {
				at += source.Pos(len(e.Text)) - (e.Span.End - e.Span.Start)
			}
		}
		return at
	}
	at := moved(r.ref.At.Start)
	if r.ref.Short {
		at += source.Pos(len(r.text) + len(": "))
	}
	uses := func(s *Snapshot, pos source.Pos) int {
		f := s.checkFile(ctx, r.file.path)
		if f == nil {
			return -1
		}
		var refs []sema.Ref
		for _, x := range f.refsAt(pos) {
			if (x.Def.Kind == sema.DefField) == (r.ref.Def.Kind == sema.DefField) {
				refs = append(refs, x)
			}
		}
		n := 0
		roots := s.rootsSharing(f, identities(refs))
		spelled := s.spellingOf(ctx, roots, refs)
		for _, x := range roots {
			n += len(s.findUses(ctx, x, identities(refs), spelled, true))
		}
		return n
	}
	same := uses(s, r.ref.At.Start) == uses(next, at)
	if r.ref.Def.Kind == sema.DefLabel { // loops in one another may have one label
		for _, e := range edits {
			same = same && uses(s, e.Span.Start) == uses(next, moved(e.Span.Start))
		}
	}
	if !same {
		return fmt.Errorf("`%s` already means something else where `%s` is used", name, r.text)
	}
	return nil
}

// findNewError returns an error of after that before does not contain, or nil if there is none. It
// prefers the error that explains a rename best.
func findNewError(before, after map[string][]*diag.Diagnostic) *diag.Diagnostic {
	count := map[*diag.Info]int{}
	for _, ds := range before {
		for _, d := range ds {
			count[d.Info]++
		}
	}
	var first *diag.Diagnostic
	for _, p := range slices.Sorted(maps.Keys(after)) {
		for _, d := range after[p] {
			if count[d.Info]--; count[d.Info] >= 0 || d.Severity() != diag.Error {
				continue
			}
			// a duplicate name is the clearest reason
			if first == nil || d.Info == diag.DuplicateName || d.Info == diag.DuplicateField {
				first = d
			}
		}
	}
	return first
}
