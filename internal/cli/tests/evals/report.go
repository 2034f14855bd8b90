package evals

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/eval/result"
	"github.com/concerto-lang/concerto/internal/eval/stats"
	"github.com/concerto-lang/concerto/internal/eval/summary"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// The limits of the report, in cells and in items of a list.
const (
	maxName  = 24 // cells of a metric's name
	maxID    = 40 // cells of a case's id
	maxWhy   = 60 // cells of a reason
	maxIDs   = 5  // ids in a list
	maxDrops = 5  // cases that are listed as worse
)

// writeReport prints a report as text: for each eval its samples, a table of its metrics, and what
// it used; with a baseline also the cases that are worse.
func writeReport(a *console.Console, r *summary.Report, pairs []summary.Pair) error {
	t := &reportText{width: math.MaxInt}
	if a.TTY.Out {
		t.width, _ = a.TTY.Size()
	}
	for i, e := range r.Evals {
		if i > 0 {
			t.line("")
		}
		t.writeEval(e, pairs[i].Baseline)
	}
	if r.Verdict != nil && len(r.Evals) > 1 {
		t.line("")
		t.line("verdict: %s", *r.Verdict)
	}
	_, err := fmt.Fprint(a.Stdout, t.String())
	return err
}

// reportText is the text of a report. width is the width of the terminal.
type reportText struct {
	strings.Builder
	width int
}

// line adds a line.
func (t *reportText) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func (t *reportText) writeEval(e *summary.Eval, baseline summary.Side) {
	title := terminal.OneLine(e.Name)
	if e.Variant != nil {
		title += "@" + terminal.OneLine(*e.Variant)
	}
	if title != "" {
		title += ": "
	}
	title += terminal.OneLine(e.Result)
	if baseline.Result != nil {
		title += " against " + terminal.OneLine(baseline.Path)
	}
	t.line("%s", title)
	t.line("%s", describeSamples(e))
	t.line("")
	t.writeTable(e)
	t.writeNotes(e)
	t.writeUsage(e, baseline.Result)
	t.writeDrops(e)
}

