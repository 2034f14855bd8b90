package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// acpRequest describes a method of the agent's requests and how its requests are answered.
type acpRequest struct {
	method    string
	served    bool // the client performs the request, which requires that the host has permissions
	ask       func(a *ACP, s *Output, q *rpcRequest, line []byte)
	answer    func(s *Output, q *rpcRequest, o *ours) // writes the response from the program's answer; nil if the program is not asked
	cancelled string                                  // response, as JSON, if the exchange is cancelled before the answer; "" means an error
}

var acpRequests = []acpRequest{
	{method: "session/request_permission", ask: (*ACP).asksPermission, answer: decidedPermission, cancelled: `{"outcome":{"outcome":"cancelled"}}`},
	{method: "elicitation/create", ask: (*ACP).handleElicitation, answer: answeredForm, cancelled: `{"action":"cancel"}`},
	{method: "fs/read_text_file", served: true, ask: (*ACP).asksFile, answer: passApproved},
	{method: "fs/write_text_file", served: true, ask: (*ACP).asksFile, answer: passApproved},
	{method: "terminal/create", served: true, ask: (*ACP).asksTerminal, answer: passApproved},
	{method: "terminal/output", served: true, ask: (*ACP).passTerminalRequest},
	{method: "terminal/wait_for_exit", served: true, ask: (*ACP).passTerminalRequest},
	{method: "terminal/kill", served: true, ask: (*ACP).passTerminalRequest},
	{method: "terminal/release", served: true, ask: (*ACP).passTerminalRequest},
}

func acpRequestOf(method string) *acpRequest {
	at := slices.IndexFunc(acpRequests, func(r acpRequest) bool { return r.method == method })
	if at < 0 {
		return nil
	}
	return &acpRequests[at]
}

