package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
)

// bare measures a transaction that changes one row and adds one, in one round trip.
func (l *lab) bare() (err error) {
	ctx := context.Background()
	if _, err := l.conn.Exec(ctx, `CREATE TABLE bare (id integer PRIMARY KEY, n bigint) WITH (fillfactor = 50); INSERT INTO bare VALUES (1, 0); CREATE TABLE bare_lines (n bigint PRIMARY KEY, line text)`); err != nil {
		return err
	}
	transaction := func() error {
		_, err := l.conn.Exec(ctx, `WITH changed AS (UPDATE bare SET n = n + 1 WHERE id = 1 RETURNING n) INSERT INTO bare_lines SELECT n, repeat('x', 200) FROM changed`)
		return err
	}
	request := func() error {
		response, err := http.Post(l.effects.URL, "text/plain", strings.NewReader("text"))
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			err = errors.Join(err, response.Body.Close())
		}
		return err
	}
	const n = 2000
	if l.repeated, err = median(n, transaction); err != nil {
		return err
	}
	alone, err := median(n, request)
	if err != nil {
		return err
	}
	both, err := median(n, func() error { return errors.Join(transaction(), request()) })
	l.between = both - alone
	return err
}

// duration returns the time for which runs have been executed, in seconds.
func (l *lab) duration(ids []string) (float64, error) {
	if err := l.waitFor(`SELECT count(*) = cardinality($1::text[]) FROM concerto.runs WHERE id = ANY($1) AND ended_at IS NOT NULL`, ids); err != nil {
		return 0, err
	}
	failed, err := l.number(`SELECT count(*)::float8 FROM concerto.runs WHERE id = ANY($1) AND state <> 'finished'`, ids)
	if err == nil && failed > 0 {
		log, _ := os.ReadFile(l.path("log"))
		err = fmt.Errorf("%v runs have failed\n%s", failed, log[max(0, len(log)-2000):])
	}
	if err != nil {
		return 0, err
	}
	return l.number(`SELECT extract(epoch FROM max(ended_at) - min(started_at))::float8 FROM concerto.runs WHERE id = ANY($1)`, ids)
}

// mixed is a program with n rounds of two reads, a retry effect and a once effect.
func mixed(n int) string {
	return fmt.Sprintf(`use std::http;
fn main() {
    for _ in 0..%d {
        std::time::now();
        http::put("URL", "text")?;
        std::env::get("HOME");
        http::post("URL", "text")?;
    }
}`, n)
}

// execute submits runs of a program, starts a worker, and returns the seconds of their execution.
func (l *lab) execute(runs int, program string) (float64, error) {
	ids, err := l.submit(runs, program)
	if err != nil {
		return 0, err
	}
	if _, err := l.start(); err != nil {
		return 0, err
	}
	return l.duration(ids)
}

// effect returns the milliseconds by which each of n effects of a program takes longer than without
// a journal, since the requests themselves are not those of the engine.
func (l *lab) effect(n int, program string) (float64, error) {
	s, err := l.execute(1, program)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if out, err := exec.Command(l.path("concerto"), "run", "-q", l.path("main.conc")).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("run: %w\n%s", err, out)
	}
	return (s*1000 - ms(time.Since(begun))) / float64(n), nil
}

func mix(l *lab) (float64, error) { return l.effect(4000, mixed(1000)) }

func once(l *lab) (float64, error) {
	return l.effect(2000, `use std::http; fn main() { for _ in 0..2000 { http::post("URL", "text")?; } }`)
}

func many(l *lab) (float64, error) {
	s, err := l.execute(100, mixed(50))
	return 100 * 200 / s, err
}

// handOver submits a run that prints, and starts two workers. leave ends the worker that executes
// the run. handOver returns the milliseconds until the other one owns the run.
func (l *lab) handOver(lease string, leave syscall.Signal) (float64, error) {
	ids, err := l.submit(1, `fn main() { println("begun"); loop { std::time::sleep(20); } }`)
	if err != nil {
		return 0, err
	}
	for range 2 {
		if _, err := l.start("--lease", lease); err != nil {
			return 0, err
		}
	}
	if err := l.waitFor(`SELECT output_count > 0 FROM concerto.runs WHERE id = $1`, ids[0]); err != nil {
		return 0, err
	}
	pid, err := l.number(`SELECT pid::float8 FROM concerto.runs WHERE id = $1`, ids[0])
	if err != nil {
		return 0, err
	}
	owner, err := os.FindProcess(int(pid))
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := owner.Signal(leave); err != nil {
		return 0, err
	}
	if err := l.waitFor(`SELECT epoch = 2 FROM concerto.runs WHERE id = $1`, ids[0]); err != nil {
		return 0, err
	}
	took := ms(time.Since(begun))
	return took, l.engine.Run(ids[0]).RequestStop()
}

