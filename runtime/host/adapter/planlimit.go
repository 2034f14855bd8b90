package adapter

import (
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// planWindow is the use of a vendor's plan in a period of time. The zero value of a field means
// that the vendor has not reported it.
type planWindow struct {
	Window  string   // "5h", "week", or the vendor's own text
	Status  string   // effect.PlanNear, effect.PlanReached, or "" if neither applies
	Percent *float64 // used, from 0
	Resets  int64    // end of the period, in seconds since 1970
}

// planLimits contains the status of each window that was reported last.
type planLimits map[string]string

// isReached reports whether a limit is reached.
func (p planLimits) isReached() bool {
	for _, status := range p {
		if status == effect.PlanReached {
			return true
		}
	}
	return false
}

// report adds a plan_limit to s if the status of a window has changed to near or to reached.
func (p planLimits) report(s *Output, w planWindow, payload []byte) {
	before := p[w.Window]
	p[w.Window] = w.Status
	if w.Status == before || w.Status == "" {
		return
	}
	o := jsonobject.New(hostmsg.PlanLimit)
	o.Text("window", w.Window)
	o.Text("status", w.Status)
	if w.Percent != nil {
		o.Raw("used_percent", value.AppendFloat(nil, *w.Percent))
	}
	if w.Resets > 0 && w.Resets < maxResets {
		o.Text("resets_at", time.Unix(w.Resets, 0).UTC().Format(time.RFC3339))
	}
	o.Raw("payload", payload)
	s.addMessage(o)
}

// maxResets is the beginning of the year 10000, which RFC 3339 cannot express.
const maxResets = 253402300800

// planStatus returns the status for a percentage.
func planStatus(percent float64) string {
	switch {
	case percent >= 100:
		return effect.PlanReached
	case percent >= 80:
		return effect.PlanNear
	}
	return ""
}

// windowName returns the name of a period, or "plan" for 0 minutes.
func windowName(minutes int64) string {
	const hour, day = 60, 24 * 60
	switch {
	case minutes <= 0:
		return "plan"
	case minutes == 7*day:
		return "week"
	case minutes%day == 0:
		return fmt.Sprintf("%dd", minutes/day)
	case minutes%hour == 0:
		return fmt.Sprintf("%dh", minutes/hour)
	}
	return fmt.Sprintf("%dm", minutes)
}
