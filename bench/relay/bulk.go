package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/spool"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// fill writes n events of a run to a spool, in the way of hostd.
func (l *lab) fill(n int) (*spool.Spool, error) {
	s, err := spool.Open(context.Background(), l.path("spool.db"), spool.Options{Max: 8 << 30})
	if err != nil {
		return nil, err
	}
	const batch = 500
	for at := 0; at < n; at += batch {
		events := make([]spool.Event, 0, batch)
		for i := range batch {
			if at+i == 0 {
				events = append(events, spool.Event{Type: protocol.RunStarted, Data: protocol.Started{Tool: "bench", Cwd: "/", Command: "bench"}})
				continue
			}
			events = append(events, spool.Event{Type: protocol.RunOutput, Data: protocol.Output{Stream: "stdout", Text: fmt.Sprintf("%d a line of what an agent writes while it works\n", at+i)}})
		}
		if _, err := s.Append(context.Background(), "run_spooled", events...); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// send sends the spool to a server. It returns the time until the server has acknowledged all
// events.
func (l *lab) send(s *spool.Spool, n int) (time.Duration, error) {
	k, err := link.New(link.Options{URL: l.url, MachineID: "host_spool", Token: func() (string, error) { return "secret", nil }, Agent: "bench/1", Instance: "one", Spool: s})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	begun := time.Now()
	ended.Go(func() { k.Run(ctx) })
	defer ended.Wait()
	defer cancel()
	for {
		left := false
		for _, r := range s.Runs() {
			left = left || r.Acked < int64(n)
		}
		took := time.Since(begun)
		switch {
		case !left:
			return took, nil
		case took > 10*time.Minute:
			return 0, fmt.Errorf("not all events are acknowledged after %v: %v", took, k.State().Err)
		}
		time.Sleep(time.Millisecond)
	}
}

func replay(n int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		if _, _, err := l.serve(); err != nil {
			return "", err
		}
		s, err := l.fill(n)
		if err != nil {
			return "", err
		}
		defer s.Close()
		took, err := l.send(s, n)
		return fmt.Sprintf("%.0f/s", float64(n)/took.Seconds()), err
	}
}

// history measures the reading of pages of a long run. It also measures the start of a server on
// the run's database, after a kill and after a clean stop.
func history(n int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		c, _, err := l.serve()
		if err != nil {
			return "", err
		}
		s, err := l.fill(n)
		if err != nil {
			return "", err
		}
		defer s.Close()
		if _, err := l.send(s, n); err != nil {
			return "", err
		}
		t := &times{}
		for range 300 {
			after, _ := rand.Int(rand.Reader, big.NewInt(int64(n-300)))
			q, err := http.NewRequest("GET", fmt.Sprintf("%s/runs/run_spooled/events?after=%d&limit=200", l.url, after), nil)
			if err != nil {
				return "", err
			}
			q.Header.Set("Authorization", "Bearer "+l.token)
			begun := time.Now()
			r, err := http.DefaultClient.Do(q)
			if err != nil {
				return "", err
			}
			text, err := io.ReadAll(r.Body)
			r.Body.Close()
			t.add(time.Since(begun))
			if err != nil || r.StatusCode != 200 || len(text) < 200*50 {
				return "", fmt.Errorf("a page: %s, %d bytes, %v", r.Status, len(text), err)
			}
		}
		text := fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", t.quantile(0.5), t.quantile(0.99))
		for _, by := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
			_ = c.Process.Signal(by)
			_ = c.Wait()
			var took time.Duration
			if c, took, err = l.serve(); err != nil {
				return "", err
			}
			text += fmt.Sprintf("; ready %d ms after %v", took.Milliseconds(), by)
		}
		return text, nil
	}
}

// storm measures the simultaneous reconnection of n hosts, each with unacknowledged events.
func storm(n, events int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		if _, _, err := l.serve(); err != nil {
			return "", err
		}
		hosts := make([]*host, n)
		for i := range hosts {
			var err error
			if hosts[i], err = l.newHost(i); err != nil {
				return "", err
			}
			if err := hosts[i].begin(); err != nil {
				return "", err
			}
		}
		for _, h := range hosts {
			h.c.CloseNow()
		}
		var wg sync.WaitGroup
		var bad atomic.Int64
		begun := time.Now()
		for _, h := range hosts {
			wg.Go(func() {
				h.seq = 0
				if l.connect(h) != nil || h.begin() != nil { // the host sends the first event again, because the first attempt may be lost
					bad.Add(1)
					return
				}
				for range events {
					if h.output(time.Now()) != nil {
						bad.Add(1)
						return
					}
				}
				h.acks(func(last int64) {
					if last == int64(events)+1 {
						h.c.CloseNow()
					}
				})
			})
		}
		wg.Wait()
		took := time.Since(begun)
		if bad.Load() > 0 {
			return "", fmt.Errorf("%d hosts could not send", bad.Load())
		}
		return fmt.Sprintf("all acknowledged after %.1f s", took.Seconds()), nil
	}
}
