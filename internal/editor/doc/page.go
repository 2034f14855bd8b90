package doc

import "strings"

// Words returns the text of spec/words.md: the keywords, the decorators, and the types that the
// library's reference does not cover.
func Words() string {
	var b strings.Builder
	b.WriteString("# Keywords and decorators\n\n<!-- written from internal/editor/doc/words.go by \"make gen\"; do not edit -->\n\n" +
		"`concerto doc NAME` says the same.\n")
	for _, part := range []struct {
		title string
		rows  []word
	}{{"Keywords", keywords}, {"Decorators", decorators}, {"Types without a form of their own", plainTypes}} {
		b.WriteString("\n## " + part.title + "\n")
		for _, r := range part.rows {
			b.WriteString("\n")
			for _, w := range r.words {
				b.WriteString("- `" + w.name + "`: " + w.doc + "\n")
			}
			b.WriteString("\n```\n" + r.example + "```\n")
		}
	}
	return b.String()
}
