// Package ast defines Concerto's syntax tree. The parser creates the tree; the checker and the
// formatter read it. The package does not depend on the parser. Nodes are immutable after parsing.
// Later stages store their results in separate tables, indexed by the dense ids of expressions,
// patterns and types.
package ast

import "github.com/concerto-lang/concerto/internal/text/source"

// Node is a part of the syntax tree. Its span extends from its first token to its last.
type Node interface {
	Span() source.Span
}

// ID numbers the expressions, patterns and types of one File without gaps from 0. A table over them
// is a slice of length File.IDs.
type ID int32

// Base holds a node's span. Node types embed it.
type Base struct{ Sp source.Span }

// Span returns the node's span.
func (b *Base) Span() source.Span { return b.Sp }

// IDBase is a Base with an id. Expressions, patterns and types embed it.
type IDBase struct {
	Base
	Id ID
}

// ID returns the node's id.
func (b *IDBase) ID() ID { return b.Id }

// Ident is a name in the source text.
type Ident struct {
	Base
	Name string
}

// File is one parsed source file.
type File struct {
	Source   *source.File
	Decls    []Decl
	Comments []Comment // all comments in the order of the text, including doc comments
	IDs      int       // number of ids in the file
	Flaws    []Flaw    // syntax errors that make the tree incomplete, in the order of their discovery
}

// Comment is one comment, including its delimiters.
type Comment struct {
	Base
	Doc bool // the comment starts with ///
}

// Decorator is `@name(args)`.
type Decorator struct {
	Base
	Name *Ident
	Args []*Arg
}
