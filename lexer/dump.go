package lexer

import (
	"bufio"
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Dump writes tokens and comments in the order of the text. Each line contains the position, the
// kind, and the text as a Go string. `build --emit tokens` prints it.
func Dump(w io.Writer, f *source.File, toks []Token, comments []Comment) error {
	b := bufio.NewWriter(w)
	line := func(kind string, start, end source.Pos) {
		s := source.Span{Start: start, End: end}
		fmt.Fprintf(b, "%-8s %-12s %q\n", f.Position(start), kind, f.Slice(s))
	}
	for _, t := range toks {
		for len(comments) > 0 && comments[0].Start < t.Start {
			kind := "Comment"
			if comments[0].Doc {
				kind = "DocComment"
			}
			line(kind, comments[0].Start, comments[0].End)
			comments = comments[1:]
		}
		if t.Kind != EOF {
			line(t.Kind.Info().Name, t.Start, t.End)
		}
	}
	for _, c := range comments {
		line("Comment", c.Start, c.End)
	}
	return b.Flush()
}
