package dataset

import (
	"errors"
	"io/fs"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/valuetype"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/sema"
)

// Checker returns a function that checks, for the compiler, the datasets that evals name. It checks
// the first maxRows rows; 0 means all. Rows that functions return are not checked.
func Checker(maxRows int) driver.CheckData {
	return func(p *sema.Program, read driver.ReadData, l *diag.List) {
		for _, e := range p.Evals {
			if e.Data != "" && e.Row != nil {
				checkData(e, read, maxRows, l)
			}
		}
	}
}

// checkData reports the problems of the dataset of an eval.
func checkData(e *sema.Eval, read driver.ReadData, maxRows int, l *diag.List) {
	from := e.Fn.Info.File.Source
	f, err := read(from, e.Data)
	if err != nil {
		d := diag.EvalData.At(e.DataArg.Value.Span(), "could not %v", err).In(from)
		if errors.Is(err, fs.ErrNotExist) {
			d.Hint("create %s; the path is relative to %s", e.Data, from.Name)
		}
		l.Add(d)
		return
	}
	_, err = Read(e.Data, f.Text, valuetype.Of(e.Row), "", maxRows)
	problems, ok := errors.AsType[*Error](err)
	if !ok {
		return
	}
	for i, x := range problems.Rows {
		if x.Line == 0 {
			l.Add(diag.EvalData.At(e.DataArg.Value.Span(), "%s: %s", e.Data, x.Message).In(from))
			continue
		}
		d := diag.EvalData.At(lineSpan(f, x.Line), "%s", x.Message).In(f).LabelIn(from, e.DataArg.Sp, "the eval")
		if i == len(problems.Rows)-1 && problems.More > 0 {
			d.Hint("%s", problems.Rest())
		}
		l.Add(d)
	}
}

// lineSpan returns the span of a line.
func lineSpan(f *source.File, line int) source.Span {
	start := f.LineStart(line)
	end := start
	for int(end) < len(f.Text) && f.Text[end] != '\n' && f.Text[end] != '\r' {
		end++
	}
	return source.Span{Start: start, End: end}
}
