package ast

import "slices"

// Visitor visits the nodes of a tree. Visit returns the visitor for the children of n, or nil to
// skip the children.
type Visitor interface {
	Visit(n Node) (w Visitor)
}

// Walk visits n with v, and the nodes below n with the visitors that Visit returns. It visits
// parents before their children, and children in the order of the text.
func Walk(v Visitor, n Node) {
	if v = v.Visit(n); v != nil {
		Children(n, func(c Node) { Walk(v, c) })
	}
}

// Children calls visit for each direct child of n, in the order of the text. It skips nil children.
// Names (Ident) count as nodes.
func Children(n Node, visit func(Node)) {
	if p, ok := n.(interface{ children(func(Node)) }); ok {
		p.children(visit)
	}
}

// one calls visit for a node, unless the node is nil.
func one[N interface {
	Node
	comparable
}](visit func(Node), n N) {
	var none N
	if n != none {
		visit(n)
	}
}

func each[N interface {
	Node
	comparable
}](visit func(Node), ns []N) {
	for _, n := range ns {
		one(visit, n)
	}
}

// Declarations.

func (h *DeclHead) prefix(v func(Node)) { each(v, h.Decorators); one(v, h.Name) }

func (n *Decorator) children(v func(Node)) { one(v, n.Name); each(v, n.Args) }
func (n *TypeParam) children(v func(Node)) { one(v, n.Name); each(v, n.Bounds) }
func (n *Param) children(v func(Node)) {
	each(v, n.Decorators)
	one(v, n.Name)
	one(v, n.Pattern)
	one(v, n.Type)
	one(v, n.Default)
}
func (n *FnDecl) children(v func(Node)) {
	n.prefix(v)
	each(v, n.Generics)
	each(v, n.Params)
	one(v, n.Result)
	one(v, n.Body)
}
func (n *FieldDecl) children(v func(Node)) {
	each(v, n.Decorators)
	one(v, n.Name)
	one(v, n.Type)
	one(v, n.Default)
}
func (n *StructDecl) children(v func(Node)) { n.prefix(v); each(v, n.Generics); each(v, n.Fields) }
func (n *SchemaDecl) children(v func(Node)) { n.prefix(v); each(v, n.Generics); each(v, n.Fields) }
func (n *Variant) children(v func(Node))    { one(v, n.Name); each(v, n.Types); each(v, n.Fields) }
func (n *EnumDecl) children(v func(Node))   { n.prefix(v); each(v, n.Generics); each(v, n.Variants) }
func (n *TraitDecl) children(v func(Node))  { n.prefix(v); each(v, n.Generics); each(v, n.Methods) }
func (n *ImplDecl) children(v func(Node)) {
	n.prefix(v)
	each(v, n.Generics)
	one(v, n.Trait)
	one(v, n.Target)
	each(v, n.Methods)
}
func (n *TypeDecl) children(v func(Node))    { n.prefix(v); each(v, n.Generics); one(v, n.Type) }
func (n *ConstDecl) children(v func(Node))   { n.prefix(v); one(v, n.Type); one(v, n.Value) }
func (n *ModDecl) children(v func(Node))     { n.prefix(v); each(v, n.Decls) }
func (n *UseTree) children(v func(Node))     { each(v, n.Path); each(v, n.List); one(v, n.Alias) }
func (n *UseDecl) children(v func(Node))     { n.prefix(v); one(v, n.Tree) }
func (n *ConfigField) children(v func(Node)) { one(v, n.Name); one(v, n.Value) }
func (n *AgentDecl) children(v func(Node))   { n.prefix(v); one(v, n.Uses); each(v, n.Fields) }
func (n *HostDecl) children(v func(Node))    { n.prefix(v); each(v, n.Fields) }
func (n *ToolDecl) children(v func(Node)) {
	n.prefix(v)
	var members []Node
	add := func(m Node) { members = append(members, m) }
	one(add, n.Description)
	each(add, n.Fields)
	each(add, n.Methods)
	slices.SortStableFunc(members, func(a, b Node) int { return int(a.Span().Start - b.Span().Start) })
	each(v, members)
}
func (n *McpDecl) children(v func(Node)) { n.prefix(v); each(v, n.Methods) }
func (n *PipelineDecl) children(v func(Node)) {
	n.prefix(v)
	each(v, n.Params)
	one(v, n.Result)
	each(v, n.Stages)
}
func (n *Stage) children(v func(Node)) {
	each(v, n.Decorators)
	one(v, n.Name)
	each(v, n.Params)
	one(v, n.Result)
	one(v, n.Body)
	one(v, n.Value)
}
func (n *StoreDecl) children(v func(Node)) { n.prefix(v); one(v, n.Type); one(v, n.Value) }
func (n *BadDecl) children(v func(Node))   { n.prefix(v); each(v, n.Names) }

