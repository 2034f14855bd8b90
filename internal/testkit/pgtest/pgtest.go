// Package pgtest starts a PostgreSQL server for tests. The compatibility promise does not cover
// this API.
package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Start starts a PostgreSQL server for the test. It returns a function that returns the URL of a
// database on this server; see StartServer.
func Start(t testing.TB) (url func(database string) string) {
	t.Helper()
	return StartServer(t).URL
}

// Server is a PostgreSQL server of a test.
type Server struct {
	t    testing.TB
	bin  string // directory of PostgreSQL's programs
	dir  string
	user *syscall.SysProcAttr // nil: this process's user
}

// StartServer starts a PostgreSQL server for the test. The server does not wait for the disk, so
// that tests are fast beside other work: its data survives everything but a crash of the system. It
// skips the test if PostgreSQL is not installed.
func StartServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: programs(t)}
	var err error
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil { // a short path, because the length of a socket's path is limited
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	s.user = unprivileged(t, s.dir)
	s.run("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-N", "--locale=C", "-E", "UTF8")
	s.start()
	t.Cleanup(func() { s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "stop") })
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// run executes one of PostgreSQL's programs.
func (s *Server) run(name string, args ...string) {
	s.t.Helper()
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir, c.SysProcAttr = s.dir, s.user
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func (s *Server) start() {
	s.t.Helper()
	s.run("pg_ctl", "-D", s.data(), "-w", "-t", "600", "-l", filepath.Join(s.dir, "log"), "-o", fmt.Sprintf("-k %s -c listen_addresses='' -c max_connections=400 -c fsync=off", s.dir), "start")
}

// URL returns the URL of a database on the server.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://postgres@/%s?host=%s", database, s.dir)
}

// Crash ends all processes of the server at once and starts it again. Transactions that were
// committed without a sync may be lost.
func (s *Server) Crash() {
	s.t.Helper()
	s.run("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "-t", "600", "stop")
	s.start()
}

// IsInstalled reports whether PostgreSQL is installed.
func IsInstalled() bool {
	found, err := filepath.Glob(debian)
	if err == nil && len(found) > 0 {
		return true
	}
	_, err = exec.LookPath("initdb")
	return err == nil
}

// debian matches the path of initdb in Debian's packages, which do not add it to PATH.
const debian = "/usr/lib/postgresql/*/bin/initdb"

// programs returns the directory that contains PostgreSQL's programs.
func programs(t testing.TB) string {
	t.Helper()
	found, err := filepath.Glob(debian)
	if err == nil && len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	name, err := exec.LookPath("initdb")
	if err != nil {
		t.Skip("PostgreSQL is not installed: tests that require it are skipped (Debian: apt-get install postgresql)")
	}
	if name, err = filepath.EvalSymlinks(name); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(name)
}

// unprivileged returns attributes to run a program as another user. It is needed because PostgreSQL
// refuses to run as root.
func unprivileged(t testing.TB, dir string) *syscall.SysProcAttr {
	t.Helper()
	if os.Getuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errUID := strconv.Atoi(u.Uid)
		gid, errGID := strconv.Atoi(u.Gid)
		if errUID != nil || errGID != nil {
			continue
		}
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	t.Skip("PostgreSQL does not run as root, and no other user exists")
	return nil
}

// Make creates a database on a server and returns its URL.
func Make(t testing.TB, server func(database string) string, name string) (url string) {
	t.Helper()
	command(t, server, "CREATE DATABASE "+name)
	return server(name)
}

// Drop closes all connections to a database and deletes it.
func Drop(t testing.TB, server func(database string) string, name string) {
	t.Helper()
	command(t, server, "DROP DATABASE "+name+" WITH (FORCE)")
}

func command(t testing.TB, server func(database string) string, sql string) {
	t.Helper()
	c := exec.Command(filepath.Join(programs(t), "psql"), "-q", "-d", server("postgres"), "-c", sql)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", sql, err, out)
	}
}

// Do executes SQL in a database, and returns the rows of the last statement without a header.
func Do(t testing.TB, url, sql string) (rows string) {
	t.Helper()
	c := exec.Command(filepath.Join(programs(t), "psql"), "-q", "-At", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", sql, err, out)
	}
	return string(out)
}
