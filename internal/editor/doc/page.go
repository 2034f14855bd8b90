package doc

import (
	"regexp"
	"strings"
	"unicode/utf8"
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
				b.WriteString(wrapItem("- `" + w.name + "`: " + w.doc))
			}
			b.WriteString("\n```\n" + r.example + "```\n")
		}
	}
	return b.String()
}

// piece matches what a line break may not split: a word, together with the code spans in it.
var piece = regexp.MustCompile("(?:`[^`]*`|[^\\s`])+")

// wrapItem returns a list item as lines of at most 100 characters.
func wrapItem(item string) string {
	var b strings.Builder
	width := 0
	for _, p := range piece.FindAllString(item, -1) {
		n := utf8.RuneCountInString(p)
		switch {
		case width == 0:
		case width+1+n > 100:
			b.WriteString("\n  ")
			width = 2
		default:
			b.WriteString(" ")
			width++
		}
		b.WriteString(p)
		width += n
	}
	return b.String() + "\n"
}
