package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// Replica is a server that uses this database.
type Replica struct {
	ID  string
	Key string // public key for encrypting mail to the server
}

// Kinds of mail.
const (
	SealedMail  = "sealed" // encrypted with the server's key
	MachineMail = "host"   // the body is the id of a machine whose connection may have moved to another server
)

// Mail is a message for a server.
type Mail struct{ Kind, Body string }

// Shared reports whether several servers can use the database.
func (s *Store) Shared() bool { return s.dialect.Stamp != "" }

// isLive returns an SQL condition that is true if the column contains the id of a live server.
func (s *Store) isLive(column string) string {
	return fmt.Sprintf(`EXISTS (SELECT 1 FROM replicas p WHERE p.id = %s AND p.seen_at > %s - %d)`, column, s.dialect.Now, protocol.ReplicaLease.Milliseconds())
}

// Join registers a server. If the database is not shared, Join removes all other servers first.
func (s *Store) Join(ctx context.Context, r Replica) error {
	return s.change(ctx, func(tx database) error {
		seen := s.dialect.Now
		if !s.Shared() {
			if _, err := tx.ExecContext(ctx, `DELETE FROM replicas`); err != nil {
				return s.wrapError("register a server", err)
			}
			seen = fmt.Sprint(int64(protocol.MaxSeq)) // a far future, because the only server renews no lease
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO replicas (id, key, seen_at) VALUES ($1, $2, `+seen+`)`, r.ID, r.Key)
		return s.wrapError("register a server", err)
	})
}

// replicaRetention is how long a server that renews no lease stays registered, in ms.
const replicaRetention = 60_000

// RenewLease renews the lease of a server. It also removes servers that have not renewed their
// lease for replicaRetention, and their mail. It returns ErrUnknown if the server itself was
// removed.
func (s *Store) RenewLease(ctx context.Context, id string) error {
	return s.change(ctx, func(tx database) error {
		done, err := tx.ExecContext(ctx, `UPDATE replicas SET seen_at = `+s.dialect.Now+` WHERE id = $1`, id)
		if err := s.requireChange(done, err, "renew the lease of a server", "server "+id); err != nil {
			return err
		}
		done, err = tx.ExecContext(ctx, fmt.Sprintf(`DELETE FROM replicas WHERE seen_at < %s - %d`, s.dialect.Now, replicaRetention))
		if err != nil {
			return s.wrapError("delete expired servers", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return s.wrapError("delete expired servers", err)
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM mail WHERE replica NOT IN (SELECT id FROM replicas)`)
		return s.wrapError("delete the mail of expired servers", err)
	})
}

// Leave removes a server. Its machines count as offline until they connect to another server.
func (s *Store) Leave(ctx context.Context, id string) error {
	return s.change(ctx, func(tx database) error {
		for _, text := range []string{`DELETE FROM replicas WHERE id = $1`, `DELETE FROM mail WHERE replica = $1`, `UPDATE hosts SET replica = '' WHERE replica = $1`} {
			if _, err := tx.ExecContext(ctx, text, id); err != nil {
				return s.wrapError("remove a server", err)
			}
		}
		return nil
	})
}

// Replicas returns the live servers.
func (s *Store) Replicas(ctx context.Context) (out []Replica, err error) {
	err = s.each(ctx, `SELECT id, key FROM replicas WHERE `+s.isLive(`replicas.id`)+` ORDER BY id`, nil, func(r row) error {
		var one Replica
		err := r.Scan(&one.ID, &one.Key)
		out = append(out, one)
		return err
	})
	return out, err
}

// SendMail stores a mail for a server, which the server later receives.
func (s *Store) SendMail(ctx context.Context, to string, m Mail) error {
	return s.change(ctx, func(tx database) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO mail (replica, kind, body) VALUES ($1, $2, $3)`, to, m.Kind, m.Body)
		return s.wrapError("store mail", err)
	})
}

// mailHolder sends mail to the server that a machine is connected to. The server then checks
// whether that connection still owns the machine.
func (s *Store) mailHolder(ctx context.Context, tx database, machine string) error {
	if !s.Shared() {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO mail (replica, kind, body) SELECT p.id, $2, h.id FROM hosts h JOIN replicas p ON p.id = h.replica WHERE h.id = $1`, machine, MachineMail)
	return s.wrapError("store mail", err)
}

