package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/sema/coverage"
	"github.com/concerto-lang/concerto/sema/edits"
)

// What is missing of a whole: fields, arms, handlers, methods.

// addFields is what to do about a literal without all of its fields.
func (b *body) addFields(e *ast.StructLit, missing, rows []string) diag.Advice {
	a := diag.Say("add `" + strings.Join(missing, ": …`, `") + ": …`, or take the rest from another: `..base`")
	if l, ok := edits.ListIn(b.info.File.Source, e.Path.Sp.End, edits.LastEnd(e.Fields), e.Sp); ok {
		return a.By(diag.Fix{Title: "Add the missing fields", Edits: l.Add(rows...)})
	}
	return a
}

// addArms adds arms for all that a match leaves out; left knows what that is besides missing.
func (b *body) addArms(a diag.Advice, e *ast.MatchExpr, missing []string, left *coverage.Arms) diag.Advice {
	if all := left.Patterns(); len(e.Arms) == 0 && len(all) > 0 {
		missing = all
	}
	for len(missing) < coverage.MostMissing && left.More(&missing) {
	}
	if len(missing) == coverage.MostMissing {
		missing = append(missing, "_")
	}
	l, ok := edits.ListIn(b.info.File.Source, e.Head.End, edits.LastEnd(e.Arms), e.Sp)
	if !ok {
		return a
	}
	var rows []string
	for _, m := range missing {
		rows = append(rows, m+" => "+edits.NotWritten)
	}
	return a.By(diag.Fix{Title: "Add the missing arms", Edits: l.Add(rows...)})
}

// handlerRow is a handler of a type of message.
func handlerRow(m hostmsg.Message) string {
	param := m.Type[:1]
	if m.Schema != "" {
		param += ": " + m.Schema
	}
	return `"` + m.Type + `" => |` + param + "| " + edits.NotWritten
}

// askRow leaves a type of message to the person at the terminal.
func askRow(m hostmsg.Message) string { return `"` + m.Type + `" => ` + askWord }
