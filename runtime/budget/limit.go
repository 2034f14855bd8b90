// Package budget enforces the [limits] of the manifest: a limit on the time of a run, and limits on
// the tokens and the cost of its models.
package budget

import (
	"context"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// TimeError is the cause of a context that ended because the time limit of the run has passed.
type TimeError struct{ Seconds float64 }

func (e *TimeError) Error() string {
	return fmt.Sprintf("the run took longer than the %s that [limits] max_run_seconds allows", effect.Seconds(e.Seconds))
}

// Run returns a context that ends after the given number of seconds, with a *TimeError as its
// cause. clock measures the time and may be nil. 0 means no limit.
func Run(ctx context.Context, clock *clock.PausableClock, seconds float64) (context.Context, context.CancelFunc) {
	return Rest(ctx, clock, seconds, 0)
}

// Rest is like Run, but subtracts the time that has already elapsed.
func Rest(ctx context.Context, clock *clock.PausableClock, seconds float64, elapsed time.Duration) (context.Context, context.CancelFunc) {
	if seconds <= 0 {
		return context.WithCancel(ctx)
	}
	return clock.Within(ctx, time.Duration(seconds*float64(time.Second))-elapsed, &TimeError{seconds})
}
