package diag

// catalogue lists every Info. It is a literal, so that the linker creates it: building it at run
// time took 60 µs at each start of the process.
var catalogue = []*Info{
	// agent.go
	UnknownConnection, NoProvider, NoModel, NoPrice, UnknownConfig, ConfigName, ConfigValue, OnlyChat, RefusedField, RefusedEffort, Unenforced, EarlyChange, FullMemory, ChangingTools, StoreValue, StoreType, StorePlace,
	// calls.go
	ArgumentCount, ArgumentTwice, NotCallable, DefaultOrder, ClosureDefault, SelfOutside, MainSignature, TestCalled, BadRegex,
	DecoratorArgument, AmbiguousMethod, NoEffect, UnusedResult,
	// flow.go
	Immutable, NotAPlace, ReceiverCaptured, Unassigned, AssignedTwice, LetWithoutValue, LetElseFalls, BreakValue, LoopOutside, Unreachable,
	ConcurrentChange, ConcurrentLeave, AsyncMutSelf,
	// host.go
	UnknownConnector, NoConnector, ListenTarget, ListenText, TerminalHandler, DuplicateHandler, HandlerParams, NotSerialisable, NeverSent,
	Unanswered, MisspeltType, UnknownMember, WrongMessage, ListenDecorated, NoAnswer, InvalidAsk, GateMissing, GateDetached,
	// machine.go
	TooManyRegisters, Unoptimised,
	// manifest.go
	ManifestSyntax, ManifestType, ManifestValue, ManifestMissing, ManifestParam, ManifestConflict, ManifestSecret, OpenPermissions, OutsideRoots, NoMain, PackageLock, PackageUnusable,
	// match.go
	MissingArm, Refutable, PatternType, UpperCasePattern, OrPatternNames, UnreachableArm,
	// names.go
	UnknownName, UnknownType, UnknownPath, UnknownField, UnknownVariant, UnknownMethod, UnknownParameter, UnknownLabel,
	UnknownDecorator, DuplicateName, DuplicateField, NotAType, NotAValue, AliasCycle, ConstCycle, NotConstant, ConstZero,
	DecoratorPlace, UnusedVariable, UnknownTrait, MissingMethod, ExtraMethod, MethodSignature, DuplicateImpl, Private, ModuleFile,
	ImportCycle, UnusedImport, HidesLibrary, FileCycle,
	// pipeline.go
	StageInput, EmptyPipeline,
	// syntax.go
	UnexpectedCharacter, BidiControl, OpenString, OpenComment, BadEscape, BadNumber, NotUTF8, BadName, OpenInterpolation, Apostrophe, Unexpected, MissingSemicolon,
	Unclosed, Unopened, LooseStatement, ReservedName, TooDeep, NoExpression, NoType, NoPattern, NoDeclaration, UntypedParameter,
	ChainedRange, OpenRange, PositionalAfterNamed, MisplacedDecl, EmptyInterpolation, PlainString, BadLetElse, BadHandler,
	MisplacedDecorator, EmitArguments, TwiceTypeArguments, StoreNeedsValue, TwoRests, TwoDescriptions, HeadStruct,
	// test.go
	MockPlace, MockTarget, MockAnswers, TestText, EvalArgument, EvalSignature, EvalResult, EvalData, GuardSignature, GuardTwice, GuardMissing,
	// tool.go
	ToolUndescribed, ToolSelf, ToolGeneric, ToolParam, ToolDescription, ToolParamDoc, NamelessArgument, UnknownServer,
	// toolfile.go
	ToolSyntax, ToolHidden, ToolUnknown, ToolKeyTwice, ToolType, ToolValue, ToolMissing, ToolHandler, ToolSchema, ToolTwice, ToolSource,
	// typing.go
	Mismatch, NoJoin, CannotInfer, MissingValue, MissingElse, Operand, NeverEqual, NotOptional, NotInUnion, UnionMember, IntRange,
	BadCast, Undecodable, TypeArguments, MapKey, NotIndexable, NotIterable, NotAStruct, MissingField, QuestionOperand, QuestionKind, UncaughtQuestion,
	ErrorConversion, BadFrom, ThrowValue, VariantValue, EmitType, BoundNotMet, EndlessType, AwaitedTasks, MethodAsKey,
	NegativeIndex, PlainBraces, ShownWrapped,
}

// Catalogue returns every Info. The caller must not change the slice.
func Catalogue() []*Info { return catalogue }

// Lookup returns the Info with a code, or nil.
func Lookup(code string) *Info {
	for _, i := range catalogue {
		if i.Code == code {
			return i
		}
	}
	return nil
}
