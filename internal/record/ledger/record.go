package ledger

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/vm"
)

// The kinds of records, in addition to the types of host messages that a person may answer:
// approvals of tool calls, awaited emits, decisions about effects with an unknown outcome, and
// forks of a run.
const (
	KindTool    = vm.DecidedTool
	KindAwait   = vm.DecidedAwait
	KindUnknown = vm.DecidedUnknown
	KindFork    = "fork"
)

// Subject identifies what a record is about.
type Subject struct {
	Effect int64           `json:"effect"`
	Host   *string         `json:"host"`
	ID     json.RawMessage `json:"id"`
}

// OutsideSubject identifies a request that a host made while no exchange was running. Effect is
// nil. Line is the host's line, as "PROCESS:LINE".
type OutsideSubject struct {
	Effect *int64          `json:"effect"`
	Host   string          `json:"host"`
	ID     json.RawMessage `json:"id"`
	Line   string          `json:"line"`
}

// Data contains the request and the decision, without secrets. Its members and those of Part are in
// canonical order, so that their JSON needs no sorting.
type Data struct {
	Agent          json.RawMessage `json:"agent,omitempty"` // of a host's request: the subagent, as in its message
	Answer         json.RawMessage `json:"answer"`
	ArgsSHA256     string          `json:"args_sha256,omitempty"` // of yes/no answers, like decision, executed_sha256, reason, scope and tool
	Asked          json.RawMessage `json:"asked"`
	Call           string          `json:"call,omitempty"` // of a host's request: the agent's ID of the call
	Channel        string          `json:"channel,omitempty"`
	Decision       string          `json:"decision,omitempty"`
	Error          string          `json:"error,omitempty"`
	ExecutedSHA256 string          `json:"executed_sha256,omitempty"`
	MS             int64           `json:"ms"`
	Of             int64           `json:"of,omitempty"`     // of an undelivered decision: the number of its record
	Output         string          `json:"output,omitempty"` // of a gate, like passed, tree and turn
	Passed         *bool           `json:"passed,omitempty"`
	Path           []Part          `json:"path,omitempty"`
	Reason         string          `json:"reason,omitempty"`
	Scope          string          `json:"scope,omitempty"`
	Seal           json.RawMessage `json:"seal,omitempty"`    // signature of the decision: statement and sig
	Session        string          `json:"session,omitempty"` // of a host's request: the agent's conversation
	Source         string          `json:"source,omitempty"`  // what has decided in the host's agent, without a request
	Tool           *string         `json:"tool,omitempty"`
	Tree           string          `json:"tree,omitempty"`
	Turn           int64           `json:"turn,omitempty"`
}

// Part is a participant in a decision, by its effect or by its position in the program.
type Part struct {
	At     string `json:"at,omitempty"`
	Effect int64  `json:"effect,omitempty"`
	Name   string `json:"name"`
	Type   string `json:"type"`
}

// Now returns the time in Unix milliseconds.
func (r *Run) Now() int64 { return r.o.Now().UnixMilli() }

// Decided records a decision of the run.
func (r *Run) Decided(d *vm.Decision) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	who, path := Decider(d)
	s := Subject{Effect: d.Effect, ID: d.ID}
	if d.Host != "" {
		s.Host = &d.Host
	}
	if d.Kind == KindAwait {
		s.ID = json.RawMessage(fmt.Sprintf(`"q%d"`, d.Effect))
	}
	data := r.data(d, path)
	if d.Call != nil {
		r.addCall(&data, d.Call)
	}
	seq, err := r.record(d.Kind, who, s, &data)
	if err == nil && d.Host != "" {
		r.answered[answerKey(d.Host, d.ID)] = seq
	}
	return err
}

func (r *Run) data(d *vm.Decision, path []Part) Data {
	data := Data{Channel: d.Channel, Asked: d.Asked, Answer: d.Answer, Error: d.Problem, MS: d.MS, Path: path, Session: d.Session, Source: d.Source, Seal: d.Seal}
	if hostmsg.Lookup(d.Kind).ByPerson() {
		data.addOrigin()
	}
	if g := d.Gate; g != nil {
		data.Passed, data.Turn, data.Output, data.Tree = &g.Passed, g.Turn, g.Output, g.Tree
	}
	if d.Kind == effect.UndeliveredDecision {
		data.Of, data.Reason, data.Error = r.answered[answerKey(d.Host, d.ID)], d.Problem, ""
	}
	if hostmsg.Lookup(d.Kind).Form == hostmsg.YesNo {
		r.addApproval(&data)
	}
	return data
}

// outsideAnswer is the part of a Data that the host has received.
type outsideAnswer struct {
	Answer json.RawMessage `json:"answer"`
	Error  string          `json:"error"`
}

