// Code generated from the node types by "make gen"; DO NOT EDIT.

package ast

func tagOf(n Node) int {
	switch n.(type) {
	case *AgentDecl:
		return 1
	case *ArrayLit:
		return 2
	case *ArrayPat:
		return 3
	case *Assign:
		return 4
	case *Await:
		return 5
	case *AwaitAll:
		return 6
	case *BadDecl:
		return 7
	case *BadExpr:
		return 8
	case *BadPat:
		return 9
	case *BadStmt:
		return 10
	case *BadType:
		return 11
	case *Binary:
		return 12
	case *BindPat:
		return 13
	case *BlockExpr:
		return 14
	case *BoolLit:
		return 15
	case *BreakExpr:
		return 16
	case *Call:
		return 17
	case *Cast:
		return 18
	case *Closure:
		return 19
	case *ConstDecl:
		return 20
	case *ContinueExpr:
		return 21
	case *DeclStmt:
		return 22
	case *EmitExpr:
		return 23
	case *EnumDecl:
		return 24
	case *ExprStmt:
		return 25
	case *FieldExpr:
		return 26
	case *FloatLit:
		return 27
	case *FnDecl:
		return 28
	case *FnType:
		return 29
	case *ForExpr:
		return 30
	case *HostDecl:
		return 31
	case *IfExpr:
		return 32
	case *ImplDecl:
		return 33
	case *IndexExpr:
		return 34
	case *IntLit:
		return 35
	case *InterpLit:
		return 36
	case *LetCond:
		return 37
	case *LetStmt:
		return 38
	case *ListenExpr:
		return 39
	case *LitPat:
		return 40
	case *LitType:
		return 41
	case *LoopExpr:
		return 42
	case *MapLit:
		return 43
	case *MatchExpr:
		return 44
	case *McpDecl:
		return 45
	case *MethodCall:
		return 46
	case *MockStmt:
		return 47
	case *ModDecl:
		return 48
	case *NamePat:
		return 49
	case *NamedType:
		return 50
	case *NilLit:
		return 51
	case *OptionType:
		return 52
	case *OrPat:
		return 53
	case *ParallelFor:
		return 54
	case *ParenExpr:
		return 55
	case *PathExpr:
		return 56
	case *PathPat:
		return 57
	case *Pipe:
		return 58
	case *PipelineDecl:
		return 59
	case *Question:
		return 60
	case *Race:
		return 61
	case *RangeExpr:
		return 62
	case *RangePat:
		return 63
	case *ReturnExpr:
		return 64
	case *SchemaDecl:
		return 65
	case *StoreDecl:
		return 66
	case *StringLit:
		return 67
	case *StructDecl:
		return 68
	case *StructLit:
		return 69
	case *StructPat:
		return 70
	case *ThrowExpr:
		return 71
	case *ToolDecl:
		return 72
	case *TraitDecl:
		return 73
	case *TryExpr:
		return 74
	case *TupleIndex:
		return 75
	case *TupleLit:
		return 76
	case *TuplePat:
		return 77
	case *TupleType:
		return 78
	case *TypeDecl:
		return 79
	case *Unary:
		return 80
	case *UnionType:
		return 81
	case *UseDecl:
		return 82
	case *VariantPat:
		return 83
	case *WhileExpr:
		return 84
	case *WildPat:
		return 85
	}
	return 0
}

