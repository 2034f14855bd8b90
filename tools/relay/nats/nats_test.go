package nats_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/nats"
	"github.com/concerto-lang/concerto/tools/relay/nats/natstest"
)

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *logBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

// until waits until is returns true. It fails the test if that takes too long.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("timeout: %s", what)
		}
	}
}

// TestBus connects two clients before NATS has started. When NATS starts, and when it returns after
// a stop, each client must receive the other's messages and not its own. The log must contain each
// connection and disconnection.
func TestBus(t *testing.T) {
	n := natstest.Start(t)
	if !n.InProcess() {
		t.Skip("this NATS server cannot be stopped")
	}
	n.Stop()
	log := &logBuffer{}
	connect := func() (*nats.Bus, chan string) {
		b, err := nats.Connect(n.URL, slog.New(slog.NewTextHandler(log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		received := make(chan string, 100)
		if err := b.Subscribe("run.>", func(subject string, body []byte) { received <- subject + " " + string(body) }); err != nil {
			t.Fatal(err)
		}
		return b, received
	}
	one, toOne := connect()
	two, toTwo := connect()
	for round := range 2 {
		one.Publish("run.lost.1", nil) // without subscribers
		if one.Up() {
			t.Error("Up() = true while NATS is stopped, want false")
		}
		n.Restart()
		until(t, "both are connected", func() bool { return one.Up() && two.Up() })
		until(t, "what is published is heard", func() bool { // a subscription takes a moment
			one.Publish("run.a.7", []byte("x"))
			select {
			case got := <-toTwo:
				return got == "run.a.7 x"
			case <-time.After(10 * time.Millisecond):
				return false
			}
		})
		if round == 0 {
			n.Stop()
			until(t, "the disconnection is detected", func() bool { return !one.Up() && !two.Up() })
		}
	}
	if len(toOne) > 0 {
		t.Errorf("a bus received the message that it published: %s", <-toOne)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	for _, want := range []string{"could not connect to NATS", `msg="connected to NATS"`, "disconnected from NATS", "reconnected to NATS"} {
		if !strings.Contains(log.text.String(), want) {
			t.Errorf("the log does not contain %q:\n%s", want, &log.text)
		}
	}
}
