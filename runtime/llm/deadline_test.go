package llm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/world/clock"
)

// TestDeadlines checks that each call is cancelled at its deadline unless it has ended before.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		start := time.Now()
		type end struct{ after, want time.Duration }
		ended := make(chan end)
		for _, s := range []int{5, 3, 8, 3, 9} {
			ctx, leave := d.withTimeout(t.Context(), time.Duration(s)*time.Second)
			if deadline, ok := ctx.Deadline(); !ok || deadline.Sub(start) != time.Duration(s)*time.Second || ctx.Err() != nil {
				t.Errorf("call of %d s: deadline = %v, error = %v", s, deadline, ctx.Err())
			}
			if s == 9 {
				leave()
				if ctx.Err() != context.Canceled {
					t.Errorf("error of an ended call = %v, want context.Canceled", ctx.Err())
				}
				continue
			}
			go func() {
				defer leave()
				child, stop := context.WithCancel(ctx)
				defer stop()
				<-child.Done()
				if ctx.Err() != context.DeadlineExceeded || !errors.Is(context.Cause(child), context.DeadlineExceeded) {
					t.Errorf("call of %d s: error %v with cause %v, want DeadlineExceeded", s, ctx.Err(), context.Cause(child))
				}
				ended <- end{time.Since(start), time.Duration(s) * time.Second}
			}()
		}
		for range 4 {
			if e := <-ended; e.after != e.want {
				t.Errorf("the call with the limit %v ended after %v", e.want, e.after)
			}
		}
		synctest.Wait()
		if len(d.calls) != 0 {
			t.Errorf("%d calls are still registered, want none", len(d.calls))
		}
		d.stopTimer()
	})
}

// TestIdle checks that idle is called once when no call was made for some time.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, expired := time.Now(), []time.Duration{}
		d := deadlines{idle: func() { expired = append(expired, time.Since(start)) }}
		defer d.stopTimer()
		call := func(wait, took time.Duration) {
			time.Sleep(wait)
			_, leave := d.withTimeout(t.Context(), time.Hour)
			time.Sleep(took)
			leave()
		}
		call(0, 10*time.Second)
		call(80*time.Second, 200*time.Second) // lasts until 290 s, because a long call uses its connection
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(expired) != 1 || expired[0] < 290*time.Second+minIdle || expired[0] > 290*time.Second+2*minIdle || !d.next.IsZero() {
			t.Errorf("idle was called at %v and the timer is set for %v, want one call and no timer", expired, d.next)
		}
		second := time.Since(start)
		call(0, time.Second)
		time.Sleep(2 * minIdle)
		synctest.Wait()
		if len(expired) != 2 || expired[1] < second+minIdle {
			t.Errorf("idle was called at %v after a second call at %v, want two calls", expired, second)
		}
	})
}

// TestDeadlinesOneTimer checks that consecutive calls with the same limit set the timer only once,
// and that the timer is set again if it fires during a call.
func TestDeadlinesOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		first := time.Now().Add(time.Minute)
		for range 59 {
			_, leave := d.withTimeout(t.Context(), time.Minute)
			time.Sleep(time.Second)
			leave()
			if !d.next.Equal(first) {
				t.Fatalf("timer = %v, want the unchanged %v", d.next, first)
			}
		}
		ctx, leave := d.withTimeout(t.Context(), time.Minute)
		time.Sleep(time.Minute - 1)
		if ctx.Err() != nil {
			t.Errorf("the call ended before its deadline")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ctx.Err() != context.DeadlineExceeded {
			t.Errorf("error at the deadline = %v, want DeadlineExceeded", ctx.Err())
		}
		leave()
		d.stopTimer()
	})
}

// TestDeadlineOfParent checks that an earlier deadline of the parent context is used.
func TestDeadlineOfParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		var d deadlines
		defer d.stopTimer()
		ctx, leave := d.withTimeout(outer, time.Minute)
		defer leave()
		if deadline, _ := ctx.Deadline(); time.Until(deadline) != time.Second {
			t.Errorf("deadline = %v, want that of the parent", deadline)
		}
		<-ctx.Done()
		if ctx.Err() != context.DeadlineExceeded {
			t.Error(ctx.Err())
		}
	})
}

// TestDeadlineStopsWithPausedClock checks that no call times out while the clock is paused.
func TestDeadlineStopsWithPausedClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := deadlines{clock: clock.NewPausableClock()}
		defer d.stopTimer()
		ctx, leave := d.withTimeout(t.Context(), time.Minute)
		defer leave()
		if deadline, ok := ctx.Deadline(); ok {
			t.Errorf("deadline = %v, want none because the clock can be paused", deadline)
		}
		begin := time.Now()
		d.clock.Pause()
		time.Sleep(time.Hour)
		d.clock.Resume()
		<-ctx.Done()
		if took := time.Since(begin); took != time.Hour+time.Minute || ctx.Err() != context.DeadlineExceeded {
			t.Error(took, ctx.Err())
		}
	})
}

// TestIdleConnectionsAreClosed checks that a client holds its network connection open between calls
// and closes it when it is idle.
func TestIdleConnectionsAreClosed(t *testing.T) {
	states := make(chan http.ConnState, 16)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"choices":[{"message":{"content":"yes"}}]}`)
	}))
	s.Config.ConnState = func(_ net.Conn, now http.ConnState) {
		if now == http.StateNew || now == http.StateClosed {
			states <- now
		}
	}
	s.Start()
	defer s.Close()
	c, _ := client(t, Connection{Name: "main", Provider: "openai", BaseURL: s.URL})
	for range 3 {
		if got, err := ask(c, effect.AgentCall{Connection: "main", Model: "m"}); err != nil || got.Text != "yes" {
			t.Fatal(got, err)
		}
	}
	if now := <-states; now != http.StateNew || len(states) > 0 {
		t.Fatalf("state = %v with %d further states, want one new connection", now, len(states))
	}
	c.deadlines.mu.Lock()
	c.deadlines.last = time.Now().Add(-minIdle)
	c.deadlines.mu.Unlock()
	c.deadlines.cancelExpired()
	if now := <-states; now != http.StateClosed {
		t.Errorf("state = %v, want closed", now)
	}
}
