package transcript

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/audit"
)

// approved is a decision in a ledger about a call of an agent.
type approved struct {
	seq         int64
	time        time.Time
	session     string
	question    bool // the user answered a question of the call
	allow       bool
	edited      bool   // it allows other arguments than those that were shown
	scope       string // see package decision
	tool        string
	sum         string          // of the arguments that were shown
	masked      json.RawMessage // these arguments, if marks replace a part of them; otherwise nil
	paths       []string        // files that were shown
	prefix      []string        // of Codex: first words of the commands that a decision for all future requests allows
	byHook      bool            // a hook of Codex decided, which names tools and arguments otherwise
	undelivered bool
	used        bool // a call of the transcripts has it
	spent       bool // a call was executed after it
}

// callKey identifies a call.
type callKey struct{ session, call string }

// Decisions are the decisions in a ledger about the calls of agents.
type Decisions struct {
	Sessions []string // that the records name, in the order of the records
	byCall   map[callKey][]*approved
	lasting  []*approved // allowed for longer than once
}

// codexUncalled lists the tools of Codex's approvals that are not about the execution of a call.
var codexUncalled = []string{"network", "permissions"}

// ReadDecisions reads a ledger. The error is an *audit.BrokenError if the ledger was changed.
func ReadDecisions(r io.Reader, name string) (*Decisions, error) {
	all := &Decisions{byCall: map[callKey][]*approved{}}
	bySeq, known := map[int64]*approved{}, map[string]bool{}
	for line, err := range audit.Lines(r, name) {
		if err != nil {
			return nil, err
		}
		var data record
		if json.Unmarshal(line.Data, &data) != nil {
			continue // a record that is not about an agent's request has other members
		}
		if x := bySeq[data.Of]; line.Kind == effect.UndeliveredDecision && x != nil {
			x.undelivered = true
		}
		if data.Session == "" {
			continue
		}
		data.isCodex = strings.Contains(string(line.Subject), `"host":"codex"`)
		if !known[data.Session] {
			known[data.Session] = true
			all.Sessions = append(all.Sessions, data.Session)
		}
		if line.Kind == guardCall {
			if x := data.guarded(); x != nil {
				x.seq, x.time = line.Seq, parseTime(line.Time)
				all.byCall[callKey{data.Session, data.Call}] = append(all.byCall[callKey{data.Session, data.Call}], x)
			}
			continue
		}
		// A request that the agent has withdrawn was not decided. Nor is a decision of the agent
		// itself one of the program.
		if data.Call == "" || data.Source != "" || !hostmsg.Lookup(line.Kind).ByPerson() || line.Actor.Type == effect.ActorHost {
			continue
		}
		x := data.decision(line.Kind)
		x.seq, x.time = line.Seq, parseTime(line.Time)
		bySeq[line.Seq] = x
		key := callKey{data.Session, data.Call}
		all.byCall[key] = append(all.byCall[key], x)
		if x.allow && x.scope != "" && x.scope != decision.Once {
			all.lasting = append(all.lasting, x)
		}
	}
	return all, nil
}

// record contains the members of a record's data that are read.
type record struct {
	isCodex bool // the record is about a call of Codex

	Session  string          `json:"session"`
	Call     string          `json:"call"`
	Answer   json.RawMessage `json:"answer"`
	Error    string          `json:"error"`
	Of       int64           `json:"of"`
	Source   string          `json:"source"`
	Tool     string          `json:"tool"` // of guarded calls, like the next two
	Decision string          `json:"decision"`
	Sum      string          `json:"args_sha256"`
	Asked    struct {
		Event   string          `json:"event"`
		Tool    string          `json:"tool"`
		Args    json.RawMessage `json:"args"`
		Options []string        `json:"options"`
		Paths   []string        `json:"paths"`
		Payload struct {
			Params struct {
				Prefix []string `json:"proposedExecpolicyAmendment"`
			} `json:"params"`
		} `json:"payload"`
	} `json:"asked"`
}

// guardCall is the kind of records about the calls of guarded sessions (spec/51-guard.md).
const guardCall = "guard"

// beforeCalls are the events of hooks before a call.
var beforeCalls = []string{"PreToolUse", "BeforeTool", "preToolUse"}

// guarded returns the decision of a hook about a call, or nil. A question to a person counts as
// allowed, because a call that the person has refused does not run.
func (r *record) guarded() *approved {
	if r.Call == "" || !slices.Contains(beforeCalls, r.Asked.Event) {
		return nil
	}
	x := &approved{session: r.Session, tool: r.Tool, allow: r.Decision != "deny", sum: r.Sum, byHook: r.isCodex}
	if mark().Match(r.Asked.Args) {
		x.masked = bytes.Clone(r.Asked.Args)
	}
	return x
}

