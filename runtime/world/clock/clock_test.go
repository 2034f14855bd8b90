package clock

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(nil)
		begin := time.Now().UnixMilli()
		for _, ms := range []int64{250, 0, -5} {
			if r, err := c.Perform(t.Context(), &effect.Sleep{Milliseconds: ms}); r != nil || err != nil {
				t.Errorf("sleep of %d ms: result %v, error %v, want neither", ms, r, err)
			}
		}
		r, err := c.Perform(t.Context(), &effect.Clock{})
		if got := r.(*effect.Time); err != nil || *got != (effect.Time{Unix: begin + 250, Monotonic: 250}) {
			t.Errorf("time = %+v (error %v), want 250 ms after the start", got, err)
		}
	})
}

func TestSleepIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Second, func() { cancel(stop) })
		if _, err := New(nil).Perform(ctx, &effect.Sleep{Milliseconds: math.MaxInt64}); err != stop {
			t.Error(err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Error(d)
		}
		if _, err := New(nil).Perform(ctx, &effect.Sleep{}); err != stop {
			t.Error(err)
		}
	})
}

func TestZone(t *testing.T) {
	for _, c := range []struct {
		name string
		ms   int64
		want effect.Offset
	}{
		{"Europe/Berlin", 1772357400250, effect.Offset{Seconds: 3600, Abbreviation: "CET"}},
		{"Europe/Berlin", 1782357400250, effect.Offset{Seconds: 7200, Abbreviation: "CEST"}},
		{"Asia/Kathmandu", 1772357400250, effect.Offset{Seconds: 20700, Abbreviation: "+0545"}},
		{"UTC", -1, effect.Offset{Abbreviation: "UTC"}},
	} {
		r, err := New(nil).Perform(t.Context(), &effect.Zone{Name: c.name, Unix: c.ms})
		if err != nil || *r.(*effect.Offset) != c.want {
			t.Errorf("zone %s: offset %+v (error %v), want %+v", c.name, r, err, c.want)
		}
	}
	for _, name := range []string{"", "Local", "Nowhere/City", "../etc/passwd"} {
		_, err := New(nil).Perform(t.Context(), &effect.Zone{Name: name})
		if e, ok := err.(*effect.Error); !ok || e.Kind != "RuntimeError" {
			t.Errorf("zone %q: error %v, want a RuntimeError", name, err)
		}
	}
}

func TestOtherRequestsAreRefused(t *testing.T) {
	if _, err := New(nil).Perform(context.Background(), &effect.Env{}); err == nil || err.Error() != "the clock cannot perform env" {
		t.Error(err)
	}
}
