package parser

import (
	"sort"
	"strings"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
)

// cursor is a position in the list of tokens of a file.
type cursor struct {
	file     *source.File
	src      string
	toks     []lexer.Token
	comments []lexer.Comment
	i        int        // index of the current token
	k        lexer.Kind // kind of the current token
}

func (c *cursor) tok() lexer.Token { return c.toks[c.i] }

// next moves to the next token. At the end of the file it does nothing.
func (c *cursor) next() {
	if c.k != lexer.EOF {
		c.i++
		c.k = c.toks[c.i].Kind
	}
}

// seek moves to token i.
func (c *cursor) seek(i int) {
	c.i = min(i, len(c.toks)-1)
	c.k = c.toks[c.i].Kind
}

// peek returns the kind of the token n tokens after the current one.
func (c *cursor) peek(n int) lexer.Kind {
	if c.i+n < len(c.toks) {
		return c.toks[c.i+n].Kind
	}
	return lexer.EOF
}

// eat consumes the current token if its kind is k, and reports whether it did.
func (c *cursor) eat(k lexer.Kind) bool {
	if c.k != k {
		return false
	}
	c.next()
	return true
}

// text returns the current token's text.
func (c *cursor) text() string { return c.textAt(c.i) }

func (c *cursor) textAt(i int) string {
	t := c.toks[i]
	return c.src[t.Start:t.End]
}

// isWord reports whether the current token is the contextual word w.
func (c *cursor) isWord(w string) bool { return c.k == lexer.Ident && c.text() == w }

// here returns the start of the current token.
func (c *cursor) here() source.Pos { return c.toks[c.i].Start }

// prevEnd returns the end of the previous token.
func (c *cursor) prevEnd() source.Pos {
	if c.i == 0 {
		return 0
	}
	return c.toks[c.i-1].End
}

// from returns the span from start to the end of the previous token.
func (c *cursor) from(start source.Pos) source.Span {
	return source.Span{Start: start, End: max(start, c.prevEnd())}
}

// newLine reports whether the current token is the first of its line.
func (c *cursor) newLine() bool { return c.startsLine(c.i) }

func (c *cursor) startsLine(i int) bool {
	if i == 0 {
		return true
	}
	for j := int(c.toks[i].Start) - 1; j >= int(c.toks[i-1].End); j-- {
		if c.src[j] == '\n' {
			return true
		}
	}
	return false
}

// atColumn0 reports whether token i is at the start of a line, without indentation.
func (c *cursor) atColumn0(i int) bool {
	s := c.toks[i].Start
	return s == 0 || c.src[s-1] == '\n'
}

func (c *cursor) kindAt(i int) lexer.Kind {
	if i < len(c.toks) {
		return c.toks[i].Kind
	}
	return lexer.EOF
}

// prev returns the kind of the token n tokens before the current one.
func (c *cursor) prev(n int) lexer.Kind { return c.kindAt(max(c.i-n, 0)) }

// prevText returns the text of the previous token.
func (c *cursor) prevText() string { return c.textAt(max(c.i-1, 0)) }

// adjoins reports whether the current token directly follows the previous token.
func (c *cursor) adjoins() bool { return c.i > 0 && c.prevEnd() == c.here() }

func (c *cursor) after(kinds ...lexer.Kind) bool {
	for i, k := range kinds {
		if c.i-i-1 < 0 || c.prev(i+1) != k {
			return false
		}
	}
	return true
}

// lineStart returns the index of the first token of the current line.
func (c *cursor) lineStart() int {
	i := c.i
	for i > 0 && !c.startsLine(i) {
		i--
	}
	return i
}

// indent returns the width of the white space at the start of the line of token i.
func (c *cursor) indent(i int) int {
	start := int(c.toks[max(i, 0)].Start)
	for start > 0 && c.src[start-1] != '\n' {
		start--
	}
	n := 0
	for start+n < len(c.src) && (c.src[start+n] == ' ' || c.src[start+n] == '\t') {
		n++
	}
	return n
}

func (c *cursor) astComments() []ast.Comment {
	if len(c.comments) == 0 {
		return nil
	}
	out := make([]ast.Comment, len(c.comments))
	for i, m := range c.comments {
		out[i] = ast.Comment{Base: ast.Base{Sp: source.Span{Start: m.Start, End: m.End}}, Doc: m.Doc}
	}
	return out
}

// docBefore returns the text of the doc comments before the token at pos. The text of each line
// excludes the slashes and the space after them.
func (c *cursor) docBefore(pos source.Pos) string {
	n := sort.Search(len(c.comments), func(i int) bool { return c.comments[i].Start >= pos })
	first := n
	for end := pos; first > 0; first-- {
		m := c.comments[first-1]
		if strings.Trim(c.src[m.End:end], " \t\r\n\ufeff") != "" {
			break
		}
		end = m.Start
	}
	var lines []string
	for _, m := range c.comments[first:n] {
		if m.Doc {
			lines = append(lines, strings.TrimPrefix(c.src[m.Start+3:m.End], " "))
		}
	}
	return strings.Join(lines, "\n")
}
