package sqlitestore

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/intmath"
	"github.com/concerto-lang/concerto/internal/data/value"
)

const (
	sqlGet      = `SELECT value, sum FROM entry WHERE section = ? AND key = ?`
	sqlSet      = `INSERT INTO entry (section, key, value, sum) VALUES (?, ?, ?, ?) ON CONFLICT (section, key) DO UPDATE SET value = excluded.value, sum = excluded.sum`
	sqlDelete   = `DELETE FROM entry WHERE section = ? AND key = ?`
	sqlEntries  = `SELECT key, value, sum FROM entry WHERE section = ? ORDER BY id`
	sqlKeys     = `SELECT key FROM entry WHERE section = ? ORDER BY id`
	sqlEntryLen = `SELECT count(*) FROM entry INDEXED BY entry_order WHERE section = ?`
	sqlExpire   = `DELETE FROM entry WHERE section = ? AND value < ?`
	sqlClear    = `DELETE FROM entry WHERE section = ?`
)

// copyColumn returns a copy of a column, because the bytes of the column belong to SQLite.
func copyColumn(s *sqlite3.Stmt, column int) json.RawMessage {
	return append(json.RawMessage(nil), s.ColumnRawText(column)...)
}

// getValue returns the value of a key, or nil.
func (f *file) getValue(at effect.Store, section int64, key []byte) (found json.RawMessage, err error) {
	fits := true
	err = f.runStatement(sqlGet, func(s *sqlite3.Stmt) {
		found = copyColumn(s, 0)
		fits = s.ColumnInt64(1) == sum(section, key, []byte(found))
	}, section, key)
	if err == nil && !fits {
		err = entryDamaged(at, key)
	}
	return found, err
}

// setValue writes the value of a key.
func (f *file) setValue(section int64, key, value []byte) error {
	return f.runStatement(sqlSet, nil, section, key, value, sum(section, key, value))
}

func (f *file) readEntry(q *effect.StoreRead) (effect.Result, error) {
	out := &effect.StoreEntries{Entries: make([]effect.StoreEntry, len(q.Keys))}
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return out, err
	}
	all := func() error {
		for i, k := range q.Keys {
			if out.Entries[i].Value, err = f.getValue(q.Store, section, k); err != nil {
				return err
			}
		}
		return nil
	}
	if len(q.Keys) > 1 {
		return out, f.snapshot(all)
	}
	return out, all()
}

func (f *file) writeEntries(q *effect.StoreWrite) (effect.Result, error) {
	before := &effect.StoreEntries{}
	err := f.transaction(func() error {
		section, err := f.sectionToWrite(q.Store)
		for i := 0; i < len(q.Entries) && err == nil; i++ {
			e := &q.Entries[i]
			if q.Before {
				var old json.RawMessage
				if old, err = f.getValue(q.Store, section, e.Key); err != nil {
					break
				}
				before.Entries = append(before.Entries, effect.StoreEntry{Value: old})
			}
			err = f.setValue(section, e.Key, e.Value)
		}
		return err
	})
	if err != nil || !q.Before {
		return nil, err
	}
	return before, nil
}

func (f *file) addToEntry(q *effect.StoreAdd) (effect.Result, error) {
	var before, total json.RawMessage
	err := f.transaction(func() error {
		section, err := f.sectionToWrite(q.Store)
		if err != nil {
			return err
		}
		if before, err = f.getValue(q.Store, section, q.Key); err != nil {
			return err
		}
		if total, err = plus(before, q.By); err != nil {
			var what refusal
			if errors.As(err, &what) {
				err = effect.Errorf("HashMapError", "%s[%s] in %s: %s", q.Name, q.Key, q.File, what).With("key", keyText(q.Key))
			}
			return err
		}
		return f.setValue(section, q.Key, total)
	})
	if err != nil {
		return nil, err
	}
	return &effect.StoreEntries{Entries: []effect.StoreEntry{{Value: before}, {Value: total}}}, nil
}

// keyText returns a key in readable form.
func keyText(key json.RawMessage) string {
	var s string
	if json.Unmarshal(key, &s) == nil {
		return s
	}
	return string(key)
}

// expire removes the entries of a cache that expire before a date. The value of an entry begins
// with the time at which it expires, always with the same number of digits, so that comparing texts
// compares times.
func (f *file) expire(q *effect.StoreExpire) error {
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return err
	}
	return f.transaction(func() error {
		return f.runStatement(sqlExpire, nil, section, fmt.Appendf(nil, "[%013d", q.Date))
	})
}