func (d *decoder) node() Node {
	switch d.uint() {
	case 1:
		x := &AgentDecl{}
		d.inAgentDecl(x)
		return x
	case 2:
		x := &ArrayLit{}
		d.inArrayLit(x)
		return x
	case 3:
		x := &ArrayPat{}
		d.inArrayPat(x)
		return x
	case 4:
		x := &Assign{}
		d.inAssign(x)
		return x
	case 5:
		x := &Await{}
		d.inAwait(x)
		return x
	case 6:
		x := &AwaitAll{}
		d.inAwaitAll(x)
		return x
	case 7:
		x := &BadDecl{}
		d.inBadDecl(x)
		return x
	case 8:
		x := &BadExpr{}
		d.inBadExpr(x)
		return x
	case 9:
		x := &BadPat{}
		d.inBadPat(x)
		return x
	case 10:
		x := &BadStmt{}
		d.inBadStmt(x)
		return x
	case 11:
		x := &BadType{}
		d.inBadType(x)
		return x
	case 12:
		x := &Binary{}
		d.inBinary(x)
		return x
	case 13:
		x := &BindPat{}
		d.inBindPat(x)
		return x
	case 14:
		x := &BlockExpr{}
		d.inBlockExpr(x)
		return x
	case 15:
		x := &BoolLit{}
		d.inBoolLit(x)
		return x
	case 16:
		x := &BreakExpr{}
		d.inBreakExpr(x)
		return x
	case 17:
		x := &Call{}
		d.inCall(x)
		return x
	case 18:
		x := &Cast{}
		d.inCast(x)
		return x
	case 19:
		x := &Closure{}
		d.inClosure(x)
		return x
	case 20:
		x := &ConstDecl{}
		d.inConstDecl(x)
		return x
	case 21:
		x := &ContinueExpr{}
		d.inContinueExpr(x)
		return x
	case 22:
		x := &DeclStmt{}
		d.inDeclStmt(x)
		return x
	case 23:
		x := &EmitExpr{}
		d.inEmitExpr(x)
		return x
	case 24:
		x := &EnumDecl{}
		d.inEnumDecl(x)
		return x
	case 25:
		x := &ExprStmt{}
		d.inExprStmt(x)
		return x
	case 26:
		x := &FieldExpr{}
		d.inFieldExpr(x)
		return x
	case 27:
		x := &FloatLit{}
		d.inFloatLit(x)
		return x
	case 28:
		x := &FnDecl{}
		d.inFnDecl(x)
		return x
	case 29:
		x := &FnType{}
		d.inFnType(x)
		return x
	case 30:
		x := &ForExpr{}
		d.inForExpr(x)
		return x
	case 31:
		x := &HostDecl{}
		d.inHostDecl(x)
		return x
	case 32:
		x := &IfExpr{}
		d.inIfExpr(x)
		return x
	case 33:
		x := &ImplDecl{}
		d.inImplDecl(x)
		return x
	case 34:
		x := &IndexExpr{}
		d.inIndexExpr(x)
		return x
	case 35:
		x := &IntLit{}
		d.inIntLit(x)
		return x
	case 36:
		x := &InterpLit{}
		d.inInterpLit(x)
		return x
	case 37:
		x := &LetCond{}
		d.inLetCond(x)
		return x
	case 38:
		x := &LetStmt{}
		d.inLetStmt(x)
		return x
	case 39:
		x := &ListenExpr{}
		d.inListenExpr(x)
		return x
	case 40:
		x := &LitPat{}
		d.inLitPat(x)
		return x
	case 41:
		x := &LitType{}
		d.inLitType(x)
		return x
	case 42:
		x := &LoopExpr{}
		d.inLoopExpr(x)
		return x
	case 43:
		x := &MapLit{}
		d.inMapLit(x)
		return x
	case 44:
		x := &MatchExpr{}
		d.inMatchExpr(x)
		return x
	case 45:
		x := &McpDecl{}
		d.inMcpDecl(x)
		return x
	case 46:
		x := &MethodCall{}
		d.inMethodCall(x)
		return x
	case 47:
		x := &MockStmt{}
		d.inMockStmt(x)
		return x
	case 48:
		x := &ModDecl{}
		d.inModDecl(x)
		return x
	case 49:
		x := &NamePat{}
		d.inNamePat(x)
		return x
	case 50:
		x := &NamedType{}
		d.inNamedType(x)
		return x
	case 51:
		x := &NilLit{}
		d.inNilLit(x)
		return x
	case 52:
		x := &OptionType{}
		d.inOptionType(x)
		return x
	case 53:
		x := &OrPat{}
		d.inOrPat(x)
		return x
	case 54:
		x := &ParallelFor{}
		d.inParallelFor(x)
		return x
	case 55:
		x := &ParenExpr{}
		d.inParenExpr(x)
		return x
	case 56:
		x := &PathExpr{}
		d.inPathExpr(x)
		return x
	case 57:
		x := &PathPat{}
		d.inPathPat(x)
		return x
	case 58:
		x := &Pipe{}
		d.inPipe(x)
		return x
	case 59:
		x := &PipelineDecl{}
		d.inPipelineDecl(x)
		return x
	case 60:
		x := &Question{}
		d.inQuestion(x)
		return x
	case 61:
		x := &Race{}
		d.inRace(x)
		return x
	case 62:
		x := &RangeExpr{}
		d.inRangeExpr(x)
		return x
	case 63:
		x := &RangePat{}
		d.inRangePat(x)
		return x
	case 64:
		x := &ReturnExpr{}
		d.inReturnExpr(x)
		return x
	case 65:
		x := &SchemaDecl{}
		d.inSchemaDecl(x)
		return x
	case 66:
		x := &StoreDecl{}
		d.inStoreDecl(x)
		return x
	case 67:
		x := &StringLit{}
		d.inStringLit(x)
		return x
	case 68:
		x := &StructDecl{}
		d.inStructDecl(x)
		return x
	case 69:
		x := &StructLit{}
		d.inStructLit(x)
		return x
	case 70:
		x := &StructPat{}
		d.inStructPat(x)
		return x
	case 71:
		x := &ThrowExpr{}
		d.inThrowExpr(x)
		return x
	case 72:
		x := &ToolDecl{}
		d.inToolDecl(x)
		return x
	case 73:
		x := &TraitDecl{}
		d.inTraitDecl(x)
		return x
	case 74:
		x := &TryExpr{}
		d.inTryExpr(x)
		return x
	case 75:
		x := &TupleIndex{}
		d.inTupleIndex(x)
		return x
	case 76:
		x := &TupleLit{}
		d.inTupleLit(x)
		return x
	case 77:
		x := &TuplePat{}
		d.inTuplePat(x)
		return x
	case 78:
		x := &TupleType{}
		d.inTupleType(x)
		return x
	case 79:
		x := &TypeDecl{}
		d.inTypeDecl(x)
		return x
	case 80:
		x := &Unary{}
		d.inUnary(x)
		return x
	case 81:
		x := &UnionType{}
		d.inUnionType(x)
		return x
	case 82:
		x := &UseDecl{}
		d.inUseDecl(x)
		return x
	case 83:
		x := &VariantPat{}
		d.inVariantPat(x)
		return x
	case 84:
		x := &WhileExpr{}
		d.inWhileExpr(x)
		return x
	case 85:
		x := &WildPat{}
		d.inWildPat(x)
		return x
	}
	return nil
}

