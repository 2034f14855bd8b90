// Command sqlite is the program with which the benchmarks compare a hashmap in a file. It reads
// single values from the benchmark's file with a prepared statement of the driver. `sqlite FILE
// READS ENTRIES` prints the time for each read in microseconds.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/ncruces/go-sqlite3"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file, reads, entries string) error {
	n, err := strconv.Atoi(reads)
	if err != nil {
		return err
	}
	m, err := strconv.Atoi(entries)
	if err != nil {
		return err
	}
	c, err := sqlite3.Open(file)
	if err != nil {
		return err
	}
	s, _, err := c.Prepare(`SELECT value FROM entry WHERE section = 1 AND key = ?`)
	if err != nil {
		return err
	}
	at, sum := 1, 0
	began := time.Now()
	for range n {
		at = (at*69621 + 12345) % m
		if err := s.BindText(1, `"key `+strconv.Itoa(at)+`"`); err != nil {
			return err
		}
		if !s.Step() {
			return fmt.Errorf("no entry %d: %w", at, s.Err())
		}
		sum += s.ColumnInt(0) - at
		if err := s.Reset(); err != nil {
			return err
		}
	}
	took := time.Since(began)
	if sum != 0 {
		return fmt.Errorf("the sum of the values differs by %d", sum)
	}
	fmt.Println(float64(took.Nanoseconds()) / 1000 / float64(n))
	if err := s.Close(); err != nil {
		return err
	}
	return c.Close()
}
