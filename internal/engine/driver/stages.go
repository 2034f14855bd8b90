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

// Stage is a stage of the compiler whose output can be written. Write writes the program after the
// stage and returns the findings so far; if they prevent the stage, it writes nothing. The error is
// an error of writing to w.
type Stage struct {
	Name  string
	Write func(w io.Writer, in *Input) (diag.List, error)
}

// IR is the name of the stage whose output is a compiled program.
const IR = "ir"

// Stages lists the stages of `concerto build --emit`.
var Stages = []Stage{
	{IR, built(ir.Encode)},
	{"tokens", writeTokens},
	{"ast", syntax},
	{"asm", built(func(p *ir.Program) []byte { return []byte(ir.Disassemble(p)) })},
}

// built returns the Write function of a stage that uses the compiled program.
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

// writeTokens writes each token of the entry file on a line: position, kind and text.
func writeTokens(w io.Writer, in *Input) (diag.List, error) {
	all, _, found := lexer.Lex(in.Entry)
	b := bufio.NewWriter(w)
	for _, t := range all {
		fmt.Fprintf(b, "%s %s %q\n", in.Entry.Position(t.Start), t.Kind, in.Entry.Slice(t.Span()))
	}
	return found, b.Flush()
}

// syntax writes the syntax tree of the entry file.
func syntax(w io.Writer, in *Input) (diag.List, error) {
	file, found := Parse(in)
	return found, ast.Dump(w, file)
}
