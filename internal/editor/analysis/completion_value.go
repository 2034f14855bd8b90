package analysis

import (
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// This file completes strings with a fixed set of values.

// inValue reports whether the cursor is in a string with a fixed set of values. If so, it makes the
// quoted text the word to replace.
func (c *completer) inValue() bool {
	all, _, _ := lexer.Lex(c.text.file)
	for _, t := range all {
		if t.Kind != lexer.String || t.Start >= c.pos || c.pos > t.End {
			continue
		}
		closed := int(t.End-t.Start) > 1 && c.text.file.Text[t.End-1] == '"'
		if closed && c.pos == t.End {
			return false
		}
		inner := c.completerAt(t.Start)
		values := inner.textValues()
		if len(values) == 0 {
			return false
		}
		c.word = source.Span{Start: t.Start + 1, End: t.End - 1}
		if !closed { // without a closing quote, the rest of the line is not part of the string
			c.word.End = c.pos
		}
		c.values = values
		return true
	}
	return false
}

// completerAt returns a copy of the completer whose cursor is at start.
func (c *completer) completerAt(start source.Pos) *completer {
	x := *c
	x.pos = start
	x.word = source.Span{Start: start, End: start}
	x.toks = slices.DeleteFunc(slices.Clone(c.toks), func(t lexer.Token) bool { return t.End > start })
	x.items, x.seen = nil, map[string]bool{}
	return &x
}

// textValues returns the valid strings at the cursor, or nil if there is no fixed set.
func (c *completer) textValues() []string {
	if c.kindBefore(1) == lexer.Colon {
		switch n := c.enclosingList().(type) {
		case *ast.AgentDecl:
			if c.wordBefore(2) == "model" {
				return c.modelAliases(n)
			}
		case *ast.HostDecl:
			if k := manifestKey("hosts.*." + c.wordBefore(2)); k != nil {
				return k.Values
			}
		}
		if c.wordBefore(2) == "backoff" && (c.inRetryPolicy() || c.enclosingDecorator() == "retry") {
			return sema.Backoffs()
		}
	}
	if c.atArm() {
		return c.missingUnionTexts()
	}
	if u, ok := c.expectedType().(*types.Union); ok {
		return u.Values
	}
	return nil
}

// addTexts offers the valid strings.
func (c *completer) addTexts() {
	for _, v := range c.values {
		c.add(Item{Label: v, Kind: ReferenceItem, order: len(c.items), fits: true})
	}
}

// atText reports whether a string with a fixed set of values may begin at the cursor.
func (c *completer) atText() bool {
	c.values = nil
	if c.kindBefore(1) == lexer.Colon {
		switch c.enclosingList().(type) {
		case *ast.AgentDecl, *ast.HostDecl:
			c.values = c.textValues()
		default:
			if c.inRetryPolicy() || c.enclosingDecorator() != "" {
				c.values = c.textValues()
			}
		}
	}
	return len(c.values) > 0
}

// addQuotedTexts offers the valid strings in quotes.
func (c *completer) addQuotedTexts() {
	for _, v := range c.values {
		c.add(Item{Label: v, Kind: ReferenceItem, order: len(c.items), Text: `"` + v + `"`, fits: true})
	}
}

// modelAliases returns the model aliases of an agent's connection.
func (c *completer) modelAliases(n *ast.AgentDecl) (out []string) {
	if c.res.input == nil || c.res.input.Manifest == nil {
		return nil
	}
	if x := c.res.input.Manifest.Connection(connectionName(c.text.file, n)); x != nil {
		out = slices.Sorted(maps.Keys(x.Models))
	}
	return out
}

// missingUnionTexts returns the string values of the match's subject that have no arm.
func (c *completer) missingUnionTexts() (out []string) {
	m, ok := c.enclosingList().(*ast.MatchExpr)
	if !ok || m.Subject == nil || c.info == nil {
		return nil
	}
	u, ok := types.Resolve(c.info.TypeOf(m.Subject)).(*types.Union)
	if !ok {
		return nil
	}
	present := map[string]bool{}
	for _, a := range m.Arms {
		if a.Pattern != nil && !isWithin(source.Span{Start: a.Pattern.Span().Start - 1, End: a.Pattern.Span().End + 1}, c.pos) {
			present[strings.Trim(c.text.file.Slice(a.Pattern.Span()), `"`)] = true
		}
	}
	for _, v := range u.Values {
		if !present[v] {
			out = append(out, v)
		}
	}
	return out
}

// inRetryPolicy reports whether the cursor is directly in the map of a `retry_policy`.
func (c *completer) inRetryPolicy() bool {
	i := c.openToken()
	return i >= 2 && c.toks[i].Kind == lexer.LBrace && c.toks[i-1].Kind == lexer.Colon && c.text.file.Slice(c.toks[i-2].Span()) == "retry_policy"
}

// openToken returns the index of the innermost bracket that is open at the cursor, or -1 for none.
func (c *completer) openToken() int {
	depth := 0
	for i := len(c.toks) - 1; i >= 0; i-- {
		switch c.toks[i].Kind {
		case lexer.RBrace, lexer.RParen, lexer.RBracket:
			depth++
		case lexer.LBrace, lexer.LParen, lexer.LBracket:
			if depth--; depth < 0 {
				return i
			}
		}
	}
	return -1
}

func (c *completer) atRetryKey() bool { return c.atRowStart() && c.inRetryPolicy() }

// addRetryKeys offers the keys that the `retry_policy` does not contain yet.
func (c *completer) addRetryKeys() {
	present := map[string]bool{}
	for i := c.openToken(); i < len(c.toks)-1; i++ {
		if c.toks[i+1].Kind == lexer.Colon {
			present[c.text.file.Slice(c.toks[i].Span())] = true
		}
	}
	for _, name := range sema.RetryFields() {
		if !present[name] {
			c.add(Item{Label: name, Kind: SettingItem, Text: name + ": ", Snippet: name + ": $0", order: len(c.items)})
		}
	}
}

// atTools reports whether the cursor is in the tool list of an agent or a host.
func (c *completer) atTools() bool {
	i := c.openToken()
	if i < 2 || c.toks[i].Kind != lexer.LBracket || c.toks[i-1].Kind != lexer.Colon || c.text.file.Slice(c.toks[i-2].Span()) != "tools" {
		return false
	}
	_, agent := innermost[*ast.AgentDecl](c)
	_, host := innermost[*ast.HostDecl](c)
	return agent || host
}

// addTools offers the tools that the list does not contain yet.
func (c *completer) addTools() {
	present := map[string]bool{}
	for _, t := range c.toks[c.openToken():] {
		present[c.text.file.Slice(t.Span())] = true
	}
	c.addVisible(present, sema.DefTool)
}

// addVisible offers the visible declarations of the given kinds, except the names in without.
func (c *completer) addVisible(without map[string]bool, kinds ...sema.DefKind) {
	c.withProgram(func(p *sema.Program) {
		for _, n := range p.Visible(c.info, c.nodes) {
			if (slices.Contains(kinds, n.Def.Kind) || n.Def.Kind == sema.DefModule) && !without[n.Name] {
				order := n.Distance
				if n.Def.Kind == sema.DefModule {
					order += 10
				}
				c.addDef(n.Name, n.Def, order)
			}
		}
	})
}

func (c *completer) atMocked() bool {
	return c.wordBefore(1) == "mock" && (c.kindBefore(2) == lexer.LBrace || c.kindBefore(2) == lexer.Semi || c.kindBefore(2) == lexer.RBrace)
}

// addMockable offers the declarations that a test may mock.
func (c *completer) addMockable() { c.addVisible(nil, sema.DefAgent, sema.DefHost, sema.DefTool) }

// handlerSchema returns the schema of the message if the parameter type of its handler is at the
// cursor, or else "".
func (c *completer) handlerSchema() string {
	h, ok := innermost[*ast.Handler](c)
	if !ok || h.Type == nil || h.Type.Sp.End > c.pos {
		return ""
	}
	if p, ok := innermost[*ast.Param](c); !ok || p.Sp.Start < h.Sp.Start {
		return ""
	}
	return hostmsg.Lookup(h.Type.Value).Schema
}
