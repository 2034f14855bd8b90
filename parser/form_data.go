package parser

import "github.com/concerto-lang/concerto/ast"

// structHeader is a struct up to its fields.
type structHeader struct {
	Name     *name    `parser:"'struct' @Name"`
	Generics generics `parser:"@@?"`
}

func (f *structHeader) node() *ast.StructDecl {
	n := &ast.StructDecl{Generics: f.Generics.nodes()}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// structField is `name: T = default`. Its `pub` is read before it: any word
// may name a field, `pub` too.
type structField struct {
	Name    *word    `parser:"@Word ':'"`
	Type    ast.Type `parser:"@@"`
	Default ast.Expr `parser:"( '=' @@ )?"`
}

func (f *structField) node() *ast.FieldDecl {
	return &ast.FieldDecl{Name: (*ast.Ident)(f.Name), Type: f.Type, Default: f.Default}
}

// enumHeader is an enum up to its variants.
type enumHeader struct {
	Name     *name    `parser:"'enum' @Name"`
	Generics generics `parser:"@@?"`
}

func (f *enumHeader) node() *ast.EnumDecl {
	n := &ast.EnumDecl{Generics: f.Generics.nodes()}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// variant is a case of an enum, with a payload or without.
type variant struct {
	Name    *name   `parser:"@Name"`
	Payload payload `parser:"@@?"`
}

func (f *variant) node() *ast.Variant {
	return &ast.Variant{Name: (*ast.Ident)(f.Name), Types: f.Payload.types, Fields: f.Payload.fields, Named: f.Payload.named}
}

// schemaHeader is a schema up to its fields.
type schemaHeader struct {
	Name     *name    `parser:"'schema' @Name"`
	Generics generics `parser:"@@?"`
}

func (f *schemaHeader) node() *ast.SchemaDecl {
	n := &ast.SchemaDecl{Generics: f.Generics.nodes()}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// schemaField is `name?: T = default`.
type schemaField struct {
	Name     *word    `parser:"@Word"`
	Optional bool     `parser:"@'?'? ':'"`
	Type     ast.Type `parser:"@@"`
	Default  ast.Expr `parser:"( '=' @@ )?"`
}

func (f *schemaField) node() *ast.FieldDecl {
	return &ast.FieldDecl{Name: (*ast.Ident)(f.Name), Optional: f.Optional, Type: f.Type, Default: f.Default}
}

// typeAlias is `type Name<T> = T`.
type typeAlias struct {
	Name     *name    `parser:"'type' @Name"`
	Generics generics `parser:"@@?"`
	Type     ast.Type `parser:"'=' @@"`
}

func (f *typeAlias) node() *ast.TypeDecl {
	n := &ast.TypeDecl{Generics: f.Generics.nodes(), Type: f.Type}
	n.Name = (*ast.Ident)(f.Name)
	return n
}

// constant is `const NAME: T = value`.
type constant struct {
	Name  *name    `parser:"'const' @Name"`
	Type  ast.Type `parser:"( ':' @@ )?"`
	Value ast.Expr `parser:"'=' @@"`
}

func (f *constant) node() *ast.ConstDecl {
	n := &ast.ConstDecl{Type: f.Type, Value: f.Value}
	n.Name = (*ast.Ident)(f.Name)
	return n
}
