package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Environment variables for the measurement of several servers: the URLs of an empty PostgreSQL
// database and of NATS.
const (
	postgresVariable = "RELAY_BENCH_POSTGRES"
	natsVariable     = "RELAY_NATS"
)

// several measures events from a host at one of three servers to an app at each server. It then
// kills one server, so that the host and an app reconnect to another one.
func several(rate, idle int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		db, nats := os.Getenv(postgresVariable), os.Getenv(natsVariable)
		if db == "" {
			return "", fmt.Errorf("$%s must be set to the URL of an empty database, postgres://USER@HOST/NAME", postgresVariable)
		}
		servers, urls, err := l.serveSeveral(3, db, nats)
		if err != nil {
			return "", err
		}
		l.url = urls[2]
		crowd, err := l.crowd(idle)
		if err != nil {
			return "", err
		}
		defer crowd()
		f := &flight{l: l, urls: urls, rate: rate, seen: make([]atomic.Int64, len(urls))}
		text, err := f.measure(servers)
		if nats == "" {
			text += ", without NATS"
		}
		return text, err
	}
}

// serveSeveral starts n servers on one database and logs in.
func (l *lab) serveSeveral(n int, db, nats string) (servers []*exec.Cmd, urls []string, err error) {
	if err := os.WriteFile(l.path("password"), []byte(password), 0o600); err != nil {
		return nil, nil, err
	}
	for i := range n {
		args := []string{"serve", "--listen", "127.0.0.1:0", "--db", db}
		if nats != "" {
			args = append(args, "--nats", nats)
		}
		if i == 0 {
			args = append(args, "--admin", "ann", "--admin-password-file", l.path("password"))
		}
		c, url, _, err := l.start(nil, args...)
		if err != nil {
			return nil, nil, err
		}
		servers, urls = append(servers, c), append(urls, url)
	}
	l.token, err = login(urls[0])
	return servers, urls, err
}

// flight is a run whose events are sent from a host to apps.
type flight struct {
	l    *lab
	urls []string
	rate int
	seen []atomic.Int64 // sequence number of the last event that each app has received
	bad  atomic.Int64   // number of duplicate or reordered events
	t    times

	mu      sync.Mutex
	host    *host
	lost    []string // unacknowledged outputs in order; the first has the sequence number after acked
	acked   int64
	silence time.Duration // longest time between two events of an app that has reconnected
}

// measure measures the median and the 99th percentile of the delay, and then kills a server.
func (f *flight) measure(servers []*exec.Cmd) (string, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	if err := f.connect(0); err != nil {
		return "", err
	}
	for i := range f.urls {
		work.Go(func() { f.follow(ctx, i) })
	}
	n := int64(f.l.length.Seconds() * float64(f.rate))
	if err := f.send(n); err != nil {
		return "", err
	}
	if err := f.arrived(n); err != nil {
		return "", err
	}
	text := fmt.Sprintf("p50 %.2f ms, p99 %.2f ms at each of three servers", f.t.quantile(0.5), f.t.quantile(0.99))
	_ = servers[0].Process.Signal(syscall.SIGKILL) // the host and one app are connected to this server
	_ = servers[0].Wait()
	if err := f.send(n); err != nil {
		return "", err
	}
	if err := f.arrived(2 * n); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprintf("%s; one killed: %d lost or double, %.2f s of silence", text, f.bad.Load(), f.silence.Seconds()), nil
}

// connect connects the host to server at, or to the next one that is available, and sends
// unacknowledged events again.
func (f *flight) connect(at int) error {
	h := &host{id: "host_several", run: "run_several"}
	var err error
	for i := range f.urls {
		f.l.url = f.urls[(at+i)%len(f.urls)]
		if err = f.l.connect(h); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.host != nil {
		h.seq = f.acked
		for _, text := range f.lost {
			if err := h.event(protocol.RunOutput, text); err != nil {
				return err
			}
		}
	}
	f.host = h
	go h.acks(func(last int64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for f.acked < last && len(f.lost) > 0 {
			f.acked, f.lost = f.acked+1, f.lost[1:]
		}
	})
	return nil
}

// send sends n events at the rate. It reconnects when the connection ends.
func (f *flight) send(n int64) error {
	tick := time.NewTicker(time.Second / time.Duration(f.rate))
	defer tick.Stop()
	for range n {
		<-tick.C
		text := fmt.Sprintf(`{"stream":"stdout","text":"%d a line of what an agent writes while it works\n"}`, time.Now().UnixNano())
		f.mu.Lock()
		h := f.host
		f.lost = append(f.lost, text)
		f.mu.Unlock()
		if h.event(protocol.RunOutput, text) != nil {
			if err := f.connect(1); err != nil {
				return err
			}
		}
	}
	return nil
}

// arrived waits until all apps have received all events.
func (f *flight) arrived(n int64) error {
	late := time.After(time.Minute)
	for {
		least := int64(math.MaxInt64)
		for i := range f.seen {
			least = min(least, f.seen[i].Load())
		}
		if least >= n {
			return nil
		}
		select {
		case <-late:
			return fmt.Errorf("an app has %d of %d events after a minute", least, n)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// follow runs app i, which reconnects to the next server when its server exits.
func (f *flight) follow(ctx context.Context, i int) {
	begun := time.Time{}
	for at := i; ctx.Err() == nil; at++ {
		c, err := dial(strings.Replace(f.urls[at%len(f.urls)], "http", "ws", 1) + "/ws/app?follow=none&token=" + f.l.token)
		if err != nil {
			continue
		}
		stop := context.AfterFunc(ctx, func() { _ = c.CloseNow() })
		cursor := protocol.New(protocol.RunSubscribe, time.Now(), map[string]any{"cursor": map[string]int64{"run_several": f.seen[i].Load()}, "rest": "none"})
		if f.seen[i].Load() == 0 {
			cursor = protocol.New(protocol.RunSubscribe, time.Now(), map[string]any{"rest": "start"})
		}
		if c.Write(ctx, websocket.MessageText, cursor.Append(nil)) == nil {
			f.read(ctx, c, i, &begun)
		}
		begun = time.Now() // the silence begins
		stop()
		_ = c.CloseNow()
	}
}

func (f *flight) read(ctx context.Context, c *websocket.Conn, i int, begun *time.Time) {
	for {
		_, frame, err := c.Read(ctx)
		if err != nil {
			return
		}
		e, refused := protocol.Parse(frame)
		if refused != nil || e.RunID != "run_several" || e.Seq == 0 {
			continue
		}
		if e.Seq != f.seen[i].Load()+1 {
			f.bad.Add(1)
		}
		f.seen[i].Store(e.Seq)
		if !begun.IsZero() {
			f.mu.Lock()
			f.silence = max(f.silence, time.Since(*begun))
			f.mu.Unlock()
			*begun = time.Time{}
		}
		if at, ok := sent(frame); ok {
			f.t.add(time.Since(at))
		}
	}
}
