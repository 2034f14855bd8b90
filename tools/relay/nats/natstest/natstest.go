// Package natstest runs a NATS server for tests (its API promises nothing).
package natstest

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server in this process, or an external one.
type Server struct {
	URL  string
	t    testing.TB
	port int
	has  *server.Server
}

// Start starts a server, unless RELAY_NATS names one.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, URL: os.Getenv("RELAY_NATS"), port: server.RANDOM_PORT}
	if s.URL == "" {
		s.Restart()
		t.Cleanup(s.Stop)
	}
	return s
}

// Stop stops the server if it is in this process.
func (s *Server) Stop() {
	if s.has != nil {
		s.has.Shutdown()
		s.has.WaitForShutdown()
		s.has = nil
	}
}

// Restart starts the server at its address after Stop.
func (s *Server) Restart() {
	s.t.Helper()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: s.port, NoSigs: true, NoLog: true})
	if err != nil {
		s.t.Fatal(err)
	}
	go n.Start()
	if !n.ReadyForConnections(30 * time.Second) {
		s.t.Fatal("NATS does not begin")
	}
	s.has, s.URL = n, n.ClientURL()
	if at := n.Addr(); at != nil && s.port == server.RANDOM_PORT {
		s.port = portOf(at)
	}
}

// InProcess reports whether the server can be stopped.
func (s *Server) InProcess() bool { return s.has != nil }

func portOf(at net.Addr) int { return at.(*net.TCPAddr).Port }
