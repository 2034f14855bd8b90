package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
	"github.com/concerto-lang/concerto/runtime/tool"
)

type registering struct {
	Tools     []tool.Spec `json:"tools"`
	Replace   bool        `json:"replace,omitempty"`
	SessionID *string     `json:"session_id,omitempty"`
}

// registerTools registers tools whose calls the client handles. It registers either all of them or
// none.
func registerTools(r *request, p *registering) (any, error) {
	owner := r.srv.config.Tools.As(r.client.owner())
	if p.SessionID != nil {
		if _, err := r.srv.session(*p.SessionID); err != nil {
			return nil, err
		}
		owner = owner.In(*p.SessionID)
	}
	defs, names := []tool.Definition{}, []string{}
	for i, spec := range p.Tools {
		switch {
		case spec.Description == "":
			return nil, badParam(fmt.Sprintf("tools[%d].description", i), "expected at least 1 character, got 0")
		case p.SessionID == nil:
		case spec.Scope == tool.Global:
			return nil, badParam(fmt.Sprintf("tools[%d].scope", i), `expected "session" for tools of a session, got "global"`)
		default:
			spec.Scope = tool.PerSession
		}
		defs = append(defs, spec.With(r.client.handler(spec)).Prompt())
		names = append(names, fmt.Sprintf("%s@%d", spec.Name, max(spec.Version, 1)))
	}
	register := owner.Register
	if p.Replace {
		register = owner.Replace
	}
	if err := register(defs...); err != nil {
		return nil, refusedTools(p, err)
	}
	r.srv.changed(r.client)
	return struct {
		Registered []string `json:"registered"`
	}{names}, nil
}

// refusedTools returns the error for tools that the registry has rejected.
func refusedTools(p *registering, err error) *Error {
	var problems []jsonschema.Problem
	var duplicate *tool.DuplicateError
	each(err, func(err error) {
		var d *tool.DefinitionError
		switch {
		case errors.As(err, &d):
			for i, spec := range p.Tools {
				if spec.Name == d.Name {
					problems = append(problems, jsonschema.Problem{Path: fmt.Sprintf("tools[%d]%s", i, dotted(d.Pointer)), Message: d.Why})
					break
				}
			}
		default:
			errors.As(err, &duplicate)
		}
	})
	switch {
	case len(problems) > 0:
		return badParams(problems...)
	case duplicate != nil && p.Replace:
		return failure(codeNotOwner, "%v", duplicate).with("tools", duplicate.Tools)
	case duplicate != nil:
		return failure(codeDuplicate, "%v", duplicate).with("tools", duplicate.Tools)
	}
	return failure(codeInternal, "%v", err)
}

// each calls f for each of the errors that are joined in err.
func each(err error, f func(error)) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, x := range joined.Unwrap() {
			each(x, f)
		}
		return
	}
	f(err)
}

type unregistering struct {
	Names []string `json:"names"`
}

// unregisterTools removes tools of the client. If one of the tools belongs to another owner, it
// returns an error and removes none.
func unregisterTools(r *request, p *unregistering) (any, error) {
	out := struct {
		Unregistered []string `json:"unregistered"`
		Missing      []string `json:"missing"`
	}{[]string{}, []string{}}
	all := r.srv.config.Tools
	own := all.As(r.client.owner())
	var others []tool.Owned
	for _, name := range p.Names {
		if owners := all.Owners(name); len(owners) > 0 && !own.Has(name) {
			others = append(others, owners...)
		}
	}
	if len(others) > 0 {
		return nil, failure(codeNotOwner, "tool '%s' belongs to %s", others[0].Name, others[0].Owner).with("tools", others)
	}
	for _, name := range p.Names {
		if own.Unregister(name) {
			out.Unregistered = append(out.Unregistered, name)
		} else {
			out.Missing = append(out.Missing, name)
		}
	}
	if len(out.Unregistered) > 0 {
		r.srv.changed(r.client)
	}
	return out, nil
}

type listing struct {
	SessionID *string `json:"session_id,omitempty"`
	Category  *string `json:"category,omitempty"`
	After     string  `json:"after,omitempty"`
	Limit     int     `json:"limit,omitempty" min:"1"`
}

