package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Number of entries in the stores, and number of lookups.
const (
	storeEntries  = 1_000_000
	storeReads    = 200_000
	ledgerEntries = 100_000
	ledgerFinds   = 2_000
)

// stores returns the measures of stores in files.
func stores() []measure {
	return []measure{
		{name: "store-read", title: "point read in a hashmap of 1M entries in a file", unit: "µs", peers: "the driver's own, prepared", target: 3,
			ours: func(l *lab) (float64, error) { return l.stored("read", storeReads) },
			peer: func(l *lab) (float64, error) {
				dir, err := l.storeProject()
				if err != nil {
					return 0, err
				}
				return printed(l.process(dir, l.bin("sqlite"), "bench.db", strconv.Itoa(storeReads), strconv.Itoa(storeEntries)))
			}},
		{name: "ledger-find", title: "look-up by words and by keys in a ledger of 100k entries in a file", unit: "µs", fixed: 5000,
			ours: func(l *lab) (float64, error) { return l.stored("find", ledgerFinds) }},
	}
}

// stored runs one of the programs below, which prints its time. It returns the time for each of the
// n operations in microseconds.
func (l *lab) stored(program string, n int) (float64, error) {
	dir, err := l.storeProject()
	if err != nil {
		return 0, err
	}
	ms, err := printed(l.process(dir, l.bin("concerto"), "run", program+".conc", "--", strconv.Itoa(n)))
	return ms * 1000 / float64(n), err
}

func printed(p outcome, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(p.out, 64)
}

// storeProject returns a directory with the programs and a filled file. The first call creates it.
func (l *lab) storeProject() (string, error) {
	dir := l.bin("project-stores")
	if _, err := os.Stat(filepath.Join(dir, "bench.db")); !errors.Is(err, fs.ErrNotExist) {
		return dir, err
	}
	declared := `use std::{env, time};
hashmap numbers: HashMap<String, Int> = HashMap::new().with_persistence("bench.db");
ledger notes: Ledger = Ledger::new().with_persistence("bench.db");
`
	err := writeProject(dir, map[string]string{
		"fill.conc": declared + fmt.Sprintf(`fn main() {
    for block in 0..%d / 20000 {
        let mut some: Map<String, Int> = {};
        for i in block * 20000..(block + 1) * 20000 { some["key ${i}"] = i; }
        numbers.set_many(some);
    }
    for i in 0..%d { notes.insert("note ${i} of project ${i %% 1000}", ["k${i %% 5000}", "all"], "value ${i}"); }
}`, storeEntries, ledgerEntries),
		"read.conc": declared + fmt.Sprintf(`fn main() {
    let n = env::args()[0].parse_int()?;
    let mut at = 1;
    let mut sum = 0;
    let began = time::monotonic_ms();
    for _ in 0..n {
        at = (at * 69621 + 12345) %% %d;
        sum += numbers.get_or("key ${at}", -1) - at;
    }
    println(time::monotonic_ms() - began);
    assert_eq(sum, 0);
}`, storeEntries),
		"find.conc": declared + fmt.Sprintf(`fn main() {
    let n = env::args()[0].parse_int()?;
    let mut found = 0;
    let began = time::monotonic_ms();
    for i in 0..n / 4 {
        let at = i * 7919 %% %d;
        found += notes.query().from_identifier("NOTE ${at}").len();
        found += notes.query().from_identifier("of project note ${at}").len();
        found += notes.query().from_key("K${at %% 5000}").len();
        found += notes.query().from_exact_keys(["ALL", "k${at %% 5000}"]).len();
    }
    println(time::monotonic_ms() - began);
    assert(found >= n, "found ${found}");
}`, ledgerEntries),
	})
	if err != nil {
		return "", err
	}
	_, err = l.process(dir, l.bin("concerto"), "run", "fill.conc")
	return dir, err
}
