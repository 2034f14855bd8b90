package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

const saidMore = `{"type":"progress","message":"more"}`

// roleOf returns the lease of the first process's reader.
func (b *bubble) roleOf(id int64) *readLease {
	b.Helper()
	ex, err := b.lookupExchange(id)
	if err != nil {
		b.Fatal(err)
	}
	return &ex.currentProcess().reader.lease
}

func (r *readLease) now() leaseState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// is compares the state of the lease when all goroutines are blocked.
func (b *bubble) is(r *readLease, want leaseState) {
	b.Helper()
	synctest.Wait()
	if got := r.now(); got != want {
		b.Errorf("the role is with %v, want %v", got, want)
	}
}

// pause waits while the host runs.
func (h *memHost) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-h.dead:
	}
}

// TestRole checks that a goroutine that waits for messages reads them, and keeps the lease while it
// continues to; otherwise the reader takes it back.
func TestRole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.hear()
			for range 3 {
				h.say(saidMore)
				h.hear()
			}
			h.pause(time.Second)
			h.say(saidMore)
			h.say(saidMore)
			h.hear()
			h.say(`{"type":"result"}`)
			h.hear()
		})
		id := b.begin()
		r := b.roleOf(id)
		answer := func() {
			if _, err := b.Perform(t.Context(), &effect.ExchangeReply{ID: id, InReplyTo: "progress"}); err != nil {
				t.Fatal(err)
			}
		}
		soon := func() { time.AfterFunc(time.Millisecond, answer) }
		b.is(r, readerWaiting) // the first message came before anyone requested one
		b.hears(id, `progress {"message":"more"}`)
		b.is(r, readerWaiting)
		for range 2 {
			soon()
			b.hears(id, `progress {"message":"more"}`)
			b.is(r, leaseHeld)
		}
		// No one requests more; the output is read nevertheless.
		answer()
		time.Sleep(2 * time.Second)
		b.is(r, readerWaiting)
		b.hears(id, `progress {"message":"more"}; progress {"message":"more"}`)
		soon()
		b.hears(id, `result {}`)
		b.is(r, leaseHeld)
		b.end(id, "")
		b.is(r, readerWaiting)
	})
}

// TestRoleIsWanted checks that a read is interrupted by the end of its caller's context, of the
// exchange's time, and of the run, without losing half a line.
func TestRoleIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.hear()
			h.pause(time.Second)
			h.out.write(saidMore[:9])
			h.pause(9 * time.Second)
			h.out.write(saidMore[9:] + "\n")
			h.untilTerm()
		})
		id := b.begin()
		r := b.roleOf(id)
		b.is(r, readerWaiting)
		enough := errors.New("enough")
		for i := range 3 {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() {
				b.is(r, leaseReading)
				cancel(enough)
			})
			if _, err := b.Perform(ctx, &effect.ExchangeNext{ID: id}); err != enough {
				t.Fatalf("%d: %v", i, err)
			}
			b.is(r, readerWaiting)
		}
		began := time.Now()
		b.hears(id, `progress {"message":"more"}`)
		if got := since(began); got != "7" {
			t.Errorf("it came after %s seconds", got)
		}
		b.is(r, leaseHeld)
		b.hears(id, `HostError: host 'w' timed out after 60 seconds`)
		b.end(id, "")

		id = b.begin()
		r = b.roleOf(id)
		b.is(r, readerWaiting)
		time.AfterFunc(500*time.Millisecond, func() {
			b.is(r, leaseReading)
			_ = b.Close(context.Background())
		})
		if got := b.outcome(id); !strings.Contains(got, "has ended") {
			t.Errorf("at the end of the run: %s", got)
		}
	})
}

// TestRoleWithMessages checks that messages delivered before the lease was granted are returned
// without waiting.
func TestRoleWithMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.hear()
			h.say(saidMore)
			h.hear()
		})
		id := b.begin()
		synctest.Wait()
		ex, err := b.lookupExchange(id)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if !ex.readDirectly(t.Context()) || time.Since(began) > 0 {
			t.Error("it waits for more")
		}
		b.hears(id, `progress {"message":"more"}`)
	})
}

// TestRoleInFlood checks that the reader keeps the lease during a flood, and grants it afterwards.
func TestRoleInFlood(t *testing.T) {
	for name, flood := range map[string]string{
		"many messages": strings.Repeat(saidMore+"\n", floodMessages),
		"a large one":   `{"type":"progress","message":"` + strings.Repeat("x", floodBytes) + `"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
					h.hear()
					time.Sleep(time.Second)
					h.out.write(flood)
					for range floodCooldown + 1 {
						time.Sleep(time.Second)
						h.say(saidMore)
					}
					h.hear()
				})
				id := b.begin()
				r := b.roleOf(id)
				b.is(r, readerWaiting)
				time.AfterFunc(time.Second/2, func() { b.is(r, leaseReading) })
				b.outcome(id)
				b.is(r, readerWaiting)
				for i := range floodCooldown {
					time.AfterFunc(time.Second/2, func() { b.is(r, readerWaiting) })
					if got := b.outcome(id); strings.Contains(got, ";") {
						t.Errorf("%d: %s", i, got)
					}
				}
				synctest.Wait() // the reader is waiting for a line
				time.AfterFunc(time.Second/2, func() { b.is(r, leaseReading) })
				b.outcome(id)
			})
		})
	}
}

// TestRoleAtTheEnd checks that the end of a host is reported while another goroutine reads.
func TestRoleAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.hear()
			time.Sleep(time.Second)
			h.die(Exit{Code: 3})
		})
		id := b.begin()
		r := b.roleOf(id)
		b.is(r, readerWaiting)
		time.AfterFunc(time.Second/2, func() { b.is(r, leaseReading) })
		b.hears(id, `HostError: host exited without result`)
		b.is(r, readerBusy)
		b.end(id, "")
	})
}
