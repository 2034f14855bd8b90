package sqlitestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// doneTable contains the last effects of each durable run that has written to the file, and their
// results. After an interruption, the run can thereby determine which effects were performed. Only
// files to which a durable run has written contain the table. In earlier versions it had only one
// effect of each run.
const (
	doneTable       = `CREATE TABLE done (run TEXT NOT NULL, effect INTEGER NOT NULL, result TEXT NOT NULL, PRIMARY KEY (run, effect)) STRICT, WITHOUT ROWID`
	formerDoneTable = `CREATE TABLE done (run TEXT NOT NULL PRIMARY KEY, effect INTEGER NOT NULL, result TEXT NOT NULL) STRICT, WITHOUT ROWID`
)

const (
	sqlDone     = `SELECT result FROM done WHERE run = ? AND effect = ?`
	sqlAddDone  = `INSERT INTO done (run, effect, result) VALUES (?, ?, ?)`
	sqlDropDone = `DELETE FROM done WHERE run = ? AND effect < ?`
)

// onceOnly runs an operation and records, in the same transaction, that the effect with this key
// was performed. If the effect is already recorded, onceOnly returns the recorded result. It
// removes the run's records of effects before the number before.
func (f *file) onceOnly(key string, before int64, k effect.Kind, op operation) (result effect.Result, err error) {
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
		var problem error // why the recorded result cannot be read
		err := f.runStatement(sqlDone, func(s *sqlite3.Stmt) {
			done = true
			result, problem = resultOf(k, s.ColumnRawText(0))
		}, run, number)
		if err != nil || done {
			return errors.Join(err, problem)
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
		if err := f.runStatement(sqlDropDone, nil, run, before); err != nil {
			return err
		}
		return f.runStatement(sqlAddDone, nil, run, number, string(text))
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// haveDone creates doneTable if it does not exist, and converts its former form.
func (f *file) haveDone() error {
	table := ""
	err := f.runStatement(`SELECT sql FROM sqlite_schema WHERE name = 'done'`, func(s *sqlite3.Stmt) { table = s.ColumnText(0) })
	switch {
	case err != nil || table == doneTable:
		return err
	case table == "":
		return f.conn.Exec(doneTable)
	}
	return f.conn.Exec(`ALTER TABLE done RENAME TO former_done; ` + doneTable + `; INSERT INTO done SELECT run, effect, result FROM former_done; DROP TABLE former_done`)
}

// resultOf decodes the recorded result of an effect.
func resultOf(k effect.Kind, text []byte) (effect.Result, error) {
	if row := effect.Lookup(k); row.Result != nil && string(text) != "null" {
		result := row.Result()
		return result, json.Unmarshal(text, result)
	}
	return nil, nil
}
