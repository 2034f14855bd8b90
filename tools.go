package concerto

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/concerto-lang/concerto/runtime/tool"
)

// Tool is a Go function that agents, hosts and programs can call.
type Tool struct {
	// Name is the name of the tool. Description describes it to a model.
	Name, Description string
	// Parameters is the JSON Schema of the arguments, which must describe an object. nil means an
	// object with any members.
	Parameters json.RawMessage
	// Output is the JSON Schema of the result. nil allows any result.
	Output json.RawMessage
	// Handler answers a call. The arguments fit Parameters. The result is encoded as JSON. If
	// Handler returns an error or panics, the caller receives the text as a failed result, and the
	// run continues. ToolCallFrom(ctx) returns the call. A result that Handler returns after the
	// end of ctx is discarded.
	Handler ToolHandler
	// Open creates the handler of one run, which gets it closed at its end, and nil if there is
	// nothing to close. It replaces Handler, and requires ScopeRun. Open is called before the first
	// call of the run.
	Open func(ctx context.Context) (ToolHandler, io.Closer, error)
	// Version distinguishes tools with the same name. 0 means 1. Agents receive the highest
	// version.
	Version int
	// Category groups tools. Agents select a category with app_tools: ["category:NAME"].
	Category string
	// Timeout is the maximum duration of a call. 0 means 60 seconds. IdleTimeout is the maximum
	// time for which a call may report no progress. 0 means no limit.
	Timeout, IdleTimeout time.Duration
	// RequiresApproval requests an approval before each call, by an awaited emit on the channel
	// "tool:approval". ApprovalTimeout is the maximum time for the answer. 0 means 300 seconds.
	// Without an answer the call is denied.
	RequiresApproval bool
	ApprovalTimeout  time.Duration
	// Sequential prevents that calls in one reply of a model overlap. MaxConcurrent is the maximum
	// number of calls that may overlap. 0 means no limit.
	Sequential    bool
	MaxConcurrent int
	// OnApprovalTimeout decides a call whose approval has no answer in time. "" means DenyCall.
	OnApprovalTimeout ApprovalTimeoutAction
	// Scope determines the runs that can call the tool. "" means ScopeAll.
	Scope ToolScope
	// Requires lists capabilities that the application must have, such as "render:image/png".
	Requires []string

	typed tool.Definition // definition by NewTool
}

// ToolHandler answers the calls of a tool. See Tool.Handler.
type ToolHandler func(ctx context.Context, args json.RawMessage) (any, error)

// ApprovalTimeoutAction decides a call whose approval has no answer in time.
type ApprovalTimeoutAction string

// The actions.
const (
	// DenyCall denies the call, which the caller learns.
	DenyCall ApprovalTimeoutAction = "deny"
	// AllowCall allows the call.
	AllowCall ApprovalTimeoutAction = "allow"
	// HaltAgent denies the call, and ends the call of the agent that made it.
	HaltAgent ApprovalTimeoutAction = "halt"
)

// ToolScope determines the runs that can call a tool.
type ToolScope string

// The scopes.
const (
	// ScopeAll are all runs that share the Tools.
	ScopeAll ToolScope = "global"
	// ScopeRun is each run with a handler of its own, which Tool.Open creates.
	ScopeRun ToolScope = "session"
)

// NewTool creates a tool from a Go function. The parameters are the exported fields of the struct
// In, by their JSON names. Fields that are pointers or have omitempty are optional. In may also be
// a map with strings as keys. The tags doc, enum ("a,b"), min, max, pattern, format and redact
// ("true" hides the value in records) add to the schema. If a type has no schema, Tools.Add returns
// an error.
func NewTool[In, Out any](name, description string, f func(context.Context, In) (Out, error)) Tool {
	d := tool.New(name, description, f)
	return Tool{Name: name, Description: description, Parameters: d.Parameters, typed: d}
}

// definition converts the tool for the registry.
func (t Tool) definition() tool.Definition {
	d := t.typed
	d.Name, d.Description, d.Parameters, d.Output = t.Name, t.Description, t.Parameters, t.Output
	d.Version, d.Category, d.Timeout, d.IdleTimeout = t.Version, t.Category, t.Timeout, t.IdleTimeout
	d.RequiresApproval, d.ApprovalTimeout = t.RequiresApproval, t.ApprovalTimeout
	d.Sequential, d.MaxConcurrent, d.Requires = t.Sequential, t.MaxConcurrent, t.Requires
	d.Scope, d.OnTimeout = tool.Scope(t.Scope), string(t.OnApprovalTimeout)
	if t.Handler != nil {
		d.Handler = t.Handler.convert()
	}
	if t.Open != nil {
		d.Open = func(ctx context.Context, _ *tool.Context) (tool.Handler, io.Closer, error) {
			h, closer, err := t.Open(ctx)
			if err != nil {
				return nil, nil, err
			}
			return h.convert(), closer, nil
		}
	}
	return d
}

