package transcript

import (
	"slices"

	"github.com/concerto-lang/concerto/internal/data/decision"
)

// Class is what a ledger shows about a call that was executed.
type Class string

const (
	Decided     Class = "decided"     // after a decision that allows it
	Own         Class = "own"         // as a tool of the program
	Granted     Class = "granted"     // without a request, under a rule that a decision created in the agent
	Unasked     Class = "unasked"     // without a request, of a kind for which none is expected
	Bypassed    Class = "bypassed"    // without a decision, of another kind
	Denied      Class = "denied"      // although it was denied
	Different   Class = "different"   // with other arguments than those that were shown
	Undelivered Class = "undelivered" // although the agent did not receive its decision
)

// IsCovered reports whether a call of the class was executed as decided, or needed no decision.
func (c Class) IsCovered() bool { return slices.Contains(Classes[:4], c) }

// Classes lists all classes.
var Classes = []Class{Decided, Own, Granted, Unasked, Bypassed, Denied, Different, Undelivered}

// Result contains the number of calls by class, and of what has no counterpart.
type Result struct {
	Classes  map[Class]int
	NoResult int // calls whose transcript contains no result
	NoCall   int // decisions about calls that no transcript contains
}

// Options configures Reconcile.
type Options struct {
	Kinds   Kinds
	Unasked []string // kinds of calls for which no request is expected
	// Each is called for each executed call, with the number of the record that decided it, or 0.
	Each    func(class Class, c *Call, seq int64)
	Problem func(Problem)
}

// Reconcile compares the calls in transcripts with the decisions of a ledger.
func Reconcile(all *Decisions, files []File, o Options) (Result, error) {
	r := Result{Classes: map[Class]int{}}
	sessions := map[string]bool{}
	for _, f := range files {
		sessions[f.Session] = true
		err := eachCall(f, o.Kinds, func(c Call) {
			c.vendor = f.Vendor
			of := all.byCall[callKey{c.Session, c.ID}]
			for _, x := range of {
				x.used = true
			}
			switch c.state {
			case unfinished:
				r.NoResult++
			case executed:
				class, seq := all.classify(&c, of, o.Unasked)
				r.Classes[class]++
				o.Each(class, &c, seq)
			}
		}, o.Problem)
		if err != nil {
			return r, err
		}
	}
	for key, of := range all.byCall {
		for _, x := range of {
			if sessions[key.session] && !x.used {
				r.NoCall++
			}
		}
	}
	return r, nil
}

// classify returns the class of an executed call, and the number of the record that decided it. A
// decision that was made once is for one execution.
func (all *Decisions) classify(c *Call, of []*approved, unasked []string) (class Class, seq int64) {
	c.sum = decision.Hash(c.Args)
	var best *approved
	for _, x := range of {
		if x.spent || c.vendor == "codex" && c.Tool != x.tool && slices.Contains(codexUncalled, x.tool) {
			continue
		}
		if best == nil || best.class(c) != Decided {
			best = x
		}
	}
	if best != nil {
		best.spent = true
		if class := best.class(c); class != Denied || !c.inside { // a denied question was not asked
			return class, best.seq
		}
	}
	switch {
	case c.own && (c.silent || c.isUser):
		return Own, 0
	case slices.ContainsFunc(all.lasting, func(x *approved) bool { return x.grants(c) }):
		return Granted, 0
	case c.inside || slices.Contains(unasked, c.Kind):
		return Unasked, 0
	}
	return Bypassed, 0
}