// listTools lists the tools of a session, or the client's tools if no session is given.
func listTools(r *request, p *listing) (any, error) {
	s, err := r.toolSession(p.SessionID)
	if err != nil {
		return nil, err
	}
	out := struct {
		Tools []tool.Listed `json:"tools"`
		Next  string        `json:"next,omitempty"`
	}{Tools: []tool.Listed{}}
	waiting := p.After != ""
	last := ""
	for _, l := range s.List() {
		id := fmt.Sprintf("%s@%d", l.Name, l.Version)
		cursor := id + " " + l.Owner
		if waiting {
			waiting = cursor != p.After
			continue
		}
		if p.Category != nil && l.Category != *p.Category {
			continue
		}
		if p.Limit > 0 && len(out.Tools) == p.Limit {
			out.Next = last
			break
		}
		out.Tools = append(out.Tools, l)
		last = cursor
	}
	if waiting {
		return nil, badParam("after", "%q is not a valid `next` of this list", p.After)
	}
	return out, nil
}

// toolSession returns the tools of the session id, or those of the client if id is nil.
func (r *request) toolSession(id *string) (*tool.Session, *Error) {
	if id == nil {
		return r.client.tools, nil
	}
	s, err := r.srv.session(*id)
	if err != nil {
		return nil, err
	}
	if t := s.tools(); t != nil {
		return t, nil
	}
	return nil, failure(codeNoSession, "session '%s' is not running", *id)
}

type calling struct {
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args,omitempty"`
	SessionID *string         `json:"session_id,omitempty"`
	Parent    *string         `json:"parent,omitempty"`

	value any // value of Args as generic JSON
}

// readFast decodes a call that has no other members than the tool and the arguments.
func (p *calling) readFast(text []byte, decoded any) bool {
	o, _ := decoded.(map[string]any)
	name, named := o["name"].(string)
	value, object := o["args"]
	if !named || !object || len(o) != 2 {
		return false
	}
	var args []byte
	ok := jsonread.Members(text, func(name, value []byte) bool {
		if string(name) == "args" {
			args = value
		}
		return true
	})
	if ok {
		p.Name, p.Args, p.value = name, args, value
	}
	return ok
}

// callTool calls a tool through a session, or directly for the client.
func callTool(r *request, p *calling) (any, error) {
	if p.Args == nil {
		p.Args = json.RawMessage("{}")
	}
	if p.Parent != nil {
		c := r.client.call(*p.Parent)
		if c == nil {
			return nil, badParam("parent", "no running call '%s' of this client's tools", *p.Parent)
		}
		return c.Call(r.ctx, p.Name, p.Args), nil
	}
	s, err := r.toolSession(p.SessionID)
	if err != nil {
		return nil, err
	}
	ask := tool.Ask{Name: p.Name, Args: p.Args, Value: p.value, Caller: r.client.owner(), Route: tool.RouteClient}
	if p.SessionID != nil {
		x, err := r.srv.session(*p.SessionID)
		if err != nil {
			return nil, err
		}
		ask.CallID = x.callID()
	}
	return s.Do(r.ctx, ask).Result, nil
}

// callID returns the id of the next call that a client makes through the session. The id differs
// from the ids of the run's own calls, which are plain numbers.
func (s *session) callID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return fmt.Sprintf("%s-c%d", s.id, s.calls)
}

// handler returns a handler that sends the calls of a tool to the client.
func (c *client) handler(spec tool.Spec) tool.Handler {
	version, timeout := max(spec.Version, 1), spec.Timeout
	if timeout == 0 {
		timeout = tool.DefaultTimeout.Seconds()
	}
	return func(ctx context.Context, input json.RawMessage, x *tool.Context) (tool.Result, error) {
		c.mu.Lock()
		c.serving[x.CallID] = x
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.serving, x.CallID)
		}()
		text, err := c.ask(ctx, "tool/call", toolCall{x, spec.Name, version, timeout, input})
		if errors.Is(err, errDisconnected) {
			return tool.Result{}, fmt.Errorf("tool '%s': %w: %w", spec.Name, tool.ErrUnavailable, errDisconnected)
		}
		if err != nil {
			return tool.Result{}, err
		}
		var result tool.Result
		if err := result.UnmarshalJSON(text); err != nil { // result has no other invalid forms: text is valid JSON
			return tool.Result{}, fmt.Errorf("tool '%s': %w", spec.Name, err)
		}
		return result, nil
	}
}
