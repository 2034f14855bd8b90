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

// dies is a host that reads its prompt and exits.
func dies(h *memHost) {
	h.readLine()
	h.die(Exit{Code: 3})
}

// failingExchange runs one exchange that must fail. message is the error's message. at holds the
// times in the bubble, in seconds since start, at which the exchange began and failed.
func (b *bubble) failingExchange(start time.Time) (message, at string) {
	b.Helper()
	id, err := b.tryOpen()
	if err == nil {
		defer b.closeExchange(id, "")
		at = since(start)
		_, err = b.Perform(context.Background(), &effect.ExchangeNext{ID: id})
	} else {
		at = since(start)
	}
	var e *effect.Error
	if !errors.As(err, &e) {
		b.Fatalf("error = %v, want an *effect.Error", err)
	}
	code, _ := e.Fields["code"].(string)
	return strings.TrimSpace(e.Message + " " + code), at
}

func TestBackoff(t *testing.T) {
	const died = "host exited without result: 'w' exited with status 3"
	const loop = "host 'w' failed to start 5 times in a row: host exited without result: 'w' exited with status 3 crash_loop"
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, dies, dies, dies, dies, dies, dies, echoes, dies, echoes)
		start := time.Now()
		want := func(message, at string) {
			t.Helper()
			if m, when := b.failingExchange(start); m != message || when != at {
				t.Errorf("the exchange failed with %q at %s, want %q at %s", m, when, message, at)
			}
		}
		want(died, "0")
		want(died, "0.1")
		want(died, "0.3")
		want(died, "0.7")
		want(died, "1.5")
		want(loop, "1.5")
		time.Sleep(29999 * time.Millisecond)
		want(loop, "31.499")
		time.Sleep(time.Millisecond)
		want(died, "31.5")
		want(strings.Replace(loop, "5", "6", 1), "31.5")
		time.Sleep(time.Minute)
		// A completed exchange resets the count of failures. The process of such an exchange may
		// exit without delaying the next start.
		id := b.openExchange()
		b.expectMessage(id, `result {"text":"fine"}`)
		b.closeExchange(id, "")
		b.mem.all[6].die(Exit{Code: 1})
		synctest.Wait()
		want(died, "91.5")
		id = b.openExchange()
		if since(start) != "91.6" {
			t.Errorf("the next start was at %s, want 91.6", since(start))
		}
		b.closeExchange(id, "")
	})
}

// TestBackoffOfInit checks that a failed initialisation counts as one failed start, and that the
// error of a crash loop quotes it.
func TestBackoffOfInit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Params: someParams}, func(h *memHost) {
			h.readLine()
			h.writeLine(`{"type":"error","message":"not logged in"}`)
		})
		start := time.Now()
		for _, at := range []string{"0", "0.1", "0.3", "0.7", "1.5"} {
			if m, when := b.failingExchange(start); m != "host init failed: not logged in" || when != at {
				t.Errorf("the exchange failed with %q at %s, want that the initialisation failed at %s", m, when, at)
			}
		}
		if m, when := b.failingExchange(start); m != "host 'w' failed to start 5 times in a row: host init failed: not logged in crash_loop" || when != "1.5" {
			t.Errorf("the exchange failed with %q at %s, want a crash loop at 1.5", m, when)
		}
		if n := len(b.mem.all); n != 5 {
			t.Errorf("the host was started %d times, want 5", n)
		}
	})
}

// TestNoBackoff ends a host because of a violation of the protocol, or because the program closes
// the exchange. Neither may count as a failed start.
func TestNoBackoff(t *testing.T) {
	for name, play := range map[string]func(h *memHost){
		"timeout":   (*memHost).hang,
		"garbage":   func(h *memHost) { h.writeLine("{\xff"); h.untilTerm() },
		"cancelled": func(h *memHost) { h.writeLine(`{"type":"progress"}`); h.untilTerm() },
		"complete":  func(h *memHost) { h.writeLine(`{"type":"error"}`); h.die(Exit{Code: 1}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Timeout: 1}, func(h *memHost) { h.readLine(); play(h) })
				for n := range 10 {
					id := b.openExchange()
					if n > 0 {
						// No delay is added to the wait for the end of the previous process.
						if wait := b.mem.all[n].began.Sub(b.mem.all[n-1].lastEvent()); wait > 0 {
							t.Errorf("start %d was delayed by %v, want no delay", n, wait)
						}
					}
					b.nextOutcome(id)
					b.closeExchange(id, "")
					synctest.Wait()
				}
			})
		})
	}
}

// lastEvent returns the time of the host's last event.
func (h *memHost) lastEvent() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.events) == 0 {
		return time.Time{}
	}
	return h.began.Add(h.events[len(h.events)-1].at)
}

// TestBackoffEnds checks that a cancelled context and Close end the wait for a start.
func TestBackoffEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{}, dies)
		start := time.Now()
		for range 4 {
			b.failingExchange(start)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("no more")) })
		if _, err := b.Perform(ctx, &effect.ExchangeOpen{Host: "w"}); err == nil || err.Error() != "no more" || since(start) != "0.71" {
			t.Errorf("ExchangeOpen: error %v at %s, want \"no more\" at 0.71", err, since(start))
		}
		time.AfterFunc(10*time.Millisecond, func() { b.Close(context.Background()) })
		if _, err := b.tryOpen(); err != ErrClosed || since(start) != "0.72" {
			t.Errorf("open: error %v at %s, want ErrClosed at 0.72", err, since(start))
		}
	})
}
