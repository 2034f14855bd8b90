// Package pgserver starts a PostgreSQL server for tests and benchmarks.
package pgserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Server is a running server with its data in a temporary directory.
type Server struct {
	dir, bin string
	options  string
	as       *syscall.SysProcAttr
	env      []string
}

// ErrNotInstalled means that PostgreSQL is not installed.
var ErrNotInstalled = errors.New("PostgreSQL is not installed")

// ErrNoUser means that this process belongs to root, and no other user exists who could run the
// server.
var ErrNoUser = errors.New("PostgreSQL does not run as root, and no other user exists")

// ErrNoClock means that libfaketime is not installed.
var ErrNoClock = errors.New("libfaketime is not installed, so a server cannot have a wrong clock")

// Start starts a server on a Unix socket. settings has the form NAME=VALUE.
func Start(settings ...string) (*Server, error) { return StartWithClock(0, settings...) }

// StartWithClock starts a server whose clock is ahead of the machine's by a duration, which may be
// negative.
func StartWithClock(ahead time.Duration, settings ...string) (*Server, error) {
	bin, err := Programs()
	if err != nil {
		return nil, err
	}
	env, err := clock(ahead)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pg") // a short path, because the length of a socket's path is limited
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, env: env}
	options := fmt.Sprintf("-k %s -c listen_addresses='' -c max_connections=400", dir)
	for _, x := range settings {
		options += " -c " + x
	}
	s.options = options
	if s.as, err = Unprivileged(dir); err == nil {
		err = s.run("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-N", "--locale=C", "-E", "UTF8")
	}
	if err == nil {
		err = s.start()
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// start starts the server and waits until it accepts connections. The error contains the end of
// the server's log.
func (s *Server) start() error {
	log := filepath.Join(s.dir, "log")
	err := s.run("pg_ctl", "-D", s.data(), "-w", "-t", "600", "-l", log, "-o", s.options, "start")
	if err != nil {
		text, _ := os.ReadFile(log)
		err = fmt.Errorf("%w\n%s", err, text[max(0, len(text)-2000):])
	}
	return err
}

// Crash ends all processes of the server at once and starts it again. Transactions that were
// committed without a sync may be lost.
func (s *Server) Crash() error {
	if err := s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "-t", "600", "stop"); err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := s.start()
		if err == nil || attempt == 300 {
			return err
		}
		time.Sleep(200 * time.Millisecond) // processes of the crashed server may still be running
	}
}

// URL returns the URL of a database on the server. The database postgres exists.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s", database, s.dir)
}

// Stop stops the server and removes its data.
func (s *Server) Stop() error {
	return errors.Join(s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "stop"), os.RemoveAll(s.dir))
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) run(name string, args ...string) error {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir, c.SysProcAttr, c.Env = s.dir, s.as, s.env
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// clock returns the environment in which the clock of a server is ahead of the machine's; nil means
// that of this process.
func clock(ahead time.Duration) ([]string, error) {
	if ahead == 0 {
		return nil, nil
	}
	found, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(found) == 0 {
		return nil, ErrNoClock
	}
	return append(os.Environ(), "LD_PRELOAD="+found[0], fmt.Sprintf("FAKETIME=%+d", int64(ahead.Seconds())), "FAKETIME_DONT_FAKE_MONOTONIC=1", "NO_FAKE_STAT=1"), nil
}

// HasClock reports whether StartWithClock can start a server with a wrong clock.
func HasClock() bool {
	_, err := clock(time.Second)
	return err == nil
}

// debian matches the path of initdb in Debian's packages, which do not add it to PATH.
const debian = "/usr/lib/postgresql/*/bin/initdb"

// Programs returns the directory that contains PostgreSQL's programs.
func Programs() (string, error) {
	found, err := filepath.Glob(debian)
	if err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1]), nil
	}
	name, err := exec.LookPath("initdb")
	if err != nil {
		return "", ErrNotInstalled
	}
	name, err = filepath.EvalSymlinks(name)
	return filepath.Dir(name), err
}
