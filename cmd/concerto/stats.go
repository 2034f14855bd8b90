package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/concerto-lang/concerto"
)

// modelUsage writes what a run has used of models: a line each, and the sums.
func (a *app) modelUsage(each []concerto.ModelUsage, all concerto.ModelUsage) {
	if len(each) == 0 {
		fmt.Fprintln(a.stderr, "stats: no model was asked")
		return
	}
	w := tabwriter.NewWriter(a.stderr, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(a.stderr, "stats:")
	fmt.Fprintln(w, "calls\tfailed\ttokens in\ttokens out\tcost USD\t  model")
	line := func(u concerto.ModelUsage, name string) {
		cost := "unknown"
		if u.Priced {
			cost = u.Cost.String()
		}
		fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%s\t  %s\n", u.Calls, u.Failed, u.TokensIn, u.TokensOut, cost, name)
	}
	for _, u := range each {
		line(u, u.Connection+" "+u.Model)
	}
	if len(each) > 1 {
		line(all, "all")
	}
	w.Flush()
}
