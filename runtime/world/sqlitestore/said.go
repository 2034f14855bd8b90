package sqlitestore

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ncruces/go-sqlite3"

	pure "github.com/concerto-lang/concerto/internal/data/memstore"
)

const (
	sqlWithWord   = `SELECT record FROM word WHERE section = ? AND word = ?`
	sqlRecordKeys = `SELECT key, record FROM record_key WHERE section = ?`
	sqlRecordHead = `SELECT identifier, keys FROM record WHERE id = ?`
)

// findMentioned calls take with each record whose identifier a text mentions. Records with the most
// matching words come first (internal/data/memstore, Ledger.FromText).
func (f *file) findMentioned(section int64, text string, take func(*sqlite3.Stmt)) error {
	words := pure.NewWordSet(text)
	score := map[int64]int{}
	for w := range words {
		if err := f.runStatement(sqlWithWord, func(s *sqlite3.Stmt) { score[s.ColumnInt64(0)] = 0 }, section, w); err != nil {
			return err
		}
	}
	err := f.runStatement(sqlRecordKeys, func(s *sqlite3.Stmt) {
		if words.ContainsKey(s.ColumnText(0)) {
			score[s.ColumnInt64(1)] = 0
		}
	}, section)
	if err != nil {
		return err
	}
	var found []int64
	for id := range score {
		var broken error
		err := f.runStatement(sqlRecordHead, func(s *sqlite3.Stmt) {
			var keys []string
			broken = json.Unmarshal(s.ColumnRawText(1), &keys)
			score[id] = words.Score(s.ColumnText(0), keys)
		}, id)
		if err == nil && broken != nil {
			err = damaged(unreadableKeys)
		}
		if err != nil {
			return err
		}
		if score[id] > 0 {
			found = append(found, id)
		}
	}
	slices.SortFunc(found, func(a, b int64) int { return cmp.Or(cmp.Compare(score[b], score[a]), cmp.Compare(a, b)) })
	for _, id := range found {
		if err := f.runStatement(sqlRecordByID, take, id); err != nil {
			return err
		}
	}
	return nil
}
