package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// generate returns a group of random size after a position, with output from the line number n on.
func generate(r *rand.Rand, before position, n int64) group {
	g := group{before: before, after: before, outputFrom: n}
	g.after.n++
	for range r.IntN(4) { // none in a group of output alone
		g.after = position{g.after.s + 1, fmt.Sprintf("%032x", r.Uint64()), g.after.n}
		g.lines = append(g.lines, fmt.Sprintf(`{"s":%d,"text":"\u0000"}`, g.after.s))
	}
	for i := range r.IntN(3) {
		g.output = append(g.output, fmt.Sprint("line ", n+int64(i)))
	}
	if r.IntN(5) == 0 {
		g.blobSums, g.blobs = []string{fmt.Sprintf("%064x", r.Uint64())}, [][]byte{{0, 255, byte(r.IntN(256))}}
	}
	return g
}

// join returns one group with the content of successive groups.
func join(groups []group) group {
	g := groups[0]
	for _, next := range groups[1:] {
		g.after, g.progress = next.after, max(g.progress, next.progress)
		g.lines = append(g.lines[:len(g.lines):len(g.lines)], next.lines...)
		g.output = append(g.output[:len(g.output):len(g.output)], next.output...)
		g.blobSums = append(g.blobSums[:len(g.blobSums):len(g.blobSums)], next.blobSums...)
		g.blobs = append(g.blobs[:len(g.blobs):len(g.blobs)], next.blobs...)
		g.consumed = append(g.consumed[:len(g.consumed):len(g.consumed)], next.consumed...)
	}
	return g
}

// owned adds a run and returns a store of its owner.
func (e *Engine) owned(t *testing.T, through *Engine, id string) *store {
	t.Helper()
	e.add(t, id, "")
	claimed, err := e.Claim(t.Context(), e.worker(t, nil), 1, 3, nil, variables)
	if err != nil || len(claimed) != 1 {
		t.Fatal(claimed, err)
	}
	return &store{commits: &commits{pool: through.pool}, run: id, epoch: claimed[0].Epoch, end: position{h: journal.ZeroHash}, synced: position{h: journal.ZeroHash}}
}

// checkStored compares what the database has of a run with what was put.
func (e *Engine) checkStored(t *testing.T, run string, groups []group) {
	t.Helper()
	all := join(append([]group{{before: position{h: journal.ZeroHash}, after: position{h: journal.ZeroHash}}}, groups...))
	for table, want := range map[string][]string{"journal": all.lines, "output": all.output} {
		rows, err := e.pool.Query(t.Context(), `SELECT line FROM concerto.`+table+` WHERE run = $1 ORDER BY `+map[string]string{"journal": "s", "output": "n"}[table], run)
		if err != nil {
			t.Fatal(err)
		}
		got, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s of %s: %d lines, want %d", table, run, len(got), len(want))
		}
	}
	var s, output, blobs int
	var h string
	if err := e.pool.QueryRow(t.Context(), `SELECT s, h, output_count, (SELECT count(*) FROM concerto.blobs WHERE run = $1) FROM concerto.runs WHERE id = $1`, run).Scan(&s, &h, &output, &blobs); err != nil {
		t.Fatal(err)
	}
	if uint64(s) != all.after.s || h != all.after.h || output != len(all.output) || blobs != len(all.blobs) {
		t.Errorf("%s ends at %d %s with %d lines of output and %d blobs, want %v, %d, %d", run, s, h, output, blobs, all.after, len(all.output), len(all.blobs))
	}
}

// preparedWithProxy returns an engine, and a connection to it through a proxy.
func preparedWithProxy(t *testing.T) (e, through *Engine, p *pgtest.Proxy) {
	t.Helper()
	e = prepared(t)
	p = pgtest.StartProxy(t, server(e.Database()))
	return e, connect(t, p.URL), p
}

// testCutConnections stores groups through a proxy that cuts connections at random, before the
// server has received a statement or before the writer has received the response. Each group is
// stored once.
func testCutConnections(t *testing.T) {
	e, through, p := preparedWithProxy(t)
	s := e.owned(t, through, "run")
	r := rand.New(rand.NewPCG(1, 2))
	cutAtRandom(p, r.Uint64(), 12)
	var groups []group
	end, n, failures := position{h: journal.ZeroHash}, int64(1), 0
	for i := range 300 {
		g := generate(r, end, n)
		groups, end, n = append(groups, g), g.after, n+int64(len(g.output))
		level := journal.Written
		if r.IntN(3) == 0 || i == 299 {
			level = journal.Synced
		}
		s.add(g)
		err := s.put(t.Context(), level)
		for ; err != nil; err = s.put(t.Context(), level) {
			if failures++; s.ended != nil || failures > 5000 {
				t.Fatalf("after %d failures: %v", failures, err)
			}
		}
		if level == journal.Synced && len(s.groups) > 0 {
			t.Fatalf("%d groups are retained after a sync", len(s.groups))
		}
	}
	if failures < 20 {
		t.Errorf("%d failures: the proxy has cut too little", failures)
	}
	e.checkStored(t, "run", groups)
}

