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
// database on this server. The server does not wait for the disk, so that tests are fast beside
// other work: its data survives everything but a crash of the system. It skips the test if
// PostgreSQL is not installed.
func Start(t testing.TB) (url func(database string) string) {
	t.Helper()
	bin := programs(t)
	dir, err := os.MkdirTemp("", "pg") // a short path, because the length of a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := unprivileged(t, dir)
	run := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(filepath.Join(bin, name), args...)
		c.Dir, c.SysProcAttr = dir, as
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
	}
	data := filepath.Join(dir, "data")
	run("initdb", "-D", data, "-U", "postgres", "-A", "trust", "-N", "--locale=C", "-E", "UTF8")
	run("pg_ctl", "-D", data, "-w", "-l", filepath.Join(dir, "log"), "-o", fmt.Sprintf("-k %s -c listen_addresses='' -c max_connections=400 -c fsync=off", dir), "start")
	t.Cleanup(func() { run("pg_ctl", "-D", data, "-m", "immediate", "stop") })
	return func(database string) string { return fmt.Sprintf("postgres://postgres@/%s?host=%s", database, dir) }
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
