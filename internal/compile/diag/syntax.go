package diag

// UnexpectedCharacter reports a character that begins no token.
var UnexpectedCharacter = &Info{
	Code: "E0001", Title: "unexpected character", Noise: NotNoise,
	Explain: "Outside strings and comments, a program consists of names, numbers, operators and brackets.",
	Bad:     "fn main() { let total = 1 # 2; emit(\"total\", total); }",
	Good:    "fn main() { let total = 1 + 2; emit(\"total\", total); }",
	More: []Pair{{
		Bad:  "fn main() { emit(\"total\"， 3); }",
		Good: "fn main() { emit(\"total\", 3); }",
	}},
}

// BidiControl warns about a control of the direction of text in a string or a comment.
var BidiControl = &Info{
	Code: "W0010", Title: "control of the direction of text", Noise: NotNoise,
	Explain: "The controls U+202A to U+202E and U+2066 to U+2069 change the order in which text is displayed, so that a reader can see another program than the compiler. In a string, write them as escape sequences.",
	Bad:     "fn main() { emit(\"role\", \"user\u202e // admin\"); }",
	Good:    "fn main() { emit(\"role\", \"user\\u{202E} // admin\"); }",
	More: []Pair{{
		Bad:  "// \u2066check\u2069 the role\nfn main() { emit(\"role\", 1); }",
		Good: "// check the role\nfn main() { emit(\"role\", 1); }",
	}},
}

// OpenString reports a string literal without its closing quote.
var OpenString = &Info{
	Code: "E0002", Title: "unterminated string", Noise: NotNoise,
	Explain: "A string ends at the same kind of quote that started it. A string in double quotes may contain line breaks.",
	Bad:     "fn main() {\n    emit(\"greeting, 1);\n}\n",
	Good:    "fn main() {\n    emit(\"greeting\", 1);\n}\n",
}

// OpenComment reports a block comment without its end.
var OpenComment = &Info{
	Code: "E0003", Title: "unterminated block comment", Noise: NotNoise,
	Explain: "Block comments nest, so every `/*` needs its own `*/`.",
	Bad:     "fn main() { /* a /* nested */ comment }",
	Good:    "fn main() { /* a /* nested */ comment */ }",
}

// BadEscape reports an unknown escape sequence.
var BadEscape = &Info{
	Code: "E0004", Title: "unknown escape sequence", Noise: NotNoise,
	Explain: "The escape sequences are \\\\ \\\" \\' \\n \\r \\t \\0 \\$ and \\u{…} with one to six hexadecimal digits.",
	Bad:     `fn main() { emit("path", "C:\work"); }`,
	Good:    `fn main() { emit("path", "C:\\work"); }`,
}

// BadNumber reports digits that do not form a number.
var BadNumber = &Info{
	Code: "E0005", Title: "invalid number", Noise: NotNoise,
	NoFix:   "the intended number is unknown",
	Explain: "Integers are decimal, 0x, 0b or 0o. Floats have digits on both sides of the point. `_` is allowed between digits.",
	Bad:     "fn main() { emit(\"mask\", 0xFG); }",
	Good:    "fn main() { emit(\"mask\", 0xFF); }",
}

// NotUTF8 reports bytes that are not valid UTF-8.
var NotUTF8 = &Info{
	Code: "E0006", Title: "source file is not UTF-8", Noise: NotNoise,
	NoFix:   "the file's encoding, and therefore the intended letters, are unknown",
	Explain: "Source files must be UTF-8 text.",
	Bad:     "fn main() { emit(\"name\", \"caf\xe9\"); }",
	Good:    "fn main() { emit(\"name\", \"caf\u00e9\"); }",
}

// BadName reports a name with characters that names cannot have.
var BadName = &Info{
	Code: "E0007", Title: "invalid character in a name", Noise: NotNoise,
	NoFix:   "the intended name is unknown",
	Explain: "Names consist of A-Z, a-z, 0-9 and `_`, and must not start with a digit.",
	Bad:     "const größe = 1;\nfn main() { emit(\"size\", 1); }",
	Good:    "const groesse = 1;\nfn main() { emit(\"size\", groesse); }",
}

// OpenInterpolation reports `${` without its `}`.
var OpenInterpolation = &Info{
	Code: "E0008", Title: "unterminated interpolation", Noise: NotNoise,
	Explain: "`${` in a string starts an expression that ends at the matching `}`. Write `\\${` to get the two characters.",
	Bad:     "fn main() { emit(\"cost\", \"${1 + 2\"); }",
	Good:    "fn main() { emit(\"cost\", \"${1 + 2}\"); }",
}

