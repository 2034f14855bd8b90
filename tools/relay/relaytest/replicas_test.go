//go:build linux

package relaytest

import (
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/tools/relay/nats/natstest"
)

// replicas are servers on one database with a load balancer.
type replicas struct {
	s        *system
	db, nats string // URLs of the database and of NATS; nats is "" without NATS
	all      []*exec.Cmd
	balancer *balancer
}

// startReplicas starts n servers.
func startReplicas(s *system, n int, db, nats string) {
	s.t.Helper()
	r := &replicas{s: s, db: db, nats: nats, all: make([]*exec.Cmd, n), balancer: balance(s.t, n)}
	s.replicas = r
	for i := range r.all {
		r.start(i)
	}
	s.machine.SetTarget(r.balancer.addr())
	s.apps.SetTarget(r.balancer.addr())
}

// start starts a server; the first one creates the owner.
func (r *replicas) start(i int) {
	r.s.t.Helper()
	args := []string{"serve", "--listen", "127.0.0.1:0", "--db", r.db, "--tofu", "loopback"}
	if r.nats != "" {
		args = append(args, "--nats", r.nats)
	}
	if i == 0 && r.all[0] == nil {
		args = append(args, "--admin", "ann", "--admin-password-file", r.s.path("password"))
	}
	var url string
	r.all[i], url = r.s.start(args...)
	r.balancer.set(i, strings.TrimPrefix(url, "http://"))
}

// balancer forwards each connection to the next running server.
type balancer struct {
	l       net.Listener
	mu      sync.Mutex
	targets []string
	next    int
	open    map[net.Conn]bool
	wg      sync.WaitGroup
}

func balance(t *testing.T, n int) *balancer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &balancer{l: l, targets: make([]string, n), open: map[net.Conn]bool{}}
	b.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			b.wg.Go(func() { b.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		b.mu.Lock()
		for c := range b.open {
			_ = c.Close()
		}
		b.mu.Unlock()
		b.wg.Wait()
	})
	return b
}

func (b *balancer) addr() string { return b.l.Addr().String() }

func (b *balancer) set(i int, target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets[i] = target
}

// serve forwards a connection until either side closes it.
func (b *balancer) serve(c net.Conn) {
	defer c.Close()
	b.mu.Lock()
	b.open[c] = true
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.open, c)
	}()
	b.next++
	targets := append(append([]string{}, b.targets[b.next%len(b.targets):]...), b.targets[:b.next%len(b.targets)]...)
	b.mu.Unlock()
	for _, target := range targets {
		to, err := net.Dial("tcp", target)
		if err != nil {
			continue
		}
		defer to.Close()
		var back sync.WaitGroup
		back.Go(func() {
			_, _ = io.Copy(c, to) // ends when either side closes
			_ = c.Close()
			_ = to.Close()
		})
		_, _ = io.Copy(to, c)
		_ = c.Close()
		_ = to.Close()
		back.Wait()
		return
	}
}

// TestReplicas runs three servers on one database with a machine and apps, and kills any of the
// servers at any time. Each app must receive every event of the run's log once and in order. Each
// input must reach the run once or not at all, as its state reports. The test runs with NATS,
// without NATS, and with a NATS that fails.
func TestReplicas(t *testing.T) {
	t.Parallel()
	pg := pgtest.Start(t)
	play := func(name string, nats *natstest.Server) {
		t.Run(name, func(t *testing.T) {
			killReplicas(t, pgtest.Make(t, pg, name), nats, rand.New(rand.NewPCG(1, 0)))
		})
	}
	play("told", natstest.Start(t))
	play("looking", nil)
}

func killReplicas(t *testing.T, db string, nats *natstest.Server, chance *rand.Rand) {
	s := newSystem(t, func(s *system) {
		url := ""
		if nats != nil {
			url = nats.URL
		}
		startReplicas(s, 3, db, url)
	})
	w, other := newWork(s), startApp(t, s.apps.URL(), login(t, s.apps.URL(), "ann", "correct horse battery"))
	a := w.a
	longest := time.Duration(0)
	n := rounds(t, 3)
	for round := range n {
		w.input()
		a.grows(w.run, chance.IntN(40))
		if nats != nil && nats.InProcess() && round == n/2 {
			nats.Stop()
			w.input()
			a.grows(w.run, 20)
		}
		i := chance.IntN(3)
		w.input()
		kill(s.replicas.all[i])
		begun := time.Now()
		w.input()
		a.grows(w.run, 1)
		longest = max(longest, time.Since(begun))
		if nats != nil && !nats.InProcess() && os.Getenv("RELAY_NATS") == "" {
			nats.Restart()
		}
		s.replicas.start(i)
		other.grows(w.run, 5)
	}
	w.finish()
	w.check()
	other.await("the end of "+w.run, func() bool {
		e := other.events[w.run]
		return len(e) > 0 && e[len(e)-1].Type == protocol.RunExited
	})
	(&work{s: s, a: other}).checkOutput(w.run)
	for _, wrong := range other.wrong {
		t.Error(wrong)
	}
	t.Logf("%d inputs: %v; the longest silence was %v", w.n, w.states, longest.Round(time.Millisecond))
}
