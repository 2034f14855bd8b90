package format

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// sameTokens returns an error if the formatted text out differs from its source in more than white
// space and commas before closing brackets. An error means that this package has a bug; the check
// runs before a file is overwritten.
func sameTokens(src string, toks []lexer.Token, comments []lexer.Comment, out []byte) error {
	f := source.NewFile("", out)
	gotToks, gotComments, list := lexer.Lex(f)
	if list.HasErrors() {
		return fmt.Errorf("the result does not lex: %s", list.Sorted()[0].Message)
	}
	dst := string(out)
	i, j := 0, 0
	for {
		i, j = pastComma(toks, i), pastComma(gotToks, j)
		a, b := toks[i], gotToks[j]
		if a.Kind != b.Kind || src[a.Start:a.End] != dst[b.Start:b.End] {
			return fmt.Errorf("token %d, %q, would become %q", i, src[a.Start:a.End], dst[b.Start:b.End])
		}
		if a.Kind == lexer.EOF {
			break
		}
		i, j = i+1, j+1
	}
	if len(comments) != len(gotComments) {
		return fmt.Errorf("%d comments would become %d", len(comments), len(gotComments))
	}
	for i, c := range comments {
		g := gotComments[i]
		if a, b := src[c.Start:c.End], dst[g.Start:g.End]; !sameComment(a, b) {
			return fmt.Errorf("the comment %q would become %q", a, b)
		}
	}
	return nil
}

// pastComma returns i, or i+1 if token i is a comma that formatting may add or remove: before a
// closing bracket, or after the block of a match arm.
func pastComma(toks []lexer.Token, i int) int {
	if toks[i].Kind != lexer.Comma {
		return i
	}
	switch toks[i+1].Kind {
	case lexer.RParen, lexer.RBracket, lexer.RBrace, lexer.Greater, lexer.Bar:
		return i + 1
	}
	if i > 0 && toks[i-1].Kind == lexer.RBrace {
		return i + 1
	}
	return i
}

// sameComment reports whether two comments are equal except for white space at the start and end of
// their lines.
func sameComment(a, b string) bool {
	if a == b {
		return true
	}
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	if len(as) != len(bs) {
		return false
	}
	for i := range as {
		if strings.TrimSpace(as[i]) != strings.TrimSpace(bs[i]) {
			return false
		}
	}
	return true
}
