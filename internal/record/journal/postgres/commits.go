package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/concerto-lang/concerto/internal/record/journal"
)

const (
	// maxTransactions is the number of transactions in which a session stores groups at once. While
	// one waits for the disk, another one can be executed.
	maxTransactions = 2
	// maxGroups is the maximum number of groups in a transaction.
	maxGroups = 64
)

// commits stores groups of different runs. Groups that arrive while transactions are in progress
// share the next one, because a transaction costs the server more than a group. It is safe for
// concurrent use.
type commits struct {
	pool *pgxpool.Pool

	mu      sync.Mutex
	active  int // number of transactions in progress
	waiting []*commit
}

// commit is a call of concerto.flush.
type commit struct {
	level journal.Level
	args  []any // after the level

	turn chan bool // receives true if the waiting goroutine must execute the next transaction, and false if another one has stored its group

	// The columns of the result. The epoch is nil if the run does not exist.
	stored      *bool
	s, n, epoch *int64
	h, owner    *string
	err         error // of the connection, or of the statement
}

// do stores a group. The context must end at the same time for all groups.
func (c *commits) do(ctx context.Context, x *commit) {
	c.mu.Lock()
	if c.active < maxTransactions {
		c.active++
	} else {
		x.turn = make(chan bool, 1)
		c.waiting = append(c.waiting, x)
		c.mu.Unlock()
		if !<-x.turn {
			return
		}
		c.mu.Lock()
	}
	n := min(len(c.waiting), maxGroups-1)
	all := append([]*commit{x}, c.waiting[:n]...)
	c.waiting = slices.Delete(c.waiting, 0, n)
	c.mu.Unlock()

	c.send(ctx, all)

	for _, other := range all {
		if other != x {
			other.turn <- false
		}
	}
	c.end()
}

// end ends a transaction. If groups wait, one of the waiting goroutines executes the next one.
func (c *commits) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.waiting) == 0 {
		c.active--
		return
	}
	next := c.waiting[0]
	c.waiting = slices.Delete(c.waiting, 0, 1)
	next.turn <- true
}

// send stores groups in one transaction. If the database refuses one of them, each one gets its own
// transaction.
func (c *commits) send(ctx context.Context, all []*commit) {
	err := c.sendTogether(ctx, all)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused && len(all) > 1 {
		for _, x := range all {
			x.err = c.sendTogether(ctx, []*commit{x})
		}
		return
	}
	for _, x := range all {
		x.err = err
	}
}

func (c *commits) sendTogether(ctx context.Context, all []*commit) error {
	// The last statement decides whether the transaction is synced.
	slices.SortStableFunc(all, func(a, b *commit) int { return int(a.level) - int(b.level) })
	var batch pgx.Batch
	for _, x := range all {
		level := "written"
		if x.level == journal.Synced {
			level = "synced"
		}
		batch.Queue(`SELECT * FROM concerto.flush($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)`, slices.Concat([]any{level}, x.args)...).
			QueryRow(func(row pgx.Row) error { return row.Scan(&x.stored, &x.s, &x.h, &x.n, &x.epoch, &x.owner) })
	}
	return c.pool.SendBatch(ctx, &batch).Close() // an error of the commit is that of the last statement
}
