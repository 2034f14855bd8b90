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

const progressLine = `{"type":"progress","message":"more"}`

// leaseOf returns the read lease of the exchange's process.
func (b *bubble) leaseOf(id int64) *readLease {
	b.Helper()
	ex, err := b.lookupExchange(id)
	if err != nil {
		b.Fatal(err)
	}
	return &ex.currentProcess().reader.lease
}

func (r *readLease) currentState() leaseState {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state
}

// expectState waits until all goroutines are blocked and compares the state of the lease with want.
func (b *bubble) expectState(r *readLease, want leaseState) {
	b.Helper()
	synctest.Wait()
	if got := r.currentState(); got != want {
		b.Errorf("lease state = %v, want %v", got, want)
	}
}

// pause waits for d or until the host is killed.
func (h *memHost) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-h.dead:
	}
}

// TestLease checks who reads the output. A goroutine that waits for messages reads them itself, and
// retains the lease as long as it requests messages again. Otherwise the reader goroutine takes the
// lease back.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.readLine()
			for range 3 {
				h.writeLine(progressLine)
				h.readLine()
			}
			h.pause(time.Second)
			h.writeLine(progressLine)
			h.writeLine(progressLine)
			h.readLine()
			h.writeLine(`{"type":"result"}`)
			h.readLine()
		})
		id := b.openExchange()
		r := b.leaseOf(id)
		answer := func() {
			if _, err := b.Perform(t.Context(), &effect.ExchangeReply{ID: id, InReplyTo: "progress"}); err != nil {
				t.Fatal(err)
			}
		}
		soon := func() { time.AfterFunc(time.Millisecond, answer) }
		b.expectState(r, readerWaiting) // the first message came before the program requested messages
		b.expectMessage(id, `progress {"message":"more"}`)
		b.expectState(r, readerWaiting)
		for range 2 {
			soon()
			b.expectMessage(id, `progress {"message":"more"}`)
			b.expectState(r, leaseHeld)
		}
		// The program requests no more messages, but the output is still read.
		answer()
		time.Sleep(2 * time.Second)
		b.expectState(r, readerWaiting)
		b.expectMessage(id, `progress {"message":"more"}; progress {"message":"more"}`)
		soon()
		b.expectMessage(id, `result {}`)
		b.expectState(r, leaseHeld)
		b.closeExchange(id, "")
		b.expectState(r, readerWaiting)
	})
}

// TestLeaseIsRecalled interrupts a read by the end of the caller's context, by the exchange's
// timeout, and by Close. The half line that was already read must not be lost.
func TestLeaseIsRecalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.readLine()
			h.pause(time.Second)
			h.out.write(progressLine[:9])
			h.pause(9 * time.Second)
			h.out.write(progressLine[9:] + "\n")
			h.untilTerm()
		})
		id := b.openExchange()
		r := b.leaseOf(id)
		b.expectState(r, readerWaiting)
		enough := errors.New("enough")
		for i := range 3 {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() {
				b.expectState(r, leaseReading)
				cancel(enough)
			})
			if _, err := b.Perform(ctx, &effect.ExchangeNext{ID: id}); err != enough {
				t.Fatalf("call %d: error %v, want the context's cause", i, err)
			}
			b.expectState(r, readerWaiting)
		}
		began := time.Now()
		b.expectMessage(id, `progress {"message":"more"}`)
		if got := since(began); got != "7" {
			t.Errorf("the message came after %s seconds, want 7", got)
		}
		b.expectState(r, leaseHeld)
		b.expectMessage(id, `HostError: host 'w' timed out after 60 seconds`)
		b.closeExchange(id, "")

		id = b.openExchange()
		r = b.leaseOf(id)
		b.expectState(r, readerWaiting)
		time.AfterFunc(500*time.Millisecond, func() {
			b.expectState(r, leaseReading)
			_ = b.Close(context.Background())
		})
		if got := b.nextOutcome(id); !strings.Contains(got, "has ended") {
			t.Errorf("outcome after Close = %s, want the error that the exchange has ended", got)
		}
	})
}

// TestLeaseWithMessages checks that messages that were delivered before the lease was granted are
// returned without waiting.
func TestLeaseWithMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.readLine()
			h.writeLine(progressLine)
			h.readLine()
		})
		id := b.openExchange()
		synctest.Wait()
		ex, err := b.lookupExchange(id)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if !ex.readDirectly(t.Context()) || time.Since(began) > 0 {
			t.Error("readDirectly waited although a message was available")
		}
		b.expectMessage(id, `progress {"message":"more"}`)
	})
}

// TestLeaseInFlood checks that the reader goroutine retains the lease during a flood of messages,
// and grants the lease afterwards.
func TestLeaseInFlood(t *testing.T) {
	for name, flood := range map[string]string{
		"many messages": strings.Repeat(progressLine+"\n", floodMessages),
		"a large one":   `{"type":"progress","message":"` + strings.Repeat("x", floodBytes) + `"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
					h.readLine()
					time.Sleep(time.Second)
					h.out.write(flood)
					for range floodCooldown + 1 {
						time.Sleep(time.Second)
						h.writeLine(progressLine)
					}
					h.readLine()
				})
				id := b.openExchange()
				r := b.leaseOf(id)
				b.expectState(r, readerWaiting)
				time.AfterFunc(time.Second/2, func() { b.expectState(r, leaseReading) })
				b.nextOutcome(id)
				b.expectState(r, readerWaiting)
				for i := range floodCooldown {
					time.AfterFunc(time.Second/2, func() { b.expectState(r, readerWaiting) })
					if got := b.nextOutcome(id); strings.Contains(got, ";") {
						t.Errorf("outcome %d = %s, want a single message", i, got)
					}
				}
				synctest.Wait() // the reader is waiting for a line
				time.AfterFunc(time.Second/2, func() { b.expectState(r, leaseReading) })
				b.nextOutcome(id)
			})
		})
	}
}

// TestLeaseAtEnd checks that the end of a host is reported while a goroutine other than the reader
// reads.
func TestLeaseAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, Config{Timeout: 60}, func(h *memHost) {
			h.readLine()
			time.Sleep(time.Second)
			h.die(Exit{Code: 3})
		})
		id := b.openExchange()
		r := b.leaseOf(id)
		b.expectState(r, readerWaiting)
		time.AfterFunc(time.Second/2, func() { b.expectState(r, leaseReading) })
		b.expectMessage(id, `HostError: host exited without result: 'w' exited with status 3`)
		b.expectState(r, readerBusy)
		b.closeExchange(id, "")
	})
}
