package ast

// Stmt is a statement in a block.
type Stmt interface {
	Node
	stmt()
}

// Block is `{ stmts tail }`. Tail is the expression at the end without a `;`, which may also be an
// if, match, try, loop or block, or nil.
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

// ExprStmt is an expression whose value is discarded. Semi reports whether it was written with `;`.
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

// BadStmt replaces a statement with syntax errors. Names are the names in its text.
type BadStmt struct {
	Base
	Names []*Ident
}

func (*LetStmt) stmt()  {}
func (*ExprStmt) stmt() {}
func (*DeclStmt) stmt() {}
func (*MockStmt) stmt() {}
func (*BadStmt) stmt()  {}
