package store

import (
	"context"
	"fmt"
	"strings"
)

// migrations lists the changes of the schema. The step with index N creates schema N+1. Existing
// steps must not be changed.
var migrations = []string{`
CREATE TABLE users (name TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL);
CREATE TABLE tokens (id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, user_name TEXT NOT NULL, role TEXT NOT NULL, runs TEXT NOT NULL, kind TEXT NOT NULL, expires BIGINT NOT NULL);
CREATE TABLE hosts (id TEXT PRIMARY KEY, name TEXT NOT NULL, token_hash TEXT NOT NULL, pubkey TEXT NOT NULL, epoch BIGINT NOT NULL, gen BIGINT NOT NULL,
	replica TEXT NOT NULL, last_seen_at BIGINT NOT NULL);
CREATE TABLE pairings (code_hash TEXT PRIMARY KEY, pubkey TEXT NOT NULL, name TEXT NOT NULL, expires BIGINT NOT NULL);
CREATE TABLE runs (id TEXT PRIMARY KEY, host_id TEXT NOT NULL, tool TEXT NOT NULL, cwd TEXT NOT NULL, command TEXT NOT NULL, title TEXT NOT NULL,
	status TEXT NOT NULL, waits BIGINT NOT NULL, meta_json TEXT NOT NULL, started_at BIGINT NOT NULL, last_active_at BIGINT NOT NULL, ended_at BIGINT NOT NULL,
	exit_code BIGINT, prefix_seq BIGINT NOT NULL, last_seq BIGINT NOT NULL);
CREATE INDEX runs_by_host ON runs (host_id);
CREATE INDEX runs_by_activity ON runs (last_active_at);
CREATE TABLE events (id {serial}, run_id TEXT NOT NULL, seq BIGINT NOT NULL, from_seq BIGINT NOT NULL, ts TEXT NOT NULL, type TEXT NOT NULL, input_id TEXT NOT NULL,
	data_json TEXT NOT NULL, extra_json TEXT NOT NULL, recv_at BIGINT NOT NULL, UNIQUE (run_id, seq));
CREATE INDEX events_gaps ON events (run_id, seq) WHERE type = 'run.gap';
CREATE TABLE requests (run_id TEXT NOT NULL, request_id TEXT NOT NULL, seq BIGINT NOT NULL, data_json TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (run_id, request_id));
CREATE INDEX requests_open ON requests (state);
CREATE TABLE commands (n {serial}, run_id TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, payload TEXT NOT NULL, payload_sha256 TEXT NOT NULL,
	by_name TEXT NOT NULL, created BIGINT NOT NULL, expires BIGINT NOT NULL, UNIQUE (run_id, kind, id));
CREATE INDEX commands_open ON commands (state);
CREATE TABLE decisions (run_id TEXT NOT NULL, request_id TEXT NOT NULL, decision TEXT NOT NULL, by_name TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (run_id, request_id));
CREATE TABLE rpc_calls (request_id TEXT PRIMARY KEY, data_json TEXT NOT NULL, state TEXT NOT NULL, at BIGINT NOT NULL);
CREATE TABLE push (endpoint TEXT PRIMARY KEY, user_name TEXT NOT NULL, data_json TEXT NOT NULL);
CREATE TABLE audit (seq BIGINT PRIMARY KEY, line TEXT NOT NULL)
`, `
ALTER TABLE tokens ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN parent TEXT NOT NULL DEFAULT '';
ALTER TABLE tokens ADD COLUMN slides BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN created BIGINT NOT NULL DEFAULT 0;
CREATE INDEX tokens_of_user ON tokens (user_name);
ALTER TABLE hosts ADD COLUMN removed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE meta ADD COLUMN people BIGINT NOT NULL DEFAULT 0
`, `
CREATE TABLE replicas (id TEXT PRIMARY KEY, key TEXT NOT NULL, seen_at BIGINT NOT NULL);
CREATE TABLE mail (n {serial}, replica TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
CREATE INDEX mail_of_replica ON mail (replica);
ALTER TABLE hosts ADD COLUMN instance TEXT NOT NULL DEFAULT '';
ALTER TABLE hosts ADD COLUMN proto BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN made BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN changed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX runs_by_change ON runs (changed) WHERE changed > 0;
ALTER TABLE commands ADD COLUMN why TEXT NOT NULL DEFAULT '';
ALTER TABLE commands ADD COLUMN keeper TEXT NOT NULL DEFAULT '';
ALTER TABLE rpc_calls ADD COLUMN host_id TEXT NOT NULL DEFAULT '';
ALTER TABLE rpc_calls ADD COLUMN gen BIGINT NOT NULL DEFAULT 0;
ALTER TABLE rpc_calls ADD COLUMN answer TEXT NOT NULL DEFAULT '';
ALTER TABLE rpc_calls ADD COLUMN ends BIGINT NOT NULL DEFAULT 0;
CREATE INDEX rpc_calls_open ON rpc_calls (host_id) WHERE answer = ''
`, `
CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL);
ALTER TABLE pairings ADD COLUMN id TEXT NOT NULL DEFAULT '';
ALTER TABLE pairings ADD COLUMN asked_id TEXT NOT NULL DEFAULT '';
ALTER TABLE pairings ADD COLUMN token_hash TEXT NOT NULL DEFAULT '';
ALTER TABLE pairings ADD COLUMN address TEXT NOT NULL DEFAULT '';
ALTER TABLE pairings ADD COLUMN host_id TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX pairings_by_id ON pairings (id)
`, `
CREATE TABLE notices (run_id TEXT NOT NULL, request_id TEXT NOT NULL, sent BIGINT NOT NULL, PRIMARY KEY (run_id, request_id));
CREATE TABLE starts (run_id TEXT PRIMARY KEY, user_name TEXT NOT NULL)
`, `
ALTER TABLE decisions ADD COLUMN answer TEXT NOT NULL DEFAULT '';
ALTER TABLE decisions ADD COLUMN answer_sha256 TEXT NOT NULL DEFAULT ''
`, `
CREATE TABLE history (n {serial}, run_id TEXT NOT NULL, request_id TEXT NOT NULL, host_id TEXT NOT NULL, at BIGINT NOT NULL, title TEXT NOT NULL, line TEXT NOT NULL,
	decision TEXT NOT NULL, by_name TEXT NOT NULL, actor TEXT NOT NULL, reason TEXT NOT NULL, answer TEXT NOT NULL);
CREATE UNIQUE INDEX history_of_request ON history (run_id, request_id) WHERE request_id <> '';
CREATE INDEX history_by_time ON history (at, n);
CREATE INDEX history_by_run ON history (run_id, at, n);
CREATE INDEX history_by_host ON history (host_id, at, n);
CREATE INDEX history_by_decision ON history (decision, at, n);
CREATE INDEX history_by_person ON history (by_name, at, n)
`, `
CREATE TABLE seal_log (account TEXT NOT NULL, n BIGINT NOT NULL, line TEXT NOT NULL, sha256 TEXT NOT NULL, PRIMARY KEY (account, n));
ALTER TABLE hosts ADD COLUMN account TEXT NOT NULL DEFAULT ''
`, `
ALTER TABLE runs ADD COLUMN sealed BIGINT NOT NULL DEFAULT 0
`, `
ALTER TABLE history ADD COLUMN seq BIGINT NOT NULL DEFAULT 0
`, `
CREATE TABLE push_bodies (run_id TEXT NOT NULL, request_id TEXT NOT NULL, type TEXT NOT NULL, data_json TEXT NOT NULL, PRIMARY KEY (run_id, request_id, type));
CREATE TABLE passkeys (account TEXT NOT NULL, device TEXT NOT NULL, user_name TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (account, device, user_name))
`, `
ALTER TABLE runs ADD COLUMN epoch BIGINT NOT NULL DEFAULT -1
`}

