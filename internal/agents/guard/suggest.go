package guard

import (
	"cmp"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
)

// minAnswers is how often a person must have answered alike.
const minAnswers = 5

// Suggestion is a rule that would have given the answers that a person has given.
type Suggestion struct {
	Key   string   `json:"key"`   // such as "commands.allow"
	Rule  string   `json:"rule"`  // the entry of the list
	Calls []string `json:"calls"` // the calls that it covers, each once
	Times int      `json:"times"` // number of answers
	Also  string   `json:"also"`  // what else it covers
}

// answered is a call about which a person has decided, as rules match it.
type answered struct {
	list string // "commands", "mcp" or "net"
	text string
	hostpolicy.Verdict
}

// Suggest returns rules for the project in a directory. Since a time, a person has always answered
// the calls that a rule covers alike, and at least five times; no call that it allows was denied.
func (p *Places) Suggest(since time.Time, project string) ([]Suggestion, error) {
	var asked, denied []answered // denied are those that rules have denied
	open := map[answered]bool{}  // calls about which the policy still requires a person
	for past, err := range p.History(since) {
		if err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(project, past.Dir); err != nil || !filepath.IsLocal(rel) {
			continue
		}
		call, err := past.call()
		if err != nil {
			continue
		}
		list, text := call.rule()
		if list == "" {
			continue
		}
		switch v := past.answer(); {
		case v != "":
			a := answered{list, text, v}
			asked = append(asked, a)
			if _, known := open[a]; !known {
				d := p.Decide(call)
				open[a] = d.Verdict == hostpolicy.Ask && d.Key != keyProgram // a rule does not replace a function
			}
		case past.Decision == string(hostpolicy.Deny):
			denied = append(denied, answered{list, text, hostpolicy.Deny})
		}
	}
	groups := map[[2]string][]answered{}
	for _, a := range asked {
		if !open[a] {
			continue
		}
		for _, k := range [][2]string{{a.list, a.text}, {a.list, stem(a)}} {
			groups[k] = append(groups[k], a)
		}
	}
	var out []Suggestion
	for k, group := range groups {
		if s := suggest(k[0], k[1], group, asked, denied); s != nil {
			out = append(out, *s)
		}
	}
	slices.SortFunc(out, func(a, b Suggestion) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Key, b.Key), cmp.Compare(len(b.Calls), len(a.Calls)), cmp.Compare(a.Rule, b.Rule))
	})
	out = slices.CompactFunc(out, func(a, b Suggestion) bool { return a.Key == b.Key && a.Rule == b.Rule })
	return withoutCovered(out), nil
}

// rule returns the list whose rules match the call, and the text that they match. The list is "" if
// no rule may be derived from the call: it is no plain command, or a file.
func (c *Call) rule() (list, text string) {
	switch {
	case c.Kind == "mcp" && len(c.names) == 1:
		return "mcp", c.names[0]
	case c.Kind == "fetch":
		var args struct{ URL string }
		if json.Unmarshal(c.Args, &args) == nil {
			if u, err := url.Parse(args.URL); err == nil && u.Hostname() != "" {
				return "net", u.Hostname()
			}
		}
	case c.Kind == "execute":
		commands, unclear := hostpolicy.SimpleCommands(c.request.Command)
		if len(commands) == 1 && !unclear && strings.Join(commands[0], " ") == strings.TrimSpace(c.request.Command) && !strings.ContainsAny(c.request.Command, "*?[") {
			return "commands", strings.TrimSpace(c.request.Command)
		}
	}
	return "", ""
}

// stem returns the first two words of a command, with which a rule with `*` must begin.
func stem(a answered) string {
	words := strings.Fields(a.text)
	if a.list != "commands" || len(words) < 3 {
		return a.text
	}
	return words[0] + " " + words[1] + " *"
}

// suggest returns the suggestion for calls that begin alike, or nil.
func suggest(list, key string, group, asked, denied []answered) *Suggestion {
	var calls []string
	for _, a := range group {
		calls = append(calls, a.text)
	}
	slices.Sort(calls)
	calls = slices.Compact(calls)
	s := &Suggestion{Rule: key, Calls: calls, Also: "nothing else"}
	if len(calls) > 1 {
		s.Rule = common(calls) + " *"
		s.Also = "`" + strings.TrimSuffix(s.Rule, " *") + "` with any other arguments"
	} else {
		s.Rule = calls[0]
	}
	if hostpolicy.CheckCommand(s.Rule) != nil && list != "net" {
		return nil
	}
	s.Calls = slices.DeleteFunc(calls, func(c string) bool { return !covers(list, s.Rule, c) })
	verdict := group[0].Verdict
	for _, a := range asked {
		if a.list == list && covers(list, s.Rule, a.text) {
			if a.Verdict != verdict {
				return nil
			}
			s.Times++
		}
	}
	if s.Times < minAnswers {
		return nil
	}
	for _, a := range denied {
		if verdict == hostpolicy.Allow && a.list == list && covers(list, s.Rule, a.text) {
			return nil
		}
	}
	s.Key = list + "." + string(verdict)
	return s
}

// common returns the words with which all commands begin.
func common(commands []string) string {
	words := strings.Fields(commands[0])
	for _, c := range commands[1:] {
		other := strings.Fields(c)
		n := 0
		for n < min(len(words), len(other)) && words[n] == other[n] {
			n++
		}
		words = words[:n]
	}
	return strings.Join(words, " ")
}

// covers reports whether a rule allows a call.
func covers(list, rule, text string) bool {
	if list == "net" {
		return rule == text
	}
	policy := hostpolicy.New(hostpolicy.Rules{Commands: hostpolicy.Commands{Allow: []string{rule}}, Default: "deny"}, hostpolicy.Place{Dir: "/"})
	return policy.Decide(hostpolicy.Request{Kind: "execute", Command: text, Dir: "/"}) == hostpolicy.Allow
}

// withoutCovered removes suggestions that another one includes.
func withoutCovered(all []Suggestion) (out []Suggestion) {
	for _, s := range all {
		if !slices.ContainsFunc(all, func(o Suggestion) bool {
			return o.Key == s.Key && o.Rule != s.Rule && len(o.Calls) > len(s.Calls) && !slices.ContainsFunc(s.Calls, func(c string) bool { return !slices.Contains(o.Calls, c) })
		}) {
			out = append(out, s)
		}
	}
	return out
}
