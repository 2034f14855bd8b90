package page

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/hostmsg/request"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/eventtext"
)

// view is what the page shows of a request for approval, a call or an event of the runtime.
type view struct {
	Title   string `json:"title"`
	Body    string `json:"body"`
	Verdict string `json:"verdict"` // "" without an answer
	isAllow bool
	isAsked bool // a person has decided
}

// views returns the views of all approvals, calls and events of the runtime by the number of their
// item.
func views(r *report.Report) map[int]*view {
	all := map[int]*view{}
	for _, x := range r.Items {
		if x.Details.Type == hostmsg.Progress {
			if v := request.OfCall(x.Texts.Text); v != nil {
				all[x.N] = &view{Title: v.Title, Body: v.Subject()}
			}
			continue
		}
		if x.Kind == string(event.Emit) || x.Kind == string(event.Message) {
			channel, payload := x.Details.Channel, x.Texts.Payload
			if channel == "" {
				channel, payload = x.Details.Type, x.Texts.Text
			}
			if e, ok := eventtext.Read(channel, payload); ok && e.Text+e.Line != "" {
				all[x.N] = &view{Title: cmp.Or(e.Text, e.Line)}
			}
			continue
		}
		asked := x.Texts.Request
		if x.Details.Channel == effect.ToolApproval && x.Kind == string(event.Await) {
			asked = x.Texts.Payload
		} else if x.Kind != string(event.Approval) {
			continue
		}
		if asked == nil {
			continue // the report has no contents
		}
		all[x.N] = viewOf(x, request.Of(asked, nil))
	}
	return all
}

func viewOf(x *report.Item, of *request.View) *view {
	v := &view{Title: of.Title, Body: strings.Join(of.Parts(of.Unified()), "\n")}
	v.isAsked = slices.Contains([]string{effect.ByTerminal, effect.ByStdin, effect.ByRelay, effect.ByAnswer, effect.ByCommandLine}, x.Details.Actor)
	var failed struct {
		Error string `json:"error"`
	}
	switch {
	case x.Texts.Answer == nil:
		return v
	case json.Unmarshal(x.Texts.Answer, &failed) == nil && failed.Error != "":
		v.Verdict = "Failed: " + failed.Error
		return v
	}
	d := decision.ParseTool(x.Texts.Answer)
	v.isAllow = d.Allow
	v.Verdict = map[bool]string{true: "Allowed", false: "Denied"}[d.Allow]
	if x.Details.Actor != "" {
		v.Verdict += " by " + x.Details.Actor
	}
	if d.Reason != "" {
		v.Verdict += ": " + d.Reason
	}
	return v
}

// band writes the facts that matter most: how the run ended, how long it took, its cost, its
// decisions and its errors, and how to continue a run that has not ended.
func (p *writer) band() {
	run := &p.r.Run
	cell := func(name, value, tone string) {
		p.add(`<div class="%s"><b>%s</b> %s</div>`, tone, value, name)
	}
	p.add("<div class=\"band\">\n")
	cell("", run.State, tone(run.State))
	if run.Seconds != nil {
		cell("duration", seconds(*run.Seconds), "")
	}
	cell("cost", cost(&p.r.Totals.Used), "")
	allowed, denied, asked := 0, 0, 0
	for _, v := range p.views {
		switch {
		case v.Verdict == "":
		case v.isAllow:
			allowed++
		default:
			denied++
		}
		if v.isAsked {
			asked++
		}
	}
	if allowed+denied > 0 {
		cell("allowed", fmt.Sprint(allowed), "")
		cell("denied", fmt.Sprint(denied), map[bool]string{true: "warn"}[denied > 0])
		cell("answered by a person", fmt.Sprint(asked), "")
	}
	failures := 0
	var last *report.Item
	for _, x := range p.r.Items {
		if x.IsError() {
			failures++
			last = x
		}
	}
	cell(map[bool]string{true: "error", false: "errors"}[failures == 1], fmt.Sprint(failures), map[bool]string{true: "bad"}[failures > 0])
	p.add("</div>\n")
	if last != nil && run.State == "failed" && last.Error != "" {
		p.add("<p class=\"gap\">Stopped by: <a href=\"#item-%d\">%s</a></p>\n", last.N, last.Error)
	}
	p.interrupted()
}

// interrupted writes what a run that has not ended was doing, and the command that continues it.
func (p *writer) interrupted() {
	run := &p.r.Run
	if run.Exit != nil || run.ID == "" || !slices.Contains([]string{report.Killed, "suspended", "waiting"}, run.State) {
		return
	}
	var open []*report.Item
	for _, x := range p.r.Items {
		if (x.Status == report.Open || x.Status == report.Unknown) && x.Kind != string(event.Run) && x.Kind != string(event.Task) {
			open = append(open, x)
		}
	}
	p.add("<div class=\"gap\">\n")
	if len(open) > 0 {
		p.add("<p>Interrupted or waiting:</p><ul>\n")
	}
	for _, x := range open[:min(len(open), shownRows)] {
		title := strings.TrimSpace(x.Kind + " " + x.Name)
		if v := p.views[x.N]; v != nil {
			title = v.Title
		}
		p.add("<li><a href=\"#item-%d\">%s</a></li>\n", x.N, title)
	}
	if len(open) > 0 {
		p.add("</ul>\n")
	}
	if run.State != report.Killed {
		p.add("<p>To see its questions: <code>concerto runs show %s</code></p>\n", run.ID)
	}
	p.add("<p>To continue it: <code>concerto runs resume %s</code></p></div>\n", run.ID)
}

// asked returns the text of a question, or another request on one line.
func asked(message json.RawMessage) string {
	var q struct {
		Question string `json:"question"`
	}
	if json.Unmarshal(message, &q) == nil && q.Question != "" {
		return q.Question
	}
	return report.Line(message)
}
