package clock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestSleepsEndInOrder checks that sleeps end at their times. Sleeps with the same end must end in
// the order in which they began. A stopped sleep must end immediately with an error.
func TestSleepsEndInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, begin := NewSleeper(nil), time.Now()
		var ended []string
		start := func(name string, ms int64) func() {
			stop, ok := q.Start(t.Context(), &effect.Sleep{Milliseconds: ms}, func(_ effect.Result, err error) {
				ended = append(ended, fmt.Sprintf("%s %v %v", name, time.Since(begin), err))
			})
			if !ok {
				t.Fatal("Start did not accept the sleep")
			}
			return stop
		}
		for i := range 100 {
			start(fmt.Sprint("x", i), 30)
		}
		start("quick", 10)
		stop := start("stopped", 20)
		start("none", -1)
		time.Sleep(time.Millisecond)
		forEver := start("for ever", math.MaxInt64)
		defer forEver()
		synctest.Wait()
		stop()
		stop()
		time.Sleep(time.Second)
		synctest.Wait()
		want := []string{"none 0s <nil>", "stopped 1ms context canceled", "quick 10ms <nil>"}
		for i := range 100 {
			want = append(want, fmt.Sprintf("x%d 30ms <nil>", i))
		}
		if strings.Join(ended, "\n") != strings.Join(want, "\n") {
			t.Error(strings.Join(ended, "\n"))
		}
	})
}

// TestSleeperPerforms checks that Perform waits until the end of the sleep or of the context, and
// rejects other requests.
func TestSleeperPerforms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, begin := NewSleeper(nil), time.Now()
		if _, err := q.Perform(t.Context(), &effect.Sleep{Milliseconds: 70}); err != nil || time.Since(begin) != 70*time.Millisecond {
			t.Error(err, time.Since(begin))
		}
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		if _, err := q.Perform(ctx, &effect.Sleep{Milliseconds: 70}); err != why {
			t.Error(err)
		}
	})
	if _, err := NewSleeper(nil).Perform(context.Background(), &effect.Clock{}); err == nil || err.Error() != "a sleeper cannot perform clock" {
		t.Error(err)
	}
	if _, ok := NewSleeper(nil).Start(context.Background(), &effect.Clock{}, nil); ok {
		t.Error("Start accepted a request for the time")
	}
}
