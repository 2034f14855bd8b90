package parser

import (
	plex "github.com/alecthomas/participle/v2/lexer"

	"github.com/concerto-lang/concerto/ast"
)

// structHeader is a struct up to its fields.
type structHeader struct {
	Name     plex.Token `parser:"'struct' @Name"`
	Generics *generics  `parser:"@@?"`
}

func (f *structHeader) node() *ast.StructDecl {
	n := &ast.StructDecl{Generics: f.Generics.nodes()}
	n.Name = identOf(f.Name)
	return n
}

// structField is `name: T = default`. Its `pub` is read before it: any word
// may name a field, `pub` too.
type structField struct {
	Name    plex.Token `parser:"@Word ':'"`
	Type    typeExpr   `parser:"@@"`
	Default expression `parser:"( '=' @@ )?"`
}

func (f *structField) node() *ast.FieldDecl {
	n := &ast.FieldDecl{Name: identOf(f.Name), Type: f.Type}
	if f.Default != nil {
		n.Default = f.Default
	}
	return n
}

// enumHeader is an enum up to its variants.
type enumHeader struct {
	Name     plex.Token `parser:"'enum' @Name"`
	Generics *generics  `parser:"@@?"`
}

func (f *enumHeader) node() *ast.EnumDecl {
	n := &ast.EnumDecl{Generics: f.Generics.nodes()}
	n.Name = identOf(f.Name)
	return n
}

// variant is a case of an enum, with a tuple or a named payload or none.
type variant struct {
	Name   plex.Token     `parser:"@Name"`
	Types  *typeList      `parser:"( '(' @@ ')'"`
	Brace  plex.Token     `parser:"| @'{'"`
	Fields *payloadFields `parser:"  @@? '}' )?"`
}

type typeList struct {
	Type typeExpr  `parser:"@@"`
	Rest *typeList `parser:"( ',' @@? )?"`
}

type payloadFields struct {
	Field *payloadField  `parser:"@@"`
	Rest  *payloadFields `parser:"( ',' @@? )?"`
}

type payloadField struct {
	Name plex.Token `parser:"@Word ':'"`
	Type typeExpr   `parser:"@@"`
}

func (f *variant) node(p *parser) *ast.Variant {
	n := &ast.Variant{Name: identOf(f.Name), Named: f.Brace.Value != ""}
	for l := f.Types; l != nil; l = l.Rest {
		n.Types = append(n.Types, l.Type)
	}
	for l := f.Fields; l != nil; l = l.Rest {
		d := &ast.FieldDecl{Name: identOf(l.Field.Name), Type: l.Field.Type}
		d.Sp.Start, d.Sp.End = d.Name.Sp.Start, d.Type.Span().End
		d.Doc = p.docBefore(d.Sp.Start)
		n.Fields = append(n.Fields, d)
	}
	return n
}

// schemaHeader is a schema up to its fields.
type schemaHeader struct {
	Name     plex.Token `parser:"'schema' @Name"`
	Generics *generics  `parser:"@@?"`
}

func (f *schemaHeader) node() *ast.SchemaDecl {
	n := &ast.SchemaDecl{Generics: f.Generics.nodes()}
	n.Name = identOf(f.Name)
	return n
}

// schemaField is `@describe("…") name?: T = default`.
type schemaField struct {
	Decorators []*decorator `parser:"@@*"`
	Name       plex.Token   `parser:"@Word"`
	Optional   plex.Token   `parser:"@'?'? ':'"`
	Type       typeExpr     `parser:"@@"`
	Default    expression   `parser:"( '=' @@ )?"`
}

func (f *schemaField) node() *ast.FieldDecl {
	n := &ast.FieldDecl{
		Decorators: decoratorNodes(f.Decorators), Name: identOf(f.Name),
		Optional: f.Optional.Value != "", Type: f.Type,
	}
	if f.Default != nil {
		n.Default = f.Default
	}
	return n
}

// typeAlias is `type Name<T> = T`.
type typeAlias struct {
	Name     plex.Token `parser:"'type' @Name"`
	Generics *generics  `parser:"@@?"`
	Type     typeExpr   `parser:"'=' @@"`
}

func (f *typeAlias) node() *ast.TypeDecl {
	n := &ast.TypeDecl{Generics: f.Generics.nodes(), Type: f.Type}
	n.Name = identOf(f.Name)
	return n
}

// constant is `const NAME: T = value`.
type constant struct {
	Name  plex.Token `parser:"'const' @Name"`
	Type  typeExpr   `parser:"( ':' @@ )?"`
	Value expression `parser:"'=' @@"`
}

func (f *constant) node() *ast.ConstDecl {
	n := &ast.ConstDecl{Value: f.Value}
	n.Name = identOf(f.Name)
	if f.Type != nil {
		n.Type = f.Type
	}
	return n
}