// decision returns the decision that the agent received.
func (r *record) decision(kind string) *approved {
	x := &approved{session: r.Session, tool: r.Asked.Tool, paths: r.Asked.Paths, prefix: r.Asked.Payload.Params.Prefix}
	if hostmsg.Lookup(kind).Form != hostmsg.YesNo {
		x.question, x.allow = true, r.Error == "" && len(r.Answer) > 0 && string(r.Answer) != "null"
		return x
	}
	args := r.Asked.Args
	d := decision.Parse(r.Answer).Covers(args)
	if r.Asked.Options != nil {
		d = d.Within(r.Asked.Options)
	}
	x.allow, x.scope = d.Allow && r.Error == "", d.Scope
	x.edited = d.Input != nil && decision.Hash(d.Input) != decision.Hash(args)
	var members map[string]json.RawMessage
	if x.tool == "fileChange" && json.Unmarshal(args, &members) == nil && members["grantRoot"] != nil {
		delete(members, "grantRoot") // the transcript does not contain it
		args, _ = json.Marshal(members)
	}
	x.sum = decision.Hash(args)
	if mark().Match(args) {
		x.masked = bytes.Clone(args)
	}
	return x
}

// covers reports whether the arguments of a call are those that were shown.
func (x *approved) covers(c *Call) bool {
	if c.sum != "" && c.sum == x.sum {
		return true
	}
	var shown, actual any
	return x.masked != nil && json.Unmarshal(x.masked, &shown) == nil && json.Unmarshal(c.Args, &actual) == nil && matches(shown, actual)
}

// class returns the class of a call that was executed after the decision.
func (x *approved) class(c *Call) Class {
	switch {
	case !x.allow, x.edited && c.vendor == "codex": // Codex cannot execute other arguments, and was denied
		return Denied
	case x.undelivered:
		return Undelivered
	case !x.question && !x.byHook && (x.tool != c.Tool || !x.covers(c)):
		return Different
	}
	return Decided
}

// grants reports whether the agent may execute a call without a request because of a rule that it
// created after the decision.
func (x *approved) grants(c *Call) bool {
	if x.undelivered || x.tool != c.Tool || x.session != c.Session && x.scope != decision.Always || c.Time.IsZero() || x.time.After(c.Time) {
		return false
	}
	if c.byRule || (c.silent || c.isUser) && x.covers(c) {
		return true
	}
	if c.vendor != "codex" {
		return false
	}
	if len(c.Paths) > 0 { // Codex requests an approval for the files, not for each change of them
		return !slices.ContainsFunc(c.Paths, func(path string) bool { return !slices.Contains(x.paths, path) })
	}
	return x.scope == decision.Always && len(x.prefix) > 0 && isPrefix(x.prefix, c.Args)
}

// isPrefix reports whether a command begins with words. It returns false for a command in which the
// shell does more than to split words.
func isPrefix(words []string, args json.RawMessage) bool {
	var call struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(args, &call) != nil || strings.ContainsAny(call.Command, "|&;<>()$`\\\"'*?[]#~=%{}!\n") {
		return false
	}
	all := strings.Fields(call.Command)
	return len(all) >= len(words) && slices.Equal(all[:len(words)], words)
}

// mark matches the marks that replace secrets in a ledger.
var mark = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`«(?:secret:[^»]*|redacted)»`) })

// matches reports whether two JSON values are equal, where a mark in the first means any text.
func matches(shown, actual any) bool {
	switch s := shown.(type) {
	case string:
		a, ok := actual.(string)
		parts := mark().Split(s, -1)
		if !ok || len(parts) == 1 {
			return ok && s == a
		}
		first, last := parts[0], parts[len(parts)-1]
		if len(a) < len(first)+len(last) || !strings.HasPrefix(a, first) || !strings.HasSuffix(a, last) {
			return false
		}
		for a = a[len(first) : len(a)-len(last)]; len(parts) > 2; parts = parts[1:] {
			_, rest, found := strings.Cut(a, parts[1])
			if !found {
				return false
			}
			a = rest
		}
		return true
	case []any:
		a, ok := actual.([]any)
		return ok && slices.EqualFunc(s, a, matches)
	case map[string]any:
		a, ok := actual.(map[string]any)
		return ok && maps.EqualFunc(s, a, matches)
	}
	return shown == actual
}