// describeSamples returns the numbers of cases and of samples by status.
func describeSamples(e *summary.Eval) string {
	text := console.Count(e.Cases, "case") + ", " + console.Count(e.Samples.Total, "sample")
	var parts []string
	for _, x := range []struct {
		n    int
		text string
	}{{e.Samples.Failed, "failed"}, {e.Samples.Errors, "not scored because of an error"}, {e.Samples.Skipped, "skipped because a budget was used up"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", diag.Thousands(x.n), x.text))
		}
	}
	if parts != nil {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// writeTable writes the table of metrics. If it is wider than the terminal, the columns of the
// comparison are a second table.
func (t *reportText) writeTable(e *summary.Eval) {
	head := []string{"metric", "n", "mean", "95 % interval"}
	passK := 0 // k of the columns pass@k and pass^k; they are omitted for 1, which is the mean
	for _, m := range e.Metrics {
		for _, p := range m.Pass {
			passK = max(passK, p.K)
		}
	}
	if passK > 1 {
		head = append(head, fmt.Sprintf("pass@%d", passK), fmt.Sprintf("pass^%d", passK))
	}
	own := len(head)
	if len(e.Comparisons) > 0 {
		head = append(head, "baseline", "difference", strconv.FormatFloat(100*e.Comparisons[0].Level, 'g', 4, 64)+" % interval", "verdict")
	}
	rows := [][]string{head}
	for _, m := range e.Metrics {
		row := make([]string, len(head))
		copy(row, []string{terminal.Cut(terminal.OneLine(m.Name), maxName), fmt.Sprint(m.N), formatOptional(m.Mean), formatInterval(m.CI)})
		for _, p := range m.Pass {
			if passK > 1 && p.K == passK {
				row[4], row[5] = formatOptional(p.Any), formatOptional(p.All)
			}
		}
		for _, c := range e.Comparisons {
			if c.Metric == m.Name {
				verdict := "-"
				if c.Verdict != nil {
					verdict = *c.Verdict
				}
				copy(row[own:], []string{formatOptional(c.Baseline), formatSigned(c.Difference), formatInterval(c.CI), verdict})
			}
		}
		rows = append(rows, row)
	}
	verdicts := len(head) - 1 // the column of verdicts, if there is one
	if own == len(head) {
		t.writeRows(rows, 0)
		return
	}
	if t.isWiderThanTerminal(rows) {
		var second [][]string
		for i, row := range rows {
			second = append(second, append([]string{row[0]}, row[own:]...))
			rows[i] = row[:own]
		}
		t.writeRows(rows, 0)
		t.line("")
		rows, verdicts = second, len(second[0])-1
	}
	t.writeRows(rows, 0, verdicts)
}

// isWiderThanTerminal reports whether the lines of a table do not fit on the terminal.
func (t *reportText) isWiderThanTerminal(rows [][]string) bool {
	return slices.ContainsFunc(alignColumns(rows, nil), func(line string) bool { return terminal.Width(line) > t.width })
}

// writeRows writes a table. left contains the columns that are aligned to the left.
func (t *reportText) writeRows(rows [][]string, left ...int) {
	t.line("%s", strings.Join(alignColumns(rows, left), "\n"))
}

// alignColumns returns the rows as lines. The columns in left are aligned to the left, and all
// others to the right.
func alignColumns(rows [][]string, left []int) []string {
	var widths []int
	for c := range rows[0] {
		width := 0
		for _, row := range rows {
			width = max(width, terminal.Width(row[c]))
		}
		widths = append(widths, width)
	}
	var lines []string
	for _, row := range rows {
		var b strings.Builder
		for c, cell := range row {
			pad := strings.Repeat(" ", widths[c]-terminal.Width(cell))
			if c > 0 {
				b.WriteString("  ")
			}
			if slices.Contains(left, c) {
				b.WriteString(cell + pad)
			} else {
				b.WriteString(pad + cell)
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// formatNumber formats a number with three or four digits.
func formatNumber(x float64) string {
	switch size := math.Abs(x); {
	case x == 0:
		return "0"
	case size < 0.01:
		return strconv.FormatFloat(x, 'g', 2, 64)
	case size < 10:
		return strconv.FormatFloat(x, 'f', 3, 64)
	case size < 1e9 && x == math.Trunc(x):
		return strconv.FormatFloat(x, 'f', 0, 64)
	case size < 1000:
		return strconv.FormatFloat(x, 'f', 1, 64)
	case size < 1e9:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// formatOptional formats a number that may be unknown.
func formatOptional(x *float64) string {
	if x == nil {
		return "-"
	}
	return formatNumber(*x)
}

// formatSigned formats a difference.
func formatSigned(x *float64) string {
	if x != nil && *x > 0 {
		return "+" + formatNumber(*x)
	}
	return formatOptional(x)
}

func formatInterval(ends *summary.Ends) string {
	if ends == nil {
		return "-"
	}
	return formatNumber(ends[0]) + " to " + formatNumber(ends[1])
}

// writeNotes writes the reasons of verdicts, the state of judges, and the cases that are not
// compared.
func (t *reportText) writeNotes(e *summary.Eval) {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, c := range e.Comparisons {
		name := terminal.OneLine(c.Metric)
		if c.Verdict == nil || *c.Verdict == stats.NoWorse {
			continue
		}
		by := fmt.Sprintf("p %s, margin %s", strconv.FormatFloat(*c.PHolm, 'g', 2, 64), strconv.FormatFloat(c.Margin, 'g', 4, 64))
		switch {
		case *c.Verdict == stats.Worse:
			add("%s is worse: %s", name, by)
		case c.CasesNeeded != nil:
			add("%s is inconclusive: %s; without a difference, about %s would decide", name, by, console.Count(*c.CasesNeeded, "further case"))
		default:
			add("%s is inconclusive: %s", name, by)
		}
	}
	for _, m := range e.Metrics {
		name := terminal.OneLine(m.Name)
		if a := m.Agreement; a != nil {
			add("%s: κ %s, %s (%s)", name, formatOptional(a.Kappa), formatInterval(a.CI), console.Count(a.N, "case"))
		}
		if j := m.Judge; j != nil && j.State == summary.Unvalidated {
			add("%s: unvalidated judge", name)
		} else if j != nil {
			text := fmt.Sprintf("%s: κ %s (%s)", name, formatOptional(j.Kappa), console.Count(j.Cases, "case"))
			if j.State == summary.Weak {
				text += ", weak judge"
			}
			add("%s", text)
		}
	}
	notes = append(notes, describeIgnored(e.Comparisons, "with a value only here", func(c *summary.Comparison) []string { return c.OnlyCurrent })...)
	notes = append(notes, describeIgnored(e.Comparisons, "with a value only in the baseline", func(c *summary.Comparison) []string { return c.OnlyBaseline })...)
	notes = append(notes, describeIgnored(e.Comparisons, "with another row", func(c *summary.Comparison) []string { return c.Changed })...)
	if notes != nil {
		t.line("\n%s", strings.Join(notes, "\n"))
	}
}

// describeIgnored returns a line for the cases that are not compared. why describes them. If the
// metrics have different lists of such cases, it returns a line for each list.
func describeIgnored(all []*summary.Comparison, why string, ids func(*summary.Comparison) []string) []string {
	var lists []string
	metrics := map[string][]string{} // metrics by list
	for _, c := range all {
		if len(ids(c)) > 0 {
			list := listCases(ids(c), why)
			if metrics[list] == nil {
				lists = append(lists, list)
			}
			metrics[list] = append(metrics[list], terminal.OneLine(c.Metric))
		}
	}
	var notes []string
	for _, list := range lists {
		note := "not compared: " + list
		if len(metrics[list]) < len(all) {
			note = strings.Join(metrics[list], ", ") + ": " + note
		}
		notes = append(notes, note)
	}
	return notes
}

// listCases returns the number of cases, their description and the first ids.
func listCases(ids []string, description string) string {
	var shown []string
	for _, id := range ids[:min(len(ids), maxIDs)] {
		shown = append(shown, terminal.Cut(terminal.OneLine(id), maxID))
	}
	text := fmt.Sprintf("%s %s (%s", console.Count(len(ids), "case"), description, strings.Join(shown, ", "))
	if more := len(ids) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ")"
}

// writeUsage writes costs and durations, and those of the baseline if there is one.
func (t *reportText) writeUsage(e *summary.Eval, baseline *result.Result) {
	cost := describeCost(e.Usage)
	latency := describeLatency(e.Latency)
	if baseline != nil {
		if before := describeCost(summary.UsageOf(baseline)); cost != "" && before != "" {
			cost += "; baseline " + before
		}
		if before := describeLatency(summary.LatencyOf(baseline)); latency != "" && before != "" {
			latency += "; baseline " + before
		}
	}
	if cost+latency != "" {
		t.line("")
	}
	if cost != "" {
		t.line("cost     %s", cost)
	}
	if latency != "" {
		t.line("latency  %s", latency)
	}
}

func describeCost(u summary.Usage) string {
	var parts []string
	if u.CostUSD != nil {
		parts = append(parts, "$"+formatNumber(*u.CostUSD))
	}
	if u.JudgeCostUSD != nil {
		parts = append(parts, "judges $"+formatNumber(*u.JudgeCostUSD))
	}
	if n := u.TokensIn + u.TokensOut; n > 0 {
		text := diag.Thousands(int(n)) + " tokens"
		if u.Cached > 0 {
			text += ", of which " + diag.Thousands(int(u.Cached)) + " cached"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func describeLatency(l summary.Latency) string {
	if l.P50 == nil {
		return ""
	}
	return fmt.Sprintf("p50 %s ms, p90 %s ms, p99 %s ms", formatNumber(*l.P50), formatNumber(*l.P90), formatNumber(*l.P99))
}

// writeDrops writes the cases that dropped most, with the reasons. Losses of different metrics are
// compared in units of their margins. A case is listed once, with its largest loss.
func (t *reportText) writeDrops(e *summary.Eval) {
	type drop struct {
		summary.Drop
		metric string
		size   float64
	}
	var all []drop
	for _, c := range e.Comparisons {
		if !c.Gate {
			continue
		}
		for _, d := range c.Drops {
			size := d.Loss
			if c.Margin > 0 {
				size /= c.Margin
			}
			all = append(all, drop{d, c.Metric, size})
		}
	}
	slices.SortStableFunc(all, func(a, b drop) int { return cmp.Compare(b.size, a.size) })
	var rows [][]string
	seen := map[string]bool{}
	for _, d := range all {
		if seen[d.Case] || len(rows) == maxDrops {
			continue
		}
		seen[d.Case] = true
		rows = append(rows, []string{
			"  " + terminal.Cut(terminal.OneLine(d.Case), maxID), terminal.Cut(terminal.OneLine(d.metric), maxName),
			formatNumber(d.Baseline), "to", formatNumber(d.Current), terminal.Cut(terminal.OneLine(d.Why), maxWhy),
		})
	}
	if rows != nil {
		t.line("\ncases that dropped most:")
		t.writeRows(rows, 0, 1, 5)
	}
}
