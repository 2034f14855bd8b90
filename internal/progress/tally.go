package progress

import (
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/activity"
	"github.com/concerto-lang/concerto/internal/hostmsg"
)

// Tally counts what a run does.
type Tally struct {
	Exchanges, Questions, Approvals, Denied int
	Used                                    activity.Usage
}

// Add counts an event.
func (t *Tally) Add(e *activity.Event) {
	switch e.Kind {
	case activity.Began:
		t.Exchanges++
	case activity.Asked:
		if e.Type == approval {
			t.Approvals++
		} else {
			t.Questions++
		}
	case activity.Answered:
		if e.Denied {
			t.Denied++
		}
	case activity.Ended:
		t.Used.Tokens += e.Used.Tokens
		t.Used.Cost += e.Used.Cost
	}
}

// approval is the type of a message that wants a yes or a no.
const approval = hostmsg.Approval

// Summary is the line that is left of a run, which took d. How says how it ended:
// "done in", or another beginning.
func (t *Tally) Summary(how string, d time.Duration) string {
	parts := []string{how + " " + Duration(d), counted(t.Exchanges, "exchange")}
	var asked []string
	if t.Questions > 0 {
		asked = append(asked, counted(t.Questions, "question"))
	}
	if t.Approvals > 0 {
		a := counted(t.Approvals, approval)
		if t.Denied > 0 {
			a += " (" + strconv.Itoa(t.Denied) + " denied)"
		}
		asked = append(asked, a)
	}
	if len(asked) > 0 {
		parts = append(parts, strings.Join(asked, ", "))
	}
	if t.Used.Tokens > 0 {
		parts = append(parts, Tokens(t.Used.Tokens)+" tokens")
	}
	if t.Used.Cost > 0 {
		parts = append(parts, Cost(t.Used.Cost))
	}
	return strings.Join(parts, " · ")
}
