package main

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/concerto-lang/concerto/relay/store/sqlite" // SQLite's driver
)

// corruptPage overwrites a page in the middle of a file, and returns the new content.
func corruptPage(t *testing.T, file string) (now []byte) {
	t.Helper()
	now, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(now[len(now)/2&^4095:], bytes.Repeat([]byte{0xff}, 4096))
	if err := os.WriteFile(file, now, 0o600); err != nil {
		t.Fatal(err)
	}
	return now
}

// fillDatabase adds megabytes of data to a database file that no server has open.
func fillDatabase(t *testing.T, file string, megabytes int) {
	t.Helper()
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO push SELECT printf('https://push.example/%d', i), 'ann', printf('%.1000c', 'x') FROM n`, 1000*megabytes)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamage damages a database. After a clean stop, serve checks the whole file, refuses the
// damaged one and does not change it. After a kill, serve starts without that check, and stops when
// it finds the damage.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "relay.db")
	refused := func(was []byte) {
		t.Helper()
		c := exec.Command(filepath.Join(links(t), "concerto-relay"), "serve", "--listen", "127.0.0.1:0", "--db", "sqlite:"+file)
		c.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=")
		out, err := c.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(string(out), "--db: ") || !strings.Contains(string(out), "the database is damaged: ") || !strings.Contains(string(out), "the file was not changed") {
			t.Errorf("serve with a damaged database: error = %v, want exit code 2; output = %s", err, out)
		}
		if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, was) {
			t.Errorf("serve changed the damaged database (error = %v)", err)
		}
	}
	start(t, dir, nil).stop()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused(corruptPage(t, file))

	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	fillDatabase(t, file, 6)
	start(t, dir, nil).stop()
	d := start(t, dir, nil)
	run(t, dir, "correct horse battery\n", "user", "add", "bob", "--role", "owner", "--db", "sqlite:"+file)
	if err := d.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.cmd.Wait() // the error only states that the process was killed
	corruptPage(t, file)
	d = start(t, dir, nil)
	err = d.cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || !strings.Contains(d.output(), "--db: ") || !strings.Contains(d.output(), "the database is damaged: ") {
		t.Errorf("serve after it found the damage: error = %v, want exit code 2; output = %s", err, d.output())
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	refused(was)
}
