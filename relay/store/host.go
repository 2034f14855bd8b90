package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

const hostColumns = `id, name, token_hash, pubkey, epoch, gen, last_seen_at`

func scanHost(from row) (*Host, error) {
	var h Host
	return &h, from.Scan(&h.ID, &h.Name, &h.TokenHash, &h.PublicKey, &h.Epoch, &h.Gen, &h.LastSeenAt)
}

// Host tells of a host; ErrUnknown when there is none.
func (s *Store) Host(ctx context.Context, id string) (*Host, error) {
	h, err := scanHost(s.reading().QueryRowContext(ctx, `SELECT `+hostColumns+` FROM hosts WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("host %s: %w", id, ErrUnknown)
	}
	return h, s.told("read a host", err)
}

// Hosts are all hosts, by their ids.
func (s *Store) Hosts(ctx context.Context) (out []*Host, err error) {
	err = s.each(ctx, `SELECT `+hostColumns+` FROM hosts ORDER BY id`, nil, func(r row) error {
		h, err := scanHost(r)
		out = append(out, h)
		return err
	})
	return out, err
}

// AddHost makes a host when there is none of its id, and gives the one that there is: of
// two first connections one has made it.
func (s *Store) AddHost(ctx context.Context, h Host) (was *Host, err error) {
	err = s.change(ctx, func(tx database) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO hosts (id, name, token_hash, pubkey, epoch, gen, replica, last_seen_at) VALUES ($1, $2, $3, $4, 0, 0, '', $5) ON CONFLICT DO NOTHING`,
			h.ID, h.Name, h.TokenHash, h.PublicKey, h.LastSeenAt)
		if err != nil {
			return s.told("make a host", err)
		}
		was, err = scanHost(tx.QueryRowContext(ctx, `SELECT `+hostColumns+` FROM hosts WHERE id = $1`, h.ID))
		return s.told("read a host", err)
	})
	return was, err
}

// TakeOver gives a host's connection a new generation: what an older one sends from now on
// is not stored. epoch is 0 where the host does not say one. ErrStale says that the host
// has had a connection of a higher epoch.
func (s *Store) TakeOver(ctx context.Context, id string, epoch, at int64) (gen int64, err error) {
	err = s.change(ctx, func(tx database) error {
		h, err := scanHost(tx.QueryRowContext(ctx, `SELECT `+hostColumns+` FROM hosts WHERE id = $1`+s.dialect.Lock, id))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("host %s: %w", id, ErrUnknown)
		case err != nil:
			return s.told("read a host", err)
		case epoch > 0 && epoch < h.Epoch:
			return fmt.Errorf("host %s: its epoch is %d, and was %d: %w", id, epoch, h.Epoch, ErrStale)
		}
		gen = h.Gen + 1
		_, err = tx.ExecContext(ctx, `UPDATE hosts SET gen = $2, epoch = $3, last_seen_at = $4 WHERE id = $1`, id, gen, max(epoch, h.Epoch), at)
		return s.told("note a host", err)
	})
	return gen, err
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
