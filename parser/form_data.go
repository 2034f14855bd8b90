package parser

import "github.com/concerto-lang/concerto/ast"

// structHeader is a struct up to its fields.
type structHeader struct {
	Head     fixed     `parser:"'struct' Name"`
	Generics *generics `parser:"@@?"`
}

func (f *structHeader) node(name *ast.Ident) *ast.StructDecl {
	n := &ast.StructDecl{Generics: f.Generics.nodes()}
	n.Name = name
	return n
}

// structField is `name: T = default`. Its `pub` is read before it: any word
// may name a field, `pub` too.
type structField struct {
	Head    fixed      `parser:"Word ':'"`
	Type    typeExpr   `parser:"@@"`
	Default expression `parser:"( '=' @@ )?"`
}

func (f *structField) node(name *ast.Ident) *ast.FieldDecl {
	n := &ast.FieldDecl{Name: name, Type: f.Type}
	if f.Default != nil {
		n.Default = f.Default
	}
	return n
}

// enumHeader is an enum up to its variants.
type enumHeader struct {
	Head     fixed     `parser:"'enum' Name"`
	Generics *generics `parser:"@@?"`
}

func (f *enumHeader) node(name *ast.Ident) *ast.EnumDecl {
	n := &ast.EnumDecl{Generics: f.Generics.nodes()}
	n.Name = name
	return n
}

// variant is a case of an enum, with a payload or without.
type variant struct {
	Head    fixed   `parser:"Name"`
	Payload payload `parser:"@@?"`
}

func (f *variant) node(name *ast.Ident) *ast.Variant {
	n := &ast.Variant{Name: name}
	if f.Payload != nil {
		f.Payload.into(n)
	}
	return n
}

// schemaHeader is a schema up to its fields.
type schemaHeader struct {
	Head     fixed     `parser:"'schema' Name"`
	Generics *generics `parser:"@@?"`
}

func (f *schemaHeader) node(name *ast.Ident) *ast.SchemaDecl {
	n := &ast.SchemaDecl{Generics: f.Generics.nodes()}
	n.Name = name
	return n
}

// schemaField is `name?: T = default`.
type schemaField struct {
	Head    fixed      `parser:"Word '?'? ':'"`
	Type    typeExpr   `parser:"@@"`
	Default expression `parser:"( '=' @@ )?"`
}

func (f *schemaField) node(name *ast.Ident) *ast.FieldDecl {
	n := &ast.FieldDecl{Name: name, Type: f.Type}
	if f.Default != nil {
		n.Default = f.Default
	}
	return n
}

// typeAlias is `type Name<T> = T`.
type typeAlias struct {
	Head     fixed     `parser:"'type' Name"`
	Generics *generics `parser:"@@?"`
	Type     typeExpr  `parser:"'=' @@"`
}

func (f *typeAlias) node(name *ast.Ident) *ast.TypeDecl {
	n := &ast.TypeDecl{Generics: f.Generics.nodes(), Type: f.Type}
	n.Name = name
	return n
}

// constant is `const NAME: T = value`.
type constant struct {
	Head  fixed      `parser:"'const' Name"`
	Type  typeExpr   `parser:"( ':' @@ )?"`
	Value expression `parser:"'=' @@"`
}

func (f *constant) node(name *ast.Ident) *ast.ConstDecl {
	n := &ast.ConstDecl{Value: f.Value}
	n.Name = name
	if f.Type != nil {
		n.Type = f.Type
	}
	return n
}
