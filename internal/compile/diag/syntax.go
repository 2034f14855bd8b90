package diag

// Stray reports a character that no token starts with.
var Stray = &Info{
	Code: "E0001", Title: "stray character",
	Explain: "Outside strings and comments a program is made of names, numbers, operators and brackets.",
	Bad:     "fn main() { let total = 1 # 2; emit(\"total\", total); }",
	Good:    "fn main() { let total = 1 + 2; emit(\"total\", total); }",
	More: []Pair{{
		Bad:  "fn main() { emit(\"total\"， 3); }",
		Good: "fn main() { emit(\"total\", 3); }",
	}},
}

// OpenString reports a string literal without its closing quote.
var OpenString = &Info{
	Code: "E0002", Title: "string is never closed",
	Explain: "A string ends at the quote it began with; one in double quotes may span lines.",
	Bad:     "fn main() {\n    emit(\"greeting, 1);\n}\n",
	Good:    "fn main() {\n    emit(\"greeting\", 1);\n}\n",
}

// OpenComment reports a block comment without its end.
var OpenComment = &Info{
	Code: "E0003", Title: "comment is never closed",
	Explain: "Block comments nest, so every `/*` needs a `*/` of its own.",
	Bad:     "fn main() { /* a /* nested */ comment }",
	Good:    "fn main() { /* a /* nested */ comment */ }",
}

// BadEscape reports an unknown escape sequence.
var BadEscape = &Info{
	Code: "E0004", Title: "unknown escape",
	Explain: "Strings know \\\\ \\\" \\' \\n \\r \\t \\0 \\$ and \\u{…} with one to six hexadecimal digits.",
	Bad:     `fn main() { emit("path", "C:\work"); }`,
	Good:    `fn main() { emit("path", "C:\\work"); }`,
}

// BadNumber reports digits that do not form a number.
var BadNumber = &Info{
	Code: "E0005", Title: "malformed number",
	NoFix:   "only its author knows the number that is meant",
	Explain: "Integers are decimal, 0x, 0b or 0o; floats have digits on both sides of the point; `_` may stand between digits.",
	Bad:     "fn main() { emit(\"mask\", 0xFG); }",
	Good:    "fn main() { emit(\"mask\", 0xFF); }",
}

// NotUTF8 reports bytes that are not valid UTF-8.
var NotUTF8 = &Info{
	Code: "E0006", Title: "source is not UTF-8",
	NoFix:   "which letters the bytes stand for depends on how the file was saved",
	Explain: "Source files are UTF-8 text; strings at run time are, too.",
	Bad:     "fn main() { emit(\"name\", \"caf\xe9\"); }",
	Good:    "fn main() { emit(\"name\", \"caf\u00e9\"); }",
}

// BadName reports a name with characters that names cannot have.
var BadName = &Info{
	Code: "E0007", Title: "name with a letter that names cannot have",
	NoFix:   "only its author knows a name for it without these letters",
	Explain: "Names are made of A-Z, a-z, 0-9 and `_`, and do not start with a digit.",
	Bad:     "const größe = 1;\nfn main() { emit(\"size\", 1); }",
	Good:    "const groesse = 1;\nfn main() { emit(\"size\", groesse); }",
}

// OpenInterpolation reports `${` without its `}`.
var OpenInterpolation = &Info{
	Code: "E0008", Title: "interpolation is never closed",
	Explain: "`${` in a string starts an expression that ends at the matching `}`; write `\\${` for the characters themselves.",
	Bad:     "fn main() { emit(\"cost\", \"${1 + 2\"); }",
	Good:    "fn main() { emit(\"cost\", \"${1 + 2}\"); }",
}

// Apostrophe reports a word with an apostrophe in a string of single quotes.
var Apostrophe = &Info{
	Code: "E0009", Title: "apostrophe in a string",
	Explain: "A `'` ends a string that a `'` began. Within it an apostrophe is written `\\'`, or the string stands in double quotes.",
	Bad:     "fn main() { emit('it's late'); }",
	Good:    "fn main() { emit(\"it's late\"); }",
	More: []Pair{{
		"fn main() { emit('that\\'s \"all\", it's late'); }",
		"fn main() { emit('that\\'s \"all\", it\\'s late'); }",
	}},
}

