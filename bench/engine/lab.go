package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/internal/testkit/pgserver"
)

// lab is a server with an engine, the command, and a server for the effects of programs.
type lab struct {
	dir, url string
	server   *pgserver.Server
	effects  *httptest.Server
	conn     *pgx.Conn
	engine   *postgres.Engine
	workers  []*exec.Cmd
	runs     int

	repeated, between float64 // milliseconds of a bare transaction: repeated, and between two requests
}

// newLab builds the command and starts the servers. PostgreSQL syncs its data to the disk.
func newLab() (l *lab, err error) {
	l = &lab{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.dir, err = os.MkdirTemp("", "engine-bench"); err != nil {
		return l, err
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", l.path("concerto"), "./cmd/concerto")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return l, fmt.Errorf("build: %w\n%s", err, out)
	}
	if l.server, err = pgserver.Start("fsync=on", "synchronous_commit=on"); err != nil {
		return l, err
	}
	l.url = l.server.URL("postgres")
	l.effects = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	ctx := context.Background()
	if l.conn, err = pgx.Connect(ctx, l.url); err != nil {
		return l, err
	}
	if l.engine, err = postgres.Connect(ctx, l.url, 0); err != nil {
		return l, err
	}
	_, err = l.engine.Init(ctx, false)
	return l, err
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// close stops what the lab has started.
func (l *lab) close() error {
	l.stopWorkers(syscall.SIGKILL)
	var all []error
	if l.engine != nil {
		l.engine.Close()
	}
	if l.conn != nil {
		all = append(all, l.conn.Close(context.Background()))
	}
	if l.effects != nil {
		l.effects.Close()
	}
	if l.server != nil {
		all = append(all, l.server.Stop())
	}
	return errors.Join(append(all, os.RemoveAll(l.dir))...)
}

// start starts a worker and waits until it accepts runs.
func (l *lab) start(args ...string) (*exec.Cmd, error) {
	ready := l.path("ready")
	if err := os.RemoveAll(ready); err != nil {
		return nil, err
	}
	c := exec.Command(l.path("concerto"), append([]string{"worker", "--engine", l.url, "--state", l.path("state"), "--dir", l.dir, "--ready-file", ready}, args...)...)
	log, err := os.OpenFile(l.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.Stderr = log
	if err := c.Start(); err != nil {
		return nil, err
	}
	l.workers = append(l.workers, c)
	return c, wait(func() (bool, error) {
		_, err := os.Stat(ready)
		return err == nil, nil
	})
}

// stopWorkers sends a signal to all workers and waits until they have exited.
func (l *lab) stopWorkers(signal os.Signal) {
	for _, c := range l.workers {
		_ = c.Process.Signal(signal)
	}
	for _, c := range l.workers {
		_ = c.Wait()
	}
	l.workers = nil
}

// submit stores n runs of a program and returns their ids. It creates a file for the program, in
// which URL is the address of the server for effects.
func (l *lab) submit(n int, program string) (ids []string, err error) {
	program = strings.ReplaceAll(program, "URL", l.effects.URL)
	file := l.path("main.conc")
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		return nil, err
	}
	var lines strings.Builder
	for range n {
		l.runs++
		ids = append(ids, fmt.Sprint("r", l.runs))
		fmt.Fprintf(&lines, "{\"id\":%q}\n", ids[len(ids)-1])
	}
	batch := l.path("batch")
	if err := os.WriteFile(batch, []byte(lines.String()), 0o600); err != nil {
		return nil, err
	}
	out, err := exec.Command(l.path("concerto"), "submit", "--engine", l.url, "--batch", batch, file).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("submit: %w\n%s", err, out)
	}
	return ids, nil
}

// waitFor waits until a query returns true.
func (l *lab) waitFor(sql string, args ...any) error {
	err := wait(func() (ok bool, err error) {
		err = l.conn.QueryRow(context.Background(), sql, args...).Scan(&ok)
		return ok, err
	})
	if err != nil {
		log, _ := os.ReadFile(l.path("log"))
		return fmt.Errorf("%s: %w\n%s", sql, err, log[max(0, len(log)-2000):])
	}
	return nil
}

// wait calls done until it returns true, every millisecond for at most two minutes.
func wait(done func() (bool, error)) error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		if time.Since(begun) > 2*time.Minute {
			return errors.New("the result did not come within two minutes")
		}
	}
}

// number returns the only result of a query.
func (l *lab) number(sql string, args ...any) (n float64, err error) {
	err = l.conn.QueryRow(context.Background(), sql, args...).Scan(&n)
	return n, err
}

// median returns the median of a measurement in milliseconds.
func median(n int, measure func() error) (float64, error) {
	var all []time.Duration
	for range n {
		begun := time.Now()
		if err := measure(); err != nil {
			return 0, err
		}
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	return ms(all[len(all)/2]), nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
