package world

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/ir"
)

// declaredTools offers the tools of the manifest. A page cannot perform their calls, because they
// run a command or use the network. Calls of the program's own tools need no approval in a page.
type declaredTools struct {
	tools  []ir.AppTool
	notice func(string)
}

// Perform performs one step of a call.
func (t *declaredTools) Perform(_ context.Context, r effect.Request) (effect.Result, error) {
	switch q := r.(type) {
	case *effect.AppList:
		return t.offer(q), nil
	case *effect.AppPrepare:
		return &effect.AppQuestion{}, nil
	case *effect.AppDecide:
		return &effect.AppVerdict{}, nil
	case *effect.AppCall:
		why := t.missing(q.Tool)
		t.notice(why)
		return &effect.AppResult{Outcome: "failed", Error: why}, nil
	case *effect.AuditCall:
		return &effect.AuditCalled{ID: 1}, nil
	case *effect.AppLeave, *effect.AppMock, *effect.AuditDone:
		return nil, nil
	}
	return nil, &effect.UnperformedError{Who: "the playground", Kind: r.Kind()}
}

// toolConfig is the part of a tool's configuration that a page uses.
type toolConfig struct {
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	URL         string          `json:"url"`
	HTTP        json.RawMessage `json:"http"`
}

func (t *declaredTools) offer(q *effect.AppList) *effect.AppOffer {
	out := &effect.AppOffer{}
	for _, x := range t.tools {
		var c toolConfig
		if json.Unmarshal(x.Config, &c) != nil || slices.Contains(q.Reserved, x.Name) || q.Only != nil && !slices.Contains(*q.Only, x.Name) {
			continue
		}
		if c.Parameters == nil {
			c.Parameters = json.RawMessage(`{"type":"object"}`)
		}
		out.Tools = append(out.Tools, effect.AppTool{Name: x.Name, Tool: x.Name, Version: 1, Description: c.Description, Parameters: c.Parameters})
	}
	return out
}

// missing returns what a tool would need and a page does not have.
func (t *declaredTools) missing(name string) string {
	for _, x := range t.tools {
		var c toolConfig
		if x.Name == name && json.Unmarshal(x.Config, &c) == nil && (c.URL != "" || c.HTTP != nil) {
			return noNetwork
		}
	}
	return noCommands
}

// waitUntil waits for a time in milliseconds since the epoch.
func waitUntil(ctx context.Context, until int64) (effect.Result, error) {
	timer := time.NewTimer(time.Until(time.UnixMilli(until)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