// Apostrophe reports a word with an apostrophe in a string of single quotes.
var Apostrophe = &Info{
	Code: "E0009", Title: "unescaped apostrophe in a string", Noise: NotNoise,
	Explain: "A `'` ends a string that started with `'`. Write `\\'` for an apostrophe, or use double quotes.",
	Bad:     "fn main() { emit('it's late'); }",
	Good:    "fn main() { emit(\"it's late\"); }",
	More: []Pair{{
		"fn main() { emit('that\\'s \"all\", it's late'); }",
		"fn main() { emit('that\\'s \"all\", it\\'s late'); }",
	}},
}

// Unexpected reports a token that the grammar does not allow at this place.
var Unexpected = &Info{
	Code: "E0101", Title: "unexpected token", Noise: NotNoise,
	Explain: "The grammar (spec/grammar.md) does not allow this token here.",
	Bad:     "fn add(a Int) -> Int { a }",
	Good:    "fn add(a: Int) -> Int { a }",
}

// MissingSemicolon reports a statement without its `;`.
var MissingSemicolon = &Info{
	Code: "E0102", Title: "missing `;`", Noise: NotNoise,
	Explain: "Every statement ends with `;`, except statements that end with a block, and the last expression of a block, which is the block's value.",
	Bad:     "fn main() {\n    let a = 1\n    let b = 2;\n    emit(\"sum\", a + b);\n}\n",
	Good:    "fn main() {\n    let a = 1;\n    let b = 2;\n    emit(\"sum\", a + b);\n}\n",
}

// Unclosed reports an opening bracket without a matching closing bracket.
var Unclosed = &Info{
	Code: "E0103", Title: "unclosed bracket", Noise: NotNoise,
	Explain: "Every ( [ { needs a matching ) ] }. The compiler uses the indentation to find which one is missing.",
	Bad:     "fn main() {\n    if true {\n        emit(\"a\", 1);\n}\n\nfn other() {\n}\n",
	Good:    "fn main() {\n    if true {\n        emit(\"a\", 1);\n    }\n}\n\nfn other() {\n}\n",
}

// Unopened reports a closing bracket without a matching opening bracket.
var Unopened = &Info{
	Code: "E0104", Title: "unmatched closing bracket", Noise: NotNoise,
	Explain: "A ) ] } closes the last bracket that was opened. Here no bracket is open.",
	Bad:     "fn main() {\n    emit(\"a\", 1);\n}\n}\n",
	Good:    "fn main() {\n    emit(\"a\", 1);\n}\n",
}

// LooseStatement reports a statement outside a function.
var LooseStatement = &Info{
	Code: "E0105", Title: "statement outside a function", Noise: NotNoise,
	Explain: "A module contains only declarations. Put statements into functions; a program starts in `main`.",
	Bad:     "let greeting = \"hello\";",
	Good:    "const greeting = \"hello\";",
}

// ReservedName reports a reserved word where a name is required.
var ReservedName = &Info{
	Code: "E0106", Title: "reserved word used as a name", Noise: NotNoise,
	Explain: "A reserved word cannot be a name. It is allowed after `.`, and before `:` in fields, map keys and named arguments.",
	Bad:     "fn match() {}",
	Good:    "fn matches() {}",
}

// TooDeep reports nesting beyond the limit of the compiler.
var TooDeep = &Info{
	Code: "E0107", Title: "nested too deeply", Noise: NotNoise,
	NoFix:   "how to split the code is a choice of the programmer",
	Explain: "Brackets, blocks and chains of operators can be nested at most 10,000 levels deep.",
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
	Code: "E0108", Title: "expected an expression", Noise: NotNoise,
	Explain: "A value is required here: a literal, a name, a call, an operator with its operands, or a block.",
	Bad:     "fn main() { let a = ; emit(\"a\", a); }",
	Good:    "fn main() { let a = 1; emit(\"a\", a); }",
	More: []Pair{{
		Bad:  "fn same(a: Int, b: Int) -> Bool { a === b }",
		Good: "fn same(a: Int, b: Int) -> Bool { a == b }",
	}},
}

// NoType reports another token where a type is required.
var NoType = &Info{
	Code: "E0109", Title: "expected a type", Noise: NotNoise,
	NoFix:   "the intended type is unknown",
	Explain: "Types are names such as Int or Array<String>, tuples (A, B), functions fn(A) -> B, options T? and unions of string literals.",
	Bad:     "fn f(a: 1) -> Int { a + 1 }",
	Good:    "fn f(a: Int) -> Int { a + 1 }",
}

