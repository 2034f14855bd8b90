package guard

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

// Decision is the decision about a call, and what has decided it.
type Decision struct {
	Verdict hostpolicy.Verdict `json:"decision"`
	Reason  string             `json:"reason"`
	File    string             `json:"file,omitempty"` // policy file; "" for a built-in rule
	Line    int                `json:"line,omitempty"`
	Key     string             `json:"key,omitempty"`  // such as "commands.deny", or "default"
	Rule    string             `json:"rule,omitempty"` // the entry of the list

	unattended hostpolicy.Verdict // of a call about which a person must decide
	wait       int64              // how long the call waits for the person, in seconds
	by         *audit.Actor       // what has decided instead of the rule; nil for the rule
	answer     json.RawMessage    // of a person to a question
	input      json.RawMessage    // arguments with that answer; nil to leave them
}

// deny returns a denial that no rule of a policy has made.
func deny(format string, args ...any) Decision {
	return Decision{Verdict: hostpolicy.Deny, Reason: fmt.Sprintf(format, args...)}
}

// strictness orders the verdicts, the strictest last.
var strictness = []hostpolicy.Verdict{hostpolicy.Pass, hostpolicy.Allow, hostpolicy.Ask, hostpolicy.Deny}

// stricter returns the decision that applies if two policies, or two parts of a call, differ.
func stricter(a, b Decision) Decision {
	if a.Verdict == "" || slices.Index(strictness, b.Verdict) > slices.Index(strictness, a.Verdict) {
		b.unattended = cmp.Or(a.unattended, b.unattended)
		if a.unattended == hostpolicy.Deny {
			b.unattended = a.unattended
		}
		return b
	}
	if b.unattended == hostpolicy.Deny {
		a.unattended = b.unattended
	}
	return a
}

// Call is a call of a tool.
type Call struct {
	Agent   string
	Tool    string
	Kind    string // as in approvals; "mcp" for a tool of an MCP server
	Dir     string // working directory, absolute
	Project string // directory in which the agent was started; "" if it is unknown
	Args    json.RawMessage

	request hostpolicy.Request
	names   []string // of a tool of an MCP server: the possible meanings of its name, as SERVER.TOOL
	guessed bool     // it may be another tool

	id, subagent string
	deadline     time.Duration            // of a decision; 0 means Deadline
	extend       func(time.Duration)      // extends the deadline; may be nil
	earlier      func([]*Policy) *decided // returns the decision before the agent asks a person; may be nil
	waited       int64                    // seconds of `wait` that functions have used
	programs     []string                 // of the policies, which no agent may write
}

// Decide decides about a call. The built-in rules apply before those of the policies.
func (p *Places) Decide(c *Call) Decision {
	d, _ := p.decide(c)
	return d
}

// decide also returns the policies that apply, as far as they could be read.
func (p *Places) decide(c *Call) (Decision, []*Policy) {
	policies, err := p.load(c.Dir, c.Project)
	if err == nil {
		err = p.checkTrust(policies)
	}
	if err != nil {
		return deny("%v", err), nil
	}
	if probe := c.probe(); probe != "" {
		return probe.decide(), policies
	}
	c.programs = programs(policies)
	if d := p.builtIn(c); d.Verdict != "" {
		d.wait = policies[0].rules.Wait // of a question of the agent
		return d, policies
	}
	var out Decision
	for _, x := range policies {
		out = stricter(out, x.decide(c, p.Home))
	}
	if len(c.programs) == 0 {
		return out, policies
	}
	if d, ok := c.repeated(policies, out); ok {
		return d, policies
	}
	for _, x := range policies {
		if x.rules.Program != "" && out.Verdict != hostpolicy.Deny {
			out = p.review(x, c, out)
		}
	}
	out.wait = max(0, out.wait-c.waited)
	return out, policies
}

// decide decides about a call by the rules of one policy.
func (p *Policy) decide(c *Call, home string) Decision {
	rules, place := p.access(c.Agent)
	var out Decision
	add := func(r hostpolicy.Rules, q hostpolicy.Request, key func(string) string) {
		r.Default = string(p.rules.Default)
		rules := p.policy(r, home)
		v := rules.Decide(q)
		d := Decision{Verdict: v, File: p.file, unattended: p.rules.Unattended, wait: p.rules.Wait}
		if e := rules.Explain(q, v); e.Key != "" {
			d.Key = key(e.Key)
			pointer, text := place(d.Key, e.Index)
			d.Line, d.Rule = p.guard.Line(pointer), text
			d.Reason = fmt.Sprintf("%s:%d: %s %q", p.shown, d.Line, d.Key, d.Rule)
		} else {
			p.setDefault(&d, "default", string(p.rules.Default), "no rule matches")
			if v != p.rules.Default {
				d.Reason = fmt.Sprintf("%s:%d: the call may contain more than the rules can match", p.shown, d.Line)
			}
		}
		if !c.guessed || d.Rule != "" {
			out = stricter(out, d)
		}
	}
	other := func() {
		out = Decision{Verdict: p.rules.Other, File: p.file, unattended: p.rules.Unattended, wait: p.rules.Wait}
		p.setDefault(&out, "other", string(p.rules.Other), fmt.Sprintf("unknown tool %q", c.Tool))
	}
	switch c.Kind {
	case "other":
		other()
	case "mcp":
		for _, name := range c.names {
			add(hostpolicy.Rules{Commands: rules.MCP}, hostpolicy.Request{Kind: "execute", Command: name}, func(key string) string { return strings.Replace(key, "commands", "mcp", 1) })
		}
		if out.Verdict == "" { // no rule matches what the name may mean
			other()
		}
	default:
		add(p.rulesIn(rules.Rules), c.request, func(key string) string { return key })
	}
	return p.weigh(out)
}

// weigh returns a decision of the policy if it is trusted, and otherwise one that allows nothing.
func (p *Policy) weigh(d Decision) Decision {
	if !p.distrusted {
		return d
	}
	if d.unattended == hostpolicy.Allow {
		d.unattended = hostpolicy.Deny
	}
	if d.Verdict == hostpolicy.Allow {
		d.Verdict = hostpolicy.Ask
		d.Reason += "; the policy allows nothing before `concerto guard trust`"
	}
	return d
}

// setDefault sets the reason of a decision that a key of [guard] makes, rather than a rule.
func (p *Policy) setDefault(d *Decision, key, value, why string) {
	d.Key, d.Line = key, p.guard.Line("/"+key)
	if _, ok := p.guard.At[key]; ok {
		d.Reason = fmt.Sprintf("%s:%d: %s, and `%s` is %q", p.shown, d.Line, why, key, value)
		return
	}
	d.Line = p.guard.HeaderLine()
	d.Reason = fmt.Sprintf("%s:%d: %s, and `%s` is by default %q", p.shown, d.Line, why, key, value)
}
