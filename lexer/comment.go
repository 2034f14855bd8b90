package lexer

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// lineComment reads a comment that starts with `//` and ends at the end of the line. A doc comment
// starts with exactly three slashes.
func (l *lexer) lineComment() {
	start := l.pos
	if n := strings.IndexByte(l.src[start:], '\n'); n >= 0 {
		l.pos += n
	} else {
		l.pos = len(l.src)
	}
	if l.pos > start && l.src[l.pos-1] == '\r' {
		l.pos--
	}
	text := l.src[start:l.pos]
	doc := strings.HasPrefix(text, "///") && !strings.HasPrefix(text, "////")
	l.comments = append(l.comments, Comment{source.Pos(start), source.Pos(l.pos), doc})
}

// blockComment reads `/* … */`. Block comments nest. A comment without its closing `*/` extends to
// the end of the file.
func (l *lexer) blockComment() {
	start, depth := l.pos, 1
	l.pos += 2
	for depth > 0 {
		n := strings.IndexAny(l.src[l.pos:], "*/")
		if n < 0 {
			l.pos = len(l.src)
			l.report(diag.OpenComment, start, start+2, "unterminated block comment").
				Repair(diag.UnsafeFix(diag.Insert(source.Pos(l.firstLineEnd(start+2)), " */"), "Insert `*/`"), "comments nest, so each `/*` needs its own `*/`")
			break
		}
		l.pos += n
		switch {
		case l.src[l.pos] == '*' && l.at(1) == '/':
			depth--
			l.pos += 2
		case l.src[l.pos] == '/' && l.at(1) == '*':
			depth++
			l.pos += 2
		default:
			l.pos++
		}
	}
	l.comments = append(l.comments, Comment{Start: source.Pos(start), End: source.Pos(l.pos)})
}
