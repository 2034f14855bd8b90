package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// forgetBatch is the number of runs that are listed at a time. The events of each run are removed
// in a separate transaction.
const forgetBatch = 100

// Forget removes the events of runs that ended longer ago than retain. It returns the number of
// these runs.
func (p *API) Forget(ctx context.Context, retain time.Duration) (runs int, err error) {
	before := p.c.Now().Add(-retain).UnixMilli()
	for {
		all, err := p.c.Store.EndedRuns(ctx, before, forgetBatch)
		if err != nil || len(all) == 0 {
			return runs, err
		}
		for _, run := range all {
			n, err := p.c.Store.Forget(ctx, run, before, p.now(), func(events int64) audit.Record {
				return audit.Record{Kind: "retention", Run: run, Actor: audit.Actor{Type: "server", Name: "concerto-relay"}, Data: json.RawMessage(fmt.Sprintf(`{"events":%d}`, events))}
			})
			if err != nil {
				return runs, err
			}
			if n > 0 {
				runs++
			}
		}
	}
}

// Retain calls Forget now and every hour until ctx is done.
func (p *API) Retain(ctx context.Context, retain time.Duration) {
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		switch runs, err := p.Forget(ctx, retain); {
		case err != nil && ctx.Err() == nil:
			p.c.Log.Error("could not delete old runs", "error", err)
		case runs > 0:
			p.c.Log.Info("events of old runs were deleted", "runs", runs)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
