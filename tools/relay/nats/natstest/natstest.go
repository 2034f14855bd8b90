// Package natstest runs a NATS server for tests.
package natstest

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server, which runs in this process unless RELAY_NATS names an external one.
type Server struct {
	URL  string
	t    testing.TB
	port int
	has  *server.Server
}

// Start starts a server in this process. If RELAY_NATS contains the URL of a server, it returns
// that one instead.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, URL: os.Getenv("RELAY_NATS"), port: server.RANDOM_PORT}
	if s.URL == "" {
		s.Restart()
		t.Cleanup(s.Stop)
	}
	return s
}

// Stop stops the server if it runs in this process.
func (s *Server) Stop() {
	if s.has != nil {
		s.has.Shutdown()
		s.has.WaitForShutdown()
		s.has = nil
	}
}

// Restart starts the server again at the same address.
func (s *Server) Restart() {
	s.t.Helper()
	n, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: s.port, NoSigs: true, NoLog: true})
	if err != nil {
		s.t.Fatal(err)
	}
	go n.Start()
	if !n.ReadyForConnections(30 * time.Second) {
		s.t.Fatal("timeout: NATS does not accept connections")
	}
	s.has, s.URL = n, n.ClientURL()
	if at := n.Addr(); at != nil && s.port == server.RANDOM_PORT {
		s.port = portOf(at)
	}
}

// InProcess reports whether the server runs in this process, so that Stop can stop it.
func (s *Server) InProcess() bool { return s.has != nil }

func portOf(at net.Addr) int { return at.(*net.TCPAddr).Port }
