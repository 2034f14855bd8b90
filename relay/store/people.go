package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// ErrLastOwner reports that a change would leave no owner.
var ErrLastOwner = errors.New("no owner would remain")

// Owner is the role with all rights. At least one user must have it.
const Owner = "owner"

// User is a person.
type User struct {
	Name, Role string
	Hash       string // hash of the password, in the form of package auth
}

// The kinds of tokens.
const (
	SessionToken = "session" // created by a login
	AccessToken  = "token"
	TicketToken  = "ticket" // opens one connection with the rights of the token Parent
	UsedTicket   = "used"
)

// Token is a credential of a user.
type Token struct {
	ID, Hash, User, Role string // Hash is the SHA-256 of the secret in hexadecimal
	Runs                 []string
	Kind, Name           string
	Parent               string // for a ticket: id of the token that requested it
	Slides               int64  // time in ms by which each use extends the token; 0 if a use does not extend it
	Created, Expires     int64  // in Unix ms
	UserRole             string // current role of the user; ignored when a token is stored
}

const tokenColumns = `t.id, t.hash, t.user_name, t.role, t.runs, t.kind, t.name, t.parent, t.slides, t.created, t.expires, u.role`

func scanToken(from row) (*Token, error) {
	var t Token
	var runs string
	err := from.Scan(&t.ID, &t.Hash, &t.User, &t.Role, &runs, &t.Kind, &t.Name, &t.Parent, &t.Slides, &t.Created, &t.Expires, &t.UserRole)
	t.Runs = strings.Fields(runs)
	return &t, err
}

// requireChange returns ErrUnknown if a statement has changed no row.
func (s *Store) requireChange(done sql.Result, err error, doing, what string) error {
	if err != nil {
		return s.wrapError(doing, err)
	}
	if n, err := done.RowsAffected(); err != nil || n > 0 {
		return s.wrapError(doing, err)
	}
	return fmt.Errorf("%s: %w", what, ErrUnknown)
}

// User returns a user, or ErrUnknown.
func (s *Store) User(ctx context.Context, name string) (*User, error) {
	u := User{Name: name}
	err := s.reader().QueryRowContext(ctx, `SELECT role, hash FROM users WHERE name = $1`, name).Scan(&u.Role, &u.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("user %s: %w", name, ErrUnknown)
	}
	return &u, s.wrapError("read a user", err)
}

// Users returns all users, ordered by name.
func (s *Store) Users(ctx context.Context) (out []*User, err error) {
	err = s.each(ctx, `SELECT name, role, hash FROM users ORDER BY name`, nil, func(r row) error {
		var u User
		err := r.Scan(&u.Name, &u.Role, &u.Hash)
		out = append(out, &u)
		return err
	})
	return out, err
}

// PutUser creates a user or changes the role and password of an existing one. A new password ends
// the user's sessions. If nothing changes, PutUser writes no audit record.
func (s *Store) PutUser(ctx context.Context, u User, at int64, records ...audit.Record) (made bool, err error) {
	err = s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		was := User{Name: u.Name}
		err := tx.QueryRowContext(ctx, `SELECT role, hash FROM users WHERE name = $1`, u.Name).Scan(&was.Role, &was.Hash)
		if made = errors.Is(err, sql.ErrNoRows); err != nil && !made {
			return s.wrapError("read a user", err)
		}
		if was == u {
			return nil
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO users (name, role, hash) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET role = excluded.role, hash = excluded.hash`, u.Name, u.Role, u.Hash)
		if err != nil {
			return s.wrapError("store a user", err)
		}
		if !made && was.Hash != u.Hash {
			if _, err := tx.ExecContext(ctx, `DELETE FROM tokens WHERE user_name = $1 AND kind <> 'token'`, u.Name); err != nil {
				return s.wrapError("end sessions", err)
			}
		}
		return s.usersChanged(ctx, tx, at, records)
	})
	return made, err
}

// FirstUser creates a user if there are no users, and otherwise returns ErrConflict.
func (s *Store) FirstUser(ctx context.Context, u User, at int64, records ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM users`).Scan(&n); err != nil {
			return s.wrapError("count users", err)
		}
		if n > 0 {
			return fmt.Errorf("the first user: %w", ErrConflict)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO users (name, role, hash) VALUES ($1, $2, $3)`, u.Name, u.Role, u.Hash); err != nil {
			return s.wrapError("store a user", err)
		}
		return s.usersChanged(ctx, tx, at, records)
	})
}

// lockUsers locks the users and tokens until the end of the transaction, so that changes happen one
// after another.
func (s *Store) lockUsers(ctx context.Context, tx database) error {
	var one int
	return s.wrapError("lock the users", tx.QueryRowContext(ctx, `SELECT one FROM meta`+s.dialect.Lock).Scan(&one))
}

// RemoveUser removes a user with all tokens. It returns ErrUnknown if the user does not exist, and
// ErrLastOwner if no other owner exists.
func (s *Store) RemoveUser(ctx context.Context, name string, at int64, records ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, `DELETE FROM users WHERE name = $1`, name)
		if err := s.requireChange(done, err, "remove a user", "user "+name); err != nil {
			return err
		}
		for _, table := range []string{"tokens", "passkeys"} {
			if _, err := tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE user_name = $1`, name); err != nil {
				return s.wrapError("remove "+table, err)
			}
		}
		return s.usersChanged(ctx, tx, at, records)
	})
}

// usersChanged completes a transaction that may reduce the rights of users or tokens. It increases
// the version and writes the audit records. It returns ErrLastOwner if no owner remains.
func (s *Store) usersChanged(ctx context.Context, tx database, at int64, records []audit.Record) error {
	if _, err := tx.ExecContext(ctx, `UPDATE meta SET people = people + 1`); err != nil {
		return s.wrapError("update the version of users", err)
	}
	var owners int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM users WHERE role = $1`, Owner).Scan(&owners); err != nil {
		return s.wrapError("count users", err)
	}
	if owners == 0 {
		return ErrLastOwner
	}
	return s.record(ctx, tx, at, records)
}

// UsersVersion returns a number that increases whenever the rights of a user or token are reduced
// or changed.
func (s *Store) UsersVersion(ctx context.Context) (n int64, err error) {
	err = s.reader().QueryRowContext(ctx, `SELECT people FROM meta`).Scan(&n)
	return n, s.wrapError("read the version of users", err)
}
