package analysis

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// This file determines the kind of the cursor position for a completion.

// inUse reports whether the cursor is in a `use`.
func (c *completer) inUse() bool {
	for i := len(c.toks) - 1; i >= 0; i-- {
		switch k := c.toks[i].Kind; k {
		case lexer.Use:
			return true
		case lexer.Ident, lexer.PathSep, lexer.Comma, lexer.Self, lexer.As, lexer.Star, lexer.HashMap, lexer.Ledger, lexer.Memory:
		case lexer.LBrace:
			if i == 0 || c.toks[i-1].Kind != lexer.PathSep {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// enclosingFunction returns the function, method, stage or test whose body contains the cursor, or
// nil.
func (c *completer) enclosingFunction() ast.Node {
	for i := len(c.nodes) - 1; i >= 0; i-- {
		switch n := c.nodes[i].(type) {
		case *ast.FnDecl:
			if n.Body != nil && (isWithin(n.Body.Sp, c.pos) || c.isUnclosed(n.Body, c.word.Start)) {
				return n
			}
		case *ast.Stage:
			return n
		case *ast.ConstDecl, *ast.StoreDecl, *ast.ConfigField:
			return n
		}
	}
	return nil
}

// isWithin reports whether a position is between the brackets at the ends of a span.
func isWithin(s source.Span, p source.Pos) bool { return s.Start < p && p < s.End }

// atRowStart reports whether an element of a braced list begins at the cursor.
func (c *completer) atRowStart() bool {
	k := c.kindBefore(1)
	return k == lexer.LBrace || k == lexer.Comma
}

// enclosingList returns the innermost node whose braces directly contain the cursor: a declaration
// with settings, a literal, a match, a listen, an impl or a block.
func (c *completer) enclosingList() ast.Node {
	open := c.innermostBrace()
	for i := len(c.nodes) - 1; i >= 0; i-- {
		n := c.nodes[i]
		if n.Span().Start > open {
			continue
		}
		switch n.(type) {
		case *ast.AgentDecl, *ast.HostDecl, *ast.ToolDecl, *ast.McpDecl, *ast.MockStmt, *ast.StructLit, *ast.StructPat, *ast.MatchExpr, *ast.ListenExpr,
			*ast.ImplDecl, *ast.Block, *ast.MapLit, *ast.TraitDecl, *ast.StructDecl, *ast.SchemaDecl, *ast.EnumDecl, *ast.PipelineDecl:
			return n
		}
	}
	return nil
}

// innermostBrace returns the position of the innermost bracket that is open at the cursor, if that
// bracket is a brace. Otherwise it returns a negative position.
func (c *completer) innermostBrace() source.Pos {
	depth := 0
	for i := len(c.toks) - 1; i >= 0; i-- {
		switch c.toks[i].Kind {
		case lexer.RBrace, lexer.RParen, lexer.RBracket:
			depth++
		case lexer.LParen, lexer.LBracket:
			if depth--; depth < 0 {
				return -1
			}
		case lexer.LBrace:
			if depth--; depth < 0 {
				return c.toks[i].Start
			}
		}
	}
	return -1
}

func (c *completer) atKey() bool {
	switch c.enclosingList().(type) {
	case *ast.AgentDecl, *ast.HostDecl, *ast.MockStmt:
		return c.atRowStart()
	case *ast.ToolDecl, *ast.McpDecl:
		return c.atRowStart() || c.kindBefore(1) == lexer.RBrace
	}
	return false
}

func (c *completer) atField() bool {
	switch c.enclosingList().(type) {
	case *ast.StructLit, *ast.StructPat:
		return c.atRowStart()
	}
	return false
}

func (c *completer) atArm() bool {
	_, ok := c.enclosingList().(*ast.MatchExpr)
	return ok && (c.atRowStart() || c.kindBefore(1) == lexer.RBrace)
}

func (c *completer) atHandler() bool {
	_, ok := c.enclosingList().(*ast.ListenExpr)
	return ok && (c.atRowStart() || c.kindBefore(1) == lexer.RBrace || c.wordBefore(1) == "on")
}

// atAskWord reports whether the cursor is after the `=>` of a handler for a message that a person
// can answer.
func (c *completer) atAskWord() bool {
	_, ok := c.enclosingList().(*ast.ListenExpr)
	if !ok || c.kindBefore(1) != lexer.FatArrow || c.kindBefore(2) != lexer.String {
		return false
	}
	return hostmsg.Lookup(strings.Trim(c.wordBefore(2), `"`)).ByPerson()
}

// inMessage reports whether the cursor is in the message type of a handler. If so, it makes the
// quoted text the word to replace.
func (c *completer) inMessage() bool {
	h, ok := innermost[*ast.Handler](c)
	if !ok || h.Type == nil || h.Type.Sp.Start >= c.pos || h.Type.Sp.End < c.pos {
		return false
	}
	text := c.text.file.Slice(h.Type.Sp)
	c.word = source.Span{Start: h.Type.Sp.Start + 1, End: h.Type.Sp.End}
	if len(text) > 1 && text[len(text)-1] == '"' {
		c.word.End--
	} else { // without a closing quote, the rest of the line is not part of the string
		c.word.End = c.pos
	}
	return c.pos <= c.word.End
}

func (c *completer) atMethod() bool {
	im, ok := c.enclosingList().(*ast.ImplDecl)
	return ok && im.Trait != nil && (c.kindBefore(1) == lexer.LBrace || c.kindBefore(1) == lexer.RBrace || c.kindBefore(1) == lexer.Fn)
}

func (c *completer) atConnection() bool {
	if c.wordBefore(1) == "uses" {
		_, ok := innermost[*ast.AgentDecl](c)
		return ok || c.kindBefore(3) == lexer.Agent
	}
	return c.atSetting("provider")
}

// atSetting reports whether the cursor is at the value of a setting.
func (c *completer) atSetting(name string) bool {
	if c.kindBefore(1) != lexer.Colon || c.wordBefore(2) != name {
		return false
	}
	switch c.enclosingList().(type) {
	case *ast.AgentDecl, *ast.HostDecl:
		return true
	}
	return false
}

// atNewName reports whether the cursor is at the name of a new declaration, for which nothing can
// be offered.
func (c *completer) atNewName() bool {
	switch c.kindBefore(1) {
	case lexer.Fn:
		_, inImpl := c.enclosingList().(*ast.ImplDecl)
		return !inImpl
	case lexer.Let, lexer.Mut, lexer.Const, lexer.Struct, lexer.Schema, lexer.Enum, lexer.Trait, lexer.Agent, lexer.Host, lexer.Tool, lexer.Mcp,
		lexer.Pipeline, lexer.Stage, lexer.As, lexer.HashMap, lexer.Ledger, lexer.Memory:
		return c.kindBefore(1) != lexer.As
	case lexer.For:
		return c.kindBefore(2) != lexer.RBrace && !c.inImplHead()
	}
	switch c.enclosingList().(type) {
	case *ast.StructDecl, *ast.SchemaDecl, *ast.EnumDecl:
		return c.atRowStart()
	}
	return false
}

// inImplHead reports whether the cursor is after `impl Trait for`.
func (c *completer) inImplHead() bool {
	for i := len(c.toks) - 1; i >= 0; i-- {
		switch c.toks[i].Kind {
		case lexer.Impl:
			return true
		case lexer.LBrace, lexer.RBrace, lexer.Semi:
			return false
		}
	}
	return false
}

// atType reports whether a type is expected at the cursor.
func (c *completer) atType() bool {
	switch c.kindBefore(1) {
	case lexer.Arrow, lexer.Impl, lexer.As:
		return true
	case lexer.Assign:
		return c.kindBefore(3) == lexer.Type
	case lexer.For:
		return c.inImplHead()
	case lexer.Less:
		_, ok := innermost[ast.Type](c)
		return ok || c.wordBefore(2) != "" && isUpperByte(c.wordBefore(2)[0])
	case lexer.Colon:
		return c.isTypeColon()
	case lexer.Comma:
		_, ok := c.innermostNonName().(ast.Type)
		return ok
	}
	_, ok := c.innermostNonName().(*ast.NamedType)
	return ok && c.kindBefore(1) != lexer.LBrace
}

func isUpperByte(b byte) bool { return b >= 'A' && b <= 'Z' }

// innermostNonName returns the innermost node at the cursor that is not a name.
func (c *completer) innermostNonName() ast.Node {
	for i := len(c.nodes) - 1; i >= 0; i-- {
		if _, isName := c.nodes[i].(*ast.Ident); !isName {
			return c.nodes[i]
		}
	}
	return nil
}

// isTypeColon reports whether the `:` before the cursor introduces the type of a variable,
// parameter or field.
func (c *completer) isTypeColon() bool {
	switch c.kindBefore(3) {
	case lexer.Let, lexer.Mut, lexer.Const, lexer.HashMap, lexer.Ledger, lexer.Memory, lexer.Catch, lexer.Less:
		return true
	}
	if i := c.openToken(); i >= 2 && c.toks[i].Kind == lexer.LParen {
		switch c.toks[i-2].Kind {
		case lexer.Fn, lexer.Stage, lexer.Pipeline:
			return true
		}
	}
	for i := len(c.nodes) - 1; i >= 0; i-- {
		switch n := c.nodes[i].(type) {
		case *ast.Ident, ast.Type:
		case *ast.Param, *ast.FieldDecl, *ast.TypeParam:
			return true
		case *ast.LetStmt:
			return n.Value == nil || n.Value.Span().Start >= c.pos
		case *ast.ConstDecl:
			return n.Value == nil || n.Value.Span().Start >= c.pos
		case *ast.StoreDecl:
			return n.Value == nil || n.Value.Span().Start >= c.pos
		default:
			return c.kindBefore(3) == lexer.Let || c.kindBefore(4) == lexer.Let
		}
	}
	return false
}

// atLabel reports whether a label begins at the cursor: after `break '` and `continue '`.
func (c *completer) atLabel() bool {
	if c.word.Start == 0 || c.text.file.Text[c.word.Start-1] != '\'' {
		return false
	}
	n := 1
	if k := len(c.toks); k > 0 && c.toks[k-1].End == c.word.Start {
		n++ // the quote is a separate token
	}
	return c.kindBefore(n) == lexer.Break || c.kindBefore(n) == lexer.Continue
}

// enclosingLoops reports whether the cursor is in a loop of its function, closure or handler. It
// also returns the labels of the enclosing loops, the innermost first. It reads tokens, because an
// unfinished text has no complete syntax tree.
func (c *completer) enclosingLoops() (inLoop bool, labels []string) {
	depth := 0
	for i := len(c.toks) - 1; i >= 0; i-- {
		switch c.toks[i].Kind {
		case lexer.RBrace:
			depth++
			continue
		case lexer.LBrace:
			if depth--; depth >= 0 {
				continue
			}
			depth = 0
		default:
			continue
		}
		head := i
		for head > 0 && !slices.Contains([]lexer.Kind{lexer.LBrace, lexer.RBrace, lexer.Semi}, c.toks[head-1].Kind) {
			head--
		}
		words, label := c.toks[head:i], ""
		if len(words) > 1 && words[0].Kind == lexer.Label {
			label = c.text.file.Slice(words[0].Span())[1:]
			words = words[2:]
		}
		loop := slices.IndexFunc(words, func(t lexer.Token) bool {
			return t.Kind == lexer.Loop || t.Kind == lexer.While || t.Kind == lexer.For
		})
		switch {
		case loop >= 0 && (loop == 0 || c.text.file.Slice(words[loop-1].Span()) != "parallel"):
			inLoop = true
			if label != "" {
				labels = append(labels, label)
			}
		case loop >= 0 || len(words) > 0 && slices.Contains([]lexer.Kind{lexer.Bar, lexer.OrOr}, words[len(words)-1].Kind),
			slices.ContainsFunc(words, func(t lexer.Token) bool { return t.Kind == lexer.Fn || t.Kind == lexer.Arrow || t.Kind == lexer.Stage }):
			return inLoop, labels
		}
	}
	return inLoop, labels
}

// atDecl reports whether a declaration may begin at the cursor.
func (c *completer) atDecl() bool {
	switch c.kindBefore(1) {
	case lexer.EOF, lexer.RBrace, lexer.Semi, lexer.Pub, lexer.RParen:
		return true
	case lexer.LBrace, lexer.Ident:
		return c.kindBefore(1) == lexer.Ident || c.enclosingList() == nil
	}
	return false
}
