package runs

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// column is a column of the table of runs.
type column struct {
	name  string
	value func(*live.State) string
	less  func(a, b *live.State) bool // nil: by the text
	right bool                        // aligned to the right
	least int                         // cells to which a text may be cut; 0 if it must not be cut
}

// columns lists the columns by importance: those on the right are left out first.
var columns = []column{
	{name: "RUN", value: func(s *live.State) string { return s.Run }},
	{name: "STATE", value: func(s *live.State) string { return s.State }},
	{name: "PENDING", value: pendingOf, less: func(a, b *live.State) bool { return len(a.Pending) > len(b.Pending) }, least: 16},
	{name: "LAST", value: lastOf, least: 12},
	{name: "TIME", value: func(s *live.State) string { return took(s.Seconds) }, less: func(a, b *live.State) bool { return a.Seconds > b.Seconds }, right: true},
	{name: "COST", value: func(s *live.State) string { return "$" + s.Usage.CostUSD.String() }, less: costsMore, right: true},
	{name: "HOSTS", value: func(s *live.State) string { return strconv.Itoa(len(s.Hosts)) }, less: func(a, b *live.State) bool { return len(a.Hosts) > len(b.Hosts) }, right: true},
	{name: "CALLS", value: func(s *live.State) string { return strconv.FormatInt(s.Usage.Calls, 10) }, less: func(a, b *live.State) bool { return a.Usage.Calls > b.Usage.Calls }, right: true},
	{name: "TOKENS", value: func(s *live.State) string { return strconv.FormatInt(tokensOf(s), 10) }, less: func(a, b *live.State) bool { return tokensOf(a) > tokensOf(b) }, right: true},
}

func tokensOf(s *live.State) int64 { return s.Usage.TokensIn + s.Usage.TokensOut }

func costsMore(a, b *live.State) bool {
	x, xerr := a.Usage.CostUSD.Float64()
	y, yerr := b.Usage.CostUSD.Float64()
	return xerr == nil && (yerr != nil || x > y)
}

// pendingOf returns the oldest open request, and how many more there are.
func pendingOf(s *live.State) string {
	if len(s.Pending) == 0 {
		return ""
	}
	text := requested(&s.Pending[0])
	if n := len(s.Pending) - 1; n > 0 {
		text = fmt.Sprintf("%s (and %d more)", text, n)
	}
	return text
}

// requested returns what an approval is about, or the question.
func requested(p *live.Pending) string {
	if v := viewOf(p); v != nil {
		return v.Summary()
	}
	if p.Type == "await" {
		return p.Channel + ": " + p.Text
	}
	return p.Text
}

// viewOf returns the view of a request for approval, or nil for another request.
func viewOf(p *live.Pending) *request.View {
	if p.Type != "approval" || p.Payload == nil {
		return nil
	}
	return request.Of(p.Payload, nil)
}

// lastOf returns the last message of a host, or the last line of output.
func lastOf(s *live.State) string {
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
	gap       = 2   // cells between two columns
	unlimited = 200 // cells of a text if the width is not limited
)

// drawTable returns the rows of the table, the first of which has the names of the columns. No row
// is wider than width; 0 means that there is no limit. If there is not enough room, texts are cut,
// and then columns are left out from the right. Control characters are escaped.
func drawTable(all []live.State, shown []column, width int) []string {
	cells, widths := make([][]string, len(all)+1), make([]int, len(shown))
	for i := range cells {
		cells[i] = make([]string, len(shown))
		for c := range shown {
			text := shown[c].name
			if i > 0 {
				text = terminal.OneLine(shown[c].value(&all[i-1]))
			}
			if shown[c].least > 0 && width == 0 {
				text = terminal.Cut(text, unlimited)
			}
			cells[i][c] = text
			widths[c] = max(widths[c], terminal.Width(text))
		}
	}
	if width > 0 {
		widths = fit(widths, shown, width)
	}
	var rows []string
	for _, row := range cells {
		var b strings.Builder
		for c, w := range widths {
			text := terminal.Cut(row[c], w)
			pad := strings.Repeat(" ", max(0, w-terminal.Width(text)))
			if shown[c].right {
				text = pad + text
			} else {
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

// fit returns the widths of the columns for which there is room. Texts that can be cut share what
// the other columns leave, in their order.
func fit(widths []int, shown []column, width int) []int {
	out, used := []int{}, 0
	for c, w := range widths {
		if shown[c].least > 0 {
			w = min(w, shown[c].least)
		}
		if c > 0 {
			w += gap
		}
		if used += w; used > width && c > 0 {
			used -= w
			break
		}
		out = append(out, w)
	}
	for c := range out {
		if c > 0 {
			out[c] -= gap
		}
		if more := min(widths[c]-out[c], width-used); more > 0 {
			out[c], used = out[c]+more, used+more
		}
	}
	out[0] = min(out[0], width)
	return out
}
