package sema

import (
	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/sema/edits"
)

// shown warns where a Result, an Option or a Task is made into text or leaves
// the program as it is. That is hardly meant: the next model would read
// `{"ok":…}`. It looks once the types are fixed.
func (b *body) shown(e ast.Expr, where string) {
	if b.info.Library {
		return
	}
	b.late = append(b.late, func() {
		t := types.Resolve(b.info.types[e.ID()])
		if b.failed() {
			return // what is shown follows from the mistake
		}
		what := ""
		switch t.(type) {
		case *types.Result:
			what = "a Result: %s is `{\"ok\": …}` or `{\"err\": …}`"
		case *types.Option:
			if held(t) == types.Any {
				return // any member of data is one, and nil is one of its values
			}
			what = "an Option: %s is nil where it has no value"
		case *types.Task:
			what = "a Task, not its value: %s is `<task …>`"
		default:
			return
		}
		b.report(diag.ShownWrapped.At(e.Span(), "%s is "+what, b.quoted(e), where).Advise(b.showInstead(e, t)))
	})
}

// showInstead is how what e holds is shown.
func (b *body) showInstead(e ast.Expr, t types.Type) diag.Advice {
	x, text := b.operand(e), ""
	if _, isResult := t.(*types.Result); isResult && b.hasText(held(t)) {
		text = ".text"
	}
	switch t.(type) {
	case *types.Result:
		a := diag.Say("take out what it holds: `" + x + "?" + text + "`, or use `.unwrap_or(…)` or `match`")
		return a.By(edits.Append(e, "?"+text))
	case *types.Option:
		return diag.Say("say what stands there without a value: `" + x + " ?? …`, or use `?` or `match`")
	}
	if held(held(t)) != nil {
		return diag.Say("`await` it: `await " + b.text(e) + "?`").By(edits.Await(e, "?"))
	}
	return diag.Say("`await` it: `await " + b.text(e) + "`").By(edits.Await(e, ""))
}
