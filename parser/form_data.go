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

// variant is a case of an enum, with a payload or without.
type variant struct {
	Name    plex.Token `parser:"@Name"`
	Payload payload    `parser:"@@?"`
}

func (f *variant) node() *ast.Variant {
	n := &ast.Variant{Name: identOf(f.Name)}
	if f.Payload != nil {
		f.Payload.into(n)
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
