package clock

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/effect"
)

// TestHand: while a hand stands nothing that goes by it moves on, and then it goes on from there.
func TestHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHand()
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
			t.Fatal("it does not sleep")
		}
		time.Sleep(2 * time.Second)
		h.Stand()
		h.Stand()
		during := h.AfterFunc(time.Second, ring("during"))
		if !stopped.Stop() || before.Stop() {
			t.Error("what waits can be stopped, and nothing else")
		}
		if _, ok := sleeper.Start(t.Context(), &effect.Sleep{Milliseconds: 500}, func(effect.Result, error) { ring("sleep that begins")() }); !ok {
			t.Fatal("it does not sleep")
		}
		time.Sleep(time.Hour)
		shown, err := clock.Perform(context.Background(), &effect.Clock{})
		if err != nil || shown.(*effect.Time).Monotonic != 2000 || shown.(*effect.Time).Unix != begin.Add(2*time.Second).UnixMilli() {
			t.Errorf("it shows %+v, %v", shown, err)
		}
		during.Reset(2 * time.Second)
		h.Go()
		h.Go()
		time.Sleep(time.Hour)
		synctest.Wait()
		want := map[string]time.Duration{
			"before": time.Second, "sleep": time.Hour + 4*time.Second, "sleep that begins": time.Hour + 2500*time.Millisecond,
			"during": time.Hour + 4*time.Second, "long": time.Hour + 10*time.Second,
		}
		for name, at := range want {
			if rang[name] != at {
				t.Errorf("%s rings at %v, want %v", name, rang[name], at)
			}
		}
		if len(rang) != len(want) {
			t.Errorf("what rings: %v", rang)
		}
	})
}

// TestNoHand: without a hand it is the system's clock.
func TestNoHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *Hand
		h.Stand()
		rang := false
		timer := h.AfterFunc(time.Second, func() { rang = true })
		timer.Reset(2 * time.Second)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if !rang || timer.Stop() || (Timer{}).Stop() {
			t.Error("it did not ring")
		}
	})
}
