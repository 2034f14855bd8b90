package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/vm"
)

// Report is the comparison of many recorded runs with one program.
type Report struct {
	Program    string
	Sessions   []*Session
	Unreadable []Problem
}

// The exit codes of a report.
const (
	exitSame        = 0
	exitDiffers     = 1 // a decision differs, or a session failed
	exitUnreadable  = 2 // nothing could be replayed, or a recording could not be read
	exitUndecidable = 3 // a session is undecidable
)

// Exit returns the exit code.
func (r *Report) Exit() int {
	n := r.count()
	switch {
	case len(r.Unreadable) > 0 || len(r.Sessions) == 0:
		return exitUnreadable
	case n.differences > 0 || n.states[Failed] > 0:
		return exitDiffers
	case n.states[Undecidable] > 0:
		return exitUndecidable
	}
	return exitSame
}

// counts are the totals of a report.
type counts struct {
	states, decisions   map[State]int
	differences, unused int
}

func (r *Report) count() counts {
	n := counts{states: map[State]int{}, decisions: map[State]int{}}
	for _, s := range r.Sessions {
		n.states[s.State]++
		n.differences += len(s.Differences)
		n.unused += s.Unused
		for state, k := range s.Decisions {
			n.decisions[state] += k
		}
	}
	return n
}

// MarshalJSON returns the report in the form of spec/49-eval.md.
func (r *Report) MarshalJSON() ([]byte, error) {
	n := r.count()
	type unreadable struct {
		Session string `json:"session"`
		Message string `json:"message"`
	}
	type failed struct {
		Session string  `json:"session"`
		At      *string `json:"at"`
		Message string  `json:"message"`
	}
	type undecidable struct {
		Session string  `json:"session"`
		Kind    string  `json:"kind"`
		At      *string `json:"at"`
		Message string  `json:"message"`
		Diff    string  `json:"diff"`
	}
	differences, allUndecidable, allFailed, allUnreadable := []Difference{}, []undecidable{}, []failed{}, []unreadable{}
	for _, s := range r.Sessions {
		differences = append(differences, s.Differences...)
		switch s.State {
		case Undecidable:
			allUndecidable = append(allUndecidable, undecidable(*s.Problem))
		case Failed:
			allFailed = append(allFailed, failed{s.Name, s.Problem.At, s.Problem.Message})
		}
	}
	for _, p := range r.Unreadable {
		allUnreadable = append(allUnreadable, unreadable{p.Session, p.Message})
	}
	decisions := 0
	for _, k := range n.decisions {
		decisions += k
	}
	type sessions struct {
		Total       int `json:"total"`
		Same        int `json:"same"`
		Differs     int `json:"differs"`
		Undecidable int `json:"undecidable"`
		Failed      int `json:"failed"`
	}
	type totals struct {
		Total      int `json:"total"`
		Same       int `json:"same"`
		Differs    int `json:"differs"`
		Downstream int `json:"downstream"`
		New        int `json:"new"`
		Removed    int `json:"removed"`
	}
	return json.Marshal(struct {
		Replay      int           `json:"replay"`
		Program     string        `json:"program"`
		Exit        int           `json:"exit"`
		Sessions    sessions      `json:"sessions"`
		Decisions   totals        `json:"decisions"`
		Differences []Difference  `json:"differences"`
		Undecidable []undecidable `json:"undecidable"`
		Failed      []failed      `json:"failed"`
		Unreadable  []unreadable  `json:"unreadable"`
		Unused      int           `json:"unused"`
	}{1, r.Program, r.Exit(), sessions{len(r.Sessions), n.states[Same], n.states[Differs], n.states[Undecidable], n.states[Failed]},
		totals{decisions, n.decisions[Same], n.decisions[Differs], n.decisions[Downstream], n.decisions[New], n.decisions[Removed]},
		differences, allUndecidable, allFailed, allUnreadable, n.unused})
}

// shownSessions is the maximum number of sessions that a line names.
const shownSessions = 3