func (d *decoder) inAgentDecl(x *AgentDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Uses = d.newIdent()
	x.Fields = list(d, (*decoder).newConfigField)
}

func (d *decoder) inArg(x *Arg) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Value = child[Expr](d)
}

func (d *decoder) inArm(x *Arm) {
	d.inBase(&x.Base)
	x.Pattern = child[Pattern](d)
	x.Guard = child[Expr](d)
	x.Body = child[Expr](d)
}

func (d *decoder) inArrayLit(x *ArrayLit) {
	d.inIDBase(&x.IDBase)
	x.Elems = list(d, child[Expr])
}

func (d *decoder) inArrayPat(x *ArrayPat) {
	d.inIDBase(&x.IDBase)
	x.Elems = list(d, child[Pattern])
	x.Rest = number[int](d)
	x.RestName = d.newNamePat()
}

func (d *decoder) inAssign(x *Assign) {
	d.inIDBase(&x.IDBase)
	x.Op = number[Op](d)
	x.OpSpan = d.span()
	x.Target = child[Expr](d)
	x.Value = child[Expr](d)
}

func (d *decoder) inAwait(x *Await) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
	x.Postfix = d.bool()
}

func (d *decoder) inAwaitAll(x *AwaitAll) {
	d.inIDBase(&x.IDBase)
	x.Elems = list(d, child[Expr])
}

func (d *decoder) inBadDecl(x *BadDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Names = list(d, (*decoder).newIdent)
}

func (d *decoder) inBadExpr(x *BadExpr) {
	d.inIDBase(&x.IDBase)
	x.Names = list(d, (*decoder).newIdent)
}

func (d *decoder) inBadPat(x *BadPat) {
	d.inIDBase(&x.IDBase)
}

