package runs

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/term/prompt"
	"github.com/concerto-lang/concerto/internal/term/terminal"
)

// mode is what the keys of the view do.
type mode int

const (
	listing   mode = iota
	detailing      // the details of the selected run are shown
	filtering      // a filter is typed
	choosing       // y or n answers an approval
	answering      // an answer, or the reason of a denial, is typed
	ending         // y cancels the run
	helping
)

// topView is the interactive table of runs.
type topView struct {
	cmd    *topCommand
	report func(*live.State) (path string, err error)

	mu       sync.Mutex
	all      []live.State
	problem  string // why the states could not be read, or the result of the last key
	selected string // id of the selected run
	mode     mode
	before   mode // mode to which a prompt returns
	input    string
	filter   string
	sorted   int          // column by which the runs are sorted; 0 for byUrgency
	isDenial bool         // the answer that is typed is the reason of a denial
	subject  live.State   // run that is being answered or cancelled
	asked    live.Pending // the request that is being answered
	scroll   int          // first row of the details that is shown
	height   int          // number of rows of the details that are shown
	hidden   int          // rows of the oldest request that have not been shown
}

// helpRows are the keys with what they do.
var helpRows = []string{
	"↑ ↓ k j  select a run, or scroll its details", "Space    scroll down by a page", "Enter    show details", "Esc      return", "a        answer the oldest request", "x        cancel the run",
	"r        write a report", "/        filter", "s        sort by the next column", "?        show this help", "q        quit",
}

// show sets the states.
func (v *topView) show(all []live.State, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil {
		v.problem = err.Error()
		return
	}
	v.all = all
}

// rows returns the shown runs in order.
func (v *topView) rows() []live.State {
	var out []live.State
	for _, s := range v.all {
		text := strings.ToLower(strings.Join([]string{s.Run, s.Program, s.State, pendingOf(&s), lastOf(&s)}, " "))
		if strings.Contains(text, strings.ToLower(v.filter)) {
			out = append(out, s)
		}
	}
	byUrgency(out)
	if c := columns[v.sorted]; v.sorted > 0 {
		slices.SortStableFunc(out, func(a, b live.State) int {
			switch {
			case c.less == nil:
				return strings.Compare(c.value(&a), c.value(&b))
			case c.less(&a, &b):
				return -1
			case c.less(&b, &a):
				return 1
			}
			return 0
		})
	}
	return out
}

// current returns the selected run, by default the first one, and its index.
func (v *topView) current(rows []live.State) (*live.State, int) {
	if len(rows) == 0 {
		return nil, -1
	}
	i := max(0, slices.IndexFunc(rows, func(s live.State) bool { return s.Run == v.selected }))
	v.selected = rows[i].Run
	return &rows[i], i
}

const (
	inverse = "\x1b[7m"
	yellow  = "\x1b[33m"
	plain   = "\x1b[m"
)

// Draw implements screen.
func (v *topView) Draw(width, height int) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if width <= 0 || height <= 0 {
		return nil
	}
	rows := v.rows()
	s, at := v.current(rows)
	var out []string
	switch {
	case v.mode == helping:
		out = slices.Clone(helpRows)
	case v.mode == choosing:
		out = v.page(&v.subject, width, height-1)
	case s != nil && (v.mode == detailing || v.before == detailing && v.mode != listing):
		out = v.page(s, width, height-1)
	default:
		table := drawTable(rows, columns, width)
		out = append(out, table[0])
		room := max(0, height-2)
		first := min(max(0, at-room+1), max(0, len(rows)-room))
		for i := first; i < len(rows) && i < first+room; i++ {
			row := table[i+1]
			switch {
			case i == at:
				row = inverse + row + strings.Repeat(" ", max(0, width-terminal.Width(row))) + plain
			case len(rows[i].Pending) > 0 && v.cmd.console.TTY.OutColor:
				row = yellow + row + plain
			}
			out = append(out, row)
		}
		if len(rows) == 0 {
			out = append(out, terminal.Cut("no runs", width))
		}
	}
	status := terminal.Cut(v.status(), width)
	if len(out) > height-1 {
		out = out[:height-1]
	}
	for i, row := range out {
		if !strings.HasPrefix(row, "\x1b[") {
			out[i] = terminal.Cut(row, width)
		}
	}
	for len(out) < height-1 {
		out = append(out, "")
	}
	return append(out, status)
}

