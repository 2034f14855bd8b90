package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/activity"
)

// Limits on the lines that one host can cause.
const (
	progressEvery = 5 * time.Second // minimum interval between two lines about a host's progress
	mostLines     = 100             // maximum number of lines per second
)

// Plain prints lines about hosts: when a host starts, asks, receives an answer and ends, and
// periodically about its progress.
type Plain struct {
	// All means that each report of a host's progress is a line, and not one every few seconds.
	All bool

	print   func(line string)
	hosts   map[string]*hostLines
	began   map[int64]time.Duration // start times of the running exchanges, by number
	delayed *failure                // failure of the last event that has not been printed yet; nil for none
}

// failure is the line about a failed exchange. It is printed at the next event or at the end of the
// run, because the error that ends the run may contain the same reason.
type failure struct {
	line, reason string
	short        string // the line without the reason; "" if only the reason would be left out
}

// hostLines counts the lines about one host.
type hostLines struct {
	moved   time.Duration // time of the last line about its progress
	any     bool          // a line about its progress has been printed
	second  time.Duration // second in which lines are being counted
	lines   int
	dropped int
}

// NewPlain returns a Plain that passes each line to print.
func NewPlain(print func(line string)) *Plain {
	return &Plain{print: print, hosts: map[string]*hostLines{}, began: map[int64]time.Duration{}}
}

// HandleEvent prints a line about the event, if there is anything to print.
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
		if e.Text == "" && e.Percent < 0 || w.any && e.At-w.moved < progressEvery && !p.All {
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

// write prints the line about an event. It delays the line if the event is a failure.
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

// End prints the delayed line at the end of the run. err is the error that ended the run, or nil;
// the caller prints it afterwards. If err contains the reason of the failure, End omits the reason.
func (p *Plain) End(err error) {
	if f := p.delayed; f != nil && err != nil && strings.Contains(err.Error(), f.reason) {
		p.delayed = nil
		if f.short != "" {
			p.print(f.short)
		}
	}
	p.release()
}

// room counts a line and reports whether it may be printed. last is true for the last line of an
// exchange, which is always printed.
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

// left prints how many lines about a host were omitted.
func (p *Plain) left(host string, w *hostLines) {
	if w.dropped > 0 {
		p.print(fmt.Sprintf("host '%s': … %s omitted", host, counted(w.dropped, "line")))
		w.dropped = 0
	}
}

// line returns the text about an event, after the name of the host.
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

// percent formats the completed part of a task, followed by a space. It returns "" if the part is
// unknown.
func percent(n float64) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%% ", n)
}

// source describes where an answer came from.
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

// answered describes an answer and where it came from.
func answered(e *activity.Event) string {
	from := source(e.By)
	if e.Failed && e.By == effect.ByTimeout {
		from = "an error after a timeout"
	}
	line := " receives " + from
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

// ended describes how an exchange ended and how long it took.
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
	if e.Proof != "" {
		line += " · " + Line(e.Proof)
	}
	if e.Failed {
		line += ", failed: " + Line(e.Text)
	}
	return line
}
