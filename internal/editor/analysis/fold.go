package analysis

import (
	"cmp"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// FoldKind is the kind of a foldable range.
type FoldKind uint8

// The values of FoldKind.
const (
	FoldCode FoldKind = iota
	FoldImports
	FoldComment
)

// Fold is a foldable range of several lines. It begins at the end of the line that remains visible.
type Fold struct {
	Span source.Span
	Kind FoldKind
}

// Folds returns the foldable ranges of a program in the order of the text: brackets, groups of
// imports, and comments. If several ranges begin on the same line, it returns only the outermost
// range.
func (s *Snapshot) Folds(path string) []Fold {
	tree := s.tree(path)
	if tree == nil {
		return []Fold{}
	}
	f := &foldCollector{file: tree.Source, out: []Fold{}}
	f.addBrackets()
	f.addImports(tree.Decls)
	f.addComments(tree.Comments)
	slices.SortStableFunc(f.out, func(a, b Fold) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	return slices.CompactFunc(f.out, func(a, b Fold) bool { return f.file.LineOf(a.Span.Start) == f.file.LineOf(b.Span.Start) })
}

type foldCollector struct {
	file *source.File
	out  []Fold
}

// add adds a fold if the range spans several lines.
func (f *foldCollector) add(kind FoldKind, start, end source.Pos) {
	if f.file.LineOf(start) < f.file.LineOf(end) {
		f.out = append(f.out, Fold{source.Span{Start: start, End: end}, kind})
	}
}

func (f *foldCollector) addBrackets() {
	closes := map[lexer.Kind]lexer.Kind{lexer.LBrace: lexer.RBrace, lexer.LParen: lexer.RParen, lexer.LBracket: lexer.RBracket}
	toks, _, _ := lexer.Lex(f.file)
	var open []lexer.Token
	for _, t := range toks {
		if closes[t.Kind] != lexer.EOF {
			open = append(open, t)
			continue
		}
		if t.Kind != lexer.RBrace && t.Kind != lexer.RParen && t.Kind != lexer.RBracket {
			continue
		}
		for i := len(open) - 1; i >= 0; i-- {
			if closes[open[i].Kind] == t.Kind {
				f.add(FoldCode, open[i].End, t.Start)
				open = open[:i]
				break
			}
		}
	}
}

func (f *foldCollector) addImports(decls []ast.Decl) {
	var first, last ast.Decl
	flush := func() {
		if first != nil && first != last {
			f.add(FoldImports, f.lineEnd(first.Span().Start), last.Span().End)
		}
		first, last = nil, nil
	}
	for _, d := range decls {
		if _, ok := d.(*ast.UseDecl); !ok {
			flush()
			if m, ok := d.(*ast.ModDecl); ok {
				f.addImports(m.Decls)
			}
			continue
		}
		if first == nil {
			first = d
		}
		last = d
	}
	flush()
}

func (f *foldCollector) addComments(all []ast.Comment) {
	for i := 0; i < len(all); {
		first := all[i].Span()
		end := first.End
		for i++; i < len(all) && f.isWholeLine(all[i-1]) && f.isWholeLine(all[i]) && f.file.LineOf(all[i].Span().Start) == f.file.LineOf(end)+1; i++ {
			end = all[i].Span().End
		}
		f.add(FoldComment, min(f.lineEnd(first.Start), end), end)
	}
}

// isWholeLine reports whether a comment is the only text on its line.
func (f *foldCollector) isWholeLine(c ast.Comment) bool {
	for at := int(c.Span().Start) - 1; at >= 0 && f.file.Text[at] != '\n'; at-- {
		if b := f.file.Text[at]; b != ' ' && b != '\t' {
			return false
		}
	}
	return true
}

// lineEnd returns the end of the line that contains a position.
func (f *foldCollector) lineEnd(at source.Pos) source.Pos {
	n := f.file.LineOf(at)
	return f.file.LineStart(n) + source.Pos(len(f.file.Line(n)))
}

// Selections returns the nested ranges around a position, from the word to the whole text.
func (s *Snapshot) Selections(path string, pos source.Pos) []source.Span {
	file := s.File(path)
	if file == nil {
		return []source.Span{}
	}
	pos = clamp(file, pos)
	out := []source.Span{wordAt(file, pos)}
	add := func(x source.Span) {
		if last := out[len(out)-1]; x != last && x.Contains(last) {
			out = append(out, x)
		}
	}
	if tree := s.tree(path); tree != nil {
		nodes := nodesAt(tree, pos)
		for _, n := range slices.Backward(nodes) {
			add(n.Span())
		}
	} else {
		n := file.LineOf(pos)
		start := file.LineStart(n)
		add(source.Span{Start: start, End: start + source.Pos(len(file.Line(n)))})
	}
	add(source.Span{End: source.Pos(len(file.Text))})
	if len(out) > 1 && out[0].Start == out[0].End {
		out = out[1:]
	}
	return out
}

// wordAt returns the word that contains pos or ends at pos, or an empty range.
func wordAt(f *source.File, pos source.Pos) source.Span {
	isWord := func(b byte) bool {
		return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= 0x80
	}
	s := source.Span{Start: pos, End: pos}
	for s.Start > 0 && isWord(f.Text[s.Start-1]) {
		s.Start--
	}
	for int(s.End) < len(f.Text) && isWord(f.Text[s.End]) {
		s.End++
	}
	return s
}
