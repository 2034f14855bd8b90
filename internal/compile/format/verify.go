package format

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// sameTokens returns an error if a formatted text differs from its source in more than white space
// and commas before closing brackets. No program should lead to one: it detects bugs of this
// package before a file is overwritten.
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

// pastComma returns the index of the next token to compare. It skips a comma
// before a closing bracket or after a match arm's block.
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

// sameComment compares comments, except for indentation and white space at the
// ends of lines.
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
