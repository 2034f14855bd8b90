package progress

import (
	"strconv"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/record/activity"
)

// Tally counts the events of a run.
type Tally struct {
	Questions, Approvals, Denied int
	Failed                       int // number of failed exchanges
}

// Add counts an event.
func (t *Tally) Add(e *activity.Event) {
	switch e.Kind {
	case activity.Asked:
		if isApproval(e) {
			t.Approvals++
		} else {
			t.Questions++
		}
	case activity.Answered:
		if e.Denied {
			t.Denied++
		}
	case activity.Ended:
		if e.HasFailed {
			t.Failed++
		}
	}
}

// isApproval reports whether an event is about a message that is answered with yes or no.
func isApproval(e *activity.Event) bool { return hostmsg.Lookup(e.Type).Form == hostmsg.YesNo }

// Summary returns the last line about a run. how is its beginning, such as "done in", and d is the
// duration of the run. used is what models and hosts have used.
func (t *Tally) Summary(how string, d time.Duration, used models.Sum) string {
	exchanges := counted(int(used.Exchanges), "exchange")
	if t.Failed > 0 {
		exchanges += " (" + strconv.Itoa(t.Failed) + " failed)"
	}
	parts := []string{how + " " + Duration(d), exchanges}
	var asked []string
	if t.Questions > 0 {
		asked = append(asked, counted(t.Questions, "question"))
	}
	if t.Approvals > 0 {
		a := counted(t.Approvals, "approval")
		if t.Denied > 0 {
			a += " (" + strconv.Itoa(t.Denied) + " denied)"
		}
		asked = append(asked, a)
	}
	if len(asked) > 0 {
		parts = append(parts, strings.Join(asked, ", "))
	}
	if n := used.Tokens(); n > 0 {
		parts = append(parts, Tokens(n)+" tokens")
	}
	if used.Cost > 0 {
		parts = append(parts, Cost(used.USD()))
	}
	return strings.Join(parts, " · ")
}
