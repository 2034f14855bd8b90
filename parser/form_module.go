package parser

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// traitHeader is the part of a trait before its methods.
type traitHeader struct {
	Name     *captured `parser:"'trait' @Name"`
	Generics generics  `parser:"@@?"`
}

func (f *traitHeader) node(p *parser) *ast.TraitDecl {
	n := &ast.TraitDecl{Generics: f.Generics.nodes(p)}
	n.Name = p.captured(f.Name)
	return n
}

// implHeader is `impl<T> Trait for Type` or `impl Type`.
type implHeader struct {
	Generics generics `parser:"'impl' @@?"`
	First    ast.Type `parser:"@@"`
	Target   ast.Type `parser:"( 'for' @@ )?"`
}

func (f *implHeader) node(p *parser) *ast.ImplDecl {
	n := &ast.ImplDecl{Generics: f.Generics.nodes(p), Target: f.First}
	if f.Target != nil {
		n.Trait, n.Target = f.First, f.Target
	}
	return n
}

// modHeader is `mod name`, which a `;` or a `{` follows.
type modHeader struct {
	Name *captured `parser:"'mod' @Name"`
}

func (f *modHeader) node(p *parser) *ast.ModDecl {
	n := &ast.ModDecl{}
	n.Name = p.captured(f.Name)
	return n
}

// useItem is `use a::b::{c, d as e}`.
type useItem struct {
	Tree useTree `parser:"'use' @@"`
}

// useTree is one branch of a `use`: a name, followed by `::` and further branches, or by an alias.
type useTree struct {
	Name  *captured `parser:"@( Name | 'self' | 'Self' )"`
	Next  *useNext  `parser:"( '::' @@"`
	Alias *captured `parser:"| 'as' @Name )?"`
}

// useNext is the text after a `::`: another name, a glob or a list.
type useNext struct {
	Glob  *captured `parser:"  @'*'"`
	List  *useList  `parser:"| '{' @@?"`
	Close *captured `parser:"  @'}'"`
	Tree  *useTree  `parser:"| @@"`
}

type useList struct {
	Tree useTree  `parser:"@@"`
	Rest *useList `parser:"( ',' @@? )?"`
}

func (f *useItem) node(p *parser) *ast.UseDecl { return &ast.UseDecl{Tree: f.Tree.node(p)} }

func (f *useTree) node(p *parser) *ast.UseTree {
	n := &ast.UseTree{}
	n.Sp = span(f.Name)
	for t := f; ; t = t.Next.Tree {
		n.Path = append(n.Path, p.captured(t.Name))
		n.Sp = source.Join(n.Sp, span(t.Name))
		if t.Alias != nil {
			n.Alias = p.captured(t.Alias)
			n.Sp = source.Join(n.Sp, span(t.Alias))
		}
		if t.Next == nil {
			return n
		}
		if t.Next.Tree != nil {
			continue
		}
		if n.Glob = t.Next.Glob != nil; n.Glob {
			n.Sp = source.Join(n.Sp, span(t.Next.Glob))
			return n
		}
		n.List = []*ast.UseTree{}
		for l := t.Next.List; l != nil; l = l.Rest {
			n.List = append(n.List, l.Tree.node(p))
		}
		n.Sp = source.Join(n.Sp, span(t.Next.Close))
		return n
	}
}
