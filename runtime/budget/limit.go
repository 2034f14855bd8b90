// Package budget enforces the manifest's [limits]: a limit on the run's time, and a budget of
// tokens and money for its models; its API promises nothing.
package budget

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// TimeError is the cause of a context whose time limit has passed.
type TimeError struct{ Seconds float64 }

func (e *TimeError) Error() string {
	return fmt.Sprintf("the run took longer than the %s seconds that [limits] max_run_seconds allows", strconv.FormatFloat(e.Seconds, 'f', -1, 64))
}

// Run limits ctx to the given seconds, measured by the clock, which may be nil. The cause is then a
// *TimeError. 0 means no limit.
func Run(ctx context.Context, clock *clock.PausableClock, seconds float64) (context.Context, context.CancelFunc) {
	return Rest(ctx, clock, seconds, 0)
}

// Rest is like Run, with the time that has already passed subtracted.
func Rest(ctx context.Context, clock *clock.PausableClock, seconds float64, elapsed time.Duration) (context.Context, context.CancelFunc) {
	if seconds <= 0 {
		return context.WithCancel(ctx)
	}
	return clock.Within(ctx, time.Duration(seconds*float64(time.Second))-elapsed, &TimeError{seconds})
}
