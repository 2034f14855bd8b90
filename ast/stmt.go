package ast

// Stmt is a statement of a block.
//
//sumtype:decl
type Stmt interface {
	Node
	stmt()
}

// Block is `{ stmts tail }`. Tail is the last expression if no `;` follows it, or nil. It may also
// be an if, match, try, loop or block.
type Block struct {
	Base
	Stmts []Stmt
	Tail  Expr
}

// LetStmt is `let [mut] pattern [: T] [= e] [else { … }];`. Mut applies to all names that the
// pattern binds.
type LetStmt struct {
	Base
	Mut     bool
	Pattern Pattern
	Type    Type
	Value   Expr
	Else    *Block
}

// ExprStmt is an expression whose value is discarded. Semi reports whether a `;` follows the
// expression.
type ExprStmt struct {
	Base
	X    Expr
	Semi bool
}

// DeclStmt is a declaration in a block.
type DeclStmt struct {
	Base
	Decl Decl
}

// MockStmt is `mock Name { … }`.
type MockStmt struct {
	Base
	Name   *Ident
	Fields []*ConfigField
}

// BadStmt replaces a statement with syntax errors. Names are the names that occur in the
// statement's text.
type BadStmt struct {
	Base
	Names []*Ident
}

func (*LetStmt) stmt()  {}
func (*ExprStmt) stmt() {}
func (*DeclStmt) stmt() {}
func (*MockStmt) stmt() {}
func (*BadStmt) stmt()  {}
