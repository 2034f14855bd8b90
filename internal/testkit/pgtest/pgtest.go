// Package pgtest starts a PostgreSQL server for tests.
package pgtest

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/pgserver"
)

// Start starts a PostgreSQL server for the test. It returns a function that returns the URL of a
// database on this server; see StartServer.
func Start(t testing.TB) (url func(database string) string) {
	t.Helper()
	return StartServer(t).URL
}

// StartServer starts a PostgreSQL server for the test. The server does not wait for the disk, so
// that tests are fast beside other work: its data survives everything but a crash of the system. It
// skips the test if PostgreSQL is not installed.
func StartServer(t testing.TB) *pgserver.Server {
	t.Helper()
	return StartServerWithClock(t, 0)
}

// StartServerWithClock is StartServer for a server whose clock is ahead of the machine's by a
// duration. If it is not 0, the test is also skipped without libfaketime.
func StartServerWithClock(t testing.TB, ahead time.Duration) *pgserver.Server {
	t.Helper()
	programs(t)
	server, err := pgserver.StartWithClock(ahead, "fsync=off")
	if errors.Is(err, pgserver.ErrNoUser) || errors.Is(err, pgserver.ErrNoClock) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// IsInstalled reports whether PostgreSQL is installed.
func IsInstalled() bool {
	_, err := pgserver.Programs()
	return err == nil
}

// programs returns the directory that contains PostgreSQL's programs.
func programs(t testing.TB) string {
	t.Helper()
	dir, err := pgserver.Programs()
	if err != nil {
		t.Skipf("%v: tests that require it are skipped (Debian: apt-get install postgresql)", err)
	}
	return dir
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