// ReceiveMail removes the mail for a server and returns it in order.
func (s *Store) ReceiveMail(ctx context.Context, id string) (out []Mail, err error) {
	var any bool
	if err := s.reader().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM mail WHERE replica = $1)`, id).Scan(&any); err != nil || !any {
		return nil, s.wrapError("read messages of other servers", err)
	}
	type numbered struct {
		n int64
		Mail
	}
	var all []*numbered
	err = s.change(ctx, func(tx database) error {
		all = nil
		rows, err := tx.QueryContext(ctx, `DELETE FROM mail WHERE replica = $1 RETURNING n, kind, body`, id)
		if err != nil {
			return s.wrapError("take mail", err)
		}
		defer rows.Close()
		for rows.Next() {
			one := new(numbered)
			if err := rows.Scan(&one.n, &one.Kind, &one.Body); err != nil {
				return s.wrapError("take mail", err)
			}
			all = append(all, one)
		}
		return s.wrapError("take mail", errors.Join(rows.Err(), rows.Close()))
	})
	slices.SortFunc(all, func(a, b *numbered) int { return int(a.n - b.n) })
	for _, one := range all {
		out = append(out, one.Mail)
	}
	return out, err
}

// Change describes a run with new events. Stamps are transaction numbers.
type Change struct {
	Run    string
	Prefix int64
	Made   int64 // stamp of the run's first event
	Exited bool
}

// Changes returns the runs that have changed since a stamp, and the stamp for the next call. It
// misses no change, but may return a change twice.
func (s *Store) Changes(ctx context.Context, since int64) (out []Change, next int64, err error) {
	return s.changes(ctx, `r.changed >= $1`, since)
}

// Unended returns the state at which a server starts to follow changes. It returns all runs that
// have not ended, all runs that the next call of Changes may return, and the stamp for that call.
// If Changes later returns another run whose stamp Made is not lower, that run is new.
func (s *Store) Unended(ctx context.Context) (out []Change, next int64, err error) {
	return s.changes(ctx, `(r.status <> 'exited' OR r.changed >= s.oldest) AND $1 = 0`, 0)
}

func (s *Store) changes(ctx context.Context, where string, since int64) (out []Change, next int64, err error) {
	if !s.Shared() {
		return nil, 0, nil
	}
	// A single statement reads a consistent snapshot.
	text := `SELECT s.oldest, coalesce(r.id, ''), coalesce(r.prefix_seq, 0), coalesce(r.made, 0), coalesce(r.status, '') FROM (SELECT ` + s.dialect.Oldest + ` AS oldest) s LEFT JOIN runs r ON ` + where
	err = s.each(ctx, text, []any{since}, func(r row) error {
		var c Change
		var status protocol.Status
		if err := r.Scan(&next, &c.Run, &c.Prefix, &c.Made, &status); err != nil {
			return err
		}
		if c.Exited = status == protocol.StatusExited; c.Run != "" {
			out = append(out, c)
		}
		return nil
	})
	return out, next, err
}

// LastEvent returns the number of the last stored event, and a stamp. When Changes returns that
// stamp or a later one, all transactions that are running now have finished.
func (s *Store) LastEvent(ctx context.Context) (n, stamp int64, err error) {
	err = s.reader().QueryRowContext(ctx, `SELECT coalesce(max(id), 0), `+cmp.Or(s.dialect.Newest, "0")+` FROM events`).Scan(&n, &stamp)
	return n, stamp, s.wrapError("read events", err)
}

// PrefixAt returns the prefix that a run had when the event with the given number was the last
// stored event. prefix is the current prefix of the run, which the result does not exceed.
func (s *Store) PrefixAt(ctx context.Context, run string, number, prefix int64) (at int64, err error) {
	err = s.reader().QueryRowContext(ctx, `SELECT coalesce(min(seq) - 1, $3) FROM events WHERE run_id = $1 AND id > $2 AND seq <= $3`, run, number, prefix).Scan(&at)
	return at, s.wrapError("read events", err)
}

// MachinesWithWork returns the machines that are connected to a server and for which commands or
// calls wait.
func (s *Store) MachinesWithWork(ctx context.Context, replica string) (out []string, err error) {
	err = s.each(ctx, `SELECT r.host_id FROM commands c JOIN runs r ON r.id = c.run_id JOIN hosts h ON h.id = r.host_id WHERE c.state = 'accepted' AND h.replica = $1
		UNION SELECT c.host_id FROM rpc_calls c JOIN hosts h ON h.id = c.host_id WHERE c.answer = '' AND c.gen = 0 AND h.replica = $1`, []any{replica}, func(r row) error {
		var id string
		err := r.Scan(&id)
		out = append(out, id)
		return err
	})
	return out, err
}

// CommandKey identifies a command.
type CommandKey struct{ Run, Kind, ID string }

// CommandsOf returns the commands with the given keys, without their payloads. It omits keys
// without a command.
func (s *Store) CommandsOf(ctx context.Context, keys []CommandKey) (out []*Command, err error) {
	for some := range slices.Chunk(keys, 100) {
		var where []string
		var args []any
		for _, k := range some {
			n := len(args)
			where = append(where, fmt.Sprintf(`run_id = $%d AND kind = $%d AND id = $%d`, n+1, n+2, n+3))
			args = append(args, k.Run, k.Kind, k.ID)
		}
		err := s.each(ctx, `SELECT n, run_id, kind, id, state, '', payload_sha256, by_name, created, expires, why, keeper FROM commands WHERE `+strings.Join(where, ` OR `), args, func(r row) error {
			c, err := scanCommand(r)
			out = append(out, c)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