// NoPattern reports another token where a pattern is required.
var NoPattern = &Info{
	Code: "E0110", Title: "expected a pattern", Noise: NotNoise,
	NoFix:   "the intended pattern is unknown",
	Explain: "Patterns are names, `_`, literals, ranges, tuples, arrays, structs and enum variants.",
	Bad:     "fn main() { let + = 1; }",
	Good:    "fn main() { let _a = 1; }",
}

// NoDeclaration reports a word at module level that does not start a declaration.
var NoDeclaration = &Info{
	Code: "E0111", Title: "expected a declaration", Noise: NotNoise,
	Explain: "A declaration starts with fn, struct, enum, trait, impl, schema, type, const, use, mod, agent, host, tool, mcp, pipeline, hashmap, ledger, queue or memory.",
	Bad:     "func main() {}",
	Good:    "fn main() {}",
}

// UntypedParameter reports a function's parameter without a type.
var UntypedParameter = &Info{
	Code: "E0112", Title: "parameter without a type", Noise: NotNoise,
	Explain: "Every parameter of a function needs a type. Only closures can infer the types of their parameters.",
	Bad:     "fn double(n) -> Int { n * 2 }",
	Good:    "fn double(n: Int) -> Int { n * 2 }",
	More: []Pair{{
		Bad:  "fn double(n = 1) -> Int { n * 2 }",
		Good: "fn double(n: Int = 1) -> Int { n * 2 }",
	}},
}

// ChainedRange reports a range of ranges.
var ChainedRange = &Info{
	Code: "E0113", Title: "chained range", Noise: NotNoise,
	NoFix:   "the intended bounds are unknown",
	Explain: "`..` and `..=` take one value on each side.",
	Bad:     "fn main() { let r = 1..2..3; emit(\"r\", r.to_array()); }",
	Good:    "fn main() { let r = 1..3; emit(\"r\", r.to_array()); }",
}

// OpenRange reports a range without an end outside a slice.
var OpenRange = &Info{
	Code: "E0114", Title: "range without an end", Noise: NotNoise,
	NoFix:   "the intended end is unknown",
	Explain: "The end of a range is optional only in a slice, such as `xs[1..]`, and in a pattern.",
	Bad:     "fn main() { for i in 0.. { emit(\"i\", i); } }",
	Good:    "fn main() { for i in 0..3 { emit(\"i\", i); } }",
}

// PositionalAfterNamed reports a positional argument after a named one.
var PositionalAfterNamed = &Info{
	Code: "E0115", Title: "positional argument after a named argument", Noise: NotNoise,
	Explain: "Positional arguments must come before named arguments.",
	Bad:     "fn f(a: Int, b: Int) -> Int { a - b }\nfn main() { emit(\"f\", f(b: 2, 1)); }",
	Good:    "fn f(a: Int, b: Int) -> Int { a - b }\nfn main() { emit(\"f\", f(1, b: 2)); }",
}

// MisplacedDecl reports a declaration that is only allowed at module level.
var MisplacedDecl = &Info{
	Code: "E0116", Title: "declaration not allowed in a block", Noise: NotNoise,
	Explain: "A block can declare only fn, const, struct, enum, schema, type and use, without `pub`.",
	Bad:     "fn main() { host Worker { connector: worker } }",
	Good:    "host Worker { connector: worker }\nfn main() {}",
}

// EmptyInterpolation reports `${}`.
var EmptyInterpolation = &Info{
	Code: "E0117", Title: "empty interpolation", Noise: NotNoise,
	Explain: "`${ }` contains the expression to insert. Write `\\${}` to get the characters themselves.",
	Bad:     "fn main() { emit(\"a\", \"${}\"); }",
	Good:    "fn main() { emit(\"a\", \"\\${}\"); }",
}

// PlainString reports an interpolated string where only constant text is allowed.
var PlainString = &Info{
	Code: "E0118", Title: "interpolation in a constant string", Noise: NotNoise,
	Explain: "Strings in types, message types of handlers and descriptions are compile-time constants, so they cannot contain `${ }`.",
	Bad:     "tool T { description: \"v${1}\" }",
	Good:    "tool T { description: \"v1\" }",
}

