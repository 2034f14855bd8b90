package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/source"
)

// grammar holds participle's grammars, a form each.
type grammar struct {
	prefix    production[prefix]
	fn        production[fnHeader]
	structs   production[structHeader]
	field     production[structField]
	enum      production[enumHeader]
	variant   production[variant]
	schema    production[schemaHeader]
	schemaRow production[schemaField]
	trait     production[traitHeader]
	impl      production[implHeader]
	alias     production[typeAlias]
	constant  production[constant]
	mod       production[modHeader]
	use       production[useItem]
	agent     production[agentHeader]
	host      production[hostHeader]
	config    production[configField]
	tool      production[toolHeader]
	toolField production[toolField]
	mcp       production[mcpHeader]
	pipeline  production[pipelineHeader]
	stage     production[stageHeader]
	store     production[store]
	mock      production[mockHeader]
}

// Lists are right-recursive: with no lookahead that is how a trailing comma
// is told from a further element.

// prefix stands before declarations and members.
type prefix struct {
	Decorators []*decorator `parser:"@@*"`
	Pub        plex.Token   `parser:"@'pub'?"`
}

// decorator is `@name(args)`.
type decorator struct {
	At    plex.Token `parser:"@'@'"`
	Name  plex.Token `parser:"@Name"`
	Args  arguments  `parser:"( '(' @@"`
	Close plex.Token `parser:"@')' )?"`
}

func (d *decorator) node() *ast.Decorator {
	n := &ast.Decorator{Name: identOf(d.Name)}
	n.Sp = source.Join(spanOf(d.At), spanOf(d.Name))
	if d.Args != nil {
		n.Args = d.Args.list()
		n.Sp = source.Join(n.Sp, spanOf(d.Close))
	}
	return n
}

func decoratorNodes(forms []*decorator) []*ast.Decorator {
	if len(forms) == 0 {
		return nil
	}
	nodes := make([]*ast.Decorator, len(forms))
	for i, d := range forms {
		nodes[i] = d.node()
	}
	return nodes
}

// generics is `<T: A + B, U>`.
type generics struct {
	List *typeParams `parser:"'<' @@ '>'"`
}

type typeParams struct {
	Param *typeParam  `parser:"@@"`
	Rest  *typeParams `parser:"( ',' @@? )?"`
}

type typeParam struct {
	Name   plex.Token `parser:"@Name"`
	Bounds []*bound   `parser:"( ':' @@ ( '+' @@ )* )?"`
}

type bound struct {
	Name plex.Token `parser:"@Name"`
}

func (g *generics) nodes() (out []*ast.TypeParam) {
	if g == nil {
		return nil
	}
	for l := g.List; l != nil; l = l.Rest {
		t := &ast.TypeParam{Name: identOf(l.Param.Name)}
		t.Sp = t.Name.Sp
		for _, b := range l.Param.Bounds {
			t.Bounds = append(t.Bounds, identOf(b.Name))
			t.Sp = source.Join(t.Sp, spanOf(b.Name))
		}
		out = append(out, t)
	}
	return out
}

// params is what stands between a signature's parentheses.
type params struct {
	Param *param  `parser:"@@"`
	Rest  *params `parser:"( ',' @@? )?"`
}

// param is one parameter. The grammar lets the type be absent, so that its
// absence can be told apart from a wrong token.
type param struct {
	Decorators []*decorator `parser:"@@*"`
	Mut        plex.Token   `parser:"@'mut'?"`
	Name       plex.Token   `parser:"@( Name | 'self' )"`
	Type       typeExpr     `parser:"( ':' @@ )?"`
	Default    expression   `parser:"( '=' @@ )?"`
}

func (l *params) nodes(p *parser) (out []*ast.Param) {
	for ; l != nil; l = l.Rest {
		out = append(out, l.Param.node(p))
	}
	return out
}

func (f *param) node(p *parser) *ast.Param {
	n := &ast.Param{
		Decorators: decoratorNodes(f.Decorators), Mut: f.Mut.Value != "",
		Name: identOf(f.Name), IsSelf: f.Name.Value == lexer.Self.Info().Text,
	}
	n.Sp = n.Name.Sp
	if n.Mut {
		n.Sp = source.Join(n.Sp, spanOf(f.Mut))
	}
	if len(n.Decorators) > 0 {
		n.Sp = source.Join(n.Decorators[0].Sp, n.Sp)
	}
	if f.Type != nil {
		n.Type = f.Type
		n.Sp = source.Join(n.Sp, n.Type.Span())
	} else if !n.IsSelf {
		p.untyped(n)
	}
	if f.Default != nil {
		n.Default = f.Default
		n.Sp = source.Join(n.Sp, n.Default.Span())
	}
	return n
}
