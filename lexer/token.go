package lexer

import "github.com/concerto-lang/concerto/internal/text/source"

// Kind is the kind of a token.
type Kind uint8

// The kinds: literals first, then operators, then reserved words.
const (
	EOF Kind = iota
	Bad      // invalid characters, which the lexer has reported
	Ident
	Int
	Float
	String     // a whole string of any form
	StringHead // `"text${`, the start of a string with interpolation
	StringMid  // `}text${`
	StringTail // `}text"`
	Label      // 'name

	LParen
	RParen
	LBracket
	RBracket
	LBrace
	RBrace
	Comma
	Semi
	Colon
	PathSep
	Dot
	DotDot
	DotDotEq
	At
	Question
	Arrow
	FatArrow
	Bar
	Assign
	PlusEq
	MinusEq
	StarEq
	SlashEq
	PercentEq
	Plus
	Minus
	Star
	Slash
	Percent
	Coalesce
	Less
	LessEq
	Greater // `>` as a separate token: `>=` is Greater followed by Assign
	EqEq
	NotEq
	AndAnd
	OrOr
	Pipe
	Not

	Let
	Mut
	Const
	Fn
	Agent
	Host
	Tool
	Mcp
	Schema
	Struct
	Enum
	Trait
	Impl
	Type
	Pub
	Use
	Mod
	If
	Else
	Match
	For
	In
	While
	Loop
	Break
	Continue
	Return
	Try
	Catch
	Throw
	Async
	Await
	Emit
	Listen
	Pipeline
	Stage
	HashMap
	Ledger
	Memory
	As
	True
	False
	Nil
	Self
	SelfType

	// NumKinds is the number of kinds.
	NumKinds
)

// Class is a group of kinds.
type Class uint8

// The classes.
const (
	Special  Class = iota // end of the file and invalid characters
	Name                  // names and labels
	Literal               // numbers and strings
	Operator              // operators and brackets with a fixed text
	Keyword               // reserved words with a fixed text
)

// Info is a row of the table of kinds. Text is the token's fixed text. For a kind without a fixed
// text, Text describes the kind.
type Info struct {
	Name  string
	Text  string
	Class Class
}

// kinds is the table of kinds. The lexer reads the keywords from the table, the parser the texts of
// its messages, and the generated code the names.
var kinds = [NumKinds]Info{
	EOF:        {"EOF", "end of file", Special},
	Bad:        {"Bad", "an unexpected character", Special},
	Ident:      {"Ident", "a name", Name},
	Int:        {"Int", "an integer", Literal},
	Float:      {"Float", "a float", Literal},
	String:     {"String", "a string", Literal},
	StringHead: {"StringHead", "a string", Literal},
	StringMid:  {"StringMid", "`}` of an interpolation", Literal},
	StringTail: {"StringTail", "`}` of an interpolation", Literal},
	Label:      {"Label", "a label", Name},

	LParen: {"LParen", "(", Operator}, RParen: {"RParen", ")", Operator},
	LBracket: {"LBracket", "[", Operator}, RBracket: {"RBracket", "]", Operator},
	LBrace: {"LBrace", "{", Operator}, RBrace: {"RBrace", "}", Operator},
	Comma: {"Comma", ",", Operator}, Semi: {"Semi", ";", Operator},
	Colon: {"Colon", ":", Operator}, PathSep: {"PathSep", "::", Operator},
	Dot: {"Dot", ".", Operator}, DotDot: {"DotDot", "..", Operator}, DotDotEq: {"DotDotEq", "..=", Operator},
	At: {"At", "@", Operator}, Question: {"Question", "?", Operator},
	Arrow: {"Arrow", "->", Operator}, FatArrow: {"FatArrow", "=>", Operator}, Bar: {"Bar", "|", Operator},
	Assign: {"Assign", "=", Operator}, PlusEq: {"PlusEq", "+=", Operator}, MinusEq: {"MinusEq", "-=", Operator},
	StarEq: {"StarEq", "*=", Operator}, SlashEq: {"SlashEq", "/=", Operator}, PercentEq: {"PercentEq", "%=", Operator},
	Plus: {"Plus", "+", Operator}, Minus: {"Minus", "-", Operator}, Star: {"Star", "*", Operator},
	Slash: {"Slash", "/", Operator}, Percent: {"Percent", "%", Operator}, Coalesce: {"Coalesce", "??", Operator},
	Less: {"Less", "<", Operator}, LessEq: {"LessEq", "<=", Operator}, Greater: {"Greater", ">", Operator},
	EqEq: {"EqEq", "==", Operator}, NotEq: {"NotEq", "!=", Operator},
	AndAnd: {"AndAnd", "&&", Operator}, OrOr: {"OrOr", "||", Operator}, Pipe: {"Pipe", "|>", Operator},
	Not: {"Not", "!", Operator},

	Let: {"Let", "let", Keyword}, Mut: {"Mut", "mut", Keyword}, Const: {"Const", "const", Keyword},
	Fn: {"Fn", "fn", Keyword}, Agent: {"Agent", "agent", Keyword}, Host: {"Host", "host", Keyword},
	Tool: {"Tool", "tool", Keyword}, Mcp: {"Mcp", "mcp", Keyword}, Schema: {"Schema", "schema", Keyword},
	Struct: {"Struct", "struct", Keyword}, Enum: {"Enum", "enum", Keyword}, Trait: {"Trait", "trait", Keyword},
	Impl: {"Impl", "impl", Keyword}, Type: {"Type", "type", Keyword}, Pub: {"Pub", "pub", Keyword},
	Use: {"Use", "use", Keyword}, Mod: {"Mod", "mod", Keyword}, If: {"If", "if", Keyword},
	Else: {"Else", "else", Keyword}, Match: {"Match", "match", Keyword}, For: {"For", "for", Keyword},
	In: {"In", "in", Keyword}, While: {"While", "while", Keyword}, Loop: {"Loop", "loop", Keyword},
	Break: {"Break", "break", Keyword}, Continue: {"Continue", "continue", Keyword},
	Return: {"Return", "return", Keyword}, Try: {"Try", "try", Keyword}, Catch: {"Catch", "catch", Keyword},
	Throw: {"Throw", "throw", Keyword}, Async: {"Async", "async", Keyword}, Await: {"Await", "await", Keyword},
	Emit: {"Emit", "emit", Keyword}, Listen: {"Listen", "listen", Keyword}, Pipeline: {"Pipeline", "pipeline", Keyword},
	Stage: {"Stage", "stage", Keyword}, HashMap: {"HashMap", "hashmap", Keyword}, Ledger: {"Ledger", "ledger", Keyword},
	Memory: {"Memory", "memory", Keyword}, As: {"As", "as", Keyword}, True: {"True", "true", Keyword},
	False: {"False", "false", Keyword}, Nil: {"Nil", "nil", Keyword}, Self: {"Self", "self", Keyword},
	SelfType: {"SelfType", "Self", Keyword},
}