// ClientMethods returns the methods that the client performs for an agent whose host has
// permissions.
func ClientMethods() (methods []string) {
	for _, row := range acpRequests {
		if row.served {
			methods = append(methods, row.method)
		}
	}
	return methods
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// handleRequest handles a request of the agent. It refuses unknown methods.
func (a *ACP) handleRequest(s *Output, m *rpcMessage, line []byte) {
	a.Asked++
	if a.RPC.isRepeated(s, m, line) {
		return
	}
	row := acpRequestOf(m.Method)
	if row == nil || row.served && !a.cfg.Serves {
		s.refuse(m.ID, m.Method, "", line)
		return
	}
	row.ask(a, s, &rpcRequest{ID: m.ID, Number: a.Asked, Method: m.Method, Params: m.Params}, line)
}

// respond sends the response to a request of the agent, if the request is still open.
func (a *ACP) respond(s *Output, o *ours) {
	if a.answerBridged(s, o) {
		return
	}
	q, ok := a.RPC.removeRequest(o.AnswerTo)
	if !ok {
		s.Lost = append(s.Lost, Undelivered{o.AnswerTo, ReasonClosed})
		return
	}
	acpRequestOf(q.Method).answer(s, &q, o)
	if d := o.decide(q.Options, q.Args, false); q.Method == "session/request_permission" && d.Stop && !d.Allow {
		a.cancel(s) // the outcome "cancelled" alone does not end the turn of every agent
	}
}

// acpChoice is one option of a permission request.
type acpChoice struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// acpScopes maps ACP's kinds of options to the scopes of the host protocol.
var acpScopes = []struct{ theirs, ours string }{
	{"allow_once", decision.Once},
	{"allow_always", decision.Always},
	{"reject_once", decision.Deny},
	{"reject_always", decision.Deny},
}

func (q *rpcRequest) choices() []acpChoice {
	var p struct {
		Options []acpChoice `json:"options"`
	}
	_ = json.Unmarshal(q.Params, &p) // an option that cannot be parsed is not offered
	return p.Options
}

// acpChanges returns the changes of files that a call shows, or nil.
func acpChanges(call json.RawMessage) json.RawMessage {
	var c struct {
		Content []struct {
			Type string  `json:"type"`
			Path string  `json:"path"`
			Old  *string `json:"oldText"`
			New  *string `json:"newText"`
		} `json:"content"`
	}
	_ = json.Unmarshal(call, &c) // members with the wrong type are not shown
	var all []obj
	for _, x := range c.Content {
		if x.Type == "diff" && x.New != nil {
			all = append(all, obj{"path": x.Path, "old": x.Old, "new": *x.New})
		}
	}
	if all == nil {
		return nil
	}
	return jsonwrite.MustEncode(all)
}

func (a *ACP) asksPermission(s *Output, q *rpcRequest, line []byte) {
	var p struct {
		Call json.RawMessage `json:"toolCall"`
	}
	var head struct {
		ID string `json:"toolCallId"`
	}
	// Members with the wrong type are not shown.
	_ = json.Unmarshal(q.Params, &p)
	_ = json.Unmarshal(p.Call, &head)
	call, _ := a.Calls[head.ID].with(p.Call)
	kind := call.kind()
	if once := q.first("allow_once"); once != "" && kind == "other" && a.cfg.Tools.matchesTitle(call.Title) {
		s.addLines(rpcResult(q.ID, selected(once))) // calls of the program's own tools need no approval
		return
	}
	what := call.Title
	if command := texts(call.Input, "command"); len(command) > 0 && !strings.Contains(what, command[0]) {
		what = command[0] // the command is shown instead of the title, which may differ from the command that is executed
	}
	w := approval{tool: kind, kind: kind, description: described(kind, what), Args: call.Input, payload: line, call: head.ID}
	if bare := len(call.Input) == 0 || string(call.Input) == "null"; bare && kind == "execute" {
		w.Args = jsonwrite.MustEncode(obj{"command": call.Title})
	} else if bare {
		w.Args = json.RawMessage("{}")
	}
	for _, l := range slices.Concat(call.Locations, call.Content) {
		if l.Path != "" && !slices.Contains(w.paths, l.Path) {
			w.paths = append(w.paths, l.Path)
		}
	}
	w.changes = acpChanges(p.Call)
	for _, scope := range acpScopes {
		has := slices.ContainsFunc(q.choices(), func(c acpChoice) bool { return c.Kind == scope.theirs })
		if has && !slices.Contains(w.Options, scope.ours) {
			w.Options = append(w.Options, scope.ours)
		}
	}
	q.Options, q.Args = w.Options, w.Args
	w.ID = a.RPC.storeRequest(*q)
	s.approval(w)
}

// first returns the ID of the first option of a kind, or "".
func (q *rpcRequest) first(kind string) string {
	for _, c := range q.choices() {
		if c.Kind == kind {
			return c.ID
		}
	}
	return ""
}

func selected(option string) obj {
	return obj{"outcome": obj{"outcome": "selected", "optionId": option}}
}

// decidedPermission answers a permission request. It selects an option of the kind that the
// decision requires, or the option that the decision names, unless that option allows an action
// that the decision denies. If there is no such option, the answer is "cancelled".
func decidedPermission(s *Output, q *rpcRequest, o *ours) {
	s.addLines(rpcResult(q.ID, q.outcome(o)))
}

func (q *rpcRequest) outcome(o *ours) obj {
	d := o.decide(q.Options, q.Args, false)
	want := "reject_once"
	switch {
	case d.Allow && d.Scope == decision.Once:
		want = "allow_once"
	case d.Allow:
		want = "allow_always"
	}
	chosen := q.first(want)
	if d.Option != "" {
		chosen = ""
		at := slices.IndexFunc(q.choices(), func(c acpChoice) bool { return c.ID == d.Option || c.Name == d.Option })
		if at >= 0 && (d.Allow || strings.HasPrefix(q.choices()[at].Kind, "reject_")) {
			chosen = q.choices()[at].ID
		}
	}
	if chosen == "" || d.Stop {
		return obj{"outcome": obj{"outcome": "cancelled"}}
	}
	return selected(chosen)
}

func (a *ACP) handleElicitation(s *Output, q *rpcRequest, line []byte) {
	a.RPC.elicits(s, q, line)
}

func answeredForm(s *Output, q *rpcRequest, o *ours) { s.addLines(rpcResult(q.ID, q.elicited(o))) }

// acpOption is a configuration option of a session.
type acpOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Options  json.RawMessage `json:"options"`
}