// historySchema is the number of the schema with the table history, which the migration fills.
const historySchema = 7

// migrate updates the schema in one transaction. If the schema is newer than this program, migrate
// changes nothing and returns ErrNewer.
func (s *Store) migrate(ctx context.Context) error {
	return s.change(ctx, func(tx database) error {
		if _, err := tx.ExecContext(ctx, s.dialect.Alone); s.dialect.Alone != "" && err != nil {
			return s.wrapError("lock the database", err)
		}
		if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS meta (one BIGINT PRIMARY KEY, schema BIGINT NOT NULL)`); err != nil {
			return s.wrapError("make the schema", err)
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO meta (one, schema) VALUES (1, 0) ON CONFLICT DO NOTHING`); err != nil {
			return s.wrapError("make the schema", err)
		}
		var has int
		if err := tx.QueryRowContext(ctx, `SELECT schema FROM meta`+s.dialect.Lock).Scan(&has); err != nil {
			return s.wrapError("read the schema's version", err)
		}
		if has > len(migrations) {
			return fmt.Errorf("%w: its schema is %d, and this version supports %d: use a newer concerto-relay", ErrNewer, has, len(migrations))
		}
		fills := has < historySchema
		for ; has < len(migrations); has++ {
			for _, statement := range strings.Split(strings.ReplaceAll(migrations[has], "{serial}", s.dialect.Serial), ";") {
				if _, err := tx.ExecContext(ctx, statement); err != nil {
					return s.wrapError(fmt.Sprintf("make schema %d", has+1), err)
				}
			}
		}
		if fills {
			if err := (historyTable{ctx, s, tx}).fill(); err != nil { // with the present columns
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE meta SET schema = $1`, has)
		return s.wrapError("note the schema's version", err)
	})
}
