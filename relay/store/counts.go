package store

import "context"

// countQueries maps the names of the counts to their queries. $1 is the time.
var countQueries = map[string]string{
	`users`:               `SELECT count(*) FROM users`,
	`tokens`:              `SELECT count(*) FROM tokens WHERE kind IN ('session', 'token') AND expires > $1`,
	`hosts`:               `SELECT count(*) FROM hosts WHERE removed = 0`,
	`runs`:                `SELECT count(*) FROM runs`,
	`runs_open`:           `SELECT count(*) FROM runs WHERE status <> 'exited'`,
	`requests_open`:       `SELECT count(*) FROM requests WHERE state IN ('open', 'decided')`,
	`commands_open`:       `SELECT count(*) FROM commands WHERE state IN ('accepted', 'sent')`,
	`events_stored_total`: `SELECT coalesce(max(id), 0) FROM events`,
	`audit_records_total`: `SELECT coalesce(max(seq), 0) FROM audit`,
}

// Counts returns the numbers of stored objects at a time in Unix ms.
func (s *Store) Counts(ctx context.Context, at int64) (map[string]int64, error) {
	out := map[string]int64{}
	for name, text := range countQueries {
		args := []any{}
		if name == `tokens` {
			args = append(args, at)
		}
		var n int64
		if err := s.reader().QueryRowContext(ctx, text, args...).Scan(&n); err != nil {
			return nil, s.wrapError("count "+name, err)
		}
		out[name] = n
	}
	return out, nil
}

// CountRuns returns the number of stored runs of a machine, including those that have ended.
func CountRuns(ctx context.Context, s *Store, machine string) (n int, err error) {
	err = s.reader().QueryRowContext(ctx, `SELECT count(*) FROM runs WHERE host_id = $1`, machine).Scan(&n)
	return n, s.wrapError("count runs", err)
}
