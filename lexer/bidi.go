package lexer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// This file warns about characters that change the order in which an editor displays text, so that
// a reader sees another program than the compiler.

// isBidiControl reports whether r embeds, overrides or isolates a direction of text, or ends this.
func isBidiControl(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// checkBidi warns about each string and comment that contains controls of the direction of text.
// Elsewhere they are unexpected characters.
func (l *lexer) checkBidi() {
	if !strings.Contains(l.src, "\u202a"[:2]) && !strings.Contains(l.src, "\u2066"[:2]) {
		return // the common case: none of the controls, which have one of these first two bytes
	}
	for _, t := range l.toks {
		switch t.Kind {
		case String, StringHead, StringMid, StringTail:
			l.warnBidi(t.Span(), "string", l.src[t.Start] != 'r')
		}
	}
	for _, c := range l.comments {
		l.warnBidi(source.Span{Start: c.Start, End: c.End}, "comment", false)
	}
}

// warnBidi warns about the controls in a string or a comment. escapes reports that the text may
// contain escape sequences.
func (l *lexer) warnBidi(at source.Span, what string, escapes bool) {
	fix := diag.Fix{Title: "Write escape sequences", Safe: true}
	if what == "comment" {
		fix = diag.Fix{Title: "Remove the controls"}
	}
	var names []string
	for i, r := range l.src[at.Start:at.End] {
		if !isBidiControl(r) {
			continue
		}
		c := source.Span{Start: at.Start + source.Pos(i), End: at.Start + source.Pos(i+len(string(r)))}
		if name := fmt.Sprintf("U+%04X", r); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if what == "comment" {
			fix.Edits = append(fix.Edits, diag.Remove(c))
		} else {
			fix.Edits = append(fix.Edits, diag.Replace(c, fmt.Sprintf(`\u{%X}`, r)))
		}
	}
	if names == nil {
		return
	}
	d := diag.BidiControl.At(fix.Edits[0].Span, "this %s contains %s, which changes the order in which text is displayed", what, strings.Join(names, ", "))
	l.errs = append(l.errs, d)
	switch {
	case what == "comment":
		d.WithFixes(fix).Hint("remove the controls")
	case escapes:
		d.WithFixes(fix).Hint("write them as escape sequences, which are visible: `\"%s\"`", fix.Edits[0].Text)
	default:
		d.Hint("write the string in double quotes, with escape sequences such as `\"%s\"`", fix.Edits[0].Text)
	}
}
