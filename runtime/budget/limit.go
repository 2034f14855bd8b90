// Package budget enforces the manifest's [limits]: a bound on the run's time, and
// a budget of tokens and money for its models; its API promises nothing.
package budget

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// TimeError is the cause of a context that Run has ended.
type TimeError struct{ Seconds float64 }

func (e *TimeError) Error() string {
	return fmt.Sprintf("the run took longer than the %s seconds that [limits] max_run_seconds allows", strconv.FormatFloat(e.Seconds, 'f', -1, 64))
}

// Run bounds ctx to seconds, which go by a hand that may be nil, with a *TimeError as cause; 0 means no bound.
func Run(ctx context.Context, hand *clock.Hand, seconds float64) (context.Context, context.CancelFunc) {
	return Rest(ctx, hand, seconds, 0)
}

// Rest is Run for what is left of seconds when some time has gone already.
func Rest(ctx context.Context, hand *clock.Hand, seconds float64, gone time.Duration) (context.Context, context.CancelFunc) {
	if seconds <= 0 {
		return context.WithCancel(ctx)
	}
	return hand.Within(ctx, time.Duration(seconds*float64(time.Second))-gone, &TimeError{seconds})
}
