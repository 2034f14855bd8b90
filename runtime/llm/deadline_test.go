package llm

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestDeadlines: each call is ended when it is due, and one that has left is not.
func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		start := time.Now()
		type end struct{ after, want time.Duration }
		ended := make(chan end)
		for _, s := range []int{5, 3, 8, 3, 9} {
			ctx, leave := d.within(t.Context(), time.Duration(s)*time.Second)
			if due, ok := ctx.Deadline(); !ok || due.Sub(start) != time.Duration(s)*time.Second || ctx.Err() != nil {
				t.Errorf("%d: due %v, %v", s, due, ctx.Err())
			}
			if s == 9 {
				leave()
				if ctx.Err() != context.Canceled {
					t.Errorf("left: %v", ctx.Err())
				}
				continue
			}
			go func() {
				defer leave()
				child, stop := context.WithCancel(ctx)
				defer stop()
				<-child.Done()
				if ctx.Err() != context.DeadlineExceeded || !errors.Is(context.Cause(child), context.DeadlineExceeded) {
					t.Errorf("%d: %v, %v", s, ctx.Err(), context.Cause(child))
				}
				ended <- end{time.Since(start), time.Duration(s) * time.Second}
			}()
		}
		for range 4 {
			if e := <-ended; e.after != e.want {
				t.Errorf("one of %v was ended after %v", e.want, e.after)
			}
		}
		synctest.Wait()
		if !d.next.IsZero() || len(d.calls) != 0 {
			t.Errorf("left behind: %v, %d", d.next, len(d.calls))
		}
		d.close()
	})
}

// TestDeadlinesOneTimer: calls of one bound that follow each other set one timer, which
// is set again when it comes while one goes on.
func TestDeadlinesOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d deadlines
		first := time.Now().Add(time.Minute)
		for range 59 {
			_, leave := d.within(t.Context(), time.Minute)
			time.Sleep(time.Second)
			leave()
			if !d.next.Equal(first) {
				t.Fatalf("the timer is set for %v, want %v", d.next, first)
			}
		}
		ctx, leave := d.within(t.Context(), time.Minute)
		time.Sleep(time.Minute - 1)
		if ctx.Err() != nil {
			t.Errorf("it is ended too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ctx.Err() != context.DeadlineExceeded {
			t.Errorf("it is not ended: %v", ctx.Err())
		}
		leave()
		d.close()
	})
}

// TestDeadlineOfParent: what ends sooner counts.
func TestDeadlineOfParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		var d deadlines
		defer d.close()
		ctx, leave := d.within(outer, time.Minute)
		defer leave()
		if due, _ := ctx.Deadline(); time.Until(due) != time.Second {
			t.Errorf("due %v", due)
		}
		<-ctx.Done()
		if ctx.Err() != context.DeadlineExceeded {
			t.Error(ctx.Err())
		}
	})
}
