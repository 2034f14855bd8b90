package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		ctx, cancel := Run(t.Context(), nil, 1.5)
		defer cancel()
		<-ctx.Done()
		var te *TimeError
		if err := context.Cause(ctx); !errors.As(err, &te) || err.Error() != "the run took longer than the 1.5 seconds that [limits] max_run_seconds allows" {
			t.Error(err)
		}
		if d := time.Since(begin); d != 1500*time.Millisecond {
			t.Error(d)
		}
		free, cancel := Run(t.Context(), nil, 0)
		defer cancel()
		if _, ok := free.Deadline(); ok {
			t.Error("the context has a deadline although the limit is 0")
		}
	})
}