func (d *decoder) inBadStmt(x *BadStmt) {
	d.inBase(&x.Base)
	x.Names = list(d, (*decoder).newIdent)
}

func (d *decoder) inBadType(x *BadType) {
	d.inIDBase(&x.IDBase)
}

func (d *decoder) inBase(x *Base) {
	x.Sp = d.span()
}

func (d *decoder) inBinary(x *Binary) {
	d.inIDBase(&x.IDBase)
	x.Op = number[Op](d)
	x.OpSpan = d.span()
	x.X = child[Expr](d)
	x.Y = child[Expr](d)
}

func (d *decoder) inBindPat(x *BindPat) {
	d.inIDBase(&x.IDBase)
	x.Name = d.newIdent()
	x.Pattern = child[Pattern](d)
}

func (d *decoder) inBlock(x *Block) {
	d.inBase(&x.Base)
	x.Stmts = list(d, child[Stmt])
	x.Tail = child[Expr](d)
}

func (d *decoder) inBlockExpr(x *BlockExpr) {
	d.inIDBase(&x.IDBase)
	x.Block = d.newBlock()
}

func (d *decoder) inBoolLit(x *BoolLit) {
	d.inIDBase(&x.IDBase)
	x.Value = d.bool()
}

func (d *decoder) inBreakExpr(x *BreakExpr) {
	d.inIDBase(&x.IDBase)
	x.Label = d.newIdent()
	x.X = child[Expr](d)
}

func (d *decoder) inCall(x *Call) {
	d.inIDBase(&x.IDBase)
	x.Fn = child[Expr](d)
	x.Args = list(d, (*decoder).newArg)
}

func (d *decoder) inCast(x *Cast) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
	x.Type = child[Type](d)
}

func (d *decoder) inCatch(x *Catch) {
	d.inBase(&x.Base)
	x.Type = child[Type](d)
	x.Name = d.newIdent()
	x.Body = d.newBlock()
}

func (d *decoder) inClosure(x *Closure) {
	d.inIDBase(&x.IDBase)
	x.Fn = d.bool()
	x.Params = list(d, (*decoder).newParam)
	x.Result = child[Type](d)
	x.Body = child[Expr](d)
}

func (d *decoder) inConfigField(x *ConfigField) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Value = child[Expr](d)
}

func (d *decoder) inConstDecl(x *ConstDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Type = child[Type](d)
	x.Value = child[Expr](d)
}

func (d *decoder) inContinueExpr(x *ContinueExpr) {
	d.inIDBase(&x.IDBase)
	x.Label = d.newIdent()
}

func (d *decoder) inDeclHead(x *DeclHead) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Doc = d.string()
	x.Decorators = list(d, (*decoder).newDecorator)
	x.Pub = d.bool()
}

func (d *decoder) inDeclStmt(x *DeclStmt) {
	d.inBase(&x.Base)
	x.Decl = child[Decl](d)
}

func (d *decoder) inDecorator(x *Decorator) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Args = list(d, (*decoder).newArg)
}

func (d *decoder) inEmitExpr(x *EmitExpr) {
	d.inIDBase(&x.IDBase)
	x.Await = d.bool()
	x.Type = child[Type](d)
	x.Channel = child[Expr](d)
	x.Payload = child[Expr](d)
}

func (d *decoder) inEnumDecl(x *EnumDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Generics = list(d, (*decoder).newTypeParam)
	x.Variants = list(d, (*decoder).newVariant)
}

func (d *decoder) inExprStmt(x *ExprStmt) {
	d.inBase(&x.Base)
	x.X = child[Expr](d)
	x.Semi = d.bool()
}

func (d *decoder) inFieldDecl(x *FieldDecl) {
	d.inBase(&x.Base)
	x.Doc = d.string()
	x.Decorators = list(d, (*decoder).newDecorator)
	x.Pub = d.bool()
	x.Name = d.newIdent()
	x.Optional = d.bool()
	x.Type = child[Type](d)
	x.Default = child[Expr](d)
}

func (d *decoder) inFieldExpr(x *FieldExpr) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
	x.Name = d.newIdent()
}

func (d *decoder) inFieldInit(x *FieldInit) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Value = child[Expr](d)
	x.Short = d.bool()
}

