package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// What is missing of a whole: fields, arms, handlers, methods.

// lastOf is where the last row of a list ends, 0 without any.
func lastOf[N ast.Node](rows []N) source.Pos {
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)-1].Span().End
}

// addFields is what to do about a literal without all of its fields.
func (b *body) addFields(e *ast.StructLit, missing, rows []string) diag.Advice {
	a := diag.Say("add `" + strings.Join(missing, ": …`, `") + ": …`, or take the rest from another: `..base`")
	if l, ok := listIn(b.info.File.Source, e.Path.Sp.End, lastOf(e.Fields), e.Sp); ok {
		return a.By(diag.Fix{Title: "Add the missing fields", Edits: l.add(rows...)})
	}
	return a
}

// mostArms bounds how many arms a fix adds; what is left then is `_`.
const mostArms = 64

// addArms adds arms for all that a match leaves out; left knows what that is besides missing.
func (b *body) addArms(a diag.Advice, e *ast.MatchExpr, missing []string, left *arms) diag.Advice {
	if all := patternsOf(left.t); len(e.Arms) == 0 && len(all) > 0 {
		missing = all
	}
	for len(missing) < mostArms && left.more(&missing) {
	}
	if len(missing) == mostArms {
		missing = append(missing, "_")
	}
	l, ok := listIn(b.info.File.Source, e.Head.End, lastOf(e.Arms), e.Sp)
	if !ok {
		return a
	}
	var rows []string
	for _, m := range missing {
		rows = append(rows, m+" => "+notWritten)
	}
	return a.By(diag.Fix{Title: "Add the missing arms", Edits: l.add(rows...)})
}

// patternsOf are patterns of all that a type's values are made by, nil when these are too many.
func patternsOf(t types.Type) (patterns []string) {
	all, complete := constructorsOf(t, nil, cell{})
	if !complete || len(all) > mostArms {
		return nil
	}
	for _, k := range all {
		wild := make([]string, len(k.args))
		for i := range wild {
			wild[i] = "_"
		}
		patterns = append(patterns, k.show(wild))
	}
	return patterns
}

// more notes a case that no arm takes, and says whether there is one.
func (a *arms) more(missing *[]string) bool {
	w := a.useful(cell{})
	if w == nil {
		return false
	}
	*missing = append(*missing, w[0].text)
	a.add(w[0].cell)
	return true
}

// handlerRow is a handler of a type of message.
func handlerRow(m hostmsg.Message) string {
	param := m.Type[:1]
	if m.Schema != "" {
		param += ": " + m.Schema
	}
	return `"` + m.Type + `" => |` + param + "| " + notWritten
}

// askRow leaves a type of message to the person at the terminal.
func askRow(m hostmsg.Message) string { return `"` + m.Type + `" => ` + askWord }

// addMethods adds the methods that an impl lacks.
func addMethods(a diag.Advice, f *source.File, d *ast.ImplDecl, heads []string) diag.Advice {
	if l, ok := listIn(f, d.Target.Span().End, lastOf(d.Methods), d.Sp); ok {
		return a.By(diag.Fix{Title: "Add the missing methods", Edits: l.addBlocks(heads)})
	}
	return a
}
