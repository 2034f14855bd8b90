package pgtest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/pgserver"
)

// Bouncer starts PgBouncer in transaction mode in front of the database with this URL, and returns
// the URL through it. The result is "" if PgBouncer is not installed.
func Bouncer(t testing.TB, url string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program = "/usr/sbin/pgbouncer"; !isFile(program) {
			return ""
		}
	}
	base, socket, _ := strings.Cut(url, "?host=")
	database := base[strings.LastIndex(base, "/")+1:]
	dir, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf("[databases]\n%s = host=%s user=postgres\n[pgbouncer]\npool_mode = transaction\nauth_type = any\nunix_socket_dir = %s\nlisten_port = 5432\nlogfile = %s/log\npidfile = %s/pid\nmax_client_conn = 400\nserver_login_retry = 1\n",
		database, socket, dir, dir, dir)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-q", config)
	if c.SysProcAttr, err = pgserver.Unprivileged(dir); errors.Is(err, pgserver.ErrNoUser) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- c.Wait() }()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-exited
	})
	for {
		conn, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.5432"))
		if err == nil {
			conn.Close()
			return base + "?host=" + dir
		}
		select {
		case err := <-exited:
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			exited <- err
			t.Fatalf("pgbouncer: %v\n%s", err, log)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
