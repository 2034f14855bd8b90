package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// ErrTooMany reports that a limit is reached.
var ErrTooMany = errors.New("there are too many")

// Pairing is the request of a machine to authenticate by its key.
type Pairing struct {
	ID, CodeHash    string
	PublicKey, Name string
	Asked           string // id under which the machine claims to be known; "" for a new machine
	TokenHash       string // hash of that machine's token, as the machine knows it
	Address         string // address from which the pairing was requested
	Expires         int64  // in Unix ms
	MachineID       string // id of the machine after the confirmation; "" before
}

const pairingColumns = `id, code_hash, pubkey, name, asked_id, token_hash, address, expires, host_id`

func scanPairing(from row) (*Pairing, error) {
	var p Pairing
	return &p, from.Scan(&p.ID, &p.CodeHash, &p.PublicKey, &p.Name, &p.Asked, &p.TokenHash, &p.Address, &p.Expires, &p.MachineID)
}

// pairingRetention is how long an expired pairing is stored, in ms, so that a client receives the
// reason.
const pairingRetention = 10 * 60 * 1000

// AddPairing stores a pairing. It returns ErrConflict if another pairing has the same code. It
// returns ErrTooMany if there are ofAll open pairings, or ofAddress open pairings from the same
// address.
func (s *Store) AddPairing(ctx context.Context, p Pairing, at int64, ofAll, ofAddress int) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM pairings WHERE expires <= $1`, at-pairingRetention); err != nil {
			return s.wrapError("delete expired pairings", err)
		}
		var all, same int
		err := tx.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(CASE WHEN address = $2 THEN 1 ELSE 0 END), 0) FROM pairings WHERE host_id = '' AND expires > $1`, at, p.Address).Scan(&all, &same)
		switch {
		case err != nil:
			return s.wrapError("count pairings", err)
		case all >= ofAll || same >= ofAddress:
			return fmt.Errorf("pairings: %w", ErrTooMany)
		}
		done, err := tx.ExecContext(ctx, `INSERT INTO pairings (`+pairingColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '') ON CONFLICT DO NOTHING`,
			p.ID, p.CodeHash, p.PublicKey, p.Name, p.Asked, p.TokenHash, p.Address, p.Expires)
		if err = s.requireChange(done, err, "store a pairing", "pairing"); errors.Is(err, ErrUnknown) {
			return fmt.Errorf("pairing: %w", ErrConflict)
		}
		return err
	})
}

func (s *Store) pairing(from row) (*Pairing, error) {
	p, err := scanPairing(from)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("pairing: %w", ErrUnknown)
	}
	return p, s.wrapError("read a pairing", err)
}

// Pairing returns the pairing with an id, even if it has expired, or ErrUnknown.
func (s *Store) Pairing(ctx context.Context, id string) (*Pairing, error) {
	return s.pairing(s.reader().QueryRowContext(ctx, `SELECT `+pairingColumns+` FROM pairings WHERE id = $1`, id))
}

const waitingPairing = `SELECT ` + pairingColumns + ` FROM pairings WHERE code_hash = $1 AND host_id = '' AND expires > $2`

// PairingOf returns the open pairing with the hash of a code, or ErrUnknown.
func (s *Store) PairingOf(ctx context.Context, codeHash string, at int64) (*Pairing, error) {
	return s.pairing(s.reader().QueryRowContext(ctx, waitingPairing, codeHash, at))
}

// ConfirmPairing assigns the key of a pairing to a machine. This is the machine that the machine
// claims to be, if the token is right, and otherwise a new machine. Events that the machine sends
// on a connection with its token are no longer stored. ConfirmPairing returns ErrUnknown if no open
// pairing has this code.
func (s *Store) ConfirmPairing(ctx context.Context, codeHash string, at int64, record func(*Pairing) audit.Record) (p *Pairing, err error) {
	err = s.change(ctx, func(tx database) error {
		if p, err = s.pairing(tx.QueryRowContext(ctx, waitingPairing+s.dialect.Lock, codeHash, at)); err != nil {
			return err
		}
		key, err := protocol.ParseKey(p.PublicKey)
		if err != nil {
			return fmt.Errorf("pairing %s: %w", p.ID, err)
		}
		p.MachineID = protocol.MachineOfKey(key)
		if p.Asked != "" && p.TokenHash != "" {
			var there int
			err := tx.QueryRowContext(ctx, `SELECT count(*) FROM hosts WHERE id = $1 AND removed = 0 AND token_hash = $2`, p.Asked, p.TokenHash).Scan(&there)
			if err != nil {
				return s.wrapError("read a machine", err)
			}
			if there > 0 {
				p.MachineID = p.Asked
			}
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO hosts (id, name, token_hash, pubkey, epoch, gen, replica, last_seen_at) VALUES ($1, $2, '', $3, 0, 0, '', $4)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, token_hash = '', pubkey = excluded.pubkey, gen = hosts.gen + 1, removed = 0,
				epoch = CASE WHEN hosts.removed <> 0 THEN 0 ELSE hosts.epoch END`, p.MachineID, p.Name, p.PublicKey, at)
		if err != nil {
			return s.wrapError("create a machine", err)
		}
		// The machine may be connected with its token. Its server must close that connection.
		if err := s.mailHolder(ctx, tx, p.MachineID); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `UPDATE pairings SET host_id = $2 WHERE code_hash = $1`, codeHash, p.MachineID); err != nil {
			return s.wrapError("confirm a pairing", err)
		}
		return s.record(ctx, tx, at, []audit.Record{record(p)})
	})
	return p, err
}

// Secret returns a secret that all servers on this database share. The first call creates the
// secret with made.
func (s *Store) Secret(ctx context.Context, name string, made func() (string, error)) (value string, err error) {
	read := func(from database) error {
		return from.QueryRowContext(ctx, `SELECT value FROM secrets WHERE name = $1`, name).Scan(&value)
	}
	if err := read(s.reader()); !errors.Is(err, sql.ErrNoRows) {
		return value, s.wrapError("read a secret", err)
	}
	fresh, err := made()
	if err != nil {
		return "", err
	}
	err = s.change(ctx, func(tx database) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING`, name, fresh); err != nil {
			return s.wrapError("store a secret", err)
		}
		return s.wrapError("read a secret", read(tx))
	})
	return value, err
}
