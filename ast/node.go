// Package ast defines Concerto's syntax tree, which the parser creates and the checker and the
// formatter read. Its API is not covered by the compatibility promise. It does not depend on the
// parser. Nodes are immutable after parsing. The results of later stages are in separate tables,
// indexed by the dense ids of expressions, patterns and types.
package ast

import "github.com/concerto-lang/concerto/internal/text/source"

// Node is anything with a position in the text: the span from its first token to its last.
type Node interface {
	Span() source.Span
}

// ID numbers the expressions, patterns and types of one File densely from 0, so that tables over
// them are slices of length File.IDs.
type ID int32

// Base holds a node's span. Embed it.
type Base struct{ Sp source.Span }

// Span returns the node's span.
func (b *Base) Span() source.Span { return b.Sp }

// IDBase is Base with a dense id.
type IDBase struct {
	Base
	Id ID
}

// ID returns the node's dense id.
func (b *IDBase) ID() ID { return b.Id }

// Ident is a name as written.
type Ident struct {
	Base
	Name string
}

// File is one parsed source file.
type File struct {
	Source   *source.File
	Decls    []Decl
	Comments []Comment // in order of appearance, including doc comments
	IDs      int       // the number of ids that the file's nodes use
	Flaws    []Flaw    // of a text with syntax errors, in order of discovery
}

// Comment is one comment with its delimiters.
type Comment struct {
	Base
	Doc bool // starts with ///
}

// Decorator is `@name(args)`.
type Decorator struct {
	Base
	Name *Ident
	Args []*Arg
}