func (d *decoder) inFieldPat(x *FieldPat) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Pattern = child[Pattern](d)
	x.Short = d.bool()
}

func (d *decoder) inFloatLit(x *FloatLit) {
	d.inIDBase(&x.IDBase)
	x.Value = d.float64()
}

func (d *decoder) inFnDecl(x *FnDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Async = d.bool()
	x.Generics = list(d, (*decoder).newTypeParam)
	x.Params = list(d, (*decoder).newParam)
	x.Result = child[Type](d)
	x.Body = d.newBlock()
	x.Signature = d.span()
}

func (d *decoder) inFnType(x *FnType) {
	d.inIDBase(&x.IDBase)
	x.Params = list(d, child[Type])
	x.Result = child[Type](d)
}

func (d *decoder) inForExpr(x *ForExpr) {
	d.inIDBase(&x.IDBase)
	x.Label = d.newIdent()
	x.Pattern = child[Pattern](d)
	x.Iter = child[Expr](d)
	x.Body = d.newBlock()
}

func (d *decoder) inHandler(x *Handler) {
	d.inBase(&x.Base)
	x.On = d.bool()
	x.Type = d.newStringLit()
	x.Value = child[Expr](d)
}

func (d *decoder) inHostDecl(x *HostDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Fields = list(d, (*decoder).newConfigField)
}

func (d *decoder) inIDBase(x *IDBase) {
	d.inBase(&x.Base)
	x.Id = d.id()
}

func (d *decoder) inIdent(x *Ident) {
	d.inBase(&x.Base)
	x.Name = d.string()
}

func (d *decoder) inIfExpr(x *IfExpr) {
	d.inIDBase(&x.IDBase)
	x.Cond = child[Expr](d)
	x.Then = d.newBlock()
	x.Else = child[Expr](d)
}

func (d *decoder) inImplDecl(x *ImplDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Generics = list(d, (*decoder).newTypeParam)
	x.Trait = child[Type](d)
	x.Target = child[Type](d)
	x.Methods = list(d, (*decoder).newFnDecl)
}

func (d *decoder) inIndexExpr(x *IndexExpr) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
	x.Index = child[Expr](d)
}

func (d *decoder) inIntLit(x *IntLit) {
	d.inIDBase(&x.IDBase)
	x.Value = number[uint64](d)
	x.Overflow = d.bool()
}

func (d *decoder) inInterpLit(x *InterpLit) {
	d.inIDBase(&x.IDBase)
	x.Texts = list(d, (*decoder).string)
	x.Exprs = list(d, child[Expr])
}

func (d *decoder) inLetCond(x *LetCond) {
	d.inIDBase(&x.IDBase)
	x.Pattern = child[Pattern](d)
	x.X = child[Expr](d)
}

func (d *decoder) inLetStmt(x *LetStmt) {
	d.inBase(&x.Base)
	x.Mut = d.bool()
	x.Pattern = child[Pattern](d)
	x.Type = child[Type](d)
	x.Value = child[Expr](d)
	x.Else = d.newBlock()
}

func (d *decoder) inListenExpr(x *ListenExpr) {
	d.inIDBase(&x.IDBase)
	x.Call = child[Expr](d)
	x.Handlers = list(d, (*decoder).newHandler)
	x.Head = d.span()
}

func (d *decoder) inLitPat(x *LitPat) {
	d.inIDBase(&x.IDBase)
	x.Value = child[Expr](d)
}

func (d *decoder) inLitType(x *LitType) {
	d.inIDBase(&x.IDBase)
	x.Value = d.string()
}

func (d *decoder) inLoopExpr(x *LoopExpr) {
	d.inIDBase(&x.IDBase)
	x.Label = d.newIdent()
	x.Body = d.newBlock()
}

func (d *decoder) inMapEntry(x *MapEntry) {
	d.inBase(&x.Base)
	x.Key = child[Expr](d)
	x.Computed = d.bool()
	x.Value = child[Expr](d)
}

func (d *decoder) inMapLit(x *MapLit) {
	d.inIDBase(&x.IDBase)
	x.Entries = list(d, (*decoder).newMapEntry)
}