// Unexpected reports a token that the grammar does not allow at this place.
var Unexpected = &Info{
	Code: "E0101", Title: "unexpected token",
	Explain: "The text does not follow the grammar (spec/grammar.md) at this place.",
	Bad:     "fn add(a Int) -> Int { a }",
	Good:    "fn add(a: Int) -> Int { a }",
}

// MissingSemicolon reports a statement without its `;`.
var MissingSemicolon = &Info{
	Code: "E0102", Title: "missing `;`",
	Explain: "Statements end in `;`, but for those that end in a block and for the last expression of a block, which is its value.",
	Bad:     "fn main() {\n    let a = 1\n    let b = 2;\n    emit(\"sum\", a + b);\n}\n",
	Good:    "fn main() {\n    let a = 1;\n    let b = 2;\n    emit(\"sum\", a + b);\n}\n",
}

// Unclosed reports an opening bracket without a matching closing bracket.
var Unclosed = &Info{
	Code: "E0103", Title: "bracket is never closed",
	Explain: "Every ( [ { needs its partner. Where one is missing, indentation tells which.",
	Bad:     "fn main() {\n    if true {\n        emit(\"a\", 1);\n}\n\nfn other() {\n}\n",
	Good:    "fn main() {\n    if true {\n        emit(\"a\", 1);\n    }\n}\n\nfn other() {\n}\n",
}

// Unopened reports a closing bracket without a matching opening bracket.
var Unopened = &Info{
	Code: "E0104", Title: "bracket was never opened",
	Explain: "A ) ] } closes the bracket that was opened last; here none is open.",
	Bad:     "fn main() {\n    emit(\"a\", 1);\n}\n}\n",
	Good:    "fn main() {\n    emit(\"a\", 1);\n}\n",
}

// LooseStatement reports a statement outside a function.
var LooseStatement = &Info{
	Code: "E0105", Title: "statement at module level",
	Explain: "A module holds declarations only; what runs stands in functions, and a program starts in `main`.",
	Bad:     "let greeting = \"hello\";",
	Good:    "const greeting = \"hello\";",
}

// ReservedName reports a reserved word where a name is required.
var ReservedName = &Info{
	Code: "E0106", Title: "reserved word as a name",
	Explain: "Reserved words cannot name things; they may stand after `.` and before `:` in fields, map keys and named arguments.",
	Bad:     "fn match() {}",
	Good:    "fn matches() {}",
}

// TooDeep reports nesting beyond the limit of the compiler.
var TooDeep = &Info{
	Code: "E0107", Title: "nested too deeply",
	NoFix:   "how code is best split up is a matter of what it means",
	Explain: "Brackets, blocks and chains of operators may be nested 10,000 deep.",
	Bad:     "fn main() { emit(\"x\", " + deep + "); }",
	Good:    "fn main() { emit(\"x\", !!true); }",
}

// deep nests more operators than the parser accepts. It is a constant, so that the linker lays out
// the whole catalogue.
const (
	not10   = "!!!!!!!!!!"
	not100  = not10 + not10 + not10 + not10 + not10 + not10 + not10 + not10 + not10 + not10
	not1000 = not100 + not100 + not100 + not100 + not100 + not100 + not100 + not100 + not100 + not100
	deep    = not1000 + not1000 + not1000 + not1000 + not1000 + not1000 + not1000 + not1000 + not1000 + not1000 + "!true"
)

// NoExpression reports another token where an expression is required.
var NoExpression = &Info{
	Code: "E0108", Title: "expression expected",
	Explain: "Here a value is wanted: a literal, a name, a call, an operator with its operands, a block.",
	Bad:     "fn main() { let a = ; emit(\"a\", a); }",
	Good:    "fn main() { let a = 1; emit(\"a\", a); }",
	More: []Pair{{
		Bad:  "fn same(a: Int, b: Int) -> Bool { a === b }",
		Good: "fn same(a: Int, b: Int) -> Bool { a == b }",
	}},
}

// NoType reports another token where a type is required.
var NoType = &Info{
	Code: "E0109", Title: "type expected",
	NoFix:   "only its author knows the type that is meant",
	Explain: "Types are names such as Int or Array<String>, tuples (A, B), functions fn(A) -> B, options T? and unions of string literals.",
	Bad:     "fn f(a: 1) -> Int { a + 1 }",
	Good:    "fn f(a: Int) -> Int { a + 1 }",
}