// WriteText writes a line for each difference, the other findings, and the totals. With all, equal
// differences of several sessions have a line each.
func (r *Report) WriteText(w io.Writer, all bool) error {
	var b strings.Builder
	for _, g := range r.groups(all) {
		fmt.Fprintf(&b, "%s, in %s\n", g.text, sessionNames(g.sessions))
	}
	for _, s := range r.Sessions {
		p := s.Problem
		if p == nil {
			continue
		}
		b.WriteString(position(p.At))
		fmt.Fprintf(&b, "%s: %s, in %s\n", s.State, p.Message, s.Name)
		if p.Diff != "" {
			b.WriteString(p.Diff + "\n")
		}
	}
	for _, p := range r.Unreadable {
		fmt.Fprintf(&b, "unreadable: %s: %s\n", p.Session, p.Message)
	}
	n := r.count()
	fmt.Fprintf(&b, "%s: %s\n", plural(len(r.Sessions), "session"), list(n.states, Same, Differs, Undecidable, Failed))
	decisions := 0
	for _, k := range n.decisions {
		decisions += k
	}
	if decisions > 0 {
		fmt.Fprintf(&b, "%s: %s\n", plural(decisions, "decision"), list(n.decisions, Same, Differs, Downstream, New, Removed))
	}
	if n.unused > 0 {
		fmt.Fprintf(&b, "%s not requested by the program\n", plural(n.unused, "recorded result"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// group is a set of equal differences.
type group struct {
	text     string
	sessions []string
}

// groups returns the differences, in the order of the sessions. With all, each is a group;
// otherwise equal ones are in one group.
func (r *Report) groups(all bool) []*group {
	var out []*group
	byText := map[string]*group{}
	for _, s := range r.Sessions {
		for i := range s.Differences {
			text := s.Differences[i].Text()
			g := byText[text]
			if g == nil || all {
				g = &group{text: text}
				byText[text] = g
				out = append(out, g)
			}
			g.sessions = append(g.sessions, s.Name)
		}
	}
	return out
}

// sessionNames returns the names of sessions for a line, each once.
func sessionNames(all []string) string {
	distinct := slices.Compact(slices.Clone(all))
	if len(all) == 1 {
		return all[0]
	}
	shown := distinct[:min(len(distinct), shownSessions)]
	text := strings.Join(shown, ", ")
	if len(shown) < len(distinct) {
		text += ", …"
	}
	if len(distinct) < len(all) {
		return fmt.Sprintf("%s of %s: %s", plural(len(all), "place"), plural(len(distinct), "session"), text)
	}
	return fmt.Sprintf("%s: %s", plural(len(distinct), "session"), text)
}

// Text returns the difference as one line.
func (d *Difference) Text() string {
	was, is := d.answers()
	line := position(d.At) + d.subject()
	switch d.State {
	case New:
		line += ": " + is + " (recorded: no answer)"
	case Removed:
		line += ": no answer (recorded: " + was + ")"
	default:
		line += ": " + is + " (recorded: " + was + ")"
	}
	if d.State == Downstream {
		line += ", downstream"
	}
	return line
}

// subject describes what was decided.
func (d *Difference) subject() string {
	var asked struct {
		Question    string `json:"question"`
		Description string `json:"description"`
		Tool        string `json:"tool"`
	}
	_ = json.Unmarshal(d.Asked, &asked) // a message of another form has no description
	text := d.Kind
	if what := cmp.Or(asked.Description, asked.Question); what != "" {
		text += " " + quote(what)
	} else if len(d.ID) > 0 {
		text += " " + string(d.ID)
	}
	if asked.Tool != "" {
		text += " (" + asked.Tool + ")"
	}
	switch {
	case d.Host == nil:
	case d.Kind == engine.DecidedPrompt:
		text += " of " + *d.Host
	default:
		text += " from " + *d.Host
	}
	return text
}

// answers returns the recorded and the current answer as text.
func (d *Difference) answers() (recorded, current string) {
	isChoice := hostmsg.Lookup(d.Kind).Form == hostmsg.YesNo || d.Kind == vm.DecidedTool
	if isChoice {
		recorded, current = choice(d.Recorded), choice(d.Current)
	}
	if !isChoice || recorded == current {
		recorded, current = answerText(d.Recorded), answerText(d.Current)
	}
	return shorten(recorded, current)
}

// choice returns the answer to an approval as a word.
func choice(answer []byte) string {
	if len(answer) == 0 {
		return "no answer"
	}
	if decision.ParseTool(answer).Allow || decision.Parse(answer).Allow {
		return "yes"
	}
	return "no"
}

func answerText(answer []byte) string {
	if len(answer) == 0 {
		return "no answer"
	}
	return string(answer)
}

// maxAnswer is the maximum length of an answer in a line, in characters.
const maxAnswer = 100

// shorten cuts two long texts so that both show the first difference.
func shorten(a, b string) (string, string) {
	x, y := []rune(a), []rune(b)
	same := 0
	for same < min(len(x), len(y)) && x[same] == y[same] {
		same++
	}
	from := max(same-maxAnswer/4, 0)
	return cut(x, from), cut(y, from)
}

func cut(text []rune, from int) string {
	if len(text) <= maxAnswer {
		return string(text)
	}
	from = min(from, max(len(text)-maxAnswer, 0))
	to := min(from+maxAnswer, len(text))
	out := string(text[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}

func quote(text string) string {
	out, err := json.Marshal(cut([]rune(text), 0))
	if err != nil {
		return text
	}
	return string(out)
}

// position returns a position before a message.
func position(at *string) string {
	if at == nil {
		return ""
	}
	return *at + ": "
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// list returns the counts of states that are not zero.
func list(n map[State]int, states ...State) string {
	var all []string
	for _, s := range states {
		word := string(s)
		if s == Differs && n[s] > 1 {
			word = "differ"
		}
		if n[s] > 0 {
			all = append(all, fmt.Sprintf("%d %s", n[s], word))
		}
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}
