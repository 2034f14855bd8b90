package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/runtime/host"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/env"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// ID returns the ID of the run.
func (r *Runtime) ID() string { return r.run.ID }

// CallID returns a new ID for a tool call that comes from outside the program.
func (r *Runtime) CallID() string { return fmt.Sprintf("%s-c%d", r.run.ID, r.served.Add(1)) }

// Tests reports whether the run is a test without effects outside the process.
func (r *Runtime) Tests() bool { return r.world.Test }

// HasTools reports whether the application of the run provides tools.
func (r *Runtime) HasTools() bool { return r.tools.Opened() }

// CallTool calls a tool on behalf of the application. OpenTools must be called first.
func (r *Runtime) CallTool(ctx context.Context, a tool.Ask) tool.Result {
	return r.tools.Session().Do(ctx, a).Result
}

// Tools returns the session of the application's tools, or nil.
func (r *Runtime) Tools() *tool.Session { return r.tools.Session() }

// ToolHooks connects the application's tools with the caller of the run. Each field may have its
// zero value.
type ToolHooks struct {
	Permits     func(name string) bool // reports whether the program may call a tool; nil permits all tools
	MustApprove []string               // filters that select the tools whose calls need an approval
	Sees        func(*tool.Definition) bool
	OnPhase     func(tool.Phase)
	MaxCalls    int64
}

// OpenTools opens a session of the application's tools for the run. c is the application's context;
// OpenTools sets its SessionID to the ID of the run. It fails if a tool cannot be opened.
func (r *Runtime) OpenTools(ctx context.Context, all *tool.Registry, c tool.Context, x ToolHooks) error {
	c.SessionID = r.run.ID
	h := r.hooks()
	h.Sees, h.OnPhase, h.MaxCalls = x.Sees, x.OnPhase, x.MaxCalls
	if len(x.MustApprove) > 0 {
		must, err := tool.Only(x.MustApprove...)
		if err != nil {
			return fmt.Errorf("[permissions] approve: %w", err)
		}
		h.MustApprove = must.Has
	}
	if x.Permits != nil {
		h.Permit = func(d *tool.Definition) error {
			if !x.Permits(d.Name) {
				return fmt.Errorf("tool %s is not permitted: add %q to `tools` in [permissions]", d.Name, d.Name)
			}
			return nil
		}
	}
	s, err := all.OpenWith(ctx, c, h)
	if err != nil {
		return err
	}
	r.tools.Open(s)
	return nil
}

// handlerWorld returns the environment in which the tools' handlers run.
func (r *Runtime) handlerWorld(c *Config, policy *permit.Policy) tool.World {
	return tool.World{Environ: slices.Concat([]string{}, c.Environ), Keys: c.all, Run: r.run, Stderr: r.log.Host, Secret: r.secrets.AddHeader, Test: c.Test, Reach: c.Reach,
		Refused: func(owner string, x tool.Reach) string { return refused(policy, owner == tool.OwnerManifest, x) }}
}

// refused returns the reason why a tool may not access x, or "". Resources that the manifest names
// require the caller's permission, and their addresses also require an entry in [permissions].
// Resources that the application provides are not restricted.
func refused(policy *permit.Policy, declared bool, x tool.Reach) string {
	if x.Address != "" {
		if why := policy.Refuse(permit.Net, x.Address, false); why != "" {
			return why
		}
	}
	if !declared {
		return ""
	}
	if x.Command != "" {
		if why := policy.Refuse(permit.Run, x.Command, true); why != "" {
			return why
		}
	}
	for _, name := range x.Env {
		if why := policy.Refuse(permit.Env, name, true); why != "" {
			return why
		}
	}
	return ""
}

// hooks returns the hooks that connect a session of tools with the run.
func (r *Runtime) hooks() tool.Hooks {
	return tool.Hooks{World: r.world, Clock: r.clock, Log: r.log.Remark, Emit: r.emitToolEvent, Approve: r.approve, Audit: r.auditor(), Hide: func(text []byte) []byte { return []byte(r.secrets.Text(string(text))) }}
}

// ownTools opens a session for the program's own tools if the application of the run has no tools.
func (r *Runtime) ownTools(s env.Session) (*tool.Session, error) {
	c := tool.Context{SessionID: r.run.ID, Cwd: s.Cwd, Render: s.Render}
	if s.Metadata != nil {
		if err := json.Unmarshal(s.Metadata, &c.Metadata); err != nil {
			return nil, fmt.Errorf("the session's metadata: %w", err)
		}
	}
	var none tool.Registry
	return none.OpenWith(context.Background(), c, r.hooks())
}

// Served returns the performer of tool calls that come from outside the program.
func (r *Runtime) Served() *tool.Performer { return &r.tools }

// emitToolEvent passes an event of a tool to the application.
func (r *Runtime) emitToolEvent(channel string, payload json.RawMessage) {
	if _, err := r.Perform(effect.WithSideOutput(context.Background()), &effect.Emit{Channel: channel, Payload: payload}); err != nil {
		r.log.Remark("warn", fmt.Sprintf("an event of a tool for the application was lost: %v", err))
	}
}

// approve asks the application to approve a tool call.
func (r *Runtime) approve(ctx context.Context, q *tool.Question) (json.RawMessage, audit.Actor, error) {
	payload, err := json.Marshal(q)
	if err != nil {
		return nil, audit.Actor{}, err
	}
	result, err := r.Perform(ctx, &effect.AwaitEmit{Channel: tool.ApprovalChannel, Payload: payload})
	if err != nil {
		return nil, audit.Actor{}, err
	}
	answer, by := tool.Answered(result.(*effect.Answer))
	return answer, by, nil
}

// toolLister passes requests to the hosts. For a host that lists tools, it adds the application's
// tools to the request.
type toolLister struct {
	*host.Hosts
	tools *tool.Performer
}

// Perform performs a request to a host.
func (t *toolLister) Perform(ctx context.Context, q effect.Request) (effect.Result, error) {
	q, err := t.withTools(ctx, q)
	if err != nil {
		return nil, err
	}
	return t.Hosts.Perform(ctx, q)
}

// Start begins a request to a host in the order of the program's requests.
func (t *toolLister) Start(ctx context.Context, q effect.Request, done func(effect.Result, error)) (stop func(), ok bool) {
	q, err := t.withTools(ctx, q)
	if err != nil {
		return nil, false // Perform will report the error
	}
	return t.Hosts.Start(ctx, q, done)
}

// withTools returns the request with the application's tools added.
func (t *toolLister) withTools(ctx context.Context, q effect.Request) (effect.Request, error) {
	open, ok := q.(*effect.ExchangeOpen)
	if !ok || open.Application == nil {
		return q, nil
	}
	offer, err := t.tools.Perform(ctx, open.Application)
	if err != nil {
		return nil, err
	}
	opened := *open
	opened.Tools = slices.Clone(open.Tools)
	for _, x := range offer.(*effect.AppOffer).Tools {
		opened.Tools = append(opened.Tools, effect.ToolSpec{Name: x.Name, Description: x.Description, Parameters: x.Parameters})
	}
	return &opened, nil
}
