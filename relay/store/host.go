package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// hostColumns are what scanHost reads.
func (s *Store) hostColumns() string {
	return `id, name, token_hash, pubkey, epoch, gen, last_seen_at, replica, instance, proto, CASE WHEN ` + s.lives(`hosts.replica`) + ` THEN 1 ELSE 0 END`
}

func scanHost(from row) (*Host, error) {
	var h Host
	var alive int64
	err := from.Scan(&h.ID, &h.Name, &h.TokenHash, &h.PublicKey, &h.Epoch, &h.Gen, &h.LastSeenAt, &h.Replica, &h.Instance, &h.Proto, &alive)
	h.Alive = alive != 0
	return &h, err
}

// Host tells of a host; ErrUnknown when there is none.
func (s *Store) Host(ctx context.Context, id string) (*Host, error) {
	h, err := scanHost(s.reading().QueryRowContext(ctx, `SELECT `+s.hostColumns()+` FROM hosts WHERE id = $1 AND removed = 0`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("host %s: %w", id, ErrUnknown)
	}
	return h, s.told("read a host", err)
}

// Hosts are all hosts, by their ids.
func (s *Store) Hosts(ctx context.Context) (out []*Host, err error) {
	err = s.each(ctx, `SELECT `+s.hostColumns()+` FROM hosts WHERE removed = 0 ORDER BY id`, nil, func(r row) error {
		h, err := scanHost(r)
		out = append(out, h)
		return err
	})
	return out, err
}

// AddHost makes a host when there is none of its id, or one that was removed, and gives the
// one that there is: of two first connections one has made it. The records are of making it.
func (s *Store) AddHost(ctx context.Context, h Host, made ...audit.Record) (was *Host, err error) {
	err = s.change(ctx, func(tx database) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO hosts (id, name, token_hash, pubkey, epoch, gen, replica, last_seen_at) VALUES ($1, $2, $3, $4, 0, 0, '', $5)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, token_hash = excluded.token_hash, pubkey = excluded.pubkey, epoch = 0, removed = 0 WHERE hosts.removed <> 0`,
			h.ID, h.Name, h.TokenHash, h.PublicKey, h.LastSeenAt)
		if err != nil {
			return s.told("make a host", err)
		}
		was, err = scanHost(tx.QueryRowContext(ctx, `SELECT `+s.hostColumns()+` FROM hosts WHERE id = $1`, h.ID))
		if err != nil {
			return s.told("read a host", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return s.told("make a host", err)
		}
		return s.record(ctx, tx, h.LastSeenAt, made)
	})
	return was, err
}

// NameHost gives a host another name. first says that it is its machine's, which counts only while
// the host has no other name than its id.
func (s *Store) NameHost(ctx context.Context, id, name string, first bool, at int64, told ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		const change = `UPDATE hosts SET name = $2 WHERE id = $1 AND removed = 0`
		if first {
			_, err := tx.ExecContext(ctx, change+` AND name = id`, id, name)
			return s.told("name a host", err)
		}
		done, err := tx.ExecContext(ctx, change, id, name)
		if err := s.one(done, err, "name a host", "host "+id); err != nil {
			return err
		}
		return s.record(ctx, tx, at, told)
	})
}

// RemoveHost forgets who a host is: the next that comes by its id is a new one. Its runs stay,
// and its generation goes on, so that a connection that is still there stores nothing any more. The
// server that has the connection gets mail.
func (s *Store) RemoveHost(ctx context.Context, id string, at int64, told ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lookAt(ctx, tx, id); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `UPDATE hosts SET token_hash = '', pubkey = '', removed = 1, gen = gen + 1, replica = '' WHERE id = $1 AND removed = 0`, id)
		if err := s.one(done, err, "remove a host", "host "+id); err != nil {
			return err
		}
		return s.record(ctx, tx, at, told)
	})
}

// Taking is a connection that becomes a host's.
type Taking struct {
	Host     string
	Epoch    int64  // 0 where the host does not say one
	Instance string // of its process, "" where it does not say
	Proto    int64
	Replica  string // which server has it
	At       int64  // Unix ms
}

// TakeOver gives a host's connection a new generation: what an older one sends from now on
// is not stored. A server that had the older one gets mail. ErrStale says that the host
// has had a connection of a higher epoch.
func (s *Store) TakeOver(ctx context.Context, t Taking) (gen int64, err error) {
	err = s.change(ctx, func(tx database) error {
		h, err := scanHost(tx.QueryRowContext(ctx, `SELECT `+s.hostColumns()+` FROM hosts WHERE id = $1 AND removed = 0`+s.dialect.Lock, t.Host))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("host %s: %w", t.Host, ErrUnknown)
		case err != nil:
			return s.told("read a host", err)
		case t.Epoch > 0 && t.Epoch < h.Epoch:
			return fmt.Errorf("host %s: its epoch is %d, and was %d: %w", t.Host, t.Epoch, h.Epoch, ErrStale)
		}
		if h.Replica != t.Replica {
			if err := s.lookAt(ctx, tx, t.Host); err != nil {
				return err
			}
		}
		gen = h.Gen + 1
		_, err = tx.ExecContext(ctx, `UPDATE hosts SET gen = $2, epoch = $3, last_seen_at = $4, replica = $5, instance = $6, proto = $7 WHERE id = $1`,
			t.Host, gen, max(t.Epoch, h.Epoch), t.At, t.Replica, t.Instance, t.Proto)
		return s.told("note a host", err)
	})
	return gen, err
}

// Left notes when a host's connection ended, in Unix ms; one that is not the host's any more changes
// nothing.
func (s *Store) Left(ctx context.Context, id string, gen, at int64) error {
	return s.change(ctx, func(tx database) error {
		_, err := tx.ExecContext(ctx, `UPDATE hosts SET last_seen_at = $3, replica = '' WHERE id = $1 AND gen = $2`, id, gen, at)
		return s.told("note a host", err)
	})
}

// Prefixes are the prefixes of a host's runs, of those that are named.
func (s *Store) Prefixes(ctx context.Context, host string, runs []string) (map[string]int64, error) {
	out := map[string]int64{}
	for _, id := range runs {
		r, err := s.Run(ctx, id)
		switch {
		case errors.Is(err, ErrUnknown):
		case err != nil:
			return nil, err
		case r.HostID == host:
			out[id] = r.Prefix
		}
	}
	return out, nil
}
