package parser

import "github.com/concerto-lang/concerto/ast"

// structHeader is the part of a struct before its fields.
type structHeader struct {
	Name     *captured `parser:"'struct' @Name"`
	Generics generics  `parser:"@@?"`
}

func (f *structHeader) node(p *parser) *ast.StructDecl {
	n := &ast.StructDecl{Generics: f.Generics.nodes(p)}
	n.Name = p.captured(f.Name)
	return n
}

// structField is `name: T = default`. The parser reads a `pub` before it separately, because any
// word may name a field, including `pub`.
type structField struct {
	Name    *captured `parser:"@Word ':'"`
	Type    ast.Type  `parser:"@@"`
	Default ast.Expr  `parser:"( '=' @@ )?"`
}

func (f *structField) node(p *parser) *ast.FieldDecl {
	return &ast.FieldDecl{Name: p.captured(f.Name), Type: f.Type, Default: f.Default}
}

// enumHeader is the part of an enum before its variants.
type enumHeader struct {
	Name     *captured `parser:"'enum' @Name"`
	Generics generics  `parser:"@@?"`
}

func (f *enumHeader) node(p *parser) *ast.EnumDecl {
	n := &ast.EnumDecl{Generics: f.Generics.nodes(p)}
	n.Name = p.captured(f.Name)
	return n
}

// variant is a variant of an enum, with or without a payload.
type variant struct {
	Name    *captured `parser:"@Name"`
	Payload payload   `parser:"@@?"`
}

func (f *variant) node(p *parser) *ast.Variant {
	return &ast.Variant{Name: p.captured(f.Name), Types: f.Payload.types, Fields: f.Payload.fields, Named: f.Payload.named}
}

// schemaHeader is the part of a schema before its fields.
type schemaHeader struct {
	Name     *captured `parser:"'schema' @Name"`
	Generics generics  `parser:"@@?"`
}

func (f *schemaHeader) node(p *parser) *ast.SchemaDecl {
	n := &ast.SchemaDecl{Generics: f.Generics.nodes(p)}
	n.Name = p.captured(f.Name)
	return n
}

// schemaField is `name?: T = default`.
type schemaField struct {
	Name     *captured `parser:"@Word"`
	Optional bool      `parser:"@'?'? ':'"`
	Type     ast.Type  `parser:"@@"`
	Default  ast.Expr  `parser:"( '=' @@ )?"`
}

func (f *schemaField) node(p *parser) *ast.FieldDecl {
	return &ast.FieldDecl{Name: p.captured(f.Name), Optional: f.Optional, Type: f.Type, Default: f.Default}
}

// typeAlias is `type Name<T> = T`.
type typeAlias struct {
	Name     *captured `parser:"'type' @Name"`
	Generics generics  `parser:"@@?"`
	Type     ast.Type  `parser:"'=' @@"`
}

func (f *typeAlias) node(p *parser) *ast.TypeDecl {
	n := &ast.TypeDecl{Generics: f.Generics.nodes(p), Type: f.Type}
	n.Name = p.captured(f.Name)
	return n
}

// constant is `const NAME: T = value`.
type constant struct {
	Name  *captured `parser:"'const' @Name"`
	Type  ast.Type  `parser:"( ':' @@ )?"`
	Value ast.Expr  `parser:"'=' @@"`
}

func (f *constant) node(p *parser) *ast.ConstDecl {
	n := &ast.ConstDecl{Type: f.Type, Value: f.Value}
	n.Name = p.captured(f.Name)
	return n
}