// Statements.

func (n *Block) children(v func(Node)) { each(v, n.Stmts); one(v, n.Tail) }
func (n *LetStmt) children(v func(Node)) {
	one(v, n.Pattern)
	one(v, n.Type)
	one(v, n.Value)
	one(v, n.Else)
}
func (n *ExprStmt) children(v func(Node)) { one(v, n.X) }
func (n *DeclStmt) children(v func(Node)) { one(v, n.Decl) }
func (n *MockStmt) children(v func(Node)) { one(v, n.Name); each(v, n.Fields) }
func (n *BadStmt) children(v func(Node))  { each(v, n.Names) }

// Types.

func (n *NamedType) children(v func(Node))  { each(v, n.Segments); each(v, n.Args) }
func (n *OptionType) children(v func(Node)) { one(v, n.Elem) }
func (n *TupleType) children(v func(Node))  { each(v, n.Elems) }
func (n *FnType) children(v func(Node))     { each(v, n.Params); one(v, n.Result) }
func (n *UnionType) children(v func(Node))  { each(v, n.Alts) }

// Patterns.

func (n *NamePat) children(v func(Node))  { one(v, n.Name) }
func (n *BindPat) children(v func(Node))  { one(v, n.Name); one(v, n.Pattern) }
func (n *LitPat) children(v func(Node))   { one(v, n.Value) }
func (n *RangePat) children(v func(Node)) { one(v, n.Lo); one(v, n.Hi) }
func (n *OrPat) children(v func(Node))    { each(v, n.Alts) }
func (n *TuplePat) children(v func(Node)) { each(v, n.Elems) }
func (n *ArrayPat) children(v func(Node)) {
	if n.RestName == nil {
		each(v, n.Elems)
		return
	}
	each(v, n.Elems[:n.Rest])
	v(n.RestName)
	each(v, n.Elems[n.Rest:])
}
func (n *FieldPat) children(v func(Node)) {
	if !n.Short { // the name is the pattern of the short form
		one(v, n.Name)
	}
	one(v, n.Pattern)
}
func (n *StructPat) children(v func(Node))  { one(v, n.Path); each(v, n.Fields) }
func (n *VariantPat) children(v func(Node)) { one(v, n.Path); each(v, n.Elems) }
func (n *PathPat) children(v func(Node))    { one(v, n.Path) }

// Expressions.

