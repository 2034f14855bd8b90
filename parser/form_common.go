package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// The forms: a struct for each header and member, whose tags are its grammar in participle's
// notation. @Name and @Word capture a token: a name, or any word before `:` or `?:`. @@ captures
// what the field's type is: a form, or a leaf, which is parsed by hand. Lists are right-recursive,
// so that one token of lookahead can distinguish a trailing comma from a further element.

// The leaves, except ast.Type and ast.Expr.
type (
	paramList struct{ list []*ast.Param }
	arguments struct{ list []*ast.Arg }
	bound     ast.NamedType
)

// prefix is the part of a declaration or member before its keyword: decorators and `pub`.
type prefix struct {
	Decorators []decorator `parser:"@@*"`
	Pub        bool        `parser:"@'pub'?"`
}

// decorator is `@name(args)`.
type decorator struct {
	At    *captured `parser:"@'@'"`
	Name  *captured `parser:"@Name"`
	Args  arguments `parser:"( '(' @@"`
	Close *captured `parser:"@')' )?"`
}

func (f *decorator) node(p *parser) *ast.Decorator {
	n := &ast.Decorator{Name: p.captured(f.Name), Args: f.Args.list}
	n.Sp = source.Join(span(f.At), span(f.Name))
	if f.Close != nil {
		n.Sp = source.Join(n.Sp, span(f.Close))
	}
	return n
}

// generics is `<T: A + B, U>`.
type generics struct {
	List typeParams `parser:"'<' @@ '>'"`
}

type typeParams struct {
	Param typeParam   `parser:"@@"`
	Rest  *typeParams `parser:"( ',' @@? )?"`
}

type typeParam struct {
	Name   *captured `parser:"@Name"`
	Bounds []*bound  `parser:"( ':' @@ ( '+' @@ )* )?"`
}

func (f *generics) nodes(p *parser) (out []*ast.TypeParam) {
	if f.List.Param.Name == nil {
		return nil // the declaration has no type parameters
	}
	for l := &f.List; l != nil; l = l.Rest {
		t := &ast.TypeParam{Name: p.captured(l.Param.Name)}
		t.Sp = t.Name.Sp
		for _, b := range l.Param.Bounds {
			t.Bounds = append(t.Bounds, (*ast.NamedType)(b))
			t.Sp = source.Join(t.Sp, b.Sp)
		}
		out = append(out, t)
	}
	return out
}
