package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

// canBeAnswered reports whether the options contain a source of answers for a channel.
func (o *Options) canBeAnswered(channel string) bool {
	return o.OnAwait != nil || o.Answers.Handler != "" || o.Answers.Prompter != nil ||
		slices.ContainsFunc(o.Answers.Fixed, func(a emit.Fixed) bool { return a.Channel == channel })
}

// applicationOffers determines which of the application's tools an MCP server offers. It omits
// tools whose name is in use, and tools that need approval if nothing can approve them.
type applicationOffers struct {
	world    *runtime.Runtime
	o        *Options
	inUse    []string
	withheld func(string)
	logged   map[string]bool // reasons that were already logged
}

// watchOffers returns a channel that receives the current offers, and the new ones after each
// change of the application's tools. The channel is closed when ctx ends.
func (a *applicationOffers) watchOffers(ctx context.Context) <-chan []mcpport.Offer {
	out := make(chan []mcpport.Offer)
	if a.o.Tools == nil {
		close(out)
		return out
	}
	go func() {
		defer close(out)
		changes := a.o.Tools.Watch(ctx)
		for more := true; more; { // the first pass covers changes before the call of Watch
			offers, err := a.currentOffers(ctx)
			if err != nil {
				return // the run is ending
			}
			select {
			case out <- offers:
			case <-ctx.Done():
				return
			}
			_, more = <-changes
		}
	}()
	return out
}

// currentOffers returns the offers for the current tools of the application.
func (a *applicationOffers) currentOffers(ctx context.Context) ([]mcpport.Offer, error) {
	found, err := a.world.Served().Perform(ctx, &effect.AppList{Reserved: a.inUse})
	if err != nil {
		return nil, err
	}
	var offers []mcpport.Offer
	for _, t := range found.(*effect.AppOffer).Tools {
		if t.Approve && !a.o.canBeAnswered(tool.ApprovalChannel) {
			a.withhold(fmt.Sprintf("tool %s is not offered: its calls need approval, and no approver is available: use --answer %s=VALUE or --emit-handler COMMAND", t.Name, tool.ApprovalChannel))
			continue
		}
		offers = append(offers, mcpport.Offer{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Calls: fmt.Sprintf("%s@%d", t.Tool, t.Version), Call: applicationCall(a.world, t)})
	}
	return offers, nil
}

// withhold logs why a tool is not offered, once for each reason.
func (a *applicationOffers) withhold(why string) {
	if !a.logged[why] {
		a.logged[why] = true
		a.withheld(why)
	}
}

// applicationCall returns a function that calls a tool of the application for an MCP client.
func applicationCall(world *runtime.Runtime, t effect.AppTool) func(context.Context, json.RawMessage, func(mcpport.Progress)) (mcpport.Result, error) {
	return func(ctx context.Context, args json.RawMessage, report func(mcpport.Progress)) (mcpport.Result, error) {
		e, _ := world.Served().Do(ctx, tool.Ask{Name: fmt.Sprintf("%s@%d", t.Tool, t.Version), CallID: world.CallID(), Args: args, Caller: mcpport.Client(ctx), Route: tool.RouteMCP,
			OnEmit: func(channel string, payload json.RawMessage) {
				var p tool.Progress
				if channel == tool.ProgressChannel && json.Unmarshal(payload, &p) == nil {
					report(mcpport.Progress{Done: p.Progress, Total: p.Total, Message: p.Message})
				}
			}})
		text, failed := e.Text()
		if failed {
			return mcpport.Result{}, errors.New(text)
		}
		r := mcpport.Result{Text: text}
		if e.Changed == nil && strings.HasPrefix(string(e.Result.Output), "{") {
			r.Object = e.Result.Output
		}
		return r, nil
	}
}

// recorded returns call with an audit record of each call of the offer.
func recorded(world *runtime.Runtime, o vm.Offer, call func(context.Context, json.RawMessage, func(mcpport.Progress)) (mcpport.Result, error)) func(context.Context, json.RawMessage, func(mcpport.Progress)) (mcpport.Result, error) {
	return func(ctx context.Context, args json.RawMessage, report func(mcpport.Progress)) (mcpport.Result, error) {
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		done, err := world.Served().Record(&effect.AppAsk{CallID: world.CallID(), Tool: o.Name, Version: 1, Args: args, By: mcpport.Client(ctx), Route: tool.RouteMCP,
			Own: &effect.OwnTool{Name: o.Name, Owner: "program", Description: o.Description}})
		if err != nil {
			return mcpport.Result{}, err
		}
		r, err := call(ctx, args, report)
		message := ""
		if err != nil {
			message = err.Error()
		}
		done(outcomeOf(ctx, err), message, len(r.Text))
		return r, err
	}
}

// outcomeOf returns the audit outcome of a call that ended with err.
func outcomeOf(ctx context.Context, err error) tool.Outcome {
	var bad *vm.BadArguments
	var late *budget.TimeError
	switch {
	case err == nil:
		return tool.OutcomeOK
	case errors.As(err, &bad):
		return tool.OutcomeArguments
	case errors.As(err, &late):
		return tool.OutcomeTimeout
	case ctx.Err() != nil:
		return tool.OutcomeCancelled
	}
	return tool.OutcomeFailed
}
