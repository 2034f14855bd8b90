package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// AddToken stores a token. It returns ErrUnknown if the user does not exist.
func (s *Store) AddToken(ctx context.Context, t Token, records ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		var role string
		err := tx.QueryRowContext(ctx, `SELECT role FROM users WHERE name = $1`, t.User).Scan(&role)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("user %s: %w", t.User, ErrUnknown)
		}
		if err != nil {
			return s.wrapError("read a user", err)
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE expires <= $1`, t.Created-ticketRetention); err != nil {
			return s.wrapError("delete expired tokens", err)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO tokens (id, hash, user_name, role, runs, kind, name, parent, slides, created, expires) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			t.ID, t.Hash, t.User, t.Role, strings.Join(t.Runs, " "), t.Kind, t.Name, t.Parent, t.Slides, t.Created, t.Expires)
		if err != nil {
			return s.wrapError("store a token", err)
		}
		if t.Parent != "" && t.Kind == SessionToken { // the oldest sessions of a link's token are removed
			_, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE parent = $1 AND kind = 'session' AND id NOT IN (SELECT id FROM tokens WHERE parent = $1 AND kind = 'session' ORDER BY created DESC, id LIMIT 100)`, t.Parent)
			if err != nil {
				return s.wrapError("end the oldest sessions of a token", err)
			}
		}
		return s.record(ctx, tx, t.Created, records)
	})
}

// ticketRetention is how long an expired ticket is stored, in ms, so that a late use can be
// reported as such.
const ticketRetention = 60 * 60 * 1000

// Token returns the token with a hash, even if it has expired, or ErrUnknown.
func (s *Store) Token(ctx context.Context, hash string) (*Token, error) {
	return s.token(s.reader().QueryRowContext(ctx, `SELECT `+tokenColumns+` FROM tokens t JOIN users u ON u.name = t.user_name WHERE t.hash = $1`, hash))
}

// TokenOf returns the token with an id, even if it has expired, or ErrUnknown.
func (s *Store) TokenOf(ctx context.Context, id string) (*Token, error) {
	return s.token(s.reader().QueryRowContext(ctx, `SELECT `+tokenColumns+` FROM tokens t JOIN users u ON u.name = t.user_name WHERE t.id = $1`, id))
}

func (s *Store) token(from row) (*Token, error) {
	t, err := scanToken(from)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("token: %w", ErrUnknown)
	}
	return t, s.wrapError("read a token", err)
}

// Tokens returns the unexpired access tokens and sessions, oldest first.
func (s *Store) Tokens(ctx context.Context, at int64) (out []*Token, err error) {
	err = s.each(ctx, `SELECT `+tokenColumns+` FROM tokens t JOIN users u ON u.name = t.user_name WHERE t.expires > $1 AND t.kind IN ('session', 'token') ORDER BY t.created, t.id`, []any{at}, func(r row) error {
		t, err := scanToken(r)
		out = append(out, t)
		return err
	})
	return out, err
}

// ExtendToken sets the expiry of a token.
func (s *Store) ExtendToken(ctx context.Context, id string, expires int64) error {
	return s.change(ctx, func(tx database) error {
		_, err := tx.ExecContext(ctx, `UPDATE tokens SET expires = $2 WHERE id = $1 AND expires < $2`, id, expires)
		return s.wrapError("put off a token's end", err)
	})
}

// RemoveToken removes a token and its tickets. It returns ErrUnknown if there is no such token.
func (s *Store) RemoveToken(ctx context.Context, id string, at int64, records ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE id = $1 AND kind IN ('session', 'token')`, id)
		if err := s.requireChange(done, err, "remove a token", "token "+id); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE parent = $1`, id); err != nil {
			return s.wrapError("remove tickets", err)
		}
		return s.usersChanged(ctx, tx, at, records)
	})
}

// UseTicket consumes a ticket and returns it. If the ticket was used before, the returned kind is
// UsedTicket. An expired ticket is returned with its expiry. UseTicket returns ErrUnknown if there
// is no such ticket.
func (s *Store) UseTicket(ctx context.Context, hash string, at int64) (t *Token, err error) {
	err = s.change(ctx, func(tx database) error {
		t, err = s.token(tx.QueryRowContext(ctx, `SELECT `+tokenColumns+` FROM tokens t JOIN users u ON u.name = t.user_name WHERE t.hash = $1 AND t.kind IN ('ticket', 'used')`, hash))
		if err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `UPDATE tokens SET kind = 'used' WHERE id = $1 AND kind = 'ticket'`, t.ID)
		if err := s.requireChange(done, err, "use a ticket", "ticket"); errors.Is(err, ErrUnknown) {
			t.Kind = UsedTicket
			return nil
		} else if err != nil {
			return err
		}
		return nil
	})
	return t, err
}
