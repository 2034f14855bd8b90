package progress

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/activity"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// View shows the current state of a run. It has one line for each stage of a pipeline, for each
// task that executes a listen, for each host and for each merge queue, in the order in which they
// started. If they do not fit, the hosts of a declaration share a line. It is safe for concurrent
// use.
type View struct {
	mu   sync.Mutex
	rows []*row
	by   map[int64]*row            // rows by the numbers of their events
	past map[string]activity.Usage // usage of each host's finished exchanges, by name of the host
}

// row is the content of one line of the view.
type row struct {
	began         activity.Event
	text          string // what the host is doing
	percent       float64
	used          activity.Usage
	openQuestions []question // open questions of the host, oldest first
}

// question is an open question of a host.
type question struct{ id, text string }

// NewView returns an empty View.
func NewView() *View { return &View{by: map[int64]*row{}, past: map[string]activity.Usage{}} }

// HandleEvent updates the view for an event.
func (v *View) HandleEvent(e activity.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e.Kind {
	case activity.Began, activity.ListenBegan, activity.StageBegan, activity.MergeBegan:
		v.add(e)
		return
	case activity.Progressed:
		r := v.by[e.Number]
		if r == nil {
			r = v.add(e)
		}
		r.percent, r.text = e.Percent, strings.TrimSpace(eventtext.Count(e.Done, e.Of)+" "+Line(e.Text))
		return
	}
	r := v.by[e.Number]
	if r == nil {
		return
	}
	switch e.Kind {
	case activity.Moved:
		r.used = e.Used
		if e.Text != "" {
			r.text = Line(e.Text)
		}
		if e.Percent >= 0 {
			r.percent = e.Percent
		}
	case activity.MergeMoved:
		r.text = e.Queue.String()
	case activity.Asked:
		r.openQuestions = append(r.openQuestions, question{e.ID, questionText(&e)})
	case activity.Answered, activity.Withdrawn:
		if i := slices.IndexFunc(r.openQuestions, func(a question) bool { return a.id == e.ID }); i >= 0 {
			r.openQuestions = slices.Delete(r.openQuestions, i, i+1)
		}
	case activity.Ended, activity.ListenEnded, activity.StageEnded, activity.ProgressEnded, activity.MergeEnded:
		at := slices.Index(v.rows, r)
		v.rows = slices.Delete(v.rows, at, at+1)
		delete(v.by, e.Number)
		past := v.past[e.Host]
		past.Tokens += e.Used.Tokens
		past.Cost += e.Used.Cost
		v.past[e.Host] = past
	}
}

// add adds a row.
func (v *View) add(e activity.Event) *row {
	r := &row{began: e, percent: -1}
	v.rows, v.by[e.Number] = append(v.rows, r), r
	return r
}

// Lines returns the lines of the view. now is the time since the run began. The lines have at most
// width cells, and there are at most most of them. If lines must be omitted, the last line contains
// their number.
func (v *View) Lines(now time.Duration, width, most int) []screen.Line {
	v.mu.Lock()
	defer v.mu.Unlock()
	groups := v.groups(most)
	shown := len(groups)
	if shown > most {
		shown = most - 1
	}
	var out []screen.Line
	for _, g := range groups[:shown] {
		if len(g) == 1 {
			out = append(out, v.line(g[0], now, width))
		} else {
			out = append(out, v.groupLine(g, width))
		}
	}
	more := 0
	for _, g := range groups[shown:] {
		more += len(g)
	}
	if more > 0 {
		out = append(out, screen.Line{Mark: "…", Text: fmt.Sprintf("and %d more", more)})
	}
	return out
}

// groups returns the rows of each line. If there are more rows than lines, the exchanges of a
// declaration form one group, first those of the declaration with the most exchanges, and then the
// listens to its hosts are omitted, because they show the same.
func (v *View) groups(most int) [][]*row {
	joined := map[string]bool{}
	for {
		var out [][]*row
		at := map[string]int{} // index of the group of a host in out
		sizes := map[string]int{}
		for _, r := range v.rows {
			host := r.began.Host
			switch {
			case r.began.Kind == activity.Began && joined[host]:
				if i, ok := at[host]; ok {
					out[i] = append(out[i], r)
					continue
				}
				at[host] = len(out)
			case r.began.Kind == activity.Began:
				sizes[host]++
			case r.began.Kind == activity.ListenBegan && joined[host]:
				continue
			}
			out = append(out, []*row{r})
		}
		largest := ""
		for _, r := range v.rows { // in the order of the rows, so that the choice does not change by chance
			if host := r.began.Host; sizes[host] > max(sizes[largest], 1) {
				largest = host
			}
		}
		if len(out) <= most || largest == "" {
			return out
		}
		joined[largest] = true
	}
}

