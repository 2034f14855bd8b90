package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// The audit log is one chain for each database. A record is written in the transaction of the
// change that it describes, as the last statement. The transaction that holds the lock on the row
// of meta therefore waits for no other lock.

// Record writes audit records that do not belong to another change. at is in Unix ms.
func (s *Store) Record(ctx context.Context, at int64, all ...audit.Record) error {
	return s.change(ctx, func(tx database) error { return s.record(ctx, tx, at, all) })
}

// record writes audit records in a transaction. The transaction must not lock any rows afterwards.
func (s *Store) record(ctx context.Context, tx database, at int64, all []audit.Record) error {
	if len(all) == 0 {
		return nil
	}
	var one int
	if err := tx.QueryRowContext(ctx, `SELECT one FROM meta`+s.dialect.Lock).Scan(&one); err != nil {
		return s.wrapError("lock the audit log", err)
	}
	head, err := s.head(ctx, tx)
	if err != nil {
		return err
	}
	for _, r := range all {
		line, err := r.After(head, time.UnixMilli(at))
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO audit (seq, line) VALUES ($1, $2)`, line.Seq, string(line.Text)); err != nil {
			return s.wrapError("write the audit log", err)
		}
		head = audit.Head{Seq: line.Seq, Hash: line.Hash}
	}
	return nil
}

// head returns the end of the chain.
func (s *Store) head(ctx context.Context, tx database) (audit.Head, error) {
	head := audit.Start()
	var text string
	err := tx.QueryRowContext(ctx, `SELECT line FROM audit ORDER BY seq DESC LIMIT 1`).Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return head, nil
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &head)
	}
	return head, s.wrapError("read the audit log", err)
}

// AuditLines returns at most limit lines of the audit log after a record number, in order and
// without line breaks.
func (s *Store) AuditLines(ctx context.Context, after int64, limit int) (out []string, err error) {
	err = s.each(ctx, fmt.Sprintf(`SELECT line FROM audit WHERE seq > $1 ORDER BY seq LIMIT %d`, limit), []any{after}, func(r row) error {
		var line string
		err := r.Scan(&line)
		out = append(out, line)
		return err
	})
	return out, err
}

// violation identifies a forbidden action of a machine. A batch records each violation once, so
// that a flood does not fill the log.
type violation struct {
	machine, run string
	code         protocol.Code
}

// machineRecord returns an audit record of a machine's action on a run.
func (b *batch) machineRecord(in *Incoming, kind, data string) audit.Record {
	return audit.Record{Run: in.Envelope.RunID, Kind: kind, Actor: audit.Actor{Type: "host", Name: in.MachineID}, Data: json.RawMessage(data)}
}

// addViolation adds an audit record that an event was refused.
func (b *batch) addViolation(in *Incoming, code protocol.Code) {
	v := violation{in.MachineID, in.Envelope.RunID, code}
	if code == protocol.RateLimited {
		v.run = "" // one record for all runs beyond the limit
	}
	if code == "" || b.violations[v] {
		return
	}
	if b.violations == nil {
		b.violations = map[violation]bool{}
	}
	b.violations[v] = true
	b.records = append(b.records, b.machineRecord(in, "host_violation", fmt.Sprintf(`{"code":%q,"seq":%d}`, code, in.Envelope.Seq)))
}

// record writes the audit records of the batch.
func (b *batch) record() error { return b.s.record(b.ctx, b.tx, b.at, b.records) }
