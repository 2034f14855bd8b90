package doc

import "strings"

// Words is the manual's page of keywords, decorators and the types that the library
// says nothing of: spec/words.md.
func Words() string {
	var b strings.Builder
	b.WriteString("# Keywords and decorators\n\n<!-- written from internal/doc/words.go by \"make gen\"; do not edit -->\n\n" +
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
