package sema

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/internal/text/suggest"
)

// count returns a number with a noun, such as "1 argument" or "2 arguments".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// countBetween returns a range of numbers with a noun, such as "2 arguments", "1 to 3 arguments" or
// "at most 1 argument".
func countBetween(least, most int, noun string) string {
	switch {
	case most == 0:
		return "no " + noun + "s"
	case least == most:
		return count(most, noun)
	case least == 0:
		return "at most " + count(most, noun)
	}
	return fmt.Sprintf("%d to %d %ss", least, most, noun)
}

// quotedNames returns a text such as "`a`, `b` and `c`".
func quotedNames(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	if len(quoted) < 2 {
		return strings.Join(quoted, "")
	}
	return strings.Join(quoted[:len(quoted)-1], ", ") + " and " + quoted[len(quoted)-1]
}

// unknownName returns the diagnostic for an unknown name. It suggests a similar name among names.
func unknownName(info *diag.Info, name *ast.Ident, format string, names []string) *diag.Diagnostic {
	d := info.At(name.Sp, format, name.Name)
	suggestName(d, name, names)
	return d
}

// suggestName adds a hint with a similar name among names. It returns false if there is none.
func suggestName(d *diag.Diagnostic, name *ast.Ident, names []string) bool {
	return suggestAs(d, name.Sp, name.Name, names, "%s", "did you mean `%s`?")
}

// markUsedUnsafe marks the fix of a suggestion as unsafe if the suggested name is already used.
func markUsedUnsafe(d *diag.Diagnostic, isUsed func(name string) bool) {
	for i := range d.Fixes {
		name, _, _ := strings.Cut(d.Fixes[i].Edits[0].Text, ":")
		d.Fixes[i].Safe = d.Fixes[i].Safe && !isUsed(name)
	}
}

// suggestOf adds a hint with a similar name in the set names. It returns false if there is none.
func suggestOf(d *diag.Diagnostic, name *ast.Ident, names suggest.Set) bool {
	return suggestFrom(d, name.Sp, name.Name, names, "%s", "did you mean `%s`?")
}

// suggestAs adds a hint and a fix with a similar name. text is the format of the replacement, and
// hint that of the hint. It returns false if there is no similar name.
func suggestAs(d *diag.Diagnostic, at source.Span, name string, names []string, text, hint string) bool {
	return suggestFrom(d, at, name, suggest.NewSet(names), text, hint)
}

func suggestFrom(d *diag.Diagnostic, at source.Span, name string, names suggest.Set, text, hint string) bool {
	near := names.Nearest(name)
	switch {
	case near == "":
		return false
	case text == "%s" && !isName(near): // it would have to be quoted
		d.Hint(hint, near)
	default:
		d.Repair(diag.Change(at, near, fmt.Sprintf(text, near), names.Certain(name, near)), hint, near)
	}
	return true
}

// isName reports whether s consists of characters that names may contain.
func isName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
