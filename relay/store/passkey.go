package store

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// Passkey has the keys of a device (relay/seal), which only a passkey of its user opens.
type Passkey struct {
	Device string `json:"device"`
	Text   string `json:"text"`
}

// Passkeys returns the passkeys of a user for devices of an account, by device.
func Passkeys(ctx context.Context, s *Store, account, user string) (out []Passkey, err error) {
	err = s.each(ctx, `SELECT device, text FROM passkeys WHERE account = $1 AND user_name = $2 ORDER BY device`, []any{account, user}, func(r row) error {
		var p Passkey
		err := r.Scan(&p.Device, &p.Text)
		out = append(out, p)
		return err
	})
	return out, err
}

// PutPasskey stores or replaces a passkey of a user, or removes it if its text is "". It returns
// ErrTooMany if the user has most passkeys of other devices.
func PutPasskey(ctx context.Context, s *Store, account, user string, p Passkey, most int, at int64, record audit.Record) error {
	return s.change(ctx, func(tx database) error {
		if err := s.lockUsers(ctx, tx); err != nil {
			return err
		}
		if p.Text == "" {
			if _, err := tx.ExecContext(ctx, `DELETE FROM passkeys WHERE account = $1 AND device = $2 AND user_name = $3`, account, p.Device, user); err != nil {
				return s.wrapError("remove a passkey", err)
			}
			return s.record(ctx, tx, at, []audit.Record{record})
		}
		var has int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM passkeys WHERE user_name = $1 AND (account <> $2 OR device <> $3)`, user, account, p.Device).Scan(&has); err != nil {
			return s.wrapError("count passkeys", err)
		}
		if has >= most {
			return fmt.Errorf("passkeys: %w", ErrTooMany)
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO passkeys (account, device, user_name, text) VALUES ($1, $2, $3, $4) ON CONFLICT (account, device, user_name) DO UPDATE SET text = excluded.text`,
			account, p.Device, user, p.Text)
		if err != nil {
			return s.wrapError("store a passkey", err)
		}
		return s.record(ctx, tx, at, []audit.Record{record})
	})
}
