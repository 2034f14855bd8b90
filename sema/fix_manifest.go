package sema

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// addSection adds that a section of the manifest is missing: the hint, and the fix that appends it
// with what it needs. Nothing but the author knows what that is really to be: it is a start.
func (c *checker) addSection(d *diag.Diagnostic, hint, name, body string) {
	a := diag.Say(hint)
	if c.cfg.Manifest == nil {
		e := diag.Edit{File: source.NewFile("Concerto.toml", nil), Text: "[" + name + "]\n" + body + "\n"}
		d.Hint("%s", hint).By(diag.Offer(e, "Create Concerto.toml with `[%s]`", name))
		return
	}
	if f := c.cfg.Manifest.Source; f != nil {
		text := "[" + name + "]\n" + body + "\n"
		switch s := string(f.Text); {
		case s == "" || strings.HasSuffix(s, "\n\n"):
		case strings.HasSuffix(s, "\n"):
			text = "\n" + text
		default:
			text = "\n\n" + text
		}
		e := diag.Insert(source.Pos(len(f.Text)), text)
		e.File = f
		a = a.By(diag.Offer(e, "Add `[%s]` to Concerto.toml", name))
	}
	d.Advise(a)
}