// DecidedOutside records a decision on a request that a host made in a line while no exchange was
// running, unless the ledger contains one: its answer then replaces that of d. It may be called
// concurrently with the other methods.
func (r *Run) DecidedOutside(d *vm.Decision, at string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	subject := OutsideSubject{Host: d.Host, ID: d.ID, Line: at}
	key := subject.key(d.Kind)
	if earlier, known := r.outside[key]; known {
		d.Answer, d.Problem = earlier.Answer, earlier.Error
		return nil
	}
	who, _ := Decider(d)
	about, err := jsonwrite.Encode(subject)
	if err != nil {
		return fmt.Errorf("record of a %s: %w", Name, err)
	}
	data := r.data(d, nil)
	text, err := jsonwrite.Encode(data)
	if err != nil {
		return fmt.Errorf("record of a %s: %w", Name, err)
	}
	x := audit.Record{Kind: d.Kind, Actor: who, Subject: r.o.Clean(about), Data: r.o.Clean(text), At: r.o.Now(), Run: r.o.ID}
	line, err := r.l.log.Append(x)
	if err != nil {
		return err
	}
	r.outside[key] = outsideAnswer{data.Answer, data.Error}
	r.answered[answerKey(d.Host, d.ID)] = line.Seq
	return nil
}

// answerKey identifies a request of a host.
func answerKey(host string, id json.RawMessage) string { return host + " " + string(id) }

// Record records a decision that was made outside the program: about an effect with an unknown
// outcome, or by a fork.
func (r *Run) Record(kind string, who audit.Actor, s Subject, data *Data) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := r.record(kind, who, s, data)
	return err
}

// record returns the number of the record.
func (r *Run) record(kind string, who audit.Actor, s Subject, data *Data) (int64, error) {
	about, err := jsonwrite.Encode(s)
	if err != nil {
		return 0, fmt.Errorf("record of a %s: %w", Name, err)
	}
	text, err := jsonwrite.Encode(data)
	if err != nil {
		return 0, fmt.Errorf("record of a %s: %w", Name, err)
	}
	return r.add(s.Effect, audit.Record{Kind: kind, Actor: who, Subject: r.o.Clean(about), Data: r.o.Clean(text)})
}

// personal lists the types of actors in decreasing order of personal responsibility. Decisions
// without an actor are last.
var personal = []string{effect.ActorHuman, effect.ActorApplication, effect.ActorFlag, effect.ActorAgent, effect.ActorRule, effect.ActorTimeout, effect.ActorDefault}

// Decider returns the actor who made a decision. If a handler decided, path contains the
// participants on which its decision depends.
func Decider(d *vm.Decision) (who audit.Actor, path []Part) {
	switch {
	case d.By != effect.ByHandler && d.Call != nil:
		return actor(d.Call.Actor), nil
	case d.By != effect.ByHandler:
		return actor(effect.ActorOf(d.By, d.Name)), nil
	}
	at := ""
	if d.At.File != "" {
		at = fmt.Sprintf("%s:%d:%d", d.At.File, d.At.Line, d.At.Column)
	}
	for _, p := range d.Path {
		path = append(path, Part{Effect: p.Effect, Name: p.Name, Type: p.Type})
	}
	switch {
	case len(path) > 0:
	case at != "":
		path = []Part{{At: at, Name: d.At.Function, Type: effect.ActorRule}}
	default: // the library's default handler, which asks a question and has a default answer
		path = []Part{{Type: effect.ActorDefault}}
	}
	first := slices.MinFunc(path, func(a, b Part) int { return rank(a) - rank(b) })
	return audit.Actor{Type: first.Type, Name: first.Name, At: at}, path
}

func actor(a effect.Actor) audit.Actor { return audit.Actor{Type: a.Type, Name: a.Name} }

func rank(p Part) int { return slices.Index(personal, p.Type) }

// addOrigin sets the members that name the agent's call, as the host's message contains them.
func (d *Data) addOrigin() {
	var asked struct {
		Session string          `json:"session"`
		Call    string          `json:"call"`
		Agent   json.RawMessage `json:"agent"`
	}
	_ = json.Unmarshal(d.Asked, &asked) // members of another type are not those of an adapter
	d.Session, d.Call, d.Agent = asked.Session, asked.Call, asked.Agent
}

// addApproval sets the tool call that a host's approval was about.
func (r *Run) addApproval(d *Data) {
	var asked struct {
		Tool *string         `json:"tool"`
		Args json.RawMessage `json:"args"`
	}
	_ = json.Unmarshal(d.Asked, &asked) // a request of another form leaves asked empty
	d.Tool = asked.Tool
	args := asked.Args
	if a := decision.Parse(d.Answer); a.Allow && a.Input != nil {
		args = a.Input
	}
	if args != nil {
		d.ArgsSHA256 = decision.Hash(r.o.Clean(args))
	}
}

// addCall sets the data of a decision about a tool call.
func (r *Run) addCall(d *Data, x *effect.AppDecided) {
	var asked struct {
		Tool *string `json:"tool"`
	}
	_ = json.Unmarshal(d.Asked, &asked) // the VM has encoded the request
	d.Tool = asked.Tool
	d.Decision, d.Scope, d.Reason = x.Decision, x.Scope, x.Reason
	d.ArgsSHA256, d.ExecutedSHA256 = x.ArgsSHA256, x.ExecutedSHA256
}
