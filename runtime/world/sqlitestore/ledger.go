package sqlitestore

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
	pure "github.com/concerto-lang/concerto/internal/data/memstore"
)

const (
	sqlRecord = `SELECT id, keys, value, sum FROM record WHERE section = ? AND identifier = ?`
	sqlInsert = `INSERT INTO record (section, identifier, keys, value, sum) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (section, identifier) DO UPDATE SET keys = excluded.keys, value = excluded.value, sum = excluded.sum RETURNING id`
	sqlStrike       = `DELETE FROM record WHERE id = ?`
	sqlAddWord      = `INSERT INTO word (section, word, record) VALUES (?, ?, ?)`
	sqlDropWord     = `DELETE FROM word WHERE section = ? AND word = ? AND record = ?`
	sqlAddKey       = `INSERT INTO record_key (section, key, record) VALUES (?, ?, ?)`
	sqlDropKey      = `DELETE FROM record_key WHERE section = ? AND key = ? AND record = ?`
	sqlRecordLen    = `SELECT count(*) FROM record INDEXED BY record_order WHERE section = ?`
	sqlClearRecords = `DELETE FROM record WHERE section = ?`
	sqlClearWords   = `DELETE FROM word WHERE section = ?`
	sqlClearKeys    = `DELETE FROM record_key WHERE section = ?`
	sqlWithKey      = `SELECT record FROM record_key WHERE section = ? AND key = ?`
	sqlRecordByID   = `SELECT identifier, keys, value, sum FROM record WHERE id = ?`
	sqlRecords      = `SELECT identifier, keys, value, sum FROM record WHERE section = ? ORDER BY id`
)

// posting is a table that maps each word or key to the records that contain it, in order.
type posting struct{ table, column string }

var (
	byWord = posting{"word", "word"}
	byKey  = posting{"record_key", "key"}
)

// mostTexts is the maximum number of different words in an identifier, in which at most every
// second character begins a word. An entry has fewer keys than this.
const mostTexts = pure.MaxIdentifier/2 + 1

const unreadableKeys = "could not read the keys of a ledger's entry"

func recordDamaged(at effect.Store, identifier string) error {
	return rowDamaged(fmt.Sprintf("the entry %q of the ledger %s", identifier, shownStore(at)))
}

// record is an entry of a ledger in the database.
type record struct {
	id    int64
	keys  []string
	value string
	// error if the checksum does not match, in which case the other fields must not be used
	damaged error
}

// lookupRecord returns the record with an identifier, or nil.
func (f *file) lookupRecord(at effect.Store, section int64, identifier string) (found *record, err error) {
	var broken error
	err = f.runStatement(sqlRecord, func(s *sqlite3.Stmt) {
		found = &record{id: s.ColumnInt64(0), value: s.ColumnText(2)}
		if s.ColumnInt64(3) != sum(section, identifier, s.ColumnRawText(1), found.value) {
			found = &record{id: found.id, damaged: recordDamaged(at, identifier)}
		} else if json.Unmarshal(s.ColumnRawText(1), &found.keys) != nil {
			broken = damaged(unreadableKeys)
		}
	}, section, identifier)
	if err == nil {
		err = broken
	}
	return found, err
}

func (f *file) putRecord(q *effect.LedgerPut) (effect.Result, error) {
	found := &effect.StoreFound{}
	err := f.transaction(func() error {
		section, err := f.sectionToWrite(q.Store)
		if err != nil {
			return err
		}
		old, err := f.lookupRecord(q.Store, section, q.Entry.Identifier)
		if err != nil || old == nil && q.Update != "" {
			return err
		}
		found.Found = old != nil
		e := q.Entry
		if old != nil && old.damaged != nil {
			if q.Update != "" {
				return old.damaged
			}
			if err := f.uproot(old.id); err != nil {
				return err
			}
			old = nil
		}
		switch q.Update {
		case "keys":
			e.Value = old.value
		case "value":
			e.Keys = old.keys
		}
		return f.replaceRecord(section, old, e)
	})
	return found, err
}

