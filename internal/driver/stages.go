package driver

import (
	"bufio"
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/diag"
	"github.com/concerto-lang/concerto/lexer"
)

// Tokens writes the entry file's tokens, one a line: place, kind, text. The
// list holds what the lexer found; the error is w's.
func Tokens(w io.Writer, in *Input) (diag.List, error) {
	tokens, _, found := lexer.Lex(in.Entry)
	b := bufio.NewWriter(w)
	for _, t := range tokens {
		fmt.Fprintf(b, "%s %s %q\n", in.Entry.Position(t.Start), t.Kind, in.Entry.Slice(t.Span()))
	}
	return found, b.Flush()
}

// Tree writes the entry file's syntax tree. The list holds what the parser
// found; the error is w's.
func Tree(w io.Writer, in *Input) (diag.List, error) {
	file, found := Parse(in)
	return found, ast.Dump(w, file)
}