func takeover(l *lab) (float64, error) {
	const seconds = 2
	took, err := l.handOver(strconv.Itoa(seconds)+"s", syscall.SIGKILL)
	return took - seconds*1000, err
}

func drain(l *lab) (float64, error) { return l.handOver("6s", syscall.SIGTERM) }

// asked submits runs that wait for an answer, and waits until they are parked.
func (l *lab) asked(runs int, before string) (ids []string, err error) {
	ids, err = l.submit(runs, `fn main() { `+before+` let _ = await emit<Int>("ask"); println("answered"); }`)
	if err != nil {
		return nil, err
	}
	if _, err := l.start(); err != nil {
		return nil, err
	}
	return ids, l.waitFor(`SELECT count(*) = cardinality($1::text[]) FROM concerto.runs WHERE id = ANY($1) AND state = 'waiting'`, ids)
}

// answered returns the milliseconds from the answer to the question of a run until its next output.
func (l *lab) answered(run string) (float64, error) {
	var question string
	var lines int
	err := l.conn.QueryRow(context.Background(), `SELECT q.id, r.output_count FROM concerto.questions q JOIN concerto.runs r ON r.id = q.run WHERE r.id = $1`, run).Scan(&question, &lines)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := l.engine.Run(run).PutAnswer(question, journal.Answer{Value: []byte("1"), By: "Ada"}); err != nil {
		return 0, err
	}
	err = l.waitFor(`SELECT output_count > $2 FROM concerto.runs WHERE id = $1`, run, lines)
	return ms(time.Since(begun)), err
}

func answer(l *lab) (float64, error) {
	ids, err := l.asked(1, "")
	if err != nil {
		return 0, err
	}
	return l.answered(ids[0])
}

func parked(l *lab) (float64, error) {
	if _, err := l.asked(1000, ""); err != nil {
		return 0, err
	}
	const commits = `SELECT xact_commit::float8 FROM pg_stat_database WHERE datname = current_database()`
	const seconds = 10
	time.Sleep(2 * time.Second) // the server publishes its counters after a second
	before, err := l.number(commits)
	if err != nil {
		return 0, err
	}
	time.Sleep(seconds * time.Second)
	after, err := l.number(commits)
	return (after - before) / seconds, err
}

func resume(l *lab) (float64, error) {
	ids, err := l.asked(1, "for _ in 0..50000 { std::time::now(); }")
	if err != nil {
		return 0, err
	}
	return l.answered(ids[0])
}

// claim measures claims of one run each, while 100,000 runs wait.
func claim(l *lab) (float64, error) {
	ctx := context.Background()
	ids, err := l.submit(21, `fn main() { println("never executed"); }`)
	if err != nil {
		return 0, err
	}
	if _, err := l.conn.Exec(ctx, `INSERT INTO concerto.runs (id, program, ir, start, state, wake_at)
		SELECT 'w' || i, r.program, r.ir, r.start, 'waiting', clock_timestamp() + interval '1 day' FROM concerto.runs r, generate_series(1, 100000) i WHERE r.id = $1`, ids[0]); err != nil {
		return 0, err
	}
	if _, err := l.conn.Exec(ctx, `ANALYZE concerto.runs`); err != nil {
		return 0, err
	}
	w, err := l.engine.Register(ctx, postgres.WorkerRow{Machine: "m", VMVersion: 1 << 20, Queues: []string{"default"}, Concurrency: 100}, time.Hour)
	if err != nil {
		return 0, err
	}
	return median(21, func() error {
		claimed, err := l.engine.Claim(ctx, w, 1, 5, nil, nil)
		if err == nil && len(claimed) != 1 {
			err = fmt.Errorf("claimed %v", claimed)
		}
		return err
	})
}
