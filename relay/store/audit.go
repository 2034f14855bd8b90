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

// The audit log is one chain a database, whoever writes to it: each record goes into the
// transaction of what it tells, and as the last of it. So those who hold the row of meta, which
// has one write at a time, wait for nothing else.

// Record adds records that tell of nothing else in the database. at is Unix ms.
func (s *Store) Record(ctx context.Context, at int64, all ...audit.Record) error {
	return s.change(ctx, func(tx database) error { return s.record(ctx, tx, at, all) })
}

// record adds records in a transaction. Nothing may be locked in it afterwards.
func (s *Store) record(ctx context.Context, tx database, at int64, all []audit.Record) error {
	if len(all) == 0 {
		return nil
	}
	var one int
	if err := tx.QueryRowContext(ctx, `SELECT one FROM meta`+s.dialect.Lock).Scan(&one); err != nil {
		return s.told("wait for the audit log", err)
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
			return s.told("write the audit log", err)
		}
		head = audit.Head{Seq: line.Seq, Hash: line.Hash}
	}
	return nil
}

// head is the last record's.
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
	return head, s.told("read the audit log", err)
}

// AuditLines are lines of the audit log behind a seq, in order, without their ends: at most limit.
func (s *Store) AuditLines(ctx context.Context, after int64, limit int) (out []string, err error) {
	err = s.each(ctx, fmt.Sprintf(`SELECT line FROM audit WHERE seq > $1 ORDER BY seq LIMIT %d`, limit), []any{after}, func(r row) error {
		var line string
		err := r.Scan(&line)
		out = append(out, line)
		return err
	})
	return out, err
}

// violation is what a host does that it may not. A batch records each once, however often it is
// done in it: a host that floods does not write the log at its own pace.
type violation struct {
	host, run string
	code      protocol.Code
}

// byHost is a record of what a host did with a run.
func (b *batch) byHost(in *Incoming, kind, data string) audit.Record {
	return audit.Record{Run: in.Envelope.RunID, Kind: kind, Actor: audit.Actor{Type: "host", Name: in.HostID}, Data: json.RawMessage(data)}
}

// violated notes that an event was refused.
func (b *batch) violated(in *Incoming, code protocol.Code) {
	v := violation{in.HostID, in.Envelope.RunID, code}
	if code == protocol.RateLimited {
		v.run = "" // each of the runs that are too many is another
	}
	if code == "" || b.violations[v] {
		return
	}
	if b.violations == nil {
		b.violations = map[violation]bool{}
	}
	b.violations[v] = true
	b.records = append(b.records, b.byHost(in, "host_violation", fmt.Sprintf(`{"code":%q,"seq":%d}`, code, in.Envelope.Seq)))
}

// record writes what is to be recorded of the batch.
func (b *batch) record() error { return b.s.record(b.ctx, b.tx, b.at, b.records) }