// replaceRecord replaces the record old by an entry, or adds the entry if old is nil.
func (f *file) replaceRecord(section int64, old *record, e effect.LedgerEntry) error {
	if e.Keys == nil {
		e.Keys = []string{}
	}
	keys, err := json.Marshal(e.Keys)
	if err != nil {
		return err
	}
	var id int64
	if err := f.runStatement(sqlInsert, func(s *sqlite3.Stmt) { id = s.ColumnInt64(0) }, section, e.Identifier, keys, e.Value, sum(section, e.Identifier, keys, e.Value)); err != nil {
		return err
	}
	var removed []string
	if old == nil {
		if err := f.runForEach(sqlAddWord, section, distinct(pure.Words(e.Identifier)), id); err != nil {
			return err
		}
	} else {
		removed = distinct(pure.FoldAll(old.keys))
	}
	now := distinct(pure.FoldAll(e.Keys))
	if slices.Equal(removed, now) {
		return nil
	}
	if err := f.runForEach(sqlDropKey, section, removed, id); err != nil {
		return err
	}
	return f.runForEach(sqlAddKey, section, now, id)
}

// runForEach runs a statement once for each text.
func (f *file) runForEach(sql string, section int64, texts []string, id int64) error {
	for _, text := range texts {
		if err := f.runStatement(sql, nil, section, text, id); err != nil {
			return err
		}
	}
	return nil
}

// distinct returns the texts in sorted order without duplicates.
func distinct(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// uproot removes a damaged record. Because the record's words and keys are unknown, it removes all
// rows of the record from the postings.
func (f *file) uproot(id int64) error {
	for _, sql := range []string{sqlStrike, `DELETE FROM word WHERE record = ?`, `DELETE FROM record_key WHERE record = ?`} {
		if err := f.runStatement(sql, nil, id); err != nil {
			return err
		}
	}
	return nil
}

func (f *file) strike(q *effect.LedgerDelete) (effect.Result, error) {
	found := &effect.StoreFound{}
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return found, err
	}
	err = f.transaction(func() error {
		old, err := f.lookupRecord(q.Store, section, q.Identifier)
		if err != nil || old == nil {
			return err
		}
		found.Found = true
		if old.damaged != nil {
			return f.uproot(old.id)
		}
		if err := f.runStatement(sqlStrike, nil, old.id); err != nil {
			return err
		}
		if err := f.runForEach(sqlDropWord, section, distinct(pure.Words(q.Identifier)), old.id); err != nil {
			return err
		}
		return f.runForEach(sqlDropKey, section, distinct(pure.FoldAll(old.keys)), old.id)
	})
	return found, err
}

func (f *file) findRecords(q *effect.LedgerFind) (effect.Result, error) {
	out := &effect.LedgerEntries{}
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return out, err
	}
	var broken error
	take := func(s *sqlite3.Stmt) {
		e := effect.LedgerEntry{Identifier: s.ColumnText(0), Value: s.ColumnText(2)}
		switch keys := s.ColumnRawText(1); {
		case broken != nil:
		case s.ColumnInt64(3) != sum(section, e.Identifier, keys, e.Value):
			broken = recordDamaged(q.Store, e.Identifier)
		case json.Unmarshal(keys, &e.Keys) != nil:
			broken = damaged(unreadableKeys)
		}
		if len(e.Keys) == 0 {
			e.Keys = nil
		}
		out.Entries = append(out.Entries, e)
	}
	err = f.snapshot(func() error {
		switch q.By {
		case "identifier":
			var words []string
			for _, text := range q.Texts {
				words = append(words, pure.Words(text)...)
			}
			return f.forEachWithAll(byWord, section, distinct(words), take)
		case "all":
			return f.forEachWithAll(byKey, section, distinct(pure.FoldAll(slices.Clone(q.Texts))), take)
		case "any":
			return f.any(section, distinct(pure.FoldAll(slices.Clone(q.Texts))), take)
		case "text":
			return f.findMentioned(section, strings.Join(q.Texts, " "), take)
		}
		return f.runStatement(sqlRecords, take, section)
	})
	if err == nil {
		err = broken
	}
	return out, err
}

