package driver

import (
	"bufio"
	"fmt"
	"io"

	"github.com/concerto-lang/concerto/ast"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/lexer"
)

// A Stage shows a program after one of the compiler's stages. Write's list is
// what was found on the way; when it keeps the stage from being reached, nothing
// is written. The error is one of writing to w.
type Stage struct {
	Name  string
	Write func(w io.Writer, in *Input) (diag.List, error)
}

// IR is the name of the stage that makes a compiled program.
const IR = "ir"

// Stages are what `concerto build --emit` shows.
var Stages = []Stage{
	{IR, built(ir.Encode)},
	{"tokens", tokens},
	{"ast", syntax},
	{"asm", built(func(p *ir.Program) []byte { return []byte(ir.Disassemble(p)) })},
}

// built is a stage that needs the whole program.
func built(form func(*ir.Program) []byte) func(io.Writer, *Input) (diag.List, error) {
	return func(w io.Writer, in *Input) (diag.List, error) {
		p, found := Build(in)
		if p == nil {
			return found, nil
		}
		_, err := w.Write(form(p))
		return found, err
	}
}

// tokens writes the entry file's tokens, one a line: place, kind, text.
func tokens(w io.Writer, in *Input) (diag.List, error) {
	all, _, found := lexer.Lex(in.Entry)
	b := bufio.NewWriter(w)
	for _, t := range all {
		fmt.Fprintf(b, "%s %s %q\n", in.Entry.Position(t.Start), t.Kind, in.Entry.Slice(t.Span()))
	}
	return found, b.Flush()
}

// syntax writes the entry file's syntax tree.
func syntax(w io.Writer, in *Input) (diag.List, error) {
	file, found := Parse(in)
	return found, ast.Dump(w, file)
}
