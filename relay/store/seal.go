package store

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/audit"
)

// LogLine is a line of a log of an account (relay/seal), without its line feed. The store does not
// verify it.
type LogLine struct {
	N            int64
	Line, SHA256 string
}

// RosterLog returns the name of the log with the roster of an account.
func RosterLog(account string) string { return account }

// KeyLog returns the name of the log with the key records of a host. The numbers are the epochs.
func KeyLog(account, host string) string { return account + "/" + host }

// HistoryLog returns the name of the log with the histories of a host for a device.
func HistoryLog(account, host, device string) string { return account + "/" + host + "/" + device }

// ShareLog returns the name of the log with the keys of a share. Its last line has all.
func ShareLog(share string) string { return "share/" + share }

// SealLog returns the lines of a log with numbers above after, or the first ones of them if
// they are long. The error is ErrUnknown if there is no such log.
func SealLog(ctx context.Context, s *Store, log string, after int64) ([]LogLine, error) {
	all, err := readLog(ctx, s, `n > $2 ORDER BY n`, log, after)
	if err != nil || len(all) > 0 {
		return all, err
	}
	_, err = LastOfLog(ctx, s, log)
	return nil, err
}

// LastOfLog returns the last line of a log, or ErrUnknown if there is no such log.
func LastOfLog(ctx context.Context, s *Store, log string) (LogLine, error) {
	all, err := readLog(ctx, s, `n > $2 ORDER BY n DESC LIMIT 1`, log, 0)
	if err == nil && len(all) == 0 {
		return LogLine{}, fmt.Errorf("account %s: %w", log, ErrUnknown)
	}
	if err != nil {
		return LogLine{}, err
	}
	return all[0], nil
}

// maxLogRead is the size of lines in bytes after which SealLog reads no more. A client accepts
// machineapi.MaxResponse, 8 MiB, and one line has at most 1 MiB.
const maxLogRead = 6 << 20

func readLog(ctx context.Context, s *Store, where, log string, after int64) (out []LogLine, err error) {
	rows, err := s.reader().QueryContext(ctx, `SELECT n, line, sha256 FROM seal_log WHERE account = $1 AND `+where, log, after)
	if err != nil {
		return nil, s.wrapError("read an account", err)
	}
	defer rows.Close()
	for size := 0; size < maxLogRead && rows.Next(); {
		var l LogLine
		if err := rows.Scan(&l.N, &l.Line, &l.SHA256); err != nil {
			return nil, s.wrapError("read an account", err)
		}
		out, size = append(out, l), size+len(l.Line)
	}
	return out, s.wrapError("read an account", rows.Err())
}

// AppendSealLog appends lines to a log. The error is ErrRoster if a line with the same number is
// there; then none is appended.
func AppendSealLog(ctx context.Context, s *Store, log string, at int64, lines []LogLine, records ...audit.Record) error {
	return s.change(ctx, func(tx database) error {
		for _, l := range lines {
			done, err := tx.ExecContext(ctx, `INSERT INTO seal_log (account, n, line, sha256) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, log, l.N, l.Line, l.SHA256)
			if err != nil {
				return s.wrapError("store an account", err)
			}
			switch n, err := done.RowsAffected(); {
			case err != nil:
				return s.wrapError("store an account", err)
			case n == 0:
				return fmt.Errorf("line %d of account %s: %w", l.N, log, ErrRoster)
			}
		}
		return s.record(ctx, tx, at, records)
	})
}

// SetAccount stores the account of a machine; "" means that it has none.
func SetAccount(ctx context.Context, s *Store, machine, account string) error {
	return s.change(ctx, func(tx database) error {
		_, err := tx.ExecContext(ctx, `UPDATE hosts SET account = $2 WHERE id = $1 AND removed = 0 AND account <> $2`, machine, account)
		return s.wrapError("update a machine", err)
	})
}

// OldestEpoch returns the lowest epoch of the stored events of a machine. If all its sealed runs
// were forgotten, it is that of the machine's newest key record. It is 0 if it is unknown, or if
// the machine has sent no sealed events.
func OldestEpoch(ctx context.Context, s *Store, account, machine string) (n int64, err error) {
	err = s.reader().QueryRowContext(ctx, `SELECT COALESCE(MIN(CASE WHEN EXISTS (SELECT 1 FROM events WHERE run_id = runs.id) THEN epoch END),
		CASE WHEN count(*) > 0 THEN (SELECT MAX(n) FROM seal_log WHERE account = $2) END, 0) FROM runs WHERE host_id = $1 AND epoch <> 0`, machine, KeyLog(account, machine)).Scan(&n)
	return max(n, 0), s.wrapError("read the epochs of a machine", err)
}
