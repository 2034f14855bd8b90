package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
)

// traitHeader is a trait up to its methods.
type traitHeader struct {
	Head     fixed     `parser:"'trait' Name"`
	Generics *generics `parser:"@@?"`
}

func (f *traitHeader) node(name *ast.Ident) *ast.TraitDecl {
	n := &ast.TraitDecl{Generics: f.Generics.nodes()}
	n.Name = name
	return n
}

// implHeader is `impl<T> Trait for Type` or `impl Type`.
type implHeader struct {
	Generics *generics `parser:"'impl' @@?"`
	First    typeExpr  `parser:"@@"`
	Target   typeExpr  `parser:"( 'for' @@ )?"`
}

func (f *implHeader) node() *ast.ImplDecl {
	n := &ast.ImplDecl{Generics: f.Generics.nodes(), Target: f.First}
	if f.Target != nil {
		n.Trait, n.Target = f.First, f.Target
	}
	return n
}

// modHeader is `mod name`, before `;` or `{`.
type modHeader struct {
	Head fixed `parser:"'mod' Name"`
}

func (f *modHeader) node(name *ast.Ident) *ast.ModDecl {
	n := &ast.ModDecl{}
	n.Name = name
	return n
}

// useItem is `use a::b::{c, d as e}`.
type useItem struct {
	Tree *useTree `parser:"'use' @@"`
}

// useTree is one branch: a name, then further ones, a glob, a list, or an
// alias.
type useTree struct {
	Name  plex.Token `parser:"@( Name | 'self' | 'Self' )"`
	Next  *useNext   `parser:"( '::' @@"`
	Alias plex.Token `parser:"| 'as' @Name )?"`
}

type useNext struct {
	Glob  plex.Token `parser:"  @'*'"`
	Open  plex.Token `parser:"| @'{'"`
	List  *useList   `parser:"  @@?"`
	Close plex.Token `parser:"  @'}'"`
	Tree  *useTree   `parser:"| @@"`
}

type useList struct {
	Tree *useTree `parser:"@@"`
	Rest *useList `parser:"( ',' @@? )?"`
}

func (f *useItem) node() *ast.UseDecl { return &ast.UseDecl{Tree: f.Tree.node()} }

func (f *useTree) node() *ast.UseTree {
	n := &ast.UseTree{}
	n.Sp = spanOf(f.Name)
	for t := f; ; {
		n.Path = append(n.Path, identOf(t.Name))
		n.Sp = source.Join(n.Sp, spanOf(t.Name))
		if t.Alias.Value != "" {
			n.Alias = identOf(t.Alias)
			n.Sp = source.Join(n.Sp, n.Alias.Sp)
		}
		if t.Next == nil {
			return n
		}
		if t.Next.Tree != nil {
			t = t.Next.Tree
			continue
		}
		if t.Next.Glob.Value != "" {
			n.Glob = true
			n.Sp = source.Join(n.Sp, spanOf(t.Next.Glob))
			return n
		}
		n.List = []*ast.UseTree{}
		for l := t.Next.List; l != nil; l = l.Rest {
			n.List = append(n.List, l.Tree.node())
		}
		n.Sp = source.Join(n.Sp, spanOf(t.Next.Close))
		return n
	}
}
