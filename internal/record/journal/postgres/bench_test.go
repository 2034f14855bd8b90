package postgres

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// BenchmarkFlush stores groups of one record, against a bare transaction of one row of the same
// size.
func BenchmarkFlush(b *testing.B) {
	url := pgtest.Make(b, pgtest.Start(b), "bench")
	e, err := Connect(b.Context(), url, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(e.Close)
	if _, err := e.Init(b.Context(), false); err != nil {
		b.Fatal(err)
	}
	exec := func(sql string, args ...any) {
		if _, err := e.pool.Exec(b.Context(), sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	exec(`INSERT INTO concerto.programs VALUES (repeat('0', 64), 'ir')`)
	exec(`CREATE TABLE bare (n bigint PRIMARY KEY, line text)`)
	exec(`INSERT INTO concerto.workers VALUES ('w', 'm2', 'b', 1, '1', 1, '{default}', 1, '{}', clock_timestamp() + interval '1 h')`)
	exec(`INSERT INTO concerto.runs (id, program, ir, start) VALUES ('run', 'main.conc', repeat('0', 64), '{}')`)
	claimed, err := e.Claim(b.Context(), "w", 1, 3, nil, nil)
	if err != nil || len(claimed) != 1 {
		b.Fatal(claimed, err)
	}
	line := fmt.Sprintf("%0200d", 1)
	s := &store{commits: &commits{pool: e.pool}, run: "run", epoch: claimed[0].Epoch, end: position{h: journal.ZeroHash}}
	b.Run("group", func(b *testing.B) {
		r := rand.New(rand.NewPCG(1, 1))
		for b.Loop() {
			s.add(group{before: s.end, after: position{s.end.s + 1, fmt.Sprintf("%032x", r.Uint64()), s.end.n + 1}, lines: []string{line}, outputFrom: 1})
			if err := s.put(b.Context(), journal.Written); err != nil {
				b.Fatal(err)
			}
			if len(s.groups) > 100 {
				s.groups, s.stored = nil, 0
			}
		}
	})
	n := int64(0)
	b.Run("bare", func(b *testing.B) {
		exec(`TRUNCATE bare`)
		for b.Loop() {
			n++
			exec(`WITH x AS (SELECT set_config('synchronous_commit', 'off', true)) INSERT INTO bare SELECT $1, $2 FROM x`, n, line)
		}
	})
}