// forEachWithAll calls take, in order, with each record that has all of the texts (words or keys).
// Without texts, it calls take with every record. It reads only the records that have the rarest
// text.
func (f *file) forEachWithAll(p posting, section int64, texts []string, take func(*sqlite3.Stmt)) error {
	if len(texts) == 0 {
		return f.runStatement(sqlRecords, take, section)
	}
	if len(texts) > mostTexts {
		return nil // no record has that many texts
	}
	if err := f.rarestFirst(p, section, texts); err != nil {
		return err
	}
	sql := strings.Builder{}
	sql.WriteString(`SELECT r.identifier, r.keys, r.value, r.sum FROM ` + p.table + ` AS a CROSS JOIN record AS r ON r.id = a.record WHERE a.section = ? AND a.` + p.column + ` = ?`)
	args := []any{section, texts[0]}
	for _, text := range texts[1:] {
		sql.WriteString(` AND EXISTS (SELECT 1 FROM ` + p.table + ` AS b WHERE b.section = ? AND b.` + p.column + ` = ? AND b.record = a.record)`)
		args = append(args, section, text)
	}
	sql.WriteString(` ORDER BY a.record`)
	return f.once(sql.String(), take, args...)
}

// rarestFirst moves the text that occurs in the fewest records to the front. It counts only as far
// as necessary.
func (f *file) rarestFirst(p posting, section int64, texts []string) error {
	if len(texts) == 1 {
		return nil
	}
	sql := `SELECT count(*) FROM (SELECT 1 FROM ` + p.table + ` WHERE section = ? AND ` + p.column + ` = ? LIMIT ?)`
	for limit := int64(64); ; limit *= 16 {
		least := limit
		for i, text := range texts {
			var n int64
			if err := f.runStatement(sql, func(s *sqlite3.Stmt) { n = s.ColumnInt64(0) }, section, text, limit); err != nil {
				return err
			}
			if n < least {
				least = n
				texts[0], texts[i] = text, texts[0]
			}
		}
		if least < limit {
			return nil
		}
	}
}

// any calls take with each record that has at least one of the keys, in order.
func (f *file) any(section int64, keys []string, take func(*sqlite3.Stmt)) error {
	if len(keys) == 0 {
		return nil
	}
	if len(keys) > mostTexts {
		return f.anyOfMany(section, keys, take)
	}
	args := []any{section}
	for _, k := range keys {
		args = append(args, k)
	}
	sql := `SELECT identifier, keys, value, sum FROM record WHERE id IN (SELECT record FROM record_key WHERE section = ? AND key IN (?` +
		strings.Repeat(`, ?`, len(keys)-1) + `)) ORDER BY id`
	return f.once(sql, take, args...)
}

// anyOfMany is like any, for more keys than a statement should have arguments.
func (f *file) anyOfMany(section int64, keys []string, take func(*sqlite3.Stmt)) error {
	var ids []int64
	for _, k := range keys {
		if err := f.runStatement(sqlWithKey, func(s *sqlite3.Stmt) { ids = append(ids, s.ColumnInt64(0)) }, section, k); err != nil {
			return err
		}
	}
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if err := f.runStatement(sqlRecordByID, take, id); err != nil {
			return err
		}
	}
	return nil
}

// once runs a statement whose text depends on the number of its arguments. Only a statement with
// few arguments remains prepared.
func (f *file) once(sql string, row func(*sqlite3.Stmt), args ...any) error {
	const few = 8
	err := f.runStatement(sql, row, args...)
	if s := f.statements[sql]; s != nil && len(args) > few {
		delete(f.statements, sql)
		if closed := s.Close(); err == nil {
			err = closed
		}
	}
	return err
}
