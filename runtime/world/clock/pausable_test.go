package clock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// TestPausedTimers checks that the timers of a paused clock do not expire, and continue after the
// pause.
func TestPausedTimers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewPausableClock()
		clock, sleeper, begin := New(h), NewSleeper(h), time.Now()
		var mu sync.Mutex
		rang := map[string]time.Duration{}
		ring := func(name string) func() {
			return func() {
				mu.Lock()
				defer mu.Unlock()
				rang[name] = time.Since(begin)
			}
		}
		before := h.AfterFunc(time.Second, ring("before"))
		h.AfterFunc(10*time.Second, ring("long"))
		stopped := h.AfterFunc(5*time.Second, ring("stopped"))
		if _, ok := sleeper.Start(t.Context(), &effect.Sleep{Milliseconds: 4000}, func(effect.Result, error) { ring("sleep")() }); !ok {
			t.Fatal("the sleeper did not start the sleep")
		}
		time.Sleep(2 * time.Second)
		h.Pause()
		h.Pause()
		during := h.AfterFunc(time.Second, ring("during"))
		if !stopped.Stop() || before.Stop() {
			t.Error("Stop did not return true for the waiting timer and false for the expired one")
		}
		if _, ok := sleeper.Start(t.Context(), &effect.Sleep{Milliseconds: 500}, func(effect.Result, error) { ring("sleep that begins")() }); !ok {
			t.Fatal("the sleeper did not start the sleep")
		}
		time.Sleep(time.Hour)
		shown, err := clock.Perform(context.Background(), &effect.Clock{})
		if err != nil || shown.(*effect.Time).Monotonic != 2000 || shown.(*effect.Time).Unix != begin.Add(2*time.Second).UnixMilli() {
			t.Errorf("time of the paused clock = %+v (error %v), want 2s after its start", shown, err)
		}
		during.Reset(2 * time.Second)
		h.Resume()
		h.Resume()
		time.Sleep(time.Hour)
		synctest.Wait()
		want := map[string]time.Duration{
			"before": time.Second, "sleep": time.Hour + 4*time.Second, "sleep that begins": time.Hour + 2500*time.Millisecond,
			"during": time.Hour + 4*time.Second, "long": time.Hour + 10*time.Second,
		}
		for name, at := range want {
			if rang[name] != at {
				t.Errorf("timer %s expired at %v, want %v", name, rang[name], at)
			}
		}
		if len(rang) != len(want) {
			t.Errorf("expired timers = %v, want only the expected ones", rang)
		}
	})
}

// TestNilClock checks that a nil PausableClock follows the system's clock.
func TestNilClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *PausableClock
		h.Pause()
		rang := false
		timer := h.AfterFunc(time.Second, func() { rang = true })
		timer.Reset(2 * time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !rang || timer.Stop() || (Timer{}).Stop() {
			t.Error("the timer of a nil clock did not expire, or could be stopped afterwards")
		}
	})
}

// TestWithin pauses the clock during a sleep and within a context with a time limit. Both must be
// extended by the pause, and both must end with the surrounding context.
func TestWithin(t *testing.T) {
	late, cancelled := errors.New("late"), errors.New("gone")
	for name, h := range map[string]*PausableClock{"a pausable clock": NewPausableClock(), "the system's clock": nil} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			paused := time.Duration(0)
			ctx, leave := h.Within(t.Context(), 3*time.Second, late)
			defer leave()
			slept := make(chan time.Duration, 1)
			go func() {
				if err := h.Sleep(t.Context(), 2*time.Second); err != nil {
					t.Error(name, err)
				}
				slept <- time.Since(begin)
			}()
			time.Sleep(time.Second)
			if h != nil {
				h.Pause()
				time.Sleep(time.Hour)
				if ctx.Err() != nil || len(slept) > 0 {
					t.Error(name, "time goes by while it stands", ctx.Err())
				}
				h.Resume()
				paused = time.Hour
			}
			if d := <-slept; d != paused+2*time.Second {
				t.Error(name, "slept until", d)
			}
			<-ctx.Done()
			if d := time.Since(begin); d != paused+3*time.Second || context.Cause(ctx) != late {
				t.Error(name, "ends at", d, context.Cause(ctx))
			}
			outer, end := context.WithCancelCause(t.Context())
			inner, leave := h.Within(outer, time.Minute, late)
			defer leave()
			end(cancelled)
			if err := h.Sleep(inner, time.Second); err != cancelled || context.Cause(inner) != cancelled {
				t.Error(name, err, context.Cause(inner))
			}
			left, leave := h.Within(t.Context(), time.Minute, late)
			leave()
			if err := h.Sleep(left, 0); err != context.Canceled {
				t.Error(name, err)
			}
		})
	}
}