// status returns the last row: a prompt, the result of the last key, or the keys.
func (v *topView) status() string {
	switch v.mode {
	case filtering:
		return "filter: " + v.input + "█"
	case choosing:
		if v.hidden > 0 {
			return fmt.Sprintf("n denies; press Space first to allow: %d more lines", v.hidden)
		}
		return "allow " + v.asked.ID + " of " + v.subject.Run + "? y or n"
	case answering:
		what := "answer to "
		if v.isDenial {
			what = "reason to deny "
		}
		return what + v.asked.ID + ": " + terminal.OneLine(v.input) + "█"
	case ending:
		return "cancel " + v.subject.Run + "? y or n"
	}
	if v.problem != "" {
		return terminal.OneLine(v.problem)
	}
	text := "? keys  q quit"
	if v.filter != "" {
		text += "  filter: " + terminal.OneLine(v.filter)
	}
	if v.sorted > 0 {
		text += "  by " + columns[v.sorted].name
	}
	return text
}

// page returns the rows of the details that are shown, and notes which part of the oldest request
// has not been shown.
func (v *topView) page(s *live.State, width, height int) []string {
	all, end := v.details(s, width)
	v.height, v.scroll = height, max(0, min(v.scroll, len(all)-height))
	all = all[v.scroll:]
	if shown := v.scroll + height; len(s.Pending) > 0 {
		v.hidden = min(v.hidden, max(0, end-shown))
	}
	return all[:min(len(all), height)]
}

// details returns the rows about a run, the oldest request first, and the number of rows at which
// that request ends.
func (v *topView) details(s *live.State, width int) (out []string, end int) {
	add := func(indent, text string) {
		for _, line := range terminal.Wrap(text, max(10, width-len(indent))) {
			out = append(out, indent+line)
		}
	}
	add("", terminal.OneLine(fmt.Sprintf("%s  %s  %s  %s  pid %d", s.Run, s.Program, s.State, took(s.Seconds), s.PID)))
	add("", fmt.Sprintf("%d tasks, %d calls, %d tokens in, %d out, $%s", s.Tasks, s.Usage.Calls, s.Usage.TokensIn, s.Usage.TokensOut, s.Usage.CostUSD))
	for i := range s.Pending {
		p := &s.Pending[i]
		out = append(out, "")
		add("", terminal.OneLine(fmt.Sprintf("%s %s since %s", p.ID, p.Channel, p.Since)))
		sender := p.Host
		if p.Payload != nil {
			sender = terminal.OneLine(hostmsg.SenderName(p.Host, p.Payload))
		}
		if view := viewOf(p); view != nil {
			out = append(out, prompt.Approval(sender, view, v.cmd.console.TTY.OutColor, width)...)
		} else {
			add("", terminal.OneLine(strings.TrimSpace(sender+" "+p.Text)))
			add("  ", terminal.OneLine(contextOf(p)))
		}
		for i, option := range p.Options {
			add("  ", terminal.OneLine(fmt.Sprintf("%d. %s", i+1, option)))
		}
		if end == 0 {
			end = len(out)
		}
	}
	out = append(out, "")
	for _, h := range s.Hosts {
		add("", terminal.OneLine(fmt.Sprintf("host %s, %s: %s", h.Name, h.State, h.Last)))
	}
	for _, line := range s.Lines {
		out = append(out, terminal.OneLine(line))
	}
	return out, end
}

// contextOf returns the context that a host has sent with its question.
func contextOf(p *live.Pending) string {
	var m struct {
		Context string `json:"context"`
	}
	if json.Unmarshal(p.Payload, &m) != nil {
		return ""
	}
	return m.Context
}

// keyNames maps the sequences of special keys to one-letter keys.
var keyNames = map[string]string{"\x1b[A": "k", "\x1bOA": "k", "\x1b[B": "j", "\x1bOB": "j", "\r": "enter", "\n": "enter", "\x1b": "escape", "\x03": "interrupt"}

// Type implements screen.
func (v *topView) Type(typed []byte) (leave bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(typed) > 0 && !leave && err == nil {
		n := keyLength(typed)
		leave, err = v.press(typed[:n])
		typed = typed[n:]
	}
	return leave, err
}

