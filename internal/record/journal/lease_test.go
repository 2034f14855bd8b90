package journal

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestLease renews a lease of 9 s in a store that does not answer for a time, and then has given
// the lease to others. A write is tried again while the store does not answer, never after four
// fifths of the lease, and not at all when the lease is lost.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away, began := errors.New("the store does not answer"), time.Now()
		var renewals atomic.Int32
		var failure atomic.Pointer[error]
		var retried []error
		l := NewLease(began, LeaseOptions{Duration: 9 * time.Second, IsFinal: func(err error) bool { return errors.Is(err, ErrFull) },
			Renew: func(_ context.Context, draining bool) (time.Time, error) {
				renewals.Add(1)
				if failed := failure.Load(); failed != nil {
					return time.Time{}, *failed
				}
				return time.Now().Add(time.Hour), nil
			},
			OnRetry: func(_ string, err error) { retried = append(retried, err) }})
		if err := l.Start(); err != nil || l.Now() != began.Add(time.Hour).UnixMilli() {
			t.Fatalf("Start: error %v, time %d", err, l.Now())
		}
		if err := l.Try("r_1", func(context.Context) error { return ErrFull }); err != ErrFull || retried != nil {
			t.Errorf("a write with a final error: error %v, repeated after %v", err, retried)
		}

		failure.Store(&away)
		time.Sleep(8 * time.Second) // renewals after 3 s, then every 450 ms
		if _, _, err := l.Context(); err != ErrNotRenewed {
			t.Errorf("after 8 s without a renewal, the context has the error %v", err)
		}
		time.AfterFunc(time.Second, func() { failure.Store(nil) })
		writes := 0
		err := l.Try("r_1", func(ctx context.Context) error {
			if writes++; writes == 1 {
				return away
			}
			if until, ok := ctx.Deadline(); !ok || time.Until(until) > 9*time.Second*4/5 {
				t.Errorf("a write may take until %v", until)
			}
			return nil
		})
		if err != nil || writes != 2 || !slices.Equal(retried, []error{ErrNotRenewed}) {
			t.Errorf("a write during which the store answers again: error %v, %d attempts, OnRetry has received %v", err, writes, retried)
		}
		if n := renewals.Load(); n < 10 {
			t.Errorf("%d renewals", n)
		}

		failure.Store(&ErrLost)
		err = l.Try("r_1", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if err != ErrFenced || l.Ended().Err() == nil {
			t.Errorf("a write during which the lease is lost: error %v", err)
		}
		if err := l.Try("r_1", func(context.Context) error { t.Error("a write without a lease"); return nil }); err != ErrFenced {
			t.Errorf("a write without a lease: error %v", err)
		}
		l.End(nil)
		l.Wait()
	})
}