// NoPattern reports another token where a pattern is required.
var NoPattern = &Info{
	Code: "E0110", Title: "pattern expected",
	NoFix:   "only its author knows what is to be matched",
	Explain: "Patterns are names, `_`, literals, ranges, tuples, arrays, structs and enum variants.",
	Bad:     "fn main() { let + = 1; }",
	Good:    "fn main() { let _a = 1; }",
}

// NoDeclaration reports a word at module level that does not start a declaration.
var NoDeclaration = &Info{
	Code: "E0111", Title: "unknown kind of declaration",
	Explain: "Declarations start with fn struct enum trait impl schema type const use mod agent host tool mcp pipeline hashmap ledger memory.",
	Bad:     "func main() {}",
	Good:    "fn main() {}",
}

// UntypedParameter reports a function's parameter without a type.
var UntypedParameter = &Info{
	Code: "E0112", Title: "parameter without a type",
	Explain: "Signatures are annotated; only closures may leave their parameters' types to the context.",
	Bad:     "fn double(n) -> Int { n * 2 }",
	Good:    "fn double(n: Int) -> Int { n * 2 }",
	More: []Pair{{
		Bad:  "fn double(n = 1) -> Int { n * 2 }",
		Good: "fn double(n: Int = 1) -> Int { n * 2 }",
	}},
}

// ChainedRange reports a range of ranges.
var ChainedRange = &Info{
	Code: "E0113", Title: "ranges do not chain",
	NoFix:   "only its author knows which of the bounds are meant",
	Explain: "`..` and `..=` take one value on each side.",
	Bad:     "fn main() { let r = 1..2..3; emit(\"r\", r.to_array()); }",
	Good:    "fn main() { let r = 1..3; emit(\"r\", r.to_array()); }",
}

// OpenRange reports a range without an end outside a slice.
var OpenRange = &Info{
	Code: "E0114", Title: "range without an end",
	NoFix:   "only its author knows where it ends",
	Explain: "An end of a range may be left out only in a slice, `xs[1..]`, and in a pattern.",
	Bad:     "fn main() { for i in 0.. { emit(\"i\", i); } }",
	Good:    "fn main() { for i in 0..3 { emit(\"i\", i); } }",
}

// PositionalAfterNamed reports a positional argument after a named one.
var PositionalAfterNamed = &Info{
	Code: "E0115", Title: "positional argument after a named one",
	Explain: "Arguments are given by position first, then by name.",
	Bad:     "fn f(a: Int, b: Int) -> Int { a - b }\nfn main() { emit(\"f\", f(b: 2, 1)); }",
	Good:    "fn f(a: Int, b: Int) -> Int { a - b }\nfn main() { emit(\"f\", f(1, b: 2)); }",
}

// MisplacedDecl reports a declaration that is only allowed at module level.
var MisplacedDecl = &Info{
	Code: "E0116", Title: "declaration cannot stand here",
	Explain: "Within a block only fn, const, struct, enum, schema, type and use may be declared, none of them pub.",
	Bad:     "fn main() { host Worker { connector: worker } }",
	Good:    "host Worker { connector: worker }\nfn main() {}",
}

// EmptyInterpolation reports `${}`.
var EmptyInterpolation = &Info{
	Code: "E0117", Title: "empty interpolation",
	Explain: "`${ }` holds the expression whose text goes there; write `\\${}` for the characters themselves.",
	Bad:     "fn main() { emit(\"a\", \"${}\"); }",
	Good:    "fn main() { emit(\"a\", \"\\${}\"); }",
}

// PlainString reports an interpolated string where only constant text is allowed.
var PlainString = &Info{
	Code: "E0118", Title: "interpolation where the text must be fixed",
	Explain: "Types, message types of handlers and descriptions are read when compiling, so their strings cannot hold `${ }`.",
	Bad:     "tool T { description: \"v${1}\" }",
	Good:    "tool T { description: \"v1\" }",
}

