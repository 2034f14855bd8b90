package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
)

// grammar holds participle's grammars, a form each.
type grammar struct {
	prefix    production[prefix]
	decorator production[decorator]
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
	Bounds []bound    `parser:"( ':' @@ ( '+' @@ )* )?"`
}

func (g *generics) nodes() (out []*ast.TypeParam) {
	if g == nil {
		return nil
	}
	for l := g.List; l != nil; l = l.Rest {
		t := &ast.TypeParam{Name: identOf(l.Param.Name)}
		t.Sp = t.Name.Sp
		for _, b := range l.Param.Bounds {
			t.Bounds = append(t.Bounds, b.named())
			t.Sp = source.Join(t.Sp, b.named().Sp)
		}
		out = append(out, t)
	}
	return out
}
