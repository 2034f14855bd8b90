package doc

import (
	"strings"

	"github.com/concerto-lang/concerto/stdlib"
)

// Words returns the text of spec/words.md: the keywords, the decorators, and the types that the
// library's reference does not cover.
func Words() string {
	var b strings.Builder
	b.WriteString("# Keywords and decorators\n\n<!-- written from internal/editor/doc/words.go by \"make gen\"; do not edit -->\n\n" +
		"This page describes every keyword, every decorator, and the types that the [library](std) does\n" +
		"not describe, each with an example. `concerto doc NAME` prints the same text.\n")
	for _, part := range []struct {
		title string
		rows  []word
	}{{"Keywords", keywords}, {"Decorators", decorators}, {"Special types", plainTypes}} {
		b.WriteString("\n## " + part.title + "\n")
		for _, r := range part.rows {
			b.WriteString("\n")
			for _, w := range r.words {
				b.WriteString(stdlib.WrapItem("- `" + w.name + "`: " + w.doc))
			}
			b.WriteString("\n```\n" + r.example + "```\n")
		}
	}
	return b.String()
}
