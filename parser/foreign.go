package parser

import "github.com/concerto-lang/concerto/lexer"

// What people bring along from other languages, and what stands for it here.

// foreignDecl maps words that declarations start with elsewhere.
var foreignDecl = map[string]string{
	"func": "fn", "function": "fn", "def": "fn", "fun": "fn", "sub": "fn", "proc": "fn",
	"import": "use", "include": "use", "using": "use", "require": "use", "from": "use",
	"class": "struct", "record": "struct", "interface": "trait", "protocol": "trait", "module": "mod",
	"namespace": "mod", "package": "mod", "public": "pub", "export": "pub", "typedef": "type", "extension": "impl",
	"var": "const", "val": "const", "static": "const", "server": "host", "middleware": "host",
}

// foreignBefore maps words that start something elsewhere and read as a name
// here, so that the error comes one token later.
var foreignBefore = map[string]string{
	"var": "did you mean `let`?", "val": "did you mean `let`?", "auto": "did you mean `let`?",
	"switch": "did you mean `match`?", "case": "an arm is written `pattern => value`",
	"elif": "did you mean `else if`?", "elsif": "did you mean `else if`?", "elseif": "did you mean `else if`?",
	"foreach": "did you mean `for`?", "until": "did you mean `while`?", "unless": "did you mean `if`?",
	"func": "did you mean `fn`?", "function": "did you mean `fn`?", "def": "did you mean `fn`?",
	"import": "did you mean `use`?", "raise": "did you mean `throw`?", "class": "did you mean `struct`?",
	"new": "a value is made with its type's name alone: `P { … }` or `P::new(…)`",
	"not": "logical not is `!`",
}

// foreignHere maps words that stand between operands or heads and bodies
// elsewhere.
var foreignHere = map[string]string{
	"and": "logical and is `&&`", "or": "logical or is `||`", "is": "`==` compares", "then": "a body stands in braces: `{ … }`",
	"do": "a body stands in braces: `{ … }`", "except": "did you mean `catch`?", "finally": "there is no `finally`; what follows the `try` runs in any case",
	"elif": "did you mean `else if`?",
}

// foreignHint is the hint for the current token, which the grammar does not
// allow, if it or the one before comes from another language; else "".
func (p *parser) foreignHint() string {
	if p.k == lexer.Ident {
		if hint := foreignHere[p.text()]; hint != "" {
			return hint
		}
	}
	if p.k == lexer.FatArrow && p.i > 0 && (p.toks[p.i-1].Kind == lexer.Ident || p.toks[p.i-1].Kind == lexer.RParen) {
		return "a closure is written `|x| …`"
	}
	if p.k == lexer.PathSep && p.peek(1) == lexer.Less {
		return "type arguments follow the name directly: `f<T>(…)`"
	}
	if p.i == 0 || p.newLine() || p.k == lexer.Dot {
		return ""
	}
	switch p.toks[p.i-1].Kind {
	case lexer.Ident:
		return foreignBefore[p.textAt(p.i-1)]
	case lexer.Question:
		if startsExpr[p.k] {
			return "a choice is written `if a { b } else { c }`"
		}
	}
	return ""
}