// values returns the possible values of a select option, including those in groups.
func (o *acpOption) values() []string {
	var all []struct {
		Value   string          `json:"value"`
		Options json.RawMessage `json:"options"`
	}
	if json.Unmarshal(o.Options, &all) != nil {
		return nil
	}
	var out []string
	for _, v := range all {
		if v.Options != nil {
			out = append(out, (&acpOption{Options: v.Options}).values()...)
		} else {
			out = append(out, v.Value)
		}
	}
	return out
}

// acpDefaultMode is the mode in which agents request permission.
const acpDefaultMode = "default"

// applySettings sets the configured model and mode in a new session. An agent may begin in a mode
// in which it decides itself what it may do; without a configured mode, it is set to one in which
// it asks, if it offers that.
func (a *ACP) applySettings(s *Output, r *acpAnswer) {
	mode := cmp.Or(a.cfg.Mode, acpDefaultMode)
	isOptional := mode == acpDefaultMode && (r.Modes.Current == mode || !r.offersMode(mode))
	if a.cfg.Model != "" && !a.setModel(s, r) || !isOptional && !a.setMode(s, r, mode) {
		return
	}
	a.continueWhenSet(s)
}

func (a *ACP) setModel(s *Output, r *acpAnswer) bool {
	var offered []string
	for _, o := range r.Options {
		if o.Category != "model" && o.ID != "model" {
			continue
		}
		if slices.Contains(o.values(), a.cfg.Model) {
			s.addLines(a.RPC.request("session/set_config_option", obj{"sessionId": a.Session, "configId": o.ID, "value": a.cfg.Model}))
			return true
		}
		offered = append(offered, o.values()...)
	}
	for _, m := range r.Models.All {
		if m.ID == a.cfg.Model {
			s.addLines(a.RPC.request("session/set_model", obj{"sessionId": a.Session, "modelId": a.cfg.Model}))
			return true
		}
		offered = append(offered, m.ID)
	}
	a.notOffered(s, "model", a.cfg.Model, offered)
	return false
}

func (r *acpAnswer) offersMode(mode string) bool {
	return slices.ContainsFunc(r.Modes.All, func(m acpMode) bool { return m.ID == mode })
}

func (a *ACP) setMode(s *Output, r *acpAnswer, mode string) bool {
	if !r.offersMode(mode) {
		var offered []string
		for _, m := range r.Modes.All {
			offered = append(offered, m.ID)
		}
		a.notOffered(s, "mode", mode, offered)
		return false
	}
	s.addLines(a.RPC.request("session/set_mode", obj{"sessionId": a.Session, "modeId": mode}))
	return true
}

func (a *ACP) notOffered(s *Output, what, name string, offered []string) {
	all := "none"
	if len(offered) > 0 {
		all = strings.Join(offered, ", ")
	}
	s.Lines = nil
	s.failed(fmt.Sprintf("host '%s' does not offer the %s '%s': it offers %s", a.cfg.Host, what, name, all), what, a.Session, nil)
}

// continueWhenSet continues after all settings are applied. It ends the handshake, or sends the
// prompt that waited for the new session.
func (a *ACP) continueWhenSet(s *Output) {
	for _, method := range a.RPC.Waiting {
		if strings.HasPrefix(method, "session/set_") {
			return
		}
	}
	switch {
	case !a.Ready:
		a.Ready = true
		s.ready(a.Version, false)
	case a.Prompt != "":
		s.addLines(a.promptRequest(a.Prompt))
		a.Prompt = ""
	}
}
