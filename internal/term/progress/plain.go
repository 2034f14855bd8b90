package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/activity"
)

// The bounds on the lines that a host may produce.
const (
	progressEvery = 5 * time.Second // between two lines of how far it is
	mostLines     = 100             // a second
)

// Plain writes a line when a host starts, asks, is answered and ends, and now and
// then how far it is.
type Plain struct {
	say   func(line string)
	hosts map[string]*written
	began map[int64]time.Duration // start times of the exchanges under way
	held  *failure                // the last event was a failure, which is not written yet
}

// failure is the end of an exchange that failed. Its line waits for the next event or
// for the end of the run: an error that ends the run states the reason itself.
type failure struct {
	line, reason string
	short        string // the line without the reason; "" when nothing else is in it
}

// written is what has been written of a host.
type written struct {
	moved   time.Duration // when the host's progress was last shown
	any     bool          // the progress has been shown
	second  time.Duration // that lines are counted in
	lines   int
	dropped int
}

// NewPlain makes a Plain whose lines go to say.
func NewPlain(say func(line string)) *Plain {
	return &Plain{say: say, hosts: map[string]*written{}, began: map[int64]time.Duration{}}
}

// Hear writes the line of an event, if it has one.
func (p *Plain) Hear(e activity.Event) {
	if e.Host == "" || e.Kind == activity.ListenEnded {
		return
	}
	p.release()
	if e.Kind == activity.ListenBegan {
		return
	}
	w := p.hosts[e.Host]
	if w == nil {
		w = &written{}
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

// write writes an event's line. That of a failure is held.
func (p *Plain) write(e *activity.Event) {
	line := p.line(e)
	if line == "" {
		return
	}
	line = "host '" + label(e) + "'" + line
	if e.Kind != activity.Ended || !e.Failed || e.Text == "" {
		p.say(line)
		return
	}
	p.held = &failure{line: line, reason: e.Text}
	if e.Number > 0 {
		p.held.short = strings.TrimSuffix(line, ": "+Line(e.Text))
	}
}

// release writes the line that is held.
func (p *Plain) release() {
	if p.held != nil {
		p.say(p.held.line)
		p.held = nil
	}
}

// End writes the lines that were held back until the end of the run. err is the error that ended
// it, which is shown next, or nil: a reason that it contains is left out.
func (p *Plain) End(err error) {
	if f := p.held; f != nil && err != nil && strings.Contains(err.Error(), f.reason) {
		p.held = nil
		if f.short != "" {
			p.say(f.short)
		}
	}
	p.release()
}

// room counts a line, and reports whether it may be written; the last one always may.
func (w *written) room(at time.Duration, last bool) bool {
	if second := at.Truncate(time.Second); second != w.second {
		w.second, w.lines = second, 0
	}
	if w.lines++; w.lines > mostLines && !last {
		w.dropped++
		return false
	}
	return true
}

// left reports the number of lines that were left out.
func (p *Plain) left(host string, w *written) {
	if w.dropped > 0 {
		p.say(fmt.Sprintf("host '%s': … %s left out", host, counted(w.dropped, "line")))
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
			return " asks for approval: " + asks(e)
		}
		return " asks: " + asks(e)
	case activity.Answered:
		return answered(e)
	case activity.Withdrawn:
		return " takes back its " + e.Type
	case activity.Ended:
		return p.ended(e)
	}
	return ""
}

// percent returns the completed part, followed by a space; "" if it is unknown.
func percent(n float64) string {
	if n < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%% ", n)
}

// who returns the name of an answerer for display.
func who(by string) string {
	switch by {
	case effect.ByHandler:
		return "by its handler"
	case effect.ByDefault:
		return "by default"
	case effect.ByTimeout:
		return "by default, as its time was over"
	case effect.ByTerminal:
		return "at the terminal"
	case effect.ByRelay:
		return "at the relay"
	case effect.ByRules:
		return "by its permissions"
	case effect.ByApplication:
		return "by the application"
	}
	return "by " + by
}

// answered returns who answered, and the answer.
func answered(e *activity.Event) string {
	line := " is answered " + who(e.By)
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

// ended returns how an exchange ended, and its duration.
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