// groupLine returns several exchanges of a declaration as a line of at most width cells.
func (v *View) groupLine(g []*row, width int) screen.Line {
	l := screen.Line{Mark: "●", Color: screen.Green}
	host := g[0].began.Host
	used, waiting := v.past[host], 0
	for _, r := range g {
		used.Tokens += r.used.Tokens
		used.Cost += r.used.Cost
		if len(r.openQuestions) > 0 {
			waiting++
		}
	}
	tail := ""
	if waiting > 0 {
		l.Color = screen.Yellow
		tail = fmt.Sprintf("  %d waiting", waiting)
	}
	l.Text = fitted(fmt.Sprintf("%s ×%d", terminal.Escape(host), len(g)), "", tail+usedText(used, " tokens"), width-2)
	return l
}

// usedText returns the cost and the tokens at the end of a line. unit follows the number of tokens.
func usedText(u activity.Usage, unit string) (text string) {
	if u.Cost > 0 {
		text += "  " + Cost(u.Cost)
	}
	if u.Tokens > 0 {
		text += "  " + Tokens(u.Tokens) + unit
	}
	return text
}

// line returns a row as a line of at most width cells.
func (v *View) line(r *row, now time.Duration, width int) screen.Line {
	l := screen.Line{Mark: "●", Color: screen.Green}
	e := &r.began
	head, text, tail := terminal.Escape(label(e)), r.text, "  "+Duration(now-e.At)
	switch e.Kind {
	case activity.ListenBegan:
		l.Mark, l.Color, head, text = "▸", screen.Cyan, terminal.Escape(e.Name), "listens to "+terminal.Escape(e.Host)
	case activity.StageBegan:
		l.Mark, l.Color, head = "▸", screen.Cyan, terminal.Escape(e.Name)
	case activity.Progressed:
		l.Mark, l.Color, head = "▸", screen.Cyan, terminal.Escape(e.Name)+bar(r.percent, width)
	case activity.MergeBegan:
		l.Mark, l.Color, head, tail = "⇢", screen.Cyan, terminal.Escape(e.Name), ""
	case activity.Began:
		if len(r.openQuestions) > 0 {
			l.Mark, l.Color, text = "?", screen.Yellow, r.openQuestions[0].text
		}
		head += bar(r.percent, width)
		past := v.past[e.Host]
		tail += usedText(activity.Usage{Tokens: r.used.Tokens + past.Tokens, Cost: r.used.Cost + past.Cost}, " tok")
	}
	l.Text = fitted(head, text, tail, width-2)
	return l
}

// barCells is the width of a progress bar in cells. leastBar is the minimum width of a line that
// contains a bar.
const barCells, leastBar = 10, 50

// bar returns a progress bar that follows two spaces: "  ██████░░░░ 62%". It returns "" if the
// progress is unknown.
func bar(percent float64, width int) string {
	if percent < 0 {
		return ""
	}
	number := fmt.Sprintf("%.0f%%", percent)
	if width < leastBar {
		return "  " + number
	}
	full := min(int(percent*barCells/100), barCells)
	return "  " + strings.Repeat("█", full) + strings.Repeat("░", barCells-full) + " " + number
}

// leastText is the minimum number of cells for a host's activity. If fewer cells are left, the
// activity is omitted.
const leastText = 6

// fitted joins the parts of a line. If the line is too wide, it first shortens text, which is the
// host's activity, and then the end of the line.
func fitted(head, text, tail string, width int) string {
	room := width - terminal.Width(head) - terminal.Width(tail) - 2
	if text != "" && room >= leastText {
		return head + "  " + terminal.Cut(text, room) + tail
	}
	return terminal.Cut(head+tail, width)
}