// keyLength returns the number of bytes of the first key.
func keyLength(typed []byte) int {
	if len(typed) >= 3 && typed[0] == 0x1b && (typed[1] == '[' || typed[1] == 'O') {
		for i := 2; i < len(typed); i++ {
			if typed[i] >= '@' && typed[i] <= '~' {
				return i + 1
			}
		}
		return len(typed)
	}
	_, n := utf8.DecodeRune(typed)
	return n
}

// press handles a key.
func (v *topView) press(typed []byte) (leave bool, err error) {
	key := string(typed)
	if name := keyNames[key]; name != "" {
		key = name
	}
	if key == "interrupt" {
		return false, console.ErrInterrupted
	}
	rows := v.rows()
	s, at := v.current(rows)
	if v.mode == filtering || v.mode == answering {
		v.edit(key, typed)
		return false, nil
	}
	v.problem = ""
	switch v.mode {
	case choosing:
		v.choose(key)
		return false, nil
	case ending:
		v.mode = v.before
		if key == "y" {
			v.result(v.cmd.cancel(&v.subject), "cancelled "+v.subject.Run)
		}
		return false, nil
	case helping:
		v.mode = v.before
		return false, nil
	}
	switch key {
	case "q":
		return true, nil
	case "escape":
		v.mode = listing
	case "enter":
		v.mode, v.scroll = detailing, 0
	case " ", "k", "j":
		if v.mode == detailing {
			v.move(key)
			break
		}
		if to := at + map[string]int{"k": -1, "j": 1}[key]; to >= 0 && to < len(rows) {
			v.selected = rows[to].Run
		}
	case "/":
		v.prompt(filtering)
		v.input = v.filter
	case "s":
		v.sorted = (v.sorted + 1) % len(columns)
	case "?":
		v.prompt(helping)
	case "a":
		v.begin(s)
	case "x":
		if s != nil {
			v.subject = *s
			v.prompt(ending)
		}
	case "r":
		if s != nil {
			path, err := v.report(s)
			v.result(err, "wrote "+path)
		}
	}
	return false, nil
}

// prompt enters a mode that returns to the present one.
func (v *topView) prompt(m mode) {
	v.before, v.mode, v.input = v.mode, m, ""
}

// result shows the result of a key.
func (v *topView) result(err error, done string) {
	if v.problem = done; err != nil {
		v.problem = err.Error()
	}
}

// begin begins to answer the oldest request of a run.
func (v *topView) begin(s *live.State) {
	switch {
	case s == nil:
	case len(s.Pending) == 0:
		v.problem = s.Run + " has no open request"
	case s.Pending[0].Type == "approval":
		v.subject, v.asked, v.mode, v.scroll, v.hidden = *s, s.Pending[0], detailing, 0, math.MaxInt
		v.prompt(choosing)
	default:
		v.subject, v.asked, v.isDenial = *s, s.Pending[0], false
		v.prompt(answering)
	}
}

// move scrolls the details. The next drawing limits it.
func (v *topView) move(key string) {
	v.scroll += map[string]int{"k": -1, "j": 1, " ": v.height - 1}[key]
}

// choose handles y or n for an approval, and the keys that scroll it. It cannot be allowed before
// the whole has been shown.
func (v *topView) choose(key string) {
	if strings.Contains(" jk", key) || key == "y" && v.hidden > 0 {
		v.move(key)
		return
	}
	v.mode = v.before
	switch {
	case key == "y":
		v.result(v.cmd.answer(&v.subject, &v.asked, runs.Response{Text: "yes"}), "allowed")
	case key == "n":
		before := v.before
		v.isDenial = true
		v.prompt(answering)
		v.before = before
	}
}

// edit handles a key of a prompt.
func (v *topView) edit(key string, typed []byte) {
	switch {
	case key == "escape":
		v.mode = v.before
	case key == "enter":
		m := v.mode
		v.mode = v.before
		switch {
		case m == filtering:
			v.filter = v.input
		case v.isDenial:
			text := "no"
			if v.input != "" {
				text += ": " + v.input // a text that is no word for an approval denies
			}
			v.result(v.cmd.answer(&v.subject, &v.asked, runs.Response{Text: text}), "denied")
		default:
			v.result(v.cmd.answer(&v.subject, &v.asked, runs.Response{Text: v.input}), "answered "+v.asked.ID)
		}
	case key == "\x7f" || key == "\b":
		if r := []rune(v.input); len(r) > 0 {
			v.input = string(r[:len(r)-1])
		}
	case typed[0] >= ' ' && typed[0] != 0x7f:
		v.input += string(typed)
	}
}
