package diag

import (
	"bufio"
	"io"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// onOneLine returns n errors in a file that has one line. Each error has a label at the start of
// that line.
func onOneLine(n int) []*Diagnostic {
	f := source.NewFile("m.conc", []byte(strings.Repeat("wrong; ", n)))
	ds := make([]*Diagnostic, n)
	for i := range ds {
		at := source.Pos(7 * i)
		ds[i] = sample.At(source.Span{Start: at, End: at + 5}, "wrong %d", i).In(f).Label(source.Span{Start: 0, End: 5}, "here")
	}
	return ds
}

// TestManyOnOneLineIsLinear renders diagnostics on one long line. Twice as many diagnostics on a
// line of twice the length may only read about twice as many characters.
func TestManyOnOneLineIsLinear(t *testing.T) {
	work := func(n int) int {
		r := renderer{w: bufio.NewWriter(io.Discard)}
		for _, d := range onOneLine(n) {
			r.diagnostic(d)
		}
		return r.scanned
	}
	if one, two := work(2000), work(4000); two > one*5/2 || one < 2000 {
		t.Errorf("characters read for 2000 diagnostics = %d, for 4000 = %d; want about twice as many", one, two)
	}
}

// TestHiddenDiagnosticsAreCounted renders more than MaxShown diagnostics. Text renders the first
// MaxShown and counts the remaining errors and warnings. JSON writes all of them.
func TestHiddenDiagnosticsAreCounted(t *testing.T) {
	ds := onOneLine(20_000)
	if got := render(t, ds...); strings.Count(got, "error[E9999]") != MaxShown || !strings.HasSuffix(got, "\n\nand 19,800 more errors\n") {
		t.Errorf("number of rendered errors = %d, end of the text = %q", strings.Count(got, "error[E9999]"), got[len(got)-60:])
	}
	for i := range 201 {
		ds = append(ds, (&Info{Code: "W9999"}).At(source.Span{}, "w %d", i))
	}
	if got := render(t, ds...); !strings.HasSuffix(got, "warning[W9999]: w 199\n\nand 19,800 more errors, 1 more warning\n") {
		t.Errorf("end of the text = %q, want 19,800 more errors and 1 more warning", got[len(got)-90:])
	}
	var b strings.Builder
	if err := JSON(&b, ds); err != nil || strings.Count(b.String(), `"code":`) != 20_201 {
		t.Errorf("diagnostics in JSON = %d, want 20201; error = %v", strings.Count(b.String(), `"code":`), err)
	}
	if got := Count(ds); got != "20,000 errors, 201 warnings" {
		t.Error(got)
	}
}

// TestLongLineWindows renders an error at each position of a line that is too long to be printed.
// The caret must be below the error's character in the printed part of the line.
func TestLongLineWindows(t *testing.T) {
	const part = "\té漢\u0301X;"
	f := source.NewFile("m.conc", []byte(strings.Repeat(part, 400)))
	for i := range 400 {
		at := source.Pos(len(part)*i + strings.Index(part, "X"))
		out := strings.Split(render(t, sample.At(source.Span{Start: at, End: at + 1}, "m").In(f)), "\n")
		caret, col := strings.IndexByte(out[3], '^'), 0
		if len(out[2]) > 4*maxColumns {
			t.Fatalf("length of the rendered line = %d bytes, want at most 4*maxColumns", len(out[2]))
		}
		for _, r := range out[2] {
			if col == caret && runeWidth(r) > 0 {
				if r != 'X' {
					t.Fatalf("part %d: the caret points to %q:\n%s\n%s", i, r, out[2], out[3])
				}
				break
			}
			col += runeWidth(r)
		}
	}
}
