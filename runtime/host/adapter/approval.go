package adapter

import (
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// risks maps the kinds of calls to risk levels. The risk of any other kind is high.
var risks = map[string]string{"read": "low", "search": "low", "think": "low", "edit": "medium"}

// kinds lists the kinds of calls that an approval may name.
var kinds = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"}

// approval is a vendor's request for permission to perform an action.
type approval struct {
	ID          string
	call        string // the agent's ID of the call; "" if it has none
	tool        string
	kind        string
	description string
	Args        json.RawMessage // arguments as a JSON value; nil for none
	paths       []string
	changes     json.RawMessage // changed files with their texts, if the arguments do not contain them; nil for none
	reason      string
	network     json.RawMessage // address to reach; nil for none
	Options     []string        // scopes that the user can choose, and decision.Deny
	person      bool            // a person must decide
	no          bool            // the default is no
	payload     []byte
}

// OwnDecision is a decision that an agent has made itself, without a request.
type OwnDecision struct {
	ID          string // of the call; "" if it is unknown
	Allowed     bool
	Source      string // what has decided: "classifier", "mode", "rule", "hook", "config", "auto_review" or "other"
	Reason      string
	Description string
	Asked       json.RawMessage // the call, in the form of an approval
}

// decides reports that the agent itself has decided about a call.
func (s *Output) decides(a approval, allowed bool, source, reason string) {
	a.ID = a.call
	s.Own = append(s.Own, OwnDecision{ID: a.call, Allowed: allowed, Source: source, Reason: reason, Description: a.description, Asked: s.approvalMessage(&a)})
}

func (s *Output) approval(a approval) { s.Messages = append(s.Messages, s.approvalMessage(&a)) }

func (s *Output) approvalMessage(a *approval) []byte {
	risk := risks[a.kind]
	if risk == "" {
		risk = "high"
	}
	o := jsonobject.New(hostmsg.Approval)
	o.Text("id", a.ID)
	o.Text("description", a.description)
	o.Text("risk_level", risk)
	o.Text("tool", a.tool)
	o.Text("kind", a.kind)
	if a.Args != nil {
		o.Raw("args", a.Args)
	}
	if len(a.paths) > 0 {
		o.Raw("paths", jsonwrite.MustEncode(a.paths))
	}
	if a.changes != nil {
		o.Raw("changes", a.changes)
	}
	if a.reason != "" {
		o.Text("reason", a.reason)
	}
	if a.network != nil {
		o.Raw("network", a.network)
	}
	if a.Options != nil {
		o.Raw("options", jsonwrite.MustEncode(a.Options))
	}
	if a.person {
		o.Raw("person", []byte("true"))
	}
	if a.no {
		o.Text("default", "no")
	}
	s.addAgent(o)
	s.addOrigin(o, a.call)
	o.Raw("payload", a.payload)
	return o.End()
}

// addOrigin adds the members of a request by which the ledger and the agent's own transcript name
// the same call.
func (s *Output) addOrigin(o *jsonobject.Object, call string) {
	if call != "" {
		o.Text("call", call)
	}
	if s.session != "" {
		o.Text("session", s.session)
	}
}

// decide returns the decision that a response to an approval contains, restricted to the offered
// options and the shown arguments. A response with an error is a denial with the error's text. If
// editable is false, the vendor cannot execute edited arguments, and an edit is a denial.
func (o *ours) decide(offered []string, args []byte, editable bool) decision.Decision {
	if o.Error != "" {
		return decision.Decision{Reason: o.Error}
	}
	d := decision.Parse(o.Value).Covers(args).Within(offered)
	if d.Allow && d.Input != nil && editable && !jsonobject.Begins(d.Input) {
		return decision.Decision{Reason: "not arguments: " + string(d.Input), Stop: d.Stop}
	}
	if d.Allow && d.Input != nil && !editable {
		return decision.Decision{Reason: "this host cannot execute a call with changed arguments", Stop: d.Stop}
	}
	if !d.Allow && d.Reason == "" {
		d.Reason = "denied"
	}
	return d
}

// texts returns the strings among the named members of args, without duplicates.
func texts(args []byte, names ...string) []string {
	var out []string
	all := jsonobject.MembersOf(args)
	for _, name := range names {
		for _, m := range all {
			var text string
			if m.Name == name && json.Unmarshal(m.Value, &text) == nil && text != "" {
				out = append(out, text)
			}
		}
	}
	return out
}
