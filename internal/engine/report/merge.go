package report

import (
	"time"

	"github.com/concerto-lang/concerto/internal/record/event"
)

// Part is the report of a test in the report of a test run.
type Part struct {
	Test     string  // name of the test
	Function string  // the function that is the test
	Failure  string  // why the test has failed; "" if it has passed
	After    float64 // seconds from the start of the test run to the start of the test
	*Report
}

// Merge returns the report of a test run, with the items of its tests one after another. The caller
// sets Run.
func Merge(parts []Part) *Report {
	all := &Report{Version: Version, Items: []*Item{}, Decisions: []Decision{}, Files: []File{}, Gaps: []string{}}
	for _, p := range parts {
		before := len(all.Items)
		all.Graph, all.Files = p.Graph, p.Files
		all.Tests = append(all.Tests, Test{Name: p.Test, Item: before + p.first()})
		for _, x := range p.Items {
			x.move(before, p.After)
		}
		for _, d := range p.Decisions {
			d.Item += before
			all.Decisions = append(all.Decisions, d)
		}
		all.Items = append(all.Items, p.Items...)
	}
	all.Totals = totals(all.Items)
	return all
}

// first sets the outcome of the item of the test's function, and returns its number. If the test
// did not begin, first adds the item.
func (p *Part) first() int {
	var x *Item
	for _, item := range p.Items {
		if item.Kind == string(event.Run) && (x == nil || item.Name == p.Function) {
			x = item
		}
	}
	if x == nil {
		x = &Item{N: len(p.Items) + 1, Kind: string(event.Run), Task: 1, Start: new(0.0), End: new(0.0)}
		p.Items = append(p.Items, x)
	}
	x.Name, x.Status, x.Error = p.Test, OK, p.Failure
	if p.Failure != "" {
		x.Status = Failed
	}
	return x.N
}

// move adds to the numbers of an item and to its times.
func (x *Item) move(numbers int, after float64) {
	x.N += numbers
	if x.Parent != nil {
		x.Parent = new(*x.Parent + numbers)
	}
	for i := range x.Details.Last {
		x.Details.Last[i] += numbers
	}
	for _, at := range []**float64{&x.Start, &x.End} {
		if *at != nil {
			*at = seconds(time.Duration((**at + after) * float64(time.Second)))
		}
	}
}
