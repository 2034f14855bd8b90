package sqlitestore

import (
	"slices"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

const (
	sqlAppend = `INSERT INTO message (section, id, role, content, sum) VALUES (?1, (SELECT coalesce(max(id), 0) + 1 FROM message WHERE section = ?1), ?2, ?3, ?4)`
	// removes all messages except the latest ?2
	sqlTrim          = `DELETE FROM message WHERE section = ?1 AND id <= (SELECT id FROM message WHERE section = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)`
	sqlLatest        = `SELECT role, content, sum FROM message WHERE section = ? ORDER BY id DESC LIMIT ?`
	sqlMessageLen    = `SELECT count(*) FROM message WHERE section = ?`
	sqlClearMessages = `DELETE FROM message WHERE section = ?`
)

func (f *file) appendMessages(q *effect.MemoryAppend) error {
	return f.transaction(func() error {
		section, err := f.sectionToWrite(q.Store)
		for i := 0; i < len(q.Messages) && err == nil; i++ {
			m := &q.Messages[i]
			err = f.runStatement(sqlAppend, nil, section, m.Role, m.Content, sum(section, m.Role, m.Content))
		}
		if err == nil && q.Window > 0 {
			err = f.trimMessages(section, int64(q.Window), int64(max(q.Trim, 1)))
		}
		return err
	})
}

// trimMessages removes the oldest messages, trim at a time, until at most window remain.
func (f *file) trimMessages(section, window, trim int64) error {
	if trim > 1 {
		var n int64
		if err := f.runStatement(sqlMessageLen, func(s *sqlite3.Stmt) { n = s.ColumnInt64(0) }, section); err != nil {
			return err
		}
		window -= (trim - max(n-window, 0)%trim) % trim
	}
	return f.runStatement(sqlTrim, nil, section, window)
}

func (f *file) listMessages(q *effect.MemoryList) (effect.Result, error) {
	out := &effect.MemoryMessages{}
	section, ok, err := f.section(q.Store)
	if !ok || err != nil {
		return out, err
	}
	limit := int64(q.Last)
	if q.Window > 0 && (limit < 0 || limit > int64(q.Window)) {
		limit = int64(q.Window)
	}
	var problem error
	err = f.runStatement(sqlLatest, func(s *sqlite3.Stmt) {
		m := effect.MemoryMessage{Role: s.ColumnText(0), Content: s.ColumnText(1)}
		out.Messages = append(out.Messages, m)
		if problem == nil && s.ColumnInt64(2) != sum(section, m.Role, m.Content) {
			problem = refusef("message %d from the end of the memory %s is damaged: its checksum does not match; clear the memory, or replace the file by a copy",
				len(out.Messages), shownStore(q.Store))
		}
	}, section, limit)
	if err == nil {
		err = problem
	}
	slices.Reverse(out.Messages)
	return out, err
}