// toolOf converts a tool of the registry. Its handler stays in the definition.
func toolOf(d *tool.Definition) Tool {
	return Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters, Output: d.Output, Version: d.Version, Category: d.Category,
		Timeout: d.Timeout, IdleTimeout: d.IdleTimeout, RequiresApproval: d.RequiresApproval, ApprovalTimeout: d.ApprovalTimeout,
		OnApprovalTimeout: ApprovalTimeoutAction(d.OnTimeout), Scope: ToolScope(d.Scope), Sequential: d.Sequential, MaxConcurrent: d.MaxConcurrent,
		Requires: d.Requires, typed: *d}
}

// convert converts a handler for the registry.
func (h ToolHandler) convert() tool.Handler {
	return func(ctx context.Context, args json.RawMessage, _ *tool.Context) (tool.Result, error) {
		v, err := h(ctx, args)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Success(v)
	}
}

// Tools is a set of tools. Several runs may share it, and it may change while they run. The zero
// value is an empty set.
type Tools struct{ registry tool.Registry }

// Add adds all of the tools, or none if there is an error. The error names the invalid definition,
// or the name that is already used.
func (t *Tools) Add(tools ...Tool) error { return convert(t.registry.Register(definitions(tools)...)) }

// Replace adds tools like Add, but replaces existing tools with the same name and version. Calls of
// replaced tools continue.
func (t *Tools) Replace(tools ...Tool) error {
	return convert(t.registry.Replace(definitions(tools)...))
}

// Remove removes all versions of a tool. A name such as "query@2" removes only that version. Remove
// reports whether it removed a tool. Running calls of the tool continue.
func (t *Tools) Remove(name string) bool { return t.registry.Unregister(name) }

// Get returns the highest version of a tool. A name such as "query@2" selects that version. Its
// Handler is nil, but adding it to other Tools adds the handler too.
func (t *Tools) Get(name string) (Tool, bool) {
	d, ok := t.registry.Get(name)
	if !ok {
		return Tool{}, false
	}
	return toolOf(&d), true
}

// List returns all tools, sorted by name and version. See Get.
func (t *Tools) List() []Tool {
	var all []Tool
	for _, d := range t.registry.List() {
		all = append(all, toolOf(d))
	}
	return all
}

func definitions(tools []Tool) []tool.Definition {
	all := make([]tool.Definition, len(tools))
	for i, t := range tools {
		all[i] = t.definition()
	}
	return all
}

// ToolCall describes a call of a tool to its handler.
type ToolCall struct {
	// ID identifies the call, and RunID the run.
	ID, RunID string
	// Caller is the name of the agent, host, function or tool that makes the call.
	Caller string
	// Dir is the working directory of the run.
	Dir string
	// Env and Metadata are the fields of Options.Session.
	Env      map[string]string
	Metadata map[string]any

	call *tool.Context
}

// ToolCallFrom returns the call to which the context of a handler belongs. It returns nil for any
// other context.
func ToolCallFrom(ctx context.Context) *ToolCall {
	c := tool.From(ctx)
	if c == nil {
		return nil
	}
	return &ToolCall{ID: c.CallID, RunID: c.SessionID, Caller: c.Caller, Dir: c.Cwd, Env: c.Environment, Metadata: c.Metadata, call: c}
}

// Progress reports the progress of the call: done of total units. total is 0 if it is unknown. The
// message may be empty. After the end of the call Progress has no effect.
func (c *ToolCall) Progress(done, total float64, message string) {
	if c.call != nil {
		c.call.Progress(done, total, message)
	}
}

// Emit emits a value on a channel, as the program's emit does. The payload is encoded as JSON.
func (c *ToolCall) Emit(channel string, payload any) error {
	if c.call == nil {
		return &Error{Message: "emit: the ToolCall is not of a handler"}
	}
	return convert(c.call.Emit(channel, payload))
}