// BadLetElse reports a let-else without a value.
var BadLetElse = &Info{
	Code: "E0119", Title: "`let … else` without a value", Noise: NotNoise,
	NoFix:   "the value to match is unknown",
	Explain: "`let pattern = value else { … }` runs the block when the value does not match the pattern.",
	Bad:     "fn f(o: Option<Int>) -> Int { let Some(x) else { return 0; }; x }",
	Good:    "fn f(o: Option<Int>) -> Int { let Some(x) = o else { return 0; }; x }",
}

// BadHandler reports a handler that is not a closure or a function.
var BadHandler = &Info{
	Code: "E0120", Title: "handler is not a closure or a function", Noise: NotNoise,
	Explain: "A handler of `listen` is a closure with one parameter, or the name of a function.",
	Bad:     "host W { connector: worker, question_default: \"\" }\nfn main() { let _r = listen W.execute(\"go\") { \"approval\" => \"yes\", }; }",
	Good:    "host W { connector: worker, question_default: \"\" }\nfn main() { let _r = listen W.execute(\"go\") { \"approval\" => |a| \"yes\", }; }",
}

// MisplacedDecorator reports a decorator without a declaration.
var MisplacedDecorator = &Info{
	Code: "E0121", Title: "decorator without a declaration", Noise: NotNoise,
	Explain: "Decorators are allowed before declarations, members, stages and parameters. `@limit(n)` is allowed before `parallel for`.",
	Bad:     "fn main() { @limit(2) emit(\"a\", 1); }",
	Good:    "fn main() { @limit(2) parallel for n in [1, 2] { emit(\"a\", n); } }",
}

// EmitArguments reports an emit with too few or too many arguments.
var EmitArguments = &Info{
	Code: "E0122", Title: "invalid arguments of `emit`", Noise: InFlawedEmit,
	Explain: "Write `emit(channel)` or `emit(channel, payload)`. Both arguments are positional.",
	Bad:     "fn main() { emit(\"a\", 1, 2); }",
	Good:    "fn main() { emit(\"a\", [1, 2]); }",
}

// TwiceTypeArguments reports a path with type arguments in two places.
var TwiceTypeArguments = &Info{
	Code: "E0123", Title: "duplicate type arguments in a path", Noise: NotNoise,
	Explain: "Type arguments are allowed in one place of a path: after its type or after its function.",
	Bad:     "struct Box<T> { v: T }\nimpl<T> Box<T> { fn of(v: T) -> Box<T> { Box { v: v } } }\nfn main() { let b = Box<Int>::of<Int>(1); emit(\"b\", b.v); }",
	Good:    "struct Box<T> { v: T }\nimpl<T> Box<T> { fn of(v: T) -> Box<T> { Box { v: v } } }\nfn main() { let b = Box<Int>::of(1); emit(\"b\", b.v); }",
}

// StoreNeedsValue reports a store without a type or value. It is separate from Unexpected because
// it has a fix.
var StoreNeedsValue = &Info{
	Code: "E0124", Title: "store without a type or value", Noise: NotNoise,
	Explain: "A store declares its type and its initial value.",
	Bad:     "memory log = Memory::new();",
	Good:    "memory log: Memory = Memory::new();",
}

// TwoRests reports an array pattern with two `..`.
var TwoRests = &Info{
	Code: "E0125", Title: "duplicate `..` in a pattern", Noise: NotNoise,
	Explain: "An array pattern can contain `..` only once. With two, the elements could be divided in several ways.",
	Bad:     "fn f(xs: Array<Int>) -> Int { let [..a, b, ..c] = xs else { return 0; }; b }",
	Good:    "fn f(xs: Array<Int>) -> Int { let [.., b] = xs else { return 0; }; b }",
}

// TwoDescriptions reports a tool with two descriptions.
var TwoDescriptions = &Info{
	Code: "E0126", Title: "duplicate tool description", Noise: NotNoise,
	Explain: "A tool has exactly one `description`.",
	Bad:     "tool T { description: \"a\", description: \"b\" }",
	Good:    "tool T { description: \"a\" }",
}

// HeadStruct reports a struct literal whose brace starts the body instead.
var HeadStruct = &Info{
	Code: "E0127", Title: "struct literal in a condition", Noise: NotNoise,
	Explain: "After if, while, for, match, listen and parallel for, `{` starts the body. Put a struct literal there in parentheses.",
	Bad:     "struct P { x: Int }\nfn main() { if P { x: 1 } == P { x: 1 } { emit(\"a\", 1); } }",
	Good:    "struct P { x: Int }\nfn main() { if (P { x: 1 }) == (P { x: 1 }) { emit(\"a\", 1); } }",
}