func (d *decoder) inMatchExpr(x *MatchExpr) {
	d.inIDBase(&x.IDBase)
	x.Subject = child[Expr](d)
	x.Arms = list(d, (*decoder).newArm)
	x.Head = d.span()
}

func (d *decoder) inMcpDecl(x *McpDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Methods = list(d, (*decoder).newFnDecl)
	x.Rest = d.bool()
}

func (d *decoder) inMethodCall(x *MethodCall) {
	d.inIDBase(&x.IDBase)
	x.Recv = child[Expr](d)
	x.Name = d.newIdent()
	x.TypeArgs = list(d, child[Type])
	x.Args = list(d, (*decoder).newArg)
}

func (d *decoder) inMockStmt(x *MockStmt) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Fields = list(d, (*decoder).newConfigField)
}

func (d *decoder) inModDecl(x *ModDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Inline = d.bool()
	x.Decls = list(d, child[Decl])
}

func (d *decoder) inNamePat(x *NamePat) {
	d.inIDBase(&x.IDBase)
	x.Name = d.newIdent()
}

func (d *decoder) inNamedType(x *NamedType) {
	d.inIDBase(&x.IDBase)
	x.Segments = list(d, (*decoder).newIdent)
	x.Args = list(d, child[Type])
}

func (d *decoder) inNilLit(x *NilLit) {
	d.inIDBase(&x.IDBase)
}

func (d *decoder) inOptionType(x *OptionType) {
	d.inIDBase(&x.IDBase)
	x.Elem = child[Type](d)
}

func (d *decoder) inOrPat(x *OrPat) {
	d.inIDBase(&x.IDBase)
	x.Alts = list(d, child[Pattern])
}

func (d *decoder) inParallelFor(x *ParallelFor) {
	d.inIDBase(&x.IDBase)
	x.Limit = child[Expr](d)
	x.Pattern = child[Pattern](d)
	x.Iter = child[Expr](d)
	x.Body = d.newBlock()
}

func (d *decoder) inParam(x *Param) {
	d.inBase(&x.Base)
	x.Decorators = list(d, (*decoder).newDecorator)
	x.Mut = d.bool()
	x.IsSelf = d.bool()
	x.Name = d.newIdent()
	x.Pattern = child[Pattern](d)
	x.Type = child[Type](d)
	x.Default = child[Expr](d)
}

func (d *decoder) inParenExpr(x *ParenExpr) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
}

func (d *decoder) inPathExpr(x *PathExpr) {
	d.inIDBase(&x.IDBase)
	x.Segments = list(d, (*decoder).newIdent)
	x.TypeArgs = list(d, child[Type])
	x.ArgsAt = number[int](d)
}

func (d *decoder) inPathPat(x *PathPat) {
	d.inIDBase(&x.IDBase)
	x.Path = d.newPathExpr()
}

func (d *decoder) inPipe(x *Pipe) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
	x.Right = child[Expr](d)
	x.Call = child[Expr](d)
}

func (d *decoder) inPipelineDecl(x *PipelineDecl) {
	d.inDeclHead(&x.DeclHead)
	x.HasParams = d.bool()
	x.Params = list(d, (*decoder).newParam)
	x.Result = child[Type](d)
	x.Stages = list(d, (*decoder).newStage)
}

func (d *decoder) inQuestion(x *Question) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
}

func (d *decoder) inRace(x *Race) {
	d.inIDBase(&x.IDBase)
	x.Elems = list(d, child[Expr])
}

func (d *decoder) inRangeExpr(x *RangeExpr) {
	d.inIDBase(&x.IDBase)
	x.Lo = child[Expr](d)
	x.Hi = child[Expr](d)
	x.Inclusive = d.bool()
}

func (d *decoder) inRangePat(x *RangePat) {
	d.inIDBase(&x.IDBase)
	x.Lo = child[Expr](d)
	x.Hi = child[Expr](d)
	x.Inclusive = d.bool()
}

func (d *decoder) inReturnExpr(x *ReturnExpr) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
}

func (d *decoder) inSchemaDecl(x *SchemaDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Generics = list(d, (*decoder).newTypeParam)
	x.Fields = list(d, (*decoder).newFieldDecl)
}

