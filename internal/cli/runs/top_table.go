package runs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// column is a column of the table of runs.
type column struct {
	name  string
	value func(*live.State) string
	less  func(a, b *live.State) bool // nil: by the text
	right bool                        // aligned to the right
}

// columns lists the columns. The last one takes the rest of the width.
var columns = []column{
	{name: "RUN", value: func(s *live.State) string { return s.Run }},
	{name: "PROGRAM", value: func(s *live.State) string { return s.Program }},
	{name: "STATE", value: func(s *live.State) string { return s.State }},
	{name: "TIME", value: func(s *live.State) string { return took(s.Seconds) }, less: func(a, b *live.State) bool { return a.Seconds > b.Seconds }, right: true},
	{name: "TASKS", value: func(s *live.State) string { return strconv.Itoa(s.Tasks) }, less: func(a, b *live.State) bool { return a.Tasks > b.Tasks }, right: true},
	{name: "HOSTS", value: func(s *live.State) string { return strconv.Itoa(len(s.Hosts)) }, less: func(a, b *live.State) bool { return len(a.Hosts) > len(b.Hosts) }, right: true},
	{name: "PENDING", value: func(s *live.State) string { return strconv.Itoa(len(s.Pending)) }, less: func(a, b *live.State) bool { return len(a.Pending) > len(b.Pending) }, right: true},
	{name: "CALLS", value: func(s *live.State) string { return strconv.FormatInt(s.Usage.Calls, 10) }, less: func(a, b *live.State) bool { return a.Usage.Calls > b.Usage.Calls }, right: true},
	{name: "TOK/MIN", value: func(s *live.State) string { return strconv.FormatInt(s.PerMin, 10) }, less: func(a, b *live.State) bool { return a.PerMin > b.PerMin }, right: true},
	{name: "USD", value: func(s *live.State) string { return s.Usage.CostUSD.String() }, less: costsMore, right: true},
	{name: "LAST", value: lastOf},
}

func costsMore(a, b *live.State) bool {
	x, xerr := a.Usage.CostUSD.Float64()
	y, yerr := b.Usage.CostUSD.Float64()
	return xerr == nil && (yerr != nil || x > y)
}

// lastOf returns what the run has done last: its oldest open request, the last message of a host,
// or its last line of output.
func lastOf(s *live.State) string {
	if len(s.Pending) > 0 {
		p := s.Pending[0]
		return strings.TrimSpace(p.Type + " " + p.Channel + ": " + p.Text)
	}
	for _, h := range s.Hosts {
		if h.Last != "" {
			return h.Name + ": " + h.Last
		}
	}
	if n := len(s.Lines); n > 0 {
		return s.Lines[n-1]
	}
	return ""
}

// took formats seconds: 7s, 2m03s, 1h02m, 3d04h.
func took(seconds float64) string {
	s := int(seconds)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}

const (
	gap       = 2  // cells between two columns
	minLast   = 12 // cells below which LAST is left out
	unlimited = 200
)

// drawTable returns the rows of the table, the first of which has the names of the columns. No row
// is wider than width; 0 means that there is no limit. If there is not enough room, the last column
// is cut first, and then columns are left out from the right. Control characters are escaped.
func drawTable(all []live.State, shown []column, width int) []string {
	cells, widths := make([][]string, len(all)+1), make([]int, len(shown))
	for i := range cells {
		cells[i] = make([]string, len(shown))
		for c := range shown {
			text := shown[c].name
			if i > 0 {
				text = terminal.OneLine(shown[c].value(&all[i-1]))
			}
			if c == len(shown)-1 && width == 0 {
				text = terminal.Cut(text, unlimited)
			}
			cells[i][c] = text
			widths[c] = max(widths[c], terminal.Width(text))
		}
	}
	n := len(shown)
	if width > 0 {
		n = fit(widths, width)
	}
	var rows []string
	for _, row := range cells {
		var b strings.Builder
		for c := range n {
			text := terminal.Cut(row[c], widths[c])
			pad := strings.Repeat(" ", max(0, widths[c]-terminal.Width(text)))
			switch {
			case shown[c].right:
				text = pad + text
			case c < n-1:
				text += pad
			}
			if c > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			b.WriteString(text)
		}
		rows = append(rows, strings.TrimRight(b.String(), " "))
	}
	return rows
}

// fit returns the number of columns for which there is room, and reduces the width of the last one.
func fit(widths []int, width int) int {
	last := len(widths) - 1
	used := 0
	for c, w := range widths {
		if c > 0 {
			used += gap
		}
		switch {
		case c == 0 && w > width:
			widths[0] = width
			return 1
		case c == last && used+min(w, minLast) <= width:
			widths[c] = min(w, width-used)
		case used+w > width:
			return c
		}
		used += w
	}
	return len(widths)
}
