package page

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/record/event/fleet"
)

// states lists the states of tasks in the order of the rows.
var states = []string{fleet.Failed, fleet.Working, fleet.Idle, fleet.Submitted, fleet.Open, fleet.Merged, fleet.Removed}

// fleet writes the merge queues and a row for each task.
func (p *writer) fleet() {
	var rows []*report.FleetTask
	sum := ""
	for _, state := range states {
		before := len(rows)
		for i := range p.r.Fleet.Tasks {
			if t := &p.r.Fleet.Tasks[i]; t.State == state {
				rows = append(rows, t)
			}
		}
		if n := len(rows) - before; n > 0 {
			sum += fmt.Sprintf(", %d %s", n, p.taskState(state))
		}
	}
	p.add("<p>%s</p>\n", strings.TrimPrefix(sum, ", "))
	for _, q := range p.r.Fleet.Queues {
		p.add("<p>Queue <b>%s</b>: %s</p>\n", q.Name, q.String())
	}
	p.add("<table><thead><tr><th>Task</th><th>Agent</th><th>State</th><th>Since</th><th>Cost</th><th>Last line</th></tr></thead><tbody>\n")
	for _, t := range rows[:min(len(rows), shownRows)] {
		since, usd := "", ""
		if t.Since != nil {
			since = seconds(*t.Since)
		}
		if string(t.Cost) != "null" {
			usd = "$" + string(t.Cost)
		}
		p.add("<tr class=\"%s\"><th scope=\"row\">%s</th><td>%s</td><td>%s %s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", t.State, t.Task, t.Agent, p.taskState(t.State), t.Note, since, usd, t.Last)
	}
	p.add("</tbody></table>\n")
	if more := len(rows) - shownRows; more > 0 {
		p.add("<p class=\"others\">and %d more</p>\n", more)
	}
}

// taskState returns the name of a task's state. After the end of the run, no host works.
func (p *writer) taskState(state string) string {
	if state == fleet.Working && p.r.Run.Exit != nil {
		return "stopped"
	}
	return state
}