func (n *InterpLit) children(v func(Node)) { each(v, n.Exprs) }
func (n *PathExpr) children(v func(Node)) {
	if n.ArgsAt < 0 {
		each(v, n.Segments)
		return
	}
	each(v, n.Segments[:n.ArgsAt+1])
	each(v, n.TypeArgs)
	each(v, n.Segments[n.ArgsAt+1:])
}
func (n *ParenExpr) children(v func(Node)) { one(v, n.X) }
func (n *ArrayLit) children(v func(Node))  { each(v, n.Elems) }
func (n *MapEntry) children(v func(Node))  { one(v, n.Key); one(v, n.Value) }
func (n *MapLit) children(v func(Node))    { each(v, n.Entries) }
func (n *TupleLit) children(v func(Node))  { each(v, n.Elems) }
func (n *FieldInit) children(v func(Node)) {
	if !n.Short { // the name is the value of the short form
		one(v, n.Name)
	}
	one(v, n.Value)
}
func (n *StructLit) children(v func(Node)) { one(v, n.Path); each(v, n.Fields); one(v, n.Rest) }
func (n *Unary) children(v func(Node))     { one(v, n.X) }
func (n *Binary) children(v func(Node))    { one(v, n.X); one(v, n.Y) }
func (n *Assign) children(v func(Node))    { one(v, n.Target); one(v, n.Value) }
func (n *Pipe) children(v func(Node))      { one(v, n.X); one(v, n.Right) }
func (n *RangeExpr) children(v func(Node)) { one(v, n.Lo); one(v, n.Hi) }
func (n *Cast) children(v func(Node))      { one(v, n.X); one(v, n.Type) }
func (n *Arg) children(v func(Node))       { one(v, n.Name); one(v, n.Value) }
func (n *Call) children(v func(Node))      { one(v, n.Fn); each(v, n.Args) }
func (n *MethodCall) children(v func(Node)) {
	one(v, n.Recv)
	one(v, n.Name)
	each(v, n.TypeArgs)
	each(v, n.Args)
}
func (n *FieldExpr) children(v func(Node))  { one(v, n.X); one(v, n.Name) }
func (n *TupleIndex) children(v func(Node)) { one(v, n.X) }
func (n *IndexExpr) children(v func(Node))  { one(v, n.X); one(v, n.Index) }
func (n *Question) children(v func(Node))   { one(v, n.X) }
func (n *Await) children(v func(Node))      { one(v, n.X) }
func (n *AwaitAll) children(v func(Node))   { each(v, n.Elems) }
func (n *Race) children(v func(Node))       { each(v, n.Elems) }
func (n *ParallelFor) children(v func(Node)) {
	one(v, n.Limit)
	one(v, n.Pattern)
	one(v, n.Iter)
	one(v, n.Body)
}
func (n *IfExpr) children(v func(Node))    { one(v, n.Cond); one(v, n.Then); one(v, n.Else) }
func (n *LetCond) children(v func(Node))   { one(v, n.Pattern); one(v, n.X) }
func (n *Arm) children(v func(Node))       { one(v, n.Pattern); one(v, n.Guard); one(v, n.Body) }
func (n *MatchExpr) children(v func(Node)) { one(v, n.Subject); each(v, n.Arms) }
func (n *ForExpr) children(v func(Node)) {
	one(v, n.Label)
	one(v, n.Pattern)
	one(v, n.Iter)
	one(v, n.Body)
}
func (n *WhileExpr) children(v func(Node)) { one(v, n.Label); one(v, n.Cond); one(v, n.Body) }
func (n *LoopExpr) children(v func(Node))  { one(v, n.Label); one(v, n.Body) }
func (n *BlockExpr) children(v func(Node)) { one(v, n.Block) }
func (n *Catch) children(v func(Node))     { one(v, n.Type); one(v, n.Name); one(v, n.Body) }
func (n *TryExpr) children(v func(Node))   { one(v, n.Body); each(v, n.Catches) }
func (n *Closure) children(v func(Node))   { each(v, n.Params); one(v, n.Result); one(v, n.Body) }
func (n *EmitExpr) children(v func(Node))  { one(v, n.Type); one(v, n.Channel); one(v, n.Payload) }
func (n *Handler) children(v func(Node))   { one(v, n.Type); one(v, n.Value) }
func (n *ListenExpr) children(v func(Node)) {
	one(v, n.Call)
	each(v, n.Handlers)
}
func (n *ReturnExpr) children(v func(Node))   { one(v, n.X) }
func (n *BreakExpr) children(v func(Node))    { one(v, n.Label); one(v, n.X) }
func (n *ContinueExpr) children(v func(Node)) { one(v, n.Label) }
func (n *ThrowExpr) children(v func(Node))    { one(v, n.X) }
func (n *BadExpr) children(v func(Node))      { each(v, n.Names) }
