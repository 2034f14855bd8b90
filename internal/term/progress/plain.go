package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/activity"
)

// The limits of the lines that a host may produce.
const (
	progressEvery = 5 * time.Second // interval between two lines of a host's progress
	mostLines     = 100             // per second
)

// Plain prints a line when a host starts, asks, is answered and ends, and periodically for its
// progress.
type Plain struct {
	print   func(line string)
	hosts   map[string]*hostLines
	began   map[int64]time.Duration // start times of the exchanges under way
	delayed *failure                // the failure of the last event, not yet printed
}

// failure is the end of a failed exchange. Its line waits for the next event or for the end of the
// run, because an error that ends the run may contain the same reason.
type failure struct {
	line, reason string
	short        string // the line without the reason; "" if it contains nothing else
}

// hostLines is the state of a host's lines.
type hostLines struct {
	moved   time.Duration // time of the last line of its progress
	any     bool          // a line of its progress was printed
	second  time.Duration // the second in which lines are counted
	lines   int
	dropped int
}

// NewPlain returns a Plain that prints lines by calling print.
func NewPlain(print func(line string)) *Plain {
	return &Plain{print: print, hosts: map[string]*hostLines{}, began: map[int64]time.Duration{}}
}

// HandleEvent prints the line of an event, if it has one.
func (p *Plain) HandleEvent(e activity.Event) {
	if e.Host == "" || e.Kind == activity.ListenEnded {
		return
	}
	p.release()
	if e.Kind == activity.ListenBegan {
		return
	}
	w := p.hosts[e.Host]
	if w == nil {
		w = &hostLines{}
		p.hosts[e.Host] = w
	}
	if e.Kind == activity.Moved {
		if e.Text == "" && e.Percent < 0 || w.any && e.At-w.moved < progressEvery {
			return
		}
		w.any, w.moved = true, e.At
	}
	if w.room(e.At, e.Kind == activity.Ended) {
		p.left(e.Host, w)
		p.write(&e)
	}
	switch e.Kind {
	case activity.Began:
		p.began[e.Number] = e.At
	case activity.Ended:
		delete(p.began, e.Number)
	}
}

// write prints an event's line. It delays the line of a failure.
func (p *Plain) write(e *activity.Event) {
	line := p.line(e)
	if line == "" {
		return
	}
	line = "host '" + label(e) + "'" + line
	if e.Kind != activity.Ended || !e.Failed || e.Text == "" {
		p.print(line)
		return
	}
	p.delayed = &failure{line: line, reason: e.Text}
	if e.Number > 0 {
		p.delayed.short = strings.TrimSuffix(line, ": "+Line(e.Text))
	}
}

// release prints the delayed line.
func (p *Plain) release() {
	if p.delayed != nil {
		p.print(p.delayed.line)
		p.delayed = nil
	}
}

// End prints the delayed line at the end of the run. err is the error that ended the run, which the
// caller prints next, or nil. End omits a reason that err contains.
func (p *Plain) End(err error) {
	if f := p.delayed; f != nil && err != nil && strings.Contains(err.Error(), f.reason) {
		p.delayed = nil
		if f.short != "" {
			p.print(f.short)
		}
	}
	p.release()
}

// room counts a line and reports whether it may be printed. The last line of an exchange is always
// printed.
func (w *hostLines) room(at time.Duration, last bool) bool {
	if second := at.Truncate(time.Second); second != w.second {
		w.second, w.lines = second, 0
	}
	if w.lines++; w.lines > mostLines && !last {
		w.dropped++
		return false
	}
	return true
}

// left prints the number of omitted lines.
func (p *Plain) left(host string, w *hostLines) {
	if w.dropped > 0 {
		p.print(fmt.Sprintf("host '%s': … %s omitted", host, counted(w.dropped, "line")))
		w.dropped = 0
	}
}

// line returns the text of an event about its host.
func (p *Plain) line(e *activity.Event) string {
	switch e.Kind {
	case activity.Began:
		return " starts"
	case activity.Moved:
		return ": " + strings.TrimSpace(percent(e.Percent)+Line(e.Text))
	case activity.Asked:
		if isApproval(e) {
			return " requests approval: " + questionText(e)
		}
		return " asks: " + questionText(e)
	case activity.Answered:
		return answered(e)
	case activity.Withdrawn:
		return " withdraws its " + e.Type
	case activity.Ended:
		return p.ended(e)
	}
	return ""
}

// percent returns the completed part, followed by a space, or "" if it is unknown.
func percent(n float64) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%% ", n)
}

// source describes an answer by its source.
func source(by string) string {
	switch by {
	case effect.ByNone:
		return "no answer"
	case effect.ByHandler:
		return "an answer from its handler"
	case effect.ByDefault:
		return "the default answer"
	case effect.ByTimeout:
		return "the default answer after a timeout"
	case effect.ByTerminal:
		return "an answer from the terminal"
	case effect.ByRelay:
		return "an answer from the relay"
	case effect.ByRules:
		return "an answer from its permissions"
	case effect.ByApplication:
		return "an answer from the application"
	}
	return "an answer from " + by
}

// answered describes who answered, and the answer.
func answered(e *activity.Event) string {
	line := " receives " + source(e.By)
	switch {
	case isApproval(e) && e.Denied:
		line += ": denied"
	case isApproval(e):
		line += ": allowed"
		if e.Scope != "" && e.Scope != "once" {
			line += " (" + e.Scope + ")"
		}
	}
	if text := Line(e.Text); text != "" {
		line += ": " + text
	}
	return line
}

// ended describes how an exchange ended, and its duration.
func (p *Plain) ended(e *activity.Event) string {
	if e.Number == 0 {
		why := Line(e.Text)
		if rest, named := strings.CutPrefix(why, "host '"+e.Host+"'"); named {
			return rest
		}
		return " cannot be used: " + why
	}
	line := " ends after " + Duration(e.At-p.began[e.Number])
	if e.Used.Cost > 0 {
		line += " · " + Cost(e.Used.Cost)
	}
	if e.Used.Tokens > 0 {
		line += " · " + Tokens(e.Used.Tokens) + " tokens"
	}
	if e.Failed {
		line += ", failed: " + Line(e.Text)
	}
	return line
}
