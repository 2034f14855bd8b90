package analysis

import (
	"cmp"
	"context"
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// TokenTypes lists the token types and TokenModifiers lists the modifiers. A Token refers to both
// by index.
var (
	TokenTypes = []string{"namespace", "type", "struct", "enum", "interface", "typeParameter", "parameter", "variable", "property", "enumMember", "function", "method", "keyword", "decorator",
		"agent", "host", "tool", "schema", "pipeline", "stage", "store", "messageType"}
	TokenModifiers = []string{"declaration", "readonly", "mutable", "captured", "async", "deprecated", "defaultLibrary", "test"}
)

// Token is a name, or a word that is a keyword only in certain positions.
type Token struct {
	Span      source.Span
	Type      uint32 // index into TokenTypes
	Modifiers uint32 // bit set of indices into TokenModifiers
}

// tokenTypes maps kinds of declarations to token types. Labels have no type because their form
// identifies them.
var tokenTypes = map[sema.DefKind]string{
	sema.DefModule: "namespace", sema.DefStruct: "struct", sema.DefSchema: "schema", sema.DefEnum: "enum", sema.DefAlias: "type", sema.DefTrait: "interface", sema.DefTypeParam: "typeParameter",
	sema.DefBuiltin: "type", sema.DefFunction: "function", sema.DefMethod: "method", sema.DefConst: "variable", sema.DefAgent: "agent", sema.DefHost: "host", sema.DefTool: "tool", sema.DefStore: "store",
	sema.DefPipeline: "pipeline", sema.DefStage: "stage", sema.DefField: "property", sema.DefVariant: "enumMember", sema.DefVariable: "variable", sema.DefParam: "parameter", sema.DefDecorator: "decorator",
	sema.DefConnection: "namespace", sema.DefConnector: "namespace",
}

func tokenType(name string) uint32 { return uint32(slices.Index(TokenTypes, name)) }

func modifier(name string) uint32 { return 1 << slices.Index(TokenModifiers, name) }

// Tokens returns the names of a program in the order of the text. Tokens do not overlap.
func (s *Snapshot) Tokens(ctx context.Context, path string) []Token {
	f := s.checkFile(ctx, path)
	if f == nil {
		return []Token{}
	}
	p := &tokenCollector{checkedFile: f}
	ast.InspectFile(f.tree, p.visit)
	for _, r := range f.refs() {
		if name, ok := tokenTypes[r.Def.Kind]; ok && f.isName(r.At) {
			p.add(r.At, name, p.modifiers(r))
		}
	}
	slices.SortStableFunc(p.out, func(a, b Token) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	end := source.Pos(0)
	return slices.DeleteFunc(p.out, func(t Token) bool {
		overlaps := t.Span.Start < end || t.Span.End <= t.Span.Start
		end = max(end, t.Span.End)
		return overlaps
	})
}

// isName reports whether a range is a word that is not reserved. The grammars of editors already
// highlight reserved words.
func (f *checkedFile) isName(at source.Span) bool {
	if int(at.End) > len(f.text.file.Text) || at.Start >= at.End {
		return false
	}
	word := f.text.file.Slice(at)
	c := word[0]
	_, reserved := lexer.Lookup(word)
	return (c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') && !reserved
}

// tokenCollector finds the tokens of a file.
type tokenCollector struct {
	*checkedFile
	out      []Token
	closures []source.Span
	handlers map[ast.Node]bool // closures without captured variables
}

func (p *tokenCollector) add(at source.Span, name string, modifiers uint32) {
	p.out = append(p.out, Token{at, tokenType(name), modifiers})
}

// visit adds the tokens that are not names: message types and contextual keywords. It also collects
// the closures.
func (p *tokenCollector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Handler:
		if n.On {
			p.addKeyword(n.Span().Start, "on")
		}
		if n.Type != nil {
			p.add(n.Type.Span(), "messageType", 0)
		}
		if p.handlers == nil {
			p.handlers = map[ast.Node]bool{}
		}
		p.handlers[n.Value] = true
		if p.info != nil && n.Value != nil && p.info.AsksPerson(n.Value) {
			p.addKeyword(n.Value.Span().Start, "ask")
		}
	case *ast.Closure:
		if !p.handlers[n] {
			p.closures = append(p.closures, n.Span())
		}
	case *ast.AgentDecl:
		if n.Name != nil {
			p.addKeywordAfter(n.Name.Span().End, "uses")
		}
	case *ast.ToolDecl:
		if n.Description != nil && n.Name != nil {
			p.addKeywordIn(source.Span{Start: n.Name.Span().End, End: n.Description.Span().Start}, "description")
		}
	case *ast.MockStmt:
		p.addKeyword(n.Span().Start, "mock")
	case *ast.ParallelFor:
		p.addKeyword(n.Span().Start, "parallel")
	}
	return true
}

// addKeyword adds a keyword token if the word is at the position.
func (p *tokenCollector) addKeyword(at source.Pos, word string) {
	s := source.Span{Start: at, End: at + source.Pos(len(word))}
	if int(s.End) <= len(p.text.file.Text) && p.text.file.Slice(s) == word {
		p.add(s, "keyword", 0)
	}
}

// addKeywordAfter adds a keyword token if word is the next word after the position.
func (p *tokenCollector) addKeywordAfter(at source.Pos, word string) {
	text := p.text.file.Text
	for int(at) < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	p.addKeyword(at, word)
}

// addKeywordIn adds a keyword token if word is the last word of a range before a colon.
func (p *tokenCollector) addKeywordIn(s source.Span, word string) {
	text := p.text.file.Slice(s)
	for at := len(text) - len(word); at >= 0; at-- {
		if text[at:at+len(word)] == word {
			p.addKeyword(s.Start+source.Pos(at), word)
			return
		}
	}
}

// modifiers returns the modifiers of a name.
func (p *tokenCollector) modifiers(r sema.Ref) (m uint32) {
	d := r.Def
	if r.Decl {
		m |= modifier("declaration")
	}
	if d.Kind == sema.DefBuiltin || d.Kind == sema.DefDecorator || d.Info != nil && d.Info.Library {
		m |= modifier("defaultLibrary")
	}
	switch d.Kind {
	case sema.DefConst:
		m |= modifier("readonly")
	case sema.DefVariable, sema.DefParam:
		m |= p.variableModifiers(r)
	case sema.DefFunction, sema.DefMethod:
		if fn, ok := d.Node.(*ast.FnDecl); ok {
			if fn.Async {
				m |= modifier("async")
			}
			if isTest(fn) {
				m |= modifier("test")
			}
		}
	}
	return m
}

// variableModifiers returns the modifiers of a variable: whether it is mutable and whether a
// closure captures it.
func (p *tokenCollector) variableModifiers(r sema.Ref) (m uint32) {
	l, ok := r.Def.Object.(*sema.Local)
	if !ok {
		return 0
	}
	m = modifier("readonly")
	if l.Mut {
		m = modifier("mutable")
	}
	if slices.ContainsFunc(p.closures, func(c source.Span) bool { return c.Contains(r.At) && !c.Contains(r.Def.At) }) {
		m |= modifier("captured")
	}
	return m
}
