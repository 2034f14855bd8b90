package refactor

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/lexer"
)

// freshName returns a name that does not occur in the file: base, or base followed by a number.
func (in *Input) freshName(base string) string {
	used := map[string]bool{}
	toks, _, _ := lexer.Lex(in.File)
	for _, t := range toks {
		if t.Kind == lexer.Ident {
			used[string(in.File.Text[t.Start:t.End])] = true
		}
	}
	return unusedName(base, func(n string) bool { return used[n] })
}

// unusedName returns base, or base followed by a number, such that isUsed returns false for the
// result.
func unusedName(base string, isUsed func(string) bool) string {
	name := base
	for n := 2; isUsed(name); n++ {
		name = base + strconv.Itoa(n)
	}
	return name
}

// isName reports whether a program may declare a text as a name.
func isName(s string) bool {
	_, reserved := lexer.Lookup(s)
	return isWord(s) && !reserved
}

// isWord reports whether a text is a name or a reserved word. Both are valid field names.
func isWord(s string) bool {
	for i, r := range s {
		if r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r)) && (i == 0 || !unicode.IsDigit(r)) {
			return false
		}
	}
	return s != "" && s != "_"
}

// typeName converts a name to the form of type names: user_names becomes UserNames.
func typeName(s string) string {
	var b strings.Builder
	up := true
	for _, r := range s {
		if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			continue
		}
		if b.Len() == 0 && unicode.IsDigit(r) {
			b.WriteRune('N')
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "Data"
	}
	return b.String()
}

// typeText returns a type in source syntax. ok is false if the type cannot be written in source.
func typeText(t types.Type) (text string, ok bool) {
	if t == nil {
		return "", false
	}
	t = types.Full(t)
	if types.HasVar(t) || types.HasParam(t) {
		return "", false
	}
	ok = true
	types.Walk(t, func(p types.Type) bool {
		switch p := types.Resolve(p).(type) {
		case *types.Declared:
			ok = false
		case *types.Basic:
			if p == types.Bad || p == types.Never || p == types.Shape {
				ok = false
			}
		}
		return ok
	})
	return t.String(), ok
}
