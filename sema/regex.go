package sema

import (
	"regexp"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// regexArguments checks arguments that a library function reads as regular
// expressions, as far as they are written out.
func (b *body) regexArguments(d *Call, fn *Function, args []*ast.Arg) {
	if !fn.Info.Library {
		return
	}
	for i, a := range d.Args {
		if a.Kind != ArgWritten || !fn.Params[i].regex {
			continue
		}
		x := args[a.Index].Value
		lit, ok := unparen(x).(*ast.StringLit)
		if !ok {
			continue
		}
		if _, err := regexp.Compile(lit.Value); err != nil {
			reason := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
			b.report(diag.BadRegex.At(x.Span(), "this is no regular expression: %s", reason).
				Hint("a `\\` before a character makes it plain; in r\"…\" it needs no second one"))
		}
	}
}
