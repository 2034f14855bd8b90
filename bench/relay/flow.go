package main

import (
	"context"
	"fmt"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// paced measures the delay of events that a host sends to an app at a rate, while other sockets are
// idle.
func paced(rate, idle int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		c, _, err := l.serve()
		if err != nil {
			return "", err
		}
		ours, err := l.pace(rate, idle)
		if err != nil {
			return "", err
		}
		before := memory(c)
		unpaced, err := l.pace(rate, 0)
		if err != nil {
			return "", err
		}
		after := memory(c)
		if _, err := l.echo(); err != nil {
			return "", err
		}
		bare, err := l.pace(rate, idle)
		if err != nil {
			return "", err
		}
		ours.all = append(ours.all, unpaced.all...)
		return fmt.Sprintf("p50 %.2f ms, p99 %.2f ms (bare: %.2f, %.2f: %.1f, %.1f times); memory %.0f, then %.0f MB", ours.quantile(0.5), ours.quantile(0.99),
			bare.quantile(0.5), bare.quantile(0.99), ours.quantile(0.5)/bare.quantile(0.5), ours.quantile(0.99)/bare.quantile(0.99), float64(before)/1e6, float64(after)/1e6), nil
	}
}

var hostNumber atomic.Int64

// pace measures the delay of events to an app that speaks protocol 1, as the bare server does.
func (l *lab) pace(rate, idle int) (*times, error) {
	return l.paceTo(rate, idle, func(*websocket.Conn) error { return nil }, nil)
}

// paceTo measures the delay of events to an app, which greet has introduced. With keys, the host
// seals the events, and the app opens them.
func (l *lab) paceTo(rate, idle int, greet func(app *websocket.Conn) error, keys *sealing) (*times, error) {
	end, err := l.crowd(idle)
	if err != nil {
		return nil, err
	}
	defer end()
	app, err := dial(l.socket() + "/ws/app?token=" + l.token)
	if err != nil {
		return nil, err
	}
	defer app.CloseNow()
	if err := greet(app); err != nil {
		return nil, err
	}
	h, err := l.newHost(int(hostNumber.Add(1)))
	if err != nil {
		return nil, err
	}
	defer h.c.CloseNow()
	h.seals = keys
	go h.acks(func(int64) {})
	if err := h.begin(); err != nil {
		return nil, err
	}
	r := &reader{seals: keys}
	n := int(l.length.Seconds() * float64(rate))
	t := &times{}
	failed := make(chan error, 2)
	go func() {
		for seen := 0; seen < n; {
			_, frame, err := app.Read(context.Background())
			if err != nil {
				failed <- fmt.Errorf("received %d of %d events: %w", seen, n, err)
				return
			}
			if frame, err = r.open(frame); err != nil {
				failed <- err
				return
			}
			if at, ok := sent(frame); ok {
				t.add(time.Since(at))
				seen++
			}
		}
		failed <- nil
	}()
	tick := time.NewTicker(time.Second / time.Duration(rate))
	defer tick.Stop()
	for range n {
		<-tick.C
		if err := h.output(time.Now()); err != nil {
			return nil, err
		}
	}
	select {
	case err = <-failed:
	case <-time.After(time.Minute):
		err = fmt.Errorf("the app had not received all events one minute after the last")
	}
	return t, err
}

// crowd opens n idle sockets of apps.
func (l *lab) crowd(n int) (end func(), err error) {
	ends := make([]func(), n)
	var wg sync.WaitGroup
	var bad atomic.Pointer[error]
	places := make(chan bool, 32)
	for i := range n {
		places <- true
		wg.Go(func() {
			defer func() { <-places }()
			c, err := dial(l.socket() + "/ws/app?follow=none&token=" + l.token)
			if err != nil {
				bad.Store(&err)
				ends[i] = func() {}
				return
			}
			ends[i] = func() { c.CloseNow() }
		})
	}
	wg.Wait()
	end = func() {
		for _, e := range ends {
			e()
		}
	}
	if p := bad.Load(); p != nil {
		end()
		return nil, *p
	}
	return end, nil
}

// idle measures the memory that the server needs for an idle socket.
func idle(n int) func(*lab) (string, error) {
	return func(l *lab) (string, error) {
		each := func(start func() (*exec.Cmd, error)) (float64, error) {
			p, err := start()
			if err != nil {
				return 0, err
			}
			warm, err := l.crowd(100)
			if err != nil {
				return 0, err
			}
			defer warm()
			before := memory(p)
			end, err := l.crowd(n)
			if err != nil {
				return 0, err
			}
			defer end()
			return float64(memory(p)-before) / float64(n) / 1e3, nil
		}
		ours, err := each(func() (*exec.Cmd, error) { c, _, err := l.serve(); return c, err })
		if err != nil {
			return "", err
		}
		bare, err := each(l.echo)
		return fmt.Sprintf("%.1f kB (bare: %.1f: %.2f times)", ours, bare, ours/bare), err
	}
}

// fleet measures the time until an event is acknowledged. n hosts each send events at a rate.
func fleet(n, rate int) func(*lab) (string, error) {
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
		}
		t := &times{}
		each := int(l.length.Seconds()) * rate
		var wg sync.WaitGroup
		var acked atomic.Int64
		begun := time.Now()
		var late atomic.Int64 // time of the last acknowledgement in ns since begun
		for i, h := range hosts {
			var mu sync.Mutex
			var when []time.Time
			wg.Go(func() {
				last := int64(0)
				h.acks(func(upTo int64) {
					mu.Lock()
					defer mu.Unlock()
					now := time.Now()
					for ; last < upTo; last++ {
						t.add(now.Sub(when[last]))
						acked.Add(1)
						late.Store(int64(now.Sub(begun)))
					}
					if last == int64(each) {
						h.c.CloseNow()
					}
				})
			})
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Second / time.Duration(rate) / time.Duration(n)) // distributes the events of the hosts over time
				tick := time.NewTicker(time.Second / time.Duration(rate))
				defer tick.Stop()
				for k := range each {
					<-tick.C
					mu.Lock()
					when = append(when, time.Now())
					mu.Unlock()
					send := func() error { return h.output(time.Now()) }
					if k == 0 {
						send = h.begin
					}
					if send() != nil {
						return
					}
				}
			})
		}
		done := make(chan bool)
		go func() { wg.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(l.length + time.Minute):
			return "", fmt.Errorf("%d of %d events were acknowledged a minute after the last", acked.Load(), n*each)
		}
		return fmt.Sprintf("ack p50 %.1f ms, p99 %.1f ms, the last of %d after %.1f s", t.quantile(0.5), t.quantile(0.99), acked.Load(), time.Duration(late.Load()).Seconds()), nil
	}
}
