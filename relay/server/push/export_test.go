package push

import "context"

// Check checks a run as after a notification about it.
func (p *Push) Check(ctx context.Context, run string) { p.checkRun(ctx, run, false) }
