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
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/runtime/tool"
	"github.com/concerto-lang/concerto/runtime/world/emit"
	"github.com/concerto-lang/concerto/vm"
)

// answered says whether somebody may answer what is asked on a channel.
func (o *Options) answered(channel string) bool {
	return o.OnAwait != nil || o.Answers.Handler != "" || o.Answers.Prompter != nil ||
		slices.ContainsFunc(o.Answers.Fixed, func(a emit.Fixed) bool { return a.Channel == channel })
}

// applicationOffers are the application's tools as an MCP server offers them, but for those
// whose names are taken, and those that need an approval which nobody would give.
type applicationOffers struct {
	world    *runtime.Runtime
	o        *Options
	taken    []string
	withheld func(string)
	told     map[string]bool // what was said of those that are withheld
}

// follow gives the offers each time that the application's tools have changed, until ctx
// ends.
func (a *applicationOffers) follow(ctx context.Context) <-chan []mcp.Offer {
	out := make(chan []mcp.Offer)
	if a.o.Tools == nil {
		close(out)
		return out
	}
	go func() {
		defer close(out)
		changes := a.o.Tools.Watch(ctx)
		for more := true; more; { // it may have changed before it was watched
			offers, err := a.now(ctx)
			if err != nil {
				return // the run ends
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

// now is what is offered now.
func (a *applicationOffers) now(ctx context.Context) ([]mcp.Offer, error) {
	found, err := a.world.Served().Perform(ctx, &effect.AppList{Taken: a.taken})
	if err != nil {
		return nil, err
	}
	var offers []mcp.Offer
	for _, t := range found.(*effect.AppOffer).Tools {
		if t.Approve && !a.o.answered(tool.ApprovalChannel) {
			a.withhold(fmt.Sprintf("tool %s is not offered: its calls must be approved of, and nobody would be asked: give --answer %s=VALUE or --emit-handler COMMAND", t.Name, tool.ApprovalChannel))
			continue
		}
		offers = append(offers, mcp.Offer{Name: t.Name, Description: t.Description, Parameters: t.Parameters, Calls: fmt.Sprintf("%s@%d", t.Tool, t.Version), Call: applicationCall(a.world, t)})
	}
	return offers, nil
}

// withhold says why a tool is not offered, once.
func (a *applicationOffers) withhold(why string) {
	if !a.told[why] {
		a.told[why] = true
		a.withheld(why)
	}
}

// applicationCall calls a tool of the application for an MCP client.
func applicationCall(world *runtime.Runtime, t effect.AppTool) func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.Result, error) {
	return func(ctx context.Context, args json.RawMessage, report func(mcp.Progress)) (mcp.Result, error) {
		e, _ := world.Served().Do(ctx, tool.Ask{Name: fmt.Sprintf("%s@%d", t.Tool, t.Version), CallID: world.CallID(), Args: args, Caller: mcp.Client(ctx), Route: tool.RouteMCP,
			Heard: func(channel string, payload json.RawMessage) {
				var p tool.Progress
				if channel == tool.ProgressChannel && json.Unmarshal(payload, &p) == nil {
					report(mcp.Progress{Done: p.Progress, Total: p.Total, Message: p.Message})
				}
			}})
		text, failed := e.Text()
		if failed {
			return mcp.Result{}, errors.New(text)
		}
		r := mcp.Result{Text: text}
		if e.Changed == nil && strings.HasPrefix(string(e.Result.Output), "{") {
			r.Object = e.Result.Output
		}
		return r, nil
	}
}

// recorded has the calls of what a program offers in the audit.
func recorded(world *runtime.Runtime, o vm.Offer, call func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.Result, error)) func(context.Context, json.RawMessage, func(mcp.Progress)) (mcp.Result, error) {
	return func(ctx context.Context, args json.RawMessage, report func(mcp.Progress)) (mcp.Result, error) {
		if len(args) == 0 {
			args = json.RawMessage("{}")
		}
		done, err := world.Served().Record(&effect.AppAsk{CallID: world.CallID(), Tool: o.Name, Version: 1, Args: args, By: mcp.Client(ctx), Route: tool.RouteMCP,
			Own: &effect.OwnTool{Name: o.Name, Owner: "program", Description: o.Description}})
		if err != nil {
			return mcp.Result{}, err
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

// outcomeOf is what an error makes of a call.
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
