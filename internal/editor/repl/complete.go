package repl

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// analysisView provides the analysis of the program together with an unfinished input.
type analysisView struct {
	work *analysis.Workspace
	path string
}

// open opens a layout with an unfinished input as a document of the analysis. It returns the
// snapshot and the path of the document.
func (s *Session) open(l *layout) (*analysis.Snapshot, string) {
	k := &s.view
	if k.work == nil {
		k.work = analysis.New(analysis.Options{})
		k.path = filepath.Join(s.request.Dir, ".repl"+driver.SourceExt)
		if in, err := driver.Load(s.request); s.base != nil && err == nil {
			k.path = filepath.Join(in.Root, filepath.FromSlash(in.EntryName))
		}
	}
	k.work.Open(k.path, l.text.String())
	return k.work.Snapshot(), k.path
}

// layoutUnfinished combines the program with an unfinished input. It returns the position in the
// layout at which the input begins.
func (s *Session) layoutUnfinished(text string) (l *layout, at source.Pos) {
	l = &layout{}
	declares := declarationBegins(text)
	s.addDeclarations(l)
	if declares {
		at = source.Pos(l.text.Len())
		l.addRaw(text + "\n")
	}
	l.addRaw("fn " + sessionName + "() {\n")
	for _, b := range s.lets {
		l.addPieces(b.file, b.pieces)
		l.addRaw("\n")
	}
	if !declares {
		at = source.Pos(l.text.Len())
		l.addRaw(text + "\n")
	}
	l.addRaw("}\n")
	return l, at
}

// declarationBegins reports whether a text begins with a keyword of declarations, a decorator or a
// doc comment.
func declarationBegins(text string) bool {
	toks, _, _ := lexer.Lex(source.NewFile(Name, []byte(text)))
	return beginsDeclaration(toks, text)
}

// Doc returns the documentation of a declared name, or "".
func (s *Session) Doc(ctx context.Context, name string) string {
	l, at := s.layoutUnfinished(name)
	snapshot, path := s.open(l)
	h := snapshot.Hover(ctx, path, at+source.Pos(len(name))-1)
	if h == nil {
		return ""
	}
	var out []string
	for line := range strings.Lines(h.Text) {
		if line = strings.TrimRight(line, "\n"); !strings.HasPrefix(line, "```") {
			out = append(out, line)
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}

// Completion lists the texts that may replace the bytes from From to To of an input.
type Completion struct {
	From, To int // byte offsets in the input
	Items    []string
}

// Complete returns the completions at a byte offset of an input.
func (s *Session) Complete(ctx context.Context, text string, at int) Completion {
	l, begin := s.layoutUnfinished(text)
	snapshot, path := s.open(l)
	found := snapshot.Completion(ctx, path, begin+source.Pos(at))
	c := Completion{From: int(found.Replace.Start - begin), To: int(found.Replace.End - begin)}
	if c.From < 0 || c.To > len(text) || c.From > at || c.To < at {
		c.From, c.To = at, at
	}
	word := text[c.From:at]
	seen := map[string]bool{}
	for _, x := range found.Items {
		if len(x.Edits) > 0 || !strings.HasPrefix(x.Text, word) || seen[x.Text] || strings.HasPrefix(x.Text, "repl_") || x.Text == lastName {
			continue // the item needs an import, or its name must not be shown
		}
		seen[x.Text] = true
		c.Items = append(c.Items, x.Text)
	}
	return c
}

// TokenClass is the syntactic class of a span of an input, for highlighting.
type TokenClass uint8

// The syntactic classes of the parts of an input.
const (
	Keyword TokenClass = iota
	Text
	Number
	Comment
	TypeName // type, or another declaration whose name begins with a capital letter
	Function // a function or method
)

// ColoredSpan is a span of an input with its class. From and To are byte offsets.
type ColoredSpan struct {
	From, To int
	Class    TokenClass
}

// tokenClasses maps the analysis's token types to classes.
var tokenClasses = map[string]TokenClass{"type": TypeName, "struct": TypeName, "enum": TypeName, "interface": TypeName, "typeParameter": TypeName, "schema": TypeName, "agent": TypeName, "host": TypeName, "tool": TypeName,
	"pipeline": TypeName, "enumMember": TypeName, "function": Function, "method": Function, "keyword": Keyword, "decorator": Keyword}

// Highlight returns the parts of an input that have a class, in source order.
func (s *Session) Highlight(ctx context.Context, text string) (all []ColoredSpan) {
	l, begin := s.layoutUnfinished(text)
	snapshot, path := s.open(l)
	names := map[int]ColoredSpan{}
	for _, t := range snapshot.Tokens(ctx, path) {
		from, to := int(t.Span.Start-begin), int(t.Span.End-begin)
		if hue, ok := tokenClasses[analysis.TokenTypes[t.Type]]; ok && from >= 0 && to <= len(text) {
			names[from] = ColoredSpan{from, to, hue}
		}
	}
	toks, comments, _ := lexer.Lex(source.NewFile(Name, []byte(text)))
	next := 0
	for _, t := range toks {
		for ; next < len(comments) && comments[next].Start < t.Start; next++ {
			all = append(all, ColoredSpan{int(comments[next].Start), int(comments[next].End), Comment})
		}
		c := ColoredSpan{int(t.Start), int(t.End), 0}
		if name, is := names[c.From]; is {
			all = append(all, name)
			continue
		}
		switch t.Kind {
		case lexer.String, lexer.StringHead, lexer.StringMid, lexer.StringTail:
			c.Class = Text
		case lexer.Int, lexer.Float:
			c.Class = Number
		default:
			if _, ok := lexer.Lookup(text[c.From:c.To]); !ok || !isLetter(text[c.From]) {
				continue
			}
			c.Class = Keyword
		}
		all = append(all, c)
	}
	return all
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
