package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/event"
)

// Sizes of the text form.
const (
	longestItems = 20
	maxShown     = 200 // bytes of a request or an answer
)

// WriteJSON writes the report as JSON on one line.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteText writes the report as text for a terminal or a pull request.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", cmp.Or(r.Run.Program, "a run"), r.Run.State)
	if r.Run.Exit != nil {
		fmt.Fprintf(&b, ", exit code %d", *r.Run.Exit)
	}
	if r.Run.ID != "" {
		b.WriteString(", run " + r.Run.ID)
	}
	b.WriteString("\n")
	if r.Run.Started != nil {
		b.WriteString("started " + *r.Run.Started)
		if r.Run.Seconds != nil {
			fmt.Fprintf(&b, ", %s s", decimal(*r.Run.Seconds))
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s, %s\n", counted(int64(len(r.Items)), "item"), counted(int64(len(r.Decisions)), "decision"))
	for _, g := range r.Gaps {
		b.WriteString("note: " + g + "\n")
	}
	r.writeTotals(&b)
	for i, u := range r.Cache {
		if i == 0 {
			b.WriteString("\nCache\n")
		}
		b.WriteString("  " + strings.Join(u.Lines(), "\n  ") + "\n")
	}
	r.writeDecisions(&b)
	r.writeErrors(&b)
	r.writeLongest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 3, 64) }

// Line returns a value on one line, cut if it is long. A string is shown without quotes.
func Line(v json.RawMessage) string { return line(shown(v)) }

// line returns a text on one line, cut if it is long.
func line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxShown {
		s = cut(s, maxShown) + "…"
	}
	return s
}

func (r *Report) writeTotals(b *strings.Builder) {
	row := func(name string, t *Total) {
		estimated := ""
		if t.Estimated {
			estimated = " (estimated)"
		}
		fmt.Fprintf(b, "  %s: %s, %d failed, %d tokens in, %d out, $%s%s\n", name, counted(t.Calls, "call"), t.Failed, t.TokensIn, t.TokensOut, strings.Replace(string(t.Cost), "null", "?", 1), estimated)
	}
	if r.Totals.All.Calls > 0 {
		b.WriteString("\nModels\n")
		row("all", &r.Totals.All)
		for i := range r.Totals.Models {
			t := &r.Totals.Models[i]
			row(t.Connection+"/"+t.Model, t)
		}
	}
	if len(r.Totals.Hosts) > 0 {
		b.WriteString("\nHosts\n")
		for i := range r.Totals.Hosts {
			t := &r.Totals.Hosts[i]
			fmt.Fprintf(b, "  %s: %s, %d failed, %s s, reported $%s\n", t.Host, counted(t.Calls, "exchange"), t.Failed, decimal(t.Seconds), t.Cost)
		}
	}
}

func (r *Report) writeDecisions(b *strings.Builder) {
	if len(r.Decisions) == 0 {
		return
	}
	b.WriteString("\nDecisions\n")
	for i := range r.Decisions {
		d := &r.Decisions[i]
		x := r.Items[d.Item-1]
		answer := x.Status
		if d.Answer != nil {
			answer = Line(d.Answer)
		}
		fmt.Fprintf(b, "  %s %s: %s → %s", x.Kind, cmp.Or(x.Details.Host, x.Name), Line(d.Request), answer)
		if by := strings.TrimSpace(d.Actor.Type + " " + d.Actor.Name); by != "" {
			b.WriteString(" (" + by + ")")
		}
		if d.Source != nil {
			b.WriteString("  " + *d.Source)
		}
		b.WriteString("\n")
	}
}

// IsError reports whether the item is listed with the errors of the run. The run itself is not: the
// item of its error is.
func (x *Item) IsError() bool {
	return (x.Status == Failed || x.Status == Unknown) && x.Kind != string(event.Run)
}

func (r *Report) writeErrors(b *strings.Builder) {
	title := "\nErrors\n"
	for _, x := range r.Items {
		if !x.IsError() {
			continue
		}
		b.WriteString(title)
		title = ""
		fmt.Fprintf(b, "  %s: %s", strings.TrimSpace(x.Kind+" "+x.Name), line(cmp.Or(x.Error, x.Details.ErrorKind)))
		if x.At == nil {
			b.WriteString("\n")
			continue
		}
		b.WriteString("  " + *x.At + "\n")
		if text := r.SourceLine(*x.At); text != "" {
			b.WriteString("      " + text + "\n")
		}
	}
}

// SourceLine returns the line of source at FILE:LINE:COLUMN, or "".
func (r *Report) SourceLine(at string) string {
	parts := strings.Split(at, ":")
	if len(parts) < 3 {
		return ""
	}
	name := strings.Join(parts[:len(parts)-2], ":")
	n, err := strconv.Atoi(parts[len(parts)-2])
	for _, f := range r.Files {
		if lines := strings.Split(f.Text, "\n"); err == nil && f.Name == name && n >= 1 && n <= len(lines) {
			return strings.TrimSpace(lines[n-1])
		}
	}
	return ""
}

func (r *Report) writeLongest(b *strings.Builder) {
	var timed []*Item
	for _, x := range r.Items {
		if x.wait() != nil && *x.wait() > 0 && x.Kind != string(event.Run) {
			timed = append(timed, x)
		}
	}
	if len(timed) == 0 {
		return
	}
	slices.SortStableFunc(timed, func(a, b *Item) int { return cmp.Compare(*b.wait(), *a.wait()) })
	b.WriteString("\nLongest\n")
	for _, x := range timed[:min(len(timed), longestItems)] {
		fmt.Fprintf(b, "  %8s s  %s %s", decimal(*x.wait()), x.Kind, x.Name)
		if x.At != nil {
			b.WriteString("  " + *x.At)
		}
		b.WriteString("\n")
	}
}
