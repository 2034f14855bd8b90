// Package server is the relay's server: hosts send it what their runs do, and apps see it and
// say what is to be done (its API promises nothing). It speaks the protocol of
// relay/protocol, over WebSockets, and HTTP, and keeps in relay/store what must not be lost.
//
// The order of work: an event is committed, then acknowledged to its host, then shown to
// apps. Truth is the store. Whoever follows runs holds positions, hears that there is more
// (hub), and reads forward at its own pace (follower): nobody waits for who is slow, and
// nothing is skipped.
package server

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/store"
)

// Config is what a server is made of. Clock and Log may be left out.
type Config struct {
	Store   *store.Store // the server does not close it
	Auth    Auth
	Clock   Clock
	Log     *slog.Logger
	Version string
	More    []auth.Route // that others serve
	Bus     Bus          // between servers on one database; nil for none
	Watch   Watcher      // nil for nobody
}

// Server is a relay's server.
type Server struct {
	config   Config
	store    *store.Store
	log      *slog.Logger
	clock    Clock
	writer   *store.Writer
	hub      *hub
	hosts    *hosts
	commands *commands
	calls    *calls
	others   *others
	rates    *rates
	sockets  sockets
	handler  http.Handler

	ctx  context.Context // ends with the server
	end  context.CancelFunc
	work sync.WaitGroup // what goes on in the background
	once sync.Once

	noSweep func() // ends what is done by time
}

// New begins to serve. Close ends it.
func New(c Config) *Server {
	if c.Clock == nil {
		c.Clock = SystemClock()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{config: c, store: c.Store, log: c.Log, clock: c.Clock}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.hub = newHub(c.Store.Shared())
	s.hosts = newHosts()
	s.commands = newCommands()
	s.calls = newCalls(s)
	s.rates = newRates(c.Clock)
	s.sockets.open = map[*socket]struct{}{}
	s.others = newOthers(s, c.Bus)
	s.writer = c.Store.NewWriter(s.committed)
	s.handler = s.mux()
	s.others.start()
	s.noSweep = s.every(sweepEach, s.sweep)
	return s
}

// ServeHTTP serves a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Shutdown takes nothing more, commits what has come, and closes all sockets with 1012. When the
// context ends, it waits for nobody any more.
func (s *Server) Shutdown(ctx context.Context) {
	s.once.Do(func() {
		s.end()
		s.noSweep()
		s.writer.Close()
		s.sockets.closeAll(protocol.CloseRestart, "the server restarts")
		done := make(chan struct{})
		go func() {
			s.sockets.wait.Wait()
			s.work.Wait()
			close(done)
		}()
		select {
		case <-done:
		case <-ctx.Done():
			s.sockets.cutAll()
			<-done
		}
		s.others.leave(ctx)
	})
}

// Close is Shutdown within the time that a service has to end.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownWithin)
	defer cancel()
	s.Shutdown(ctx)
}

const (
	shutdownWithin = 4 * time.Second
	sweepEach      = 500 * time.Millisecond
)

// every does something again and again. stop ends that, and waits for what is being done.
func (s *Server) every(d time.Duration, do func()) (stop func()) {
	var mu sync.Mutex
	var ended bool
	var unset func() bool
	var arm func()
	arm = func() {
		unset = s.clock.After(d, func() {
			mu.Lock()
			defer mu.Unlock()
			if !ended {
				do()
				arm()
			}
		})
	}
	mu.Lock()
	arm()
	mu.Unlock()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		ended = true
		unset()
	}
}

// now is the time for what is stored, in Unix ms.
func (s *Server) now() int64 { return s.clock.Now().UnixMilli() }
