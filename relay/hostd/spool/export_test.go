package spool

import "fmt"

// LimitPages limits the number of pages in the file, which simulates a full disk. 0 removes the
// limit.
func (s *Spool) LimitPages(n int) error {
	if n == 0 {
		n = 1 << 30
	}
	_, err := s.writeDB.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
	return err
}

// Checkpoint moves the contents of the WAL to the file.
func (s *Spool) Checkpoint() error {
	_, err := s.writeDB.Exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	return err
}
