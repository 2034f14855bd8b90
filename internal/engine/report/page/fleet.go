package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/record/event/fleet"
)

// states lists the states of tasks in the order of the rows.
var states = []string{fleet.Failed, fleet.Working, fleet.Idle, fleet.Submitted, fleet.Open, fleet.Merged, fleet.Removed}

// fleet writes the merge queues and a row for each task.
func (p *writer) fleet() {
	tasks, sum := slices.Clone(p.r.Fleet.Tasks), []string{}
	for _, state := range states {
		n := 0
		for i := range tasks {
			if tasks[i].State == state {
				n++
			}
		}
		if n > 0 {
			sum = append(sum, fmt.Sprintf("%d %s", n, p.taskState(state)))
		}
	}
	p.add("<p>%s</p>\n", strings.Join(sum, ", "))
	for _, q := range p.r.Fleet.Queues {
		p.add("<p>Queue <b>%s</b>: %d queued, %d merged, %d failed</p>\n", q.Name, q.Queued, q.Merged, q.Failed)
	}
	slices.SortStableFunc(tasks, func(a, b report.FleetTask) int { return slices.Index(states, a.State) - slices.Index(states, b.State) })
	p.add("<table><thead><tr><th>Task</th><th>Agent</th><th>State</th><th>Since</th><th>Cost</th><th>Last line</th></tr></thead><tbody>\n")
	for i := range tasks[:min(len(tasks), shownRows)] {
		t := &tasks[i]
		since, usd, class := "", "", ""
		if t.State == fleet.Failed {
			class = "bad"
		}
		if t.Since != nil {
			since = seconds(*t.Since)
		}
		if string(t.Cost) != "null" {
			usd = "$" + string(t.Cost)
		}
		state := strings.TrimSpace(p.taskState(t.State) + " " + t.Note)
		p.add("<tr><th scope=\"row\">%s</th><td>%s</td><td class=\"%s\">%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", t.Task, t.Agent, class, state, since, usd, t.Last)
	}
	p.add("</tbody></table>\n")
	if more := len(tasks) - shownRows; more > 0 {
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
