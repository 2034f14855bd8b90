// Package server implements the relay's server: machines send the events of their runs, and apps
// read them and send commands. It speaks the protocol of relay/protocol over WebSockets and HTTP,
// and stores its state with relay/store.
//
// The server commits an event, then acknowledges it to the machine, and then sends it to apps. The
// follower of an app stores a position in each run. The hub notifies followers of new events, and
// each follower reads them from the store at its own pace. A slow reader therefore does not block
// other readers and loses no events.
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

// Config configures a Server. Clock and Log may be nil.
type Config struct {
	Store   *store.Store // the server does not close the store
	Auth    Auth
	Clock   Clock
	Log     *slog.Logger
	Version string
	More    []auth.Route // additional routes
	Bus     Bus          // carries notifications between the servers on one database; may be nil
	Watch   Watcher      // may be nil
	Sealed  bool         // refuse what the server could read: plain events and commands, and protocol 1

	BeforeBatch func() // called before a batch of events is gathered; only internal/sim sets it
}

// Server is a relay server.
type Server struct {
	config   Config
	store    *store.Store
	log      *slog.Logger
	clock    Clock
	writer   *store.Writer
	hub      *hub
	machines *machines
	commands *commands
	calls    *calls
	peers    *peers
	rates    *rates

	enrolments *enrolments

	sockets sockets
	handler http.Handler

	ctx  context.Context // cancelled when the server closes
	end  context.CancelFunc
	work sync.WaitGroup // goroutines in the background
	once sync.Once

	noSweep func() // stops the sweeper
}

// New starts a server. Close stops it.
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
	s.machines = newMachines()
	s.commands = newCommands()
	s.calls = newCalls(s)
	s.rates = newRates(c.Clock)
	s.enrolments = newEnrolments()
	s.sockets.open = map[*socket]struct{}{}
	s.peers = newOthers(s, c.Bus)
	s.writer = c.Store.NewWriter(c.BeforeBatch, s.handleCommit)
	s.handler = s.mux()
	s.peers.start()
	s.noSweep = s.every(sweepInterval, s.sweep)
	return s
}

// ServeHTTP serves a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Shutdown stops accepting connections, commits the received events, and closes all sockets with
// code 1012. It stops waiting when ctx is done.
func (s *Server) Shutdown(ctx context.Context) {
	s.once.Do(func() {
		s.end()
		s.noSweep()
		s.writer.Close()
		s.sockets.closeAll(protocol.CloseRestart, "the server is restarting")
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
		s.peers.deregister(ctx)
	})
}

// Close calls Shutdown with a time limit.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	s.Shutdown(ctx)
}

const (
	shutdownTimeout = 4 * time.Second
	sweepInterval   = 500 * time.Millisecond
)

// every calls do periodically. stop ends the calls and waits for a call in progress.
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

// now returns the time for the store in Unix ms.
func (s *Server) now() int64 { return s.clock.Now().UnixMilli() }