// testServerCrash takes from the database what a crash of the server can take, groups that were
// only written: they are stored again. If synced groups are missing, the error names their records.
func testServerCrash(t *testing.T) {
	e := prepared(t)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 20 {
		run := fmt.Sprint("run", i)
		s := e.owned(t, e, run)
		var groups []group
		end, n, synced := position{h: journal.ZeroHash}, int64(1), 0
		put := func(level journal.Level) error {
			g := generate(r, end, n)
			groups, end, n = append(groups, g), g.after, n+int64(len(g.output))
			s.add(g)
			return s.put(t.Context(), level)
		}
		for range 1 + r.IntN(5) {
			if err := put(journal.Synced); err != nil {
				t.Fatal(err)
			}
		}
		synced = len(groups)
		for range r.IntN(5) {
			if err := put(journal.Written); err != nil {
				t.Fatal(err)
			}
		}
		keep := r.IntN(len(groups) + 1)
		at := join(append([]group{{after: position{h: journal.ZeroHash}}}, groups[:keep]...))
		e.mustDo(t, `DELETE FROM concerto.journal WHERE run = $1 AND s > $2`, run, int64(at.after.s))
		e.mustDo(t, `DELETE FROM concerto.output WHERE run = $1 AND n > $2`, run, len(at.output))
		e.mustDo(t, `UPDATE concerto.runs SET s = $2, h = $3, groups = $4, output_count = $5 WHERE id = $1`, run, int64(at.after.s), at.after.h, at.after.n, len(at.output))
		err := put(journal.Synced)
		if keep >= synced {
			if err != nil {
				t.Fatalf("%d of %d groups, %d synced: %v", keep, len(groups), synced, err)
			}
			e.checkStored(t, run, groups)
			continue
		}
		want := fmt.Sprintf("run %s: output after record %d is missing from the database; it may have failed over to a replica that lagged", run, at.after.s)
		if last := groups[synced-1].after.s; last > at.after.s {
			want = fmt.Sprintf("run %s: records %d to %d are missing from the database; it may have failed over to a replica that lagged", run, at.after.s+1, last)
		}
		if err == nil || err.Error() != want {
			t.Fatalf("%v, want %s", err, want)
		}
		if again := s.put(t.Context(), journal.Synced); again != err {
			t.Fatalf("the error is not final: %v", again)
		}
	}
}

// testFenced checks that a former owner stores nothing, at any point of its work.
func testFenced(t *testing.T) {
	e := prepared(t)
	r := rand.New(rand.NewPCG(5, 6))
	s := e.owned(t, e, "run")
	first := generate(r, position{h: journal.ZeroHash}, 1)
	s.add(first)
	if err := s.put(t.Context(), journal.Written); err != nil {
		t.Fatal(err)
	}
	e.mustDo(t, `UPDATE concerto.workers SET lease_until = clock_timestamp()`)
	claimed, err := e.Claim(t.Context(), e.worker(t, nil), 1, 3, nil, variables)
	if err != nil || len(claimed) != 1 || claimed[0].Run != "run" || claimed[0].Epoch != 2 || !claimed[0].TakenOver {
		t.Fatal(claimed, err)
	}
	second := generate(r, first.after, 1+int64(len(first.output)))
	s.add(second)
	err = s.put(t.Context(), journal.Written)
	if want := "run run: fenced: another worker owns it (epoch 2, ours was 1)"; err == nil || err.Error() != want {
		t.Fatalf("%v, want %s", err, want)
	}
	if again := s.put(t.Context(), journal.Synced); !errors.Is(again, err) {
		t.Fatalf("the error is not final: %v", again)
	}
	for _, c := range [][2]string{
		{`SELECT result FROM concerto.leave('run', 1, 'finished', NULL, 0)`, "fenced"},
		{`SELECT result FROM concerto.leave('run', 2, 'ready', NULL, NULL)`, "left"},
		{`SELECT result FROM concerto.leave('run', 2, 'ready', NULL, NULL)`, "fenced"},
		{`SELECT state FROM concerto.runs`, "ready"},
	} {
		got := ""
		if err := e.pool.QueryRow(t.Context(), `SELECT x::text FROM (`+c[0]+`) q(x)`).Scan(&got); err != nil || got != c[1] {
			t.Errorf("%s: %s, %v, want %s", c[0], got, err, c[1])
		}
	}
	e.checkStored(t, "run", []group{first})
}

// cutAtRandom makes the proxy cut connections from now on: at one of so many pieces of data.
func cutAtRandom(p *pgtest.Proxy, seed uint64, oneIn int) {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 0))
	p.SetPlan(func(bool, []byte) pgtest.Action {
		mu.Lock()
		defer mu.Unlock()
		if random.IntN(oneIn) == 0 {
			return pgtest.Cut
		}
		return pgtest.Forward
	})
}
