package sqlitestore

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// Each row with data of a program has a checksum, which is verified whenever the value in the row
// is read. SQLite itself detects a damaged structure, but not a damaged value.

// sumColumn defines the column of the checksum, which the tables have since format 2. Its text is
// the one that SQLite writes for a column that was added later.
const sumColumn = ", sum INTEGER NOT NULL DEFAULT 0"

// summed lists the columns that the checksum of each table covers.
var summed = []struct{ table, columns string }{
	{"section", "kind, name, scope"}, {"entry", "section, key, value"}, {"message", "section, role, content"}, {"record", "section, identifier, keys, value"},
}

// sum returns the checksum of the columns of a row. Each column is a string, a []byte or an int64.
func sum(columns ...any) int64 {
	crc, castagnoli := uint32(0), crc32.MakeTable(crc32.Castagnoli)
	var length [8]byte
	for _, c := range columns {
		var b []byte
		switch c := c.(type) {
		case string:
			b = []byte(c)
		case []byte:
			b = c
		case int64:
			b = strconv.AppendInt(nil, c, 10)
		default:
			panic(fmt.Sprintf("a column is a %T", c))
		}
		binary.LittleEndian.PutUint64(length[:], uint64(len(b)))
		crc = crc32.Update(crc32.Update(crc, castagnoli, length[:]), castagnoli, b)
	}
	return int64(crc)
}

// formerly returns the definition of a table in format 1, which had no checksums.
func formerly(table string) string { return strings.Replace(table, sumColumn, "", 1) }

// migrate converts a database of format 1 to the current format: each row receives the checksum of
// its current content. It does nothing if another process has already migrated the database.
func (f *file) migrate() error {
	if err := f.conn.CreateFunction("checksum", -1, sqlite3.DETERMINISTIC, checksumOf); err != nil {
		return err
	}
	return f.transaction(func() error {
		if _, version, err := marks(f.conn); err != nil || version >= format {
			return err
		}
		for _, s := range summed {
			for _, sql := range []string{"ALTER TABLE " + s.table + " ADD COLUMN " + strings.TrimPrefix(sumColumn, ", "),
				"UPDATE " + s.table + " SET sum = checksum(" + s.columns + ")"} {
				if err := f.conn.Exec(sql); err != nil {
					return err
				}
			}
		}
		return f.conn.Exec(fmt.Sprintf("PRAGMA user_version = %d", format))
	})
}

func checksumOf(ctx sqlite3.Context, args ...sqlite3.Value) {
	columns := make([]any, len(args))
	for i, a := range args {
		if columns[i] = any(a.RawText()); a.Type() == sqlite3.INTEGER {
			columns[i] = a.Int64()
		}
	}
	ctx.ResultInt64(sum(columns...))
}

// rowDamaged returns the error for a row whose checksum does not match.
func rowDamaged(what string) error {
	return refusef("%s is damaged: its checksum does not match; store it again or delete it, or replace the file by a copy", what)
}

// entryDamaged returns the name of a hashmap's entry for an error. For a cache it names only the
// cache, because users do not know its keys.
func entryDamaged(at effect.Store, key []byte) error {
	if at.Kind == "cache" {
		return refusef("the stored answers of @cache of %s are damaged: their checksum does not match; move the file away to start again", at.Name)
	}
	return rowDamaged(fmt.Sprintf("the entry %q of the hashmap %s", keyText(json.RawMessage(key)), shownStore(at)))
}

// shownStore returns a store's name with its scope.
func shownStore(at effect.Store) string {
	if at.Scope == "" {
		return at.Name
	}
	return fmt.Sprintf("%s (scope %q)", at.Name, at.Scope)
}

// sectionsFit verifies the names of all sections, once for each connection. A store with a damaged
// name would otherwise appear as an empty store.
func (f *file) sectionsFit() error {
	if f.sectionsRead {
		return nil
	}
	var problem error
	err := f.runStatement(`SELECT kind, name, scope, sum FROM section`, func(s *sqlite3.Stmt) {
		if at := (effect.Store{Kind: s.ColumnText(0), Name: s.ColumnText(1), Scope: s.ColumnText(2)}); problem == nil && s.ColumnInt64(3) != sum(at.Kind, at.Name, at.Scope) {
			problem = damaged(fmt.Sprintf("the name of the %s %s differs from the written one", at.Kind, shownStore(at)))
		}
	})
	if err == nil {
		err = problem
	}
	f.sectionsRead = err == nil
	return err
}