// plus returns the sum of two numbers in the form of hashmap values. If a is nil, it counts as 0.
// If b is an Int, a must be an Int too, and so is the sum.
func plus(a, b json.RawMessage) (json.RawMessage, error) {
	if a == nil {
		a = json.RawMessage("0")
	}
	if y, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		x, err := strconv.ParseInt(string(a), 10, 64)
		if err != nil {
			return nil, refusef("expected Int, got %s", a)
		}
		n, ok := intmath.Add(x, y)
		if !ok {
			return nil, effect.Errorf("RuntimeError", "integer overflow")
		}
		return strconv.AppendInt(nil, n, 10), nil
	}
	x, ok := parseFloat(a)
	y, isNumber := parseFloat(b)
	if !ok || !isNumber {
		return nil, refusef("expected Float, got %s", a)
	}
	sum := value.AppendFloat(nil, x+y)
	if math.IsNaN(x+y) || math.IsInf(x+y, 0) {
		sum = []byte(strconv.Quote(string(sum)))
	}
	return sum, nil
}

// parseFloat decodes a Float, which is a string if it is NaN or infinite.
func parseFloat(text json.RawMessage) (float64, bool) {
	switch string(text) {
	case `"NaN"`:
		return math.NaN(), true
	case `"inf"`:
		return math.Inf(1), true
	case `"-inf"`:
		return math.Inf(-1), true
	}
	var x float64
	err := json.Unmarshal(text, &x)
	return x, err == nil && string(text) != "null"
}

func (f *file) deleteEntry(q *effect.StoreDelete) (effect.Result, error) {
	found := &effect.StoreFound{}
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return found, err
	}
	err = f.transaction(func() error {
		err := f.runStatement(sqlDelete, nil, section, []byte(q.Key))
		found.Found = f.conn.Changes() > 0
		return err
	})
	return found, err
}

func (f *file) listEntries(q *effect.StoreList) (effect.Result, error) {
	out := &effect.StoreEntries{}
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return out, err
	}
	out.Entries, err = f.entries(q.Store, section, q.Keys, q.Values)
	return out, err
}

// entries returns the entries of a hashmap with their keys, their values or both. If only keys are
// requested, no value is read and no checksum is verified.
func (f *file) entries(at effect.Store, section int64, keys, values bool) (out []effect.StoreEntry, err error) {
	if !values {
		err = f.runStatement(sqlKeys, func(s *sqlite3.Stmt) { out = append(out, effect.StoreEntry{Key: copyColumn(s, 0)}) }, section)
		return out, err
	}
	var problem error
	err = f.runStatement(sqlEntries, func(s *sqlite3.Stmt) {
		e := effect.StoreEntry{Key: copyColumn(s, 0), Value: copyColumn(s, 1)}
		if problem == nil && s.ColumnInt64(2) != sum(section, []byte(e.Key), []byte(e.Value)) {
			problem = entryDamaged(at, e.Key)
		}
		if !keys {
			e.Key = nil
		}
		out = append(out, e)
	}, section)
	if err == nil {
		err = problem
	}
	return out, err
}

// countEntries returns the number of entries of a store of any kind.
func (f *file) countEntries(q *effect.StoreLen) (effect.Result, error) {
	out := &effect.StoreCount{}
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return out, err
	}
	sql := map[string]string{"hashmap": sqlEntryLen, "ledger": sqlRecordLen, "memory": sqlMessageLen}[q.Store.Kind]
	err = f.runStatement(sql, func(s *sqlite3.Stmt) { out.Count = s.ColumnInt64(0) }, section)
	if q.Window > 0 {
		out.Count = min(out.Count, int64(q.Window))
	}
	return out, err
}

// empty removes all entries of a store of any kind.
func (f *file) empty(q *effect.StoreClear) (effect.Result, error) {
	section, ok, err := f.section(q.Store)
	if err != nil {
		return nil, err
	}
	out := &effect.StoreEntries{}
	if ok {
		err = f.transaction(func() error {
			if q.List {
				if out.Entries, err = f.entries(q.Store, section, true, true); err != nil {
					return err
				}
			}
			for _, sql := range map[string][]string{"hashmap": {sqlClear}, "ledger": {sqlClearRecords, sqlClearWords, sqlClearKeys},
				"memory": {sqlClearMessages}}[q.Store.Kind] {
				if err := f.runStatement(sql, nil, section); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil || !q.List {
		return nil, err
	}
	return out, nil
}
