package diag

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// JSON writes diagnostics for programs: an array with one object per diagnostic, each on its own
// line. Lines and columns count from 1, columns in code points; end is the position after the last
// character. An empty list is `[]`.
//
//	{"code":"E0101","severity":"error","message":"…","file":"main.conc","line":3,"column":8,
//	 "end":{"line":3,"column":11},"labels":[],"hints":["…"],"fixes":[{"title":"…","safe":true,
//	 "edits":[{"file":"main.conc","line":3,"column":8,"end":{"line":3,"column":11},"text":"…"}]}]}
func JSON(w io.Writer, ds []*Diagnostic) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	b.WriteString("[")
	for i, d := range ds {
		if i > 0 {
			b.WriteString(",")
		}
		record := struct {
			diagnosticJSON
			Fixes []fixJSON `json:"fixes"`
		}{toJSON(d), fixes(d)}
		if err := enc.Encode(record); err != nil {
			return err
		}
	}
	b.WriteString("]\n")
	return b.Flush()
}

// Records writes diagnostics as log records: the objects of JSON without fixes, one on a line, each
// with the level "error" or "warn" first.
func Records(w io.Writer, ds []*Diagnostic) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for _, d := range ds {
		r := struct {
			Level string `json:"level"`
			diagnosticJSON
		}{"warn", toJSON(d)}
		if d.Severity() == Error {
			r.Level = "error"
		}
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return b.Flush()
}

type diagnosticJSON struct {
	Code     string `json:"code"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	placeJSON
	Labels []labelJSON `json:"labels"`
	Hints  []string    `json:"hints"`
}

// placeJSON is a span of a file. It is empty for a diagnostic without a file.
type placeJSON struct {
	File   string        `json:"file,omitempty"`
	Line   int           `json:"line,omitempty"`
	Column int           `json:"column,omitempty"`
	End    *positionJSON `json:"end,omitempty"`
}

type positionJSON struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

type labelJSON struct {
	placeJSON
	Text string `json:"text"`
}

type fixJSON struct {
	Title string     `json:"title"`
	Safe  bool       `json:"safe"`
	Edits []editJSON `json:"edits"`
}

type editJSON struct {
	placeJSON
	Text string `json:"text"`
}

func toJSON(d *Diagnostic) diagnosticJSON {
	j := diagnosticJSON{
		Code: d.Info.Code, Severity: d.Severity().String(), Message: d.Message,
		placeJSON: place(d.File, d.Span), Labels: make([]labelJSON, 0, len(d.Labels)), Hints: d.Hints,
	}
	if j.Hints == nil {
		j.Hints = []string{}
	}
	for _, l := range d.Labels {
		j.Labels = append(j.Labels, labelJSON{place(cmp.Or(l.File, d.File), l.Span), l.Text})
	}
	return j
}

func fixes(d *Diagnostic) []fixJSON {
	all := make([]fixJSON, 0, len(d.Fixes))
	for _, f := range d.Fixes {
		x := fixJSON{Title: f.Title, Safe: f.Safe}
		for _, e := range f.Edits {
			x.Edits = append(x.Edits, editJSON{place(cmp.Or(e.File, d.File), e.Span), e.Text})
		}
		all = append(all, x)
	}
	return all
}

func place(f *source.File, s source.Span) placeJSON {
	if f == nil {
		return placeJSON{}
	}
	start, end := f.Position(s.Start), f.Position(s.End)
	return placeJSON{f.Name, start.Line, start.Column, &positionJSON{end.Line, end.Column}}
}
