package report

import (
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/ir"
)

// messagesBeforeError is the number of messages that an error refers to.
const messagesBeforeError = 20

// Report returns the report of the events so far. The caller sets Run apart from Seconds and Env.
func (b *Builder) Report(p *ir.Program) (*Report, error) {
	r := &Report{Version: Version, Items: []*Item{}, Decisions: []Decision{}, Gaps: []string{}}
	r.Run.Project, r.Fleet = p.Name, b.fleetOf()
	r.Run.Args, r.Run.Flags, r.Run.Env = []string{}, []string{}, []string{}
	if b.Timed {
		r.Run.Seconds = seconds(b.last)
	} else {
		r.Gaps = append(r.Gaps, "no times: built from a tape")
	}
	slices.Sort(b.env)
	r.Run.Env = append(r.Run.Env, slices.Compact(b.env)...)
	var messages []int
	add := func(x *entry) {
		x.item.N = len(r.Items) + 1
		r.Items = append(r.Items, x.item)
		switch event.Kind(x.item.Kind) {
		case event.Message, event.Question, event.Approval:
			messages = append(messages, x.item.N)
		case event.Error:
			x.item.Details.Last = slices.Clone(messages[max(0, len(messages)-messagesBeforeError):])
		}
	}
	for _, x := range b.entries {
		if x.item != nil {
			add(x)
		}
		for _, attempt := range x.attempts {
			add(attempt)
		}
	}
	for _, x := range b.items {
		if x.item == nil {
			continue
		}
		for parent := b.items[x.parent]; parent != nil; parent = b.items[parent.parent] {
			if parent.item != nil {
				n := parent.item.N
				x.item.Parent = &n
				break
			}
		}
	}
	for _, x := range r.Items {
		switch event.Kind(x.Kind) {
		case event.Message, event.Question, event.Approval:
			if x.Parent != nil {
				of := &r.Items[*x.Parent-1].Details
				x.Details.Host, x.Details.Workspace = of.Host, of.Workspace
			}
		}
	}
	own := map[string]bool{}
	for _, f := range p.Files {
		own[f.Name] = f.Text != ""
	}
	for _, x := range r.Items { // parents come before their children
		isAttempt := x.At == nil && x.Details.Attempt > 0
		if !isAttempt && (x.At == nil || own[fileOf(*x.At)]) {
			continue
		}
		if x.At = nil; x.Parent != nil {
			x.At = r.Items[*x.Parent-1].At // the library acts for it
		}
	}
	if err := r.setProgram(p); err != nil {
		return nil, err
	}
	b.decisions(r)
	r.Totals = totals(r.Items)
	return r, nil
}

// fileOf returns the file of FILE:LINE:COLUMN.
func fileOf(at string) string {
	for range 2 {
		at = at[:max(0, strings.LastIndexByte(at, ':'))]
	}
	return at
}
