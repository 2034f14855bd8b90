package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
)

// The forms: a struct for each header and member, whose tags are its grammar
// in participle's notation. @Name and @Word capture a token, @@ what the
// field's type says: a form, or a leaf, which the parser reads by hand. Lists
// are right-recursive: one token ahead, that is how a trailing comma is told
// from a further element.

// name is a captured name.
type name ast.Ident

// word is a captured word that names a field: any, before `:` or `?:`.
type word ast.Ident

// spot is the place of a captured text.
type spot source.Span

// there says whether anything was captured.
func (s spot) there() bool { return s.End > 0 }

// The leaves apart from ast.Type and ast.Expr.
type (
	paramList struct{ list []*ast.Param }
	arguments struct{ list []*ast.Arg }
	bound     ast.NamedType
)

// prefix stands before declarations and members.
type prefix struct {
	Decorators []decorator `parser:"@@*"`
	Pub        bool        `parser:"@'pub'?"`
}

// decorator is `@name(args)`.
type decorator struct {
	At    spot      `parser:"@'@'"`
	Name  *name     `parser:"@Name"`
	Args  arguments `parser:"( '(' @@"`
	Close spot      `parser:"@')' )?"`
}

func (f *decorator) node() *ast.Decorator {
	n := &ast.Decorator{Name: (*ast.Ident)(f.Name), Args: f.Args.list}
	n.Sp = source.Join(source.Span(f.At), f.Name.Sp)
	if f.Close.there() {
		n.Sp = source.Join(n.Sp, source.Span(f.Close))
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
	Name   *name    `parser:"@Name"`
	Bounds []*bound `parser:"( ':' @@ ( '+' @@ )* )?"`
}

func (f *generics) nodes() (out []*ast.TypeParam) {
	if f.List.Param.Name == nil {
		return nil // there are none
	}
	for l := &f.List; l != nil; l = l.Rest {
		t := &ast.TypeParam{Name: (*ast.Ident)(l.Param.Name)}
		t.Sp = t.Name.Sp
		for _, b := range l.Param.Bounds {
			t.Bounds = append(t.Bounds, (*ast.NamedType)(b))
			t.Sp = source.Join(t.Sp, b.Sp)
		}
		out = append(out, t)
	}
	return out
}
