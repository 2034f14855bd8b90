package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// machineColumns returns the columns that scanMachine reads.
func (s *Store) machineColumns() string {
	return `id, name, token_hash, pubkey, epoch, gen, last_seen_at, replica, instance, proto, account, CASE WHEN ` + s.isLive(`hosts.replica`) + ` THEN 1 ELSE 0 END`
}

func scanMachine(from row) (*Machine, error) {
	var h Machine
	var alive int64
	err := from.Scan(&h.ID, &h.Name, &h.TokenHash, &h.PublicKey, &h.Epoch, &h.Gen, &h.LastSeenAt, &h.Replica, &h.Instance, &h.Proto, &h.Account, &alive)
	h.Alive = alive != 0
	return &h, err
}

// Machine returns a machine, or ErrUnknown.
func (s *Store) Machine(ctx context.Context, id string) (*Machine, error) {
	h, err := scanMachine(s.reader().QueryRowContext(ctx, `SELECT `+s.machineColumns()+` FROM hosts WHERE id = $1 AND removed = 0`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("machine %s: %w", id, ErrUnknown)
	}
	return h, s.wrapError("read a machine", err)
}

// Machines returns all machines, ordered by id.
func (s *Store) Machines(ctx context.Context) (out []*Machine, err error) {
	err = s.each(ctx, `SELECT `+s.machineColumns()+` FROM hosts WHERE removed = 0 ORDER BY id`, nil, func(r row) error {
		h, err := scanMachine(r)
		out = append(out, h)
		return err
	})
	return out, err
}

// AddMachine creates a machine if no machine has its id, or if that machine was removed. Otherwise
// it returns the existing machine. The audit records are written only with a new machine.
func (s *Store) AddMachine(ctx context.Context, h Machine, made ...audit.Record) (was *Machine, err error) {
	err = s.change(ctx, func(tx database) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO hosts (id, name, token_hash, pubkey, epoch, gen, replica, last_seen_at) VALUES ($1, $2, $3, $4, 0, 0, '', $5)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, token_hash = excluded.token_hash, pubkey = excluded.pubkey, epoch = 0, removed = 0 WHERE hosts.removed <> 0`,
			h.ID, h.Name, h.TokenHash, h.PublicKey, h.LastSeenAt)
		if err != nil {
			return s.wrapError("create a machine", err)
		}
		was, err = scanMachine(tx.QueryRowContext(ctx, `SELECT `+s.machineColumns()+` FROM hosts WHERE id = $1`, h.ID))
		if err != nil {
			return s.wrapError("read a machine", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return s.wrapError("create a machine", err)
		}
		return s.record(ctx, tx, h.LastSeenAt, made)
	})
	return was, err
}

// NameMachine sets the name of a machine. If first is set, it does so only if the machine has no
// name except its id.
func (s *Store) NameMachine(ctx context.Context, id, name string, first bool, at int64, records ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		const change = `UPDATE hosts SET name = $2 WHERE id = $1 AND removed = 0`
		if first {
			_, err := tx.ExecContext(ctx, change+` AND name = id`, id, name)
			return s.wrapError("rename a machine", err)
		}
		done, err := tx.ExecContext(ctx, change, id, name)
		if err := s.requireChange(done, err, "rename a machine", "machine "+id); err != nil {
			return err
		}
		return s.record(ctx, tx, at, records)
	})
}

// RemoveMachine removes a machine. A machine that later connects with the same id counts as new.
// The runs of the removed machine remain. Its generation increases, so that an open connection can
// no longer store events. The server of that connection receives mail.
func (s *Store) RemoveMachine(ctx context.Context, id string, at int64, records ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		if err := s.mailHolder(ctx, tx, id); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `UPDATE hosts SET token_hash = '', pubkey = '', account = '', removed = 1, gen = gen + 1, replica = '' WHERE id = $1 AND removed = 0`, id)
		if err := s.requireChange(done, err, "remove a machine", "machine "+id); err != nil {
			return err
		}
		return s.record(ctx, tx, at, records)
	})
}

// Takeover describes a connection that takes over a machine.
type Takeover struct {
	Machine  string
	Epoch    int64  // 0 if the machine sent none
	Instance string // identifies the machine's process; "" if the machine sent none
	Proto    int64
	Replica  string // id of the server that the machine is connected to
	At       int64  // in Unix ms
}

// TakeOver assigns a new generation to a connection of a machine. Events from older connections are
// no longer stored. The server of the previous connection receives mail. TakeOver returns ErrStale
// if an earlier connection of the machine had a higher epoch.
func (s *Store) TakeOver(ctx context.Context, t Takeover) (gen int64, err error) {
	err = s.change(ctx, func(tx database) error {
		h, err := scanMachine(tx.QueryRowContext(ctx, `SELECT `+s.machineColumns()+` FROM hosts WHERE id = $1 AND removed = 0`+s.dialect.Lock, t.Machine))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("machine %s: %w", t.Machine, ErrUnknown)
		case err != nil:
			return s.wrapError("read a machine", err)
		case t.Epoch > 0 && t.Epoch < h.Epoch:
			return fmt.Errorf("machine %s: its epoch is %d, and was %d: %w", t.Machine, t.Epoch, h.Epoch, ErrStale)
		}
		if h.Replica != t.Replica {
			if err := s.mailHolder(ctx, tx, t.Machine); err != nil {
				return err
			}
		}
		gen = h.Gen + 1
		_, err = tx.ExecContext(ctx, `UPDATE hosts SET gen = $2, epoch = $3, last_seen_at = $4, replica = $5, instance = $6, proto = $7 WHERE id = $1`,
			t.Machine, gen, max(t.Epoch, h.Epoch), t.At, t.Replica, t.Instance, t.Proto)
		return s.wrapError("update a machine", err)
	})
	return gen, err
}

// Disconnected records the time in Unix ms at which the connection of a machine was closed. It does
// nothing if the connection no longer owns the machine.
func (s *Store) Disconnected(ctx context.Context, id string, gen, at int64) error {
	return s.change(ctx, func(tx database) error {
		_, err := tx.ExecContext(ctx, `UPDATE hosts SET last_seen_at = $3, replica = '' WHERE id = $1 AND gen = $2`, id, gen, at)
		return s.wrapError("update a machine", err)
	})
}

// Prefixes returns the prefixes of those of the given runs that belong to the machine.
func (s *Store) Prefixes(ctx context.Context, machine string, runs []string) (map[string]int64, error) {
	out := map[string]int64{}
	for _, id := range runs {
		r, err := s.Run(ctx, id)
		switch {
		case errors.Is(err, ErrUnknown):
		case err != nil:
			return nil, err
		case r.MachineID == machine:
			out[id] = r.Prefix
		}
	}
	return out, nil
}
