package analysis

import (
	"slices"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/sema"
)

// Completions in declarations of agents, hosts, tools and mocks, and of decorators.

// decorators offers the names of decorators.
func (c *completer) decorators() {
	for _, name := range sema.Decorators() {
		c.add(Item{Label: name, Kind: DecoratorItem, doc: func() string { return topic("@" + name) }})
	}
}

// atDecoratorArgument reports whether an argument of a decorator begins at the place.
func (c *completer) atDecoratorArgument() bool {
	k := c.before(1)
	return (k == lexer.LParen || k == lexer.Comma) && c.decorator() != ""
}

// decorator returns the name of the decorator whose parentheses directly contain the place, or "".
func (c *completer) decorator() string {
	i := c.openToken()
	if i < 2 || c.toks[i].Kind != lexer.LParen || c.toks[i-2].Kind != lexer.At {
		return ""
	}
	return c.text.file.Slice(c.toks[i-1].Span())
}

// decoratorArguments offers the names of the arguments that a decorator does not have.
func (c *completer) decoratorArguments() {
	given := map[string]bool{}
	for i := c.openToken(); i < len(c.toks)-1; i++ {
		if c.toks[i+1].Kind == lexer.Colon {
			given[c.text.file.Slice(c.toks[i].Span())] = true
		}
	}
	c.ask(func(p *sema.Program) {
		for _, x := range p.DecoratorParams(c.info, c.decorator()) {
			if !given[x.Name] {
				c.add(Item{Label: x.Name, Kind: FieldItem, Signature: ": " + typeText(x.Type), Text: x.Name + ": ", order: len(c.items)})
			}
		}
	})
}

// connections offers the manifest's connections.
func (c *completer) connections() {
	c.add(Item{Label: manifest.Builtin, Kind: ReferenceItem, order: 1})
	c.ofManifest(sema.DefConnection)
}

// connectors offers the manifest's hosts.
func (c *completer) connectors() { c.ofManifest(sema.DefConnector) }

func (c *completer) ofManifest(k sema.DefKind) {
	if c.res.input == nil || c.res.input.Manifest == nil {
		return
	}
	for _, x := range sections(c.res.input.Manifest) {
		if x.kind == k {
			c.def(x.name, &sema.Def{Kind: k, Name: x.name}, 0)
		}
	}
}

// keys offers the settings that a declaration does not contain.
func (c *completer) keys() {
	var names []string
	var given []*ast.ConfigField
	of := ""
	switch n := c.listAround().(type) {
	case *ast.AgentDecl:
		names, given, of = sema.AgentFields(), n.Fields, "agent"
	case *ast.HostDecl:
		names, given, of = sema.HostFields(), n.Fields, "host"
	case *ast.MockStmt:
		names, given, of = sema.MockFields(), n.Fields, "mock"
	case *ast.McpDecl:
		c.keyword("fn", 1)
		return
	case *ast.ToolDecl:
		if n.Description == nil {
			c.add(Item{Label: "description", Kind: SettingItem, Text: "description: ", Snippet: `description: "$0",`})
		}
		c.keyword("fn", 1)
		return
	}
	for _, name := range names {
		has := slices.ContainsFunc(given, func(f *ast.ConfigField) bool {
			return f.Name != nil && f.Name.Name == name && !within(source.Span{Start: f.Name.Sp.Start - 1, End: f.Name.Sp.End + 1}, c.pos)
		})
		if !has {
			c.add(Item{Label: name, Kind: SettingItem, Signature: ": " + sema.FieldText(of, name), Text: name + ": ", Snippet: name + ": $0,"})
		}
	}
}
