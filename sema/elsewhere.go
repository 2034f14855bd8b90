package sema

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/compile/types"
	"github.com/concerto-lang/concerto/internal/text/foreign"
)

// meant is what a type offers for a member's name of other languages: the name
// of its method, and the hint that says what to write; either may be empty.
func (b *body) meant(t types.Type, name string) (method, hint string) {
	has := b.c.methodNames(t)
	plain := foreign.Plain(name)
	for _, m := range has {
		if foreign.Plain(m) == plain && m != name {
			return m, "here it is called `" + m + "`"
		}
	}
	w := foreign.FindMember(methodFile(t), name)
	for _, m := range w.Ours {
		if m != name && slices.Contains(has, m) {
			if w.Hint != "" {
				return m, w.Hint
			}
			return m, "here it is called `" + m + "`"
		}
	}
	if len(w.Ours) == 0 {
		return "", w.Hint
	}
	return "", ""
}
