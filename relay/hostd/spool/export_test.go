package spool

import "fmt"

// LimitPages bounds the file as a full disk would; 0 lifts the bound.
func (s *Spool) LimitPages(n int) error {
	if n == 0 {
		n = 1 << 30
	}
	_, err := s.writeDB.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, n))
	return err
}

// On places a spool on the SQLite VFS named disk.
func (o Options) On(disk string) Options {
	o.disk = disk
	return o
}
