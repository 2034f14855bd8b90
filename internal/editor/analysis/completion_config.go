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

// addDecorators offers the names of decorators.
func (c *completer) addDecorators() {
	for _, name := range sema.DecoratorsAt(decoratorPlaces(c)) {
		c.add(Item{Label: name, Kind: DecoratorItem, doc: func() string { return topic("@" + name) }})
	}
}

// decoratorPlaces returns the places that a decorator at the cursor may be on. The tokens after the
// cursor determine them, or else the declaration that contains the cursor.
func decoratorPlaces(c *completer) sema.DecoratorPlace {
	list := c.enclosingList()
	if c.openToken() >= 0 && c.toks[c.openToken()].Kind == lexer.LParen {
		return sema.OnParameter
	}
	switch list.(type) {
	case *ast.ToolDecl, *ast.McpDecl:
		return sema.OnToolFunction
	case *ast.PipelineDecl:
		return sema.OnStage
	case *ast.StructDecl, *ast.SchemaDecl:
		return sema.OnField
	case *ast.ImplDecl, *ast.TraitDecl:
		return sema.OnFunction
	case *ast.Block:
		return sema.OnLoop | sema.OnFunction
	}
	all, _, _ := lexer.Lex(c.text.file)
	for _, t := range all[min(len(c.toks), len(all)):] {
		if t.Start < c.word.End {
			continue
		}
		switch t.Kind {
		case lexer.Fn, lexer.Async:
			return sema.OnFunction
		case lexer.Agent, lexer.Host:
			return sema.OnParty
		case lexer.EOF:
			return sema.OnFunction | sema.OnParty | sema.OnOther
		case lexer.Struct, lexer.Schema, lexer.Enum, lexer.Tool, lexer.Mcp, lexer.Trait, lexer.Impl, lexer.Const, lexer.Type, lexer.Pipeline,
			lexer.HashMap, lexer.Ledger, lexer.Memory, lexer.Mod, lexer.Use:
			return sema.OnOther
		}
	}
	return sema.OnFunction | sema.OnParty | sema.OnOther
}

// atDecoratorArgument reports whether the cursor is where an argument of a decorator begins.
func (c *completer) atDecoratorArgument() bool {
	k := c.kindBefore(1)
	return (k == lexer.LParen || k == lexer.Comma) && c.enclosingDecorator() != ""
}

// enclosingDecorator returns the name of the decorator whose parentheses directly contain the
// cursor, or "".
func (c *completer) enclosingDecorator() string {
	i := c.openToken()
	if i < 2 || c.toks[i].Kind != lexer.LParen || c.toks[i-2].Kind != lexer.At {
		return ""
	}
	return c.text.file.Slice(c.toks[i-1].Span())
}

// addDecoratorArguments offers the argument names that the decorator at the cursor does not have
// yet.
func (c *completer) addDecoratorArguments() {
	present := map[string]bool{}
	for i := c.openToken(); i < len(c.toks)-1; i++ {
		if c.toks[i+1].Kind == lexer.Colon {
			present[c.text.file.Slice(c.toks[i].Span())] = true
		}
	}
	c.withProgram(func(p *sema.Program) {
		for _, x := range p.DecoratorParams(c.info, c.enclosingDecorator()) {
			if !present[x.Name] {
				c.add(Item{Label: x.Name, Kind: FieldItem, Signature: ": " + typeText(x.Type), Text: x.Name + ": ", order: len(c.items)})
			}
		}
	})
}

// addConnections offers the connections of the manifest.
func (c *completer) addConnections() {
	c.add(Item{Label: manifest.Builtin, Kind: ReferenceItem, order: 1})
	c.addFromManifest(sema.DefConnection)
}

// addConnectors offers the hosts of the manifest.
func (c *completer) addConnectors() { c.addFromManifest(sema.DefConnector) }

func (c *completer) addFromManifest(k sema.DefKind) {
	if c.res.input == nil || c.res.input.Manifest == nil {
		return
	}
	for _, x := range sections(c.res.input.Manifest) {
		if x.kind == k {
			c.addDef(x.name, &sema.Def{Kind: k, Name: x.name}, 0)
		}
	}
}

// addSettings offers the settings that the declaration at the cursor does not contain yet.
func (c *completer) addSettings() {
	var names []string
	var fields []*ast.ConfigField
	of := ""
	switch n := c.enclosingList().(type) {
	case *ast.AgentDecl:
		names, fields, of = sema.AgentFields(), n.Fields, "agent"
	case *ast.HostDecl:
		names, fields, of = sema.HostFields(), n.Fields, "host"
	case *ast.MockStmt:
		names, fields, of = sema.MockFields(), n.Fields, "mock"
	case *ast.McpDecl:
		c.addKeyword("fn", 1)
		return
	case *ast.ToolDecl:
		if n.Description == nil {
			c.add(Item{Label: "description", Kind: SettingItem, Text: "description: ", Snippet: `description: "$0",`})
		}
		c.addKeyword("fn", 1)
		return
	}
	for _, name := range names {
		has := slices.ContainsFunc(fields, func(f *ast.ConfigField) bool {
			return f.Name != nil && f.Name.Name == name && !isWithin(source.Span{Start: f.Name.Sp.Start - 1, End: f.Name.Sp.End + 1}, c.pos)
		})
		if !has {
			c.add(Item{Label: name, Kind: SettingItem, Signature: ": " + sema.FieldText(of, name), Text: name + ": ", Snippet: name + ": $0,"})
		}
	}
}