// BadLetElse reports a let-else without a value.
var BadLetElse = &Info{
	Code: "E0119", Title: "`else` without a value",
	NoFix:   "only its author knows the value that is to be taken apart",
	Explain: "`let pattern = value else { … }` runs its block when the value does not match the pattern.",
	Bad:     "fn f(o: Option<Int>) -> Int { let Some(x) else { return 0; }; x }",
	Good:    "fn f(o: Option<Int>) -> Int { let Some(x) = o else { return 0; }; x }",
}

// BadHandler reports a handler that is not a closure or a function.
var BadHandler = &Info{
	Code: "E0120", Title: "handler is neither closure nor function",
	Explain: "A handler of `listen` is a closure of one parameter or the name of a function.",
	Bad:     "host W { connector: worker, question_default: \"\" }\nfn main() { let _r = listen W.execute(\"go\") { \"approval\" => \"yes\", }; }",
	Good:    "host W { connector: worker, question_default: \"\" }\nfn main() { let _r = listen W.execute(\"go\") { \"approval\" => |a| \"yes\", }; }",
}

// StrayDecorator reports a decorator without a declaration.
var StrayDecorator = &Info{
	Code: "E0121", Title: "decorator before nothing to decorate",
	Explain: "Decorators stand before declarations, members, stages and parameters, and `@limit(n)` before `parallel for`.",
	Bad:     "fn main() { @limit(2) emit(\"a\", 1); }",
	Good:    "fn main() { @limit(2) parallel for n in [1, 2] { emit(\"a\", n); } }",
}

// EmitArguments reports an emit with too few or too many arguments.
var EmitArguments = &Info{
	Code: "E0122", Title: "emit takes a channel and a payload",
	Explain: "`emit(channel)` and `emit(channel, payload)` are its two forms; both take values by position.",
	Bad:     "fn main() { emit(\"a\", 1, 2); }",
	Good:    "fn main() { emit(\"a\", [1, 2]); }",
}

// TwiceTypeArguments reports a path with type arguments in two places.
var TwiceTypeArguments = &Info{
	Code: "E0123", Title: "type arguments twice in a path",
	Explain: "A path takes type arguments in one place: after its type or after its function.",
	Bad:     "struct Box<T> { v: T }\nimpl<T> Box<T> { fn of(v: T) -> Box<T> { Box { v: v } } }\nfn main() { let b = Box<Int>::of<Int>(1); emit(\"b\", b.v); }",
	Good:    "struct Box<T> { v: T }\nimpl<T> Box<T> { fn of(v: T) -> Box<T> { Box { v: v } } }\nfn main() { let b = Box<Int>::of(1); emit(\"b\", b.v); }",
}

// StoreNeedsValue reports a store without a type or value. It is separate from Unexpected because
// it has a fix.
var StoreNeedsValue = &Info{
	Code: "E0124", Title: "store without type or value",
	Explain: "A store names its type and the value it starts with.",
	Bad:     "memory log = Memory::new();",
	Good:    "memory log: Memory = Memory::new();",
}

// TwoRests reports an array pattern with two `..`.
var TwoRests = &Info{
	Code: "E0125", Title: "two rests in one pattern",
	Explain: "An array pattern may hold `..` once; with two it would not be clear what goes where.",
	Bad:     "fn f(xs: Array<Int>) -> Int { let [..a, b, ..c] = xs else { return 0; }; b }",
	Good:    "fn f(xs: Array<Int>) -> Int { let [.., b] = xs else { return 0; }; b }",
}

// TwoDescriptions reports a tool with two descriptions.
var TwoDescriptions = &Info{
	Code: "E0126", Title: "tool described twice",
	Explain: "A tool has one `description`.",
	Bad:     "tool T { description: \"a\", description: \"b\" }",
	Good:    "tool T { description: \"a\" }",
}

// HeadStruct reports a struct literal whose brace starts the body instead.
var HeadStruct = &Info{
	Code: "E0127", Title: "struct literal in a head",
	Explain: "In the heads of if, while, for, match, listen and parallel for a `{` opens the body; parentheses lift that.",
	Bad:     "struct P { x: Int }\nfn main() { if P { x: 1 } == P { x: 1 } { emit(\"a\", 1); } }",
	Good:    "struct P { x: Int }\nfn main() { if (P { x: 1 }) == (P { x: 1 }) { emit(\"a\", 1); } }",
}
