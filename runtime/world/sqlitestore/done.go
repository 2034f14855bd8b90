package sqlitestore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// doneTable contains, for each durable run that has written to the file, the run's last effect and
// its result. After an interruption, the run can thereby determine whether the effect was
// performed. Only files to which a durable run has written contain the table.
const doneTable = `CREATE TABLE done (run TEXT NOT NULL PRIMARY KEY, effect INTEGER NOT NULL, result TEXT NOT NULL) STRICT, WITHOUT ROWID`

const (
	sqlDone    = `SELECT effect, result FROM done WHERE run = ?`
	sqlSetDone = `INSERT INTO done (run, effect, result) VALUES (?, ?, ?) ON CONFLICT (run) DO UPDATE SET effect = excluded.effect, result = excluded.result`
)

// onceOnly runs an operation and records, in the same transaction, that the effect with this key
// was performed. If the effect is already recorded, onceOnly returns the recorded result.
func (f *file) onceOnly(key string, k effect.Kind, op operation) (result effect.Result, err error) {
	at := strings.LastIndexByte(key, '-')
	number, err := strconv.ParseInt(key[at+1:], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("an effect's key is %q", key)
	}
	run := key[:max(at, 0)]
	err = f.runTransaction("BEGIN IMMEDIATE", func() error {
		if err := f.haveDone(); err != nil {
			return err
		}
		done := false
		err := f.runStatement(sqlDone, func(s *sqlite3.Stmt) {
			if done = s.ColumnInt64(0) == number; done {
				result, err = resultOf(k, s.ColumnRawText(1))
			}
		}, run)
		if err != nil || done {
			return err
		}
		f.inside = true
		defer func() { f.inside = false }()
		if result, err = op(f); err != nil {
			return err
		}
		text, err := json.Marshal(result)
		if err != nil {
			return err
		}
		return f.runStatement(sqlSetDone, nil, run, number, string(text))
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// haveDone creates doneTable if it does not exist.
func (f *file) haveDone() error {
	var names []string
	err := f.runStatement(`SELECT name FROM sqlite_schema WHERE type = 'table'`, func(s *sqlite3.Stmt) { names = append(names, s.ColumnText(0)) })
	if err != nil || slices.Contains(names, "done") {
		return err
	}
	return f.conn.Exec(doneTable)
}

// resultOf decodes the recorded result of an effect.
func resultOf(k effect.Kind, text []byte) (effect.Result, error) {
	if row := effect.Lookup(k); row.Result != nil && string(text) != "null" {
		result := row.Result()
		return result, json.Unmarshal(text, result)
	}
	return nil, nil
}
