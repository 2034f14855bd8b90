// Package format writes Concerto source in its one style: four spaces for each level, lines of a
// hundred characters, a comma after the last element of a list that is broken over lines. It uses
// the parser, and does not know the meaning of programs.
//
// The tree determines how tokens belong together (decl.go, stmt.go, expr.go, chain.go, pattern.go,
// type.go). The tokens of the source are written (token.go), each with its comments (comment.go),
// as a sequence of layout operations (doc.go), which layout.go turns into lines.
//
// The author decides the following, and the style preserves it: single blank lines; whether a block
// of one statement, a map, an array, or a list of fields or arms is on one line if it fits; whether
// a chain of calls or a pipe has a line for each part; the line of each decorator.
//
// Invariants: the formatted text has the tokens of the source, except for commas before closing
// brackets, and its comments, in their order. Formatting twice changes nothing. Literals are
// written as in the source.
package format

import (
	"fmt"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/lexer"
	"github.com/concerto-lang/concerto/parser"
)

// DefaultWidth is the maximum number of characters in a line.
const DefaultWidth = 100

// Source formats a file. Lines have at most width characters if the tokens allow it; 0 means
// DefaultWidth. If the text has syntax errors, the result is nil and the list contains the errors.
// Source is safe for concurrent use.
func Source(f *source.File, width int) ([]byte, diag.List) {
	file, list := parser.Parse(f)
	if list.HasErrors() {
		return nil, list
	}
	if width <= 0 {
		width = DefaultWidth
	}
	toks, comments, _ := lexer.Lex(f)
	p := newPrinter(f.String(), toks, comments)
	p.file(file)
	out := p.render(width)
	if err := sameTokens(p.src, toks, comments, out); err != nil {
		panic(fmt.Sprintf("format: %s: %v", f.Name, err))
	}
	return out, diag.List{}
}

// file writes all of a file.
func (p *printer) file(f *ast.File) {
	var last int32
	for i, d := range f.Decls {
		p.item(i, &last, func() { p.decl(d) })
	}
	if p.comesBefore() {
		if len(f.Decls) > 0 {
			p.hard(p.gapBlank())
		}
		p.leads(true, false)
	}
}
