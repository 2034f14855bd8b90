package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/source"
)

// traitHeader is a trait up to its methods.
type traitHeader struct {
	Name     *name    `parser:"'trait' @Name"`
	Generics generics `parser:"@@?"`
}

func (f *traitHeader) node() *ast.TraitDecl {
	n := &ast.TraitDecl{Generics: f.Generics.nodes()}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// implHeader is `impl<T> Trait for Type` or `impl Type`.
type implHeader struct {
	Generics generics `parser:"'impl' @@?"`
	First    ast.Type `parser:"@@"`
	Target   ast.Type `parser:"( 'for' @@ )?"`
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
	Name *name `parser:"'mod' @Name"`
}

func (f *modHeader) node() *ast.ModDecl {
	n := &ast.ModDecl{}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// useItem is `use a::b::{c, d as e}`.
type useItem struct {
	Tree useTree `parser:"'use' @@"`
}

// useTree is one branch: a name, then further ones, a glob, a list, or an
// alias.
type useTree struct {
	Name  *name    `parser:"@( Name | 'self' | 'Self' )"`
	Next  *useNext `parser:"( '::' @@"`
	Alias *name    `parser:"| 'as' @Name )?"`
}

// useNext is what follows a `::`.
type useNext struct {
	Glob  spot     `parser:"  @'*'"`
	List  *useList `parser:"| '{' @@?"`
	Close spot     `parser:"  @'}'"`
	Tree  *useTree `parser:"| @@"`
}

type useList struct {
	Tree useTree  `parser:"@@"`
	Rest *useList `parser:"( ',' @@? )?"`
}

func (f *useItem) node() *ast.UseDecl { return &ast.UseDecl{Tree: f.Tree.node()} }

func (f *useTree) node() *ast.UseTree {
	n := &ast.UseTree{}
	n.Sp = f.Name.Sp
	for t := f; ; t = t.Next.Tree {
		n.Path = append(n.Path, (*ast.Ident)(t.Name))
		n.Sp = source.Join(n.Sp, t.Name.Sp)
		if t.Alias != nil {
			n.Alias = (*ast.Ident)(t.Alias)
			n.Sp = source.Join(n.Sp, t.Alias.Sp)
		}
		if t.Next == nil {
			return n
		}
		if t.Next.Tree != nil {
			continue
		}
		if n.Glob = t.Next.Glob.there(); n.Glob {
			n.Sp = source.Join(n.Sp, source.Span(t.Next.Glob))
			return n
		}
		n.List = []*ast.UseTree{}
		for l := t.Next.List; l != nil; l = l.Rest {
			n.List = append(n.List, l.Tree.node())
		}
		n.Sp = source.Join(n.Sp, source.Span(t.Next.Close))
		return n
	}
}