// Info returns the kind's row in the table of kinds.
func (k Kind) Info() *Info { return &kinds[k] }

// IsKeyword reports whether k is a reserved word.
func (k Kind) IsKeyword() bool { return k >= Let && k < NumKinds }

// IsWord reports whether k is a name or a reserved word. Both may follow a `.`, and both may
// precede a `:` in fields, keys and named arguments.
func (k Kind) IsWord() bool { return k == Ident || k.IsKeyword() }

// String returns the kind's name in messages. A fixed text is in backquotes.
func (k Kind) String() string {
	i := &kinds[k]
	if i.Class == Operator || i.Class == Keyword {
		return "`" + i.Text + "`"
	}
	return i.Text
}

// Token is one token: its kind and its span in byte offsets. Tokens do not overlap. Only white
// space and comments are between two tokens.
type Token struct {
	Kind       Kind
	Start, End source.Pos
}

// Span returns the token's span.
func (t Token) Span() source.Span { return source.Span{Start: t.Start, End: t.End} }

// Comment is one comment, including its delimiters. Doc comments start with `///`.
type Comment struct {
	Start, End source.Pos
	Doc        bool
}

// keywordSlots is a hash table of the reserved words, with open addressing and the hash function
// wordHash. It is filled once from the table of kinds.
var keywordSlots = func() (slots [256]Kind) {
	for k := Let; k < NumKinds; k++ {
		if kinds[k].Text == "" {
			panic("lexer: kinds has no row for the kind after " + kinds[k-1].Name)
		}
		h := wordHash(kinds[k].Text)
		for slots[h] != EOF {
			h++
		}
		slots[h] = k
	}
	return slots
}()

func wordHash(s string) uint8 {
	return uint8(len(s))*7 + s[0]*31 + s[len(s)-1]*13 + s[len(s)/2]*3
}

// wordKind returns the kind of the reserved word s, or Ident if s is no reserved word.
func wordKind(s string) Kind {
	if len(s) < 2 || len(s) > len("pipeline") {
		return Ident
	}
	for h := wordHash(s); ; h++ {
		k := keywordSlots[h]
		if k == EOF {
			return Ident
		}
		if kinds[k].Text == s {
			return k
		}
	}
}

// Lookup returns the kind that has the given fixed text, such as "fn" or "=>".
func Lookup(text string) (Kind, bool) {
	for k := range kinds {
		if c := kinds[k].Class; (c == Operator || c == Keyword) && kinds[k].Text == text {
			return Kind(k), true
		}
	}
	return EOF, false
}