func (d *decoder) inStage(x *Stage) {
	d.inBase(&x.Base)
	x.Doc = d.string()
	x.Decorators = list(d, (*decoder).newDecorator)
	x.Name = d.newIdent()
	x.Params = list(d, (*decoder).newParam)
	x.Result = child[Type](d)
	x.Body = d.newBlock()
	x.Value = child[Expr](d)
}

func (d *decoder) inStoreDecl(x *StoreDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Kind = number[StoreKind](d)
	x.Type = child[Type](d)
	x.Value = child[Expr](d)
}

func (d *decoder) inStringLit(x *StringLit) {
	d.inIDBase(&x.IDBase)
	x.Value = d.string()
}

func (d *decoder) inStructDecl(x *StructDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Generics = list(d, (*decoder).newTypeParam)
	x.Fields = list(d, (*decoder).newFieldDecl)
}

func (d *decoder) inStructLit(x *StructLit) {
	d.inIDBase(&x.IDBase)
	x.Path = d.newPathExpr()
	x.Fields = list(d, (*decoder).newFieldInit)
	x.Rest = child[Expr](d)
}

func (d *decoder) inStructPat(x *StructPat) {
	d.inIDBase(&x.IDBase)
	x.Path = d.newPathExpr()
	x.Fields = list(d, (*decoder).newFieldPat)
	x.Rest = d.bool()
}

func (d *decoder) inThrowExpr(x *ThrowExpr) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
}

func (d *decoder) inToolDecl(x *ToolDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Description = d.newStringLit()
	x.Fields = list(d, (*decoder).newFieldDecl)
	x.Methods = list(d, (*decoder).newFnDecl)
}

func (d *decoder) inTraitDecl(x *TraitDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Generics = list(d, (*decoder).newTypeParam)
	x.Methods = list(d, (*decoder).newFnDecl)
}

func (d *decoder) inTryExpr(x *TryExpr) {
	d.inIDBase(&x.IDBase)
	x.Body = d.newBlock()
	x.Catches = list(d, (*decoder).newCatch)
}

func (d *decoder) inTupleIndex(x *TupleIndex) {
	d.inIDBase(&x.IDBase)
	x.X = child[Expr](d)
	x.Index = number[int](d)
	x.At = d.span()
}

func (d *decoder) inTupleLit(x *TupleLit) {
	d.inIDBase(&x.IDBase)
	x.Elems = list(d, child[Expr])
}

func (d *decoder) inTuplePat(x *TuplePat) {
	d.inIDBase(&x.IDBase)
	x.Elems = list(d, child[Pattern])
}

func (d *decoder) inTupleType(x *TupleType) {
	d.inIDBase(&x.IDBase)
	x.Elems = list(d, child[Type])
}

func (d *decoder) inTypeDecl(x *TypeDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Generics = list(d, (*decoder).newTypeParam)
	x.Type = child[Type](d)
}

func (d *decoder) inTypeParam(x *TypeParam) {
	d.inBase(&x.Base)
	x.Name = d.newIdent()
	x.Bounds = list(d, (*decoder).newNamedType)
}

func (d *decoder) inUnary(x *Unary) {
	d.inIDBase(&x.IDBase)
	x.Op = number[Op](d)
	x.X = child[Expr](d)
}

func (d *decoder) inUnionType(x *UnionType) {
	d.inIDBase(&x.IDBase)
	x.Alts = list(d, child[Type])
}

func (d *decoder) inUseDecl(x *UseDecl) {
	d.inDeclHead(&x.DeclHead)
	x.Tree = d.newUseTree()
}

func (d *decoder) inUseTree(x *UseTree) {
	d.inBase(&x.Base)
	x.Path = list(d, (*decoder).newIdent)
	x.Glob = d.bool()
	x.List = list(d, (*decoder).newUseTree)
	x.Alias = d.newIdent()
}

func (d *decoder) inVariant(x *Variant) {
	d.inBase(&x.Base)
	x.Doc = d.string()
	x.Name = d.newIdent()
	x.Types = list(d, child[Type])
	x.Fields = list(d, (*decoder).newFieldDecl)
	x.Named = d.bool()
}

func (d *decoder) inVariantPat(x *VariantPat) {
	d.inIDBase(&x.IDBase)
	x.Path = d.newPathExpr()
	x.Elems = list(d, child[Pattern])
	x.Rest = number[int](d)
}

func (d *decoder) inWhileExpr(x *WhileExpr) {
	d.inIDBase(&x.IDBase)
	x.Label = d.newIdent()
	x.Cond = child[Expr](d)
	x.Body = d.newBlock()
}

func (d *decoder) inWildPat(x *WildPat) {
	d.inIDBase(&x.IDBase)
}

func (d *decoder) newArg() *Arg {
	if !d.bool() {
		return nil
	}
	x := &Arg{}
	d.inArg(x)
	return x
}

func (d *decoder) newArm() *Arm {
	if !d.bool() {
		return nil
	}
	x := &Arm{}
	d.inArm(x)
	return x
}

func (d *decoder) newBlock() *Block {
	if !d.bool() {
		return nil
	}
	x := &Block{}
	d.inBlock(x)
	return x
}

func (d *decoder) newCatch() *Catch {
	if !d.bool() {
		return nil
	}
	x := &Catch{}
	d.inCatch(x)
	return x
}

func (d *decoder) newConfigField() *ConfigField {
	if !d.bool() {
		return nil
	}
	x := &ConfigField{}
	d.inConfigField(x)
	return x
}

func (d *decoder) newDecorator() *Decorator {
	if !d.bool() {
		return nil
	}
	x := &Decorator{}
	d.inDecorator(x)
	return x
}

func (d *decoder) newFieldDecl() *FieldDecl {
	if !d.bool() {
		return nil
	}
	x := &FieldDecl{}
	d.inFieldDecl(x)
	return x
}

func (d *decoder) newFieldInit() *FieldInit {
	if !d.bool() {
		return nil
	}
	x := &FieldInit{}
	d.inFieldInit(x)
	return x
}

func (d *decoder) newFieldPat() *FieldPat {
	if !d.bool() {
		return nil
	}
	x := &FieldPat{}
	d.inFieldPat(x)
	return x
}

func (d *decoder) newFnDecl() *FnDecl {
	if !d.bool() {
		return nil
	}
	x := &FnDecl{}
	d.inFnDecl(x)
	return x
}

func (d *decoder) newHandler() *Handler {
	if !d.bool() {
		return nil
	}
	x := &Handler{}
	d.inHandler(x)
	return x
}

func (d *decoder) newIdent() *Ident {
	if !d.bool() {
		return nil
	}
	x := &Ident{}
	d.inIdent(x)
	return x
}

func (d *decoder) newMapEntry() *MapEntry {
	if !d.bool() {
		return nil
	}
	x := &MapEntry{}
	d.inMapEntry(x)
	return x
}

func (d *decoder) newNamePat() *NamePat {
	if !d.bool() {
		return nil
	}
	x := &NamePat{}
	d.inNamePat(x)
	return x
}

func (d *decoder) newNamedType() *NamedType {
	if !d.bool() {
		return nil
	}
	x := &NamedType{}
	d.inNamedType(x)
	return x
}

func (d *decoder) newParam() *Param {
	if !d.bool() {
		return nil
	}
	x := &Param{}
	d.inParam(x)
	return x
}

func (d *decoder) newPathExpr() *PathExpr {
	if !d.bool() {
		return nil
	}
	x := &PathExpr{}
	d.inPathExpr(x)
	return x
}

func (d *decoder) newStage() *Stage {
	if !d.bool() {
		return nil
	}
	x := &Stage{}
	d.inStage(x)
	return x
}

func (d *decoder) newStringLit() *StringLit {
	if !d.bool() {
		return nil
	}
	x := &StringLit{}
	d.inStringLit(x)
	return x
}

func (d *decoder) newTypeParam() *TypeParam {
	if !d.bool() {
		return nil
	}
	x := &TypeParam{}
	d.inTypeParam(x)
	return x
}

func (d *decoder) newUseTree() *UseTree {
	if !d.bool() {
		return nil
	}
	x := &UseTree{}
	d.inUseTree(x)
	return x
}

func (d *decoder) newVariant() *Variant {
	if !d.bool() {
		return nil
	}
	x := &Variant{}
	d.inVariant(x)
	return x
}
