package spent

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/localowner"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/world/sqlitestore"
)

// noon is a time at which the tests begin.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func usd(dollars float64) budget.Use { return budget.Use{Cost: budget.Dollars(dollars)} }

// openRun opens the file for a run at the time *now.
func openRun(t *testing.T, path, run string, now *time.Time) *File {
	t.Helper()
	f, err := Open(path, run, func() time.Time { return *now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func hold(t *testing.T, f *File, key string, dollars float64) {
	t.Helper()
	if err := f.Update(func(d *budget.Day) {
		d.Hold = &budget.Hold{Key: key, Amount: budget.Amount{Cost: budget.Dollars(dollars)}}
	}); err != nil {
		t.Fatal(err)
	}
}

func totals(t *testing.T, f *File) (out budget.Day) {
	t.Helper()
	if err := f.Update(func(d *budget.Day) { out = *d }); err != nil {
		t.Fatal(err)
	}
	return out
}

func report(t *testing.T, f *File, key string, more budget.Use, ended bool) (seen budget.Day) {
	t.Helper()
	if err := f.Report(key, more, ended, func(d *budget.Day) { seen = *d }); err != nil {
		t.Fatal(err)
	}
	return seen
}

// exit stores that the process of a file has exited.
func exit(t *testing.T, f *File) {
	t.Helper()
	o := localowner.Here()
	o.By = "process 2147483646"
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.transaction(func(tx *sqlitestore.Transaction) error {
		return tx.Run(`UPDATE hold SET owner = ? WHERE owner = ?`, nil, string(text), f.owner)
	}); err != nil {
		t.Fatal(err)
	}
}

// TestDay checks the totals of two runs, of a killed one and after midnight.
func TestDay(t *testing.T) {
	now := noon
	path := filepath.Join(t.TempDir(), "sub", "spent.db")
	a, b := openRun(t, path, "r_a", &now), openRun(t, path, "r_b", &now)
	hold(t, a, "1", 0.5)
	hold(t, b, "1", 0.5)
	seen := report(t, a, "1", usd(0.2), false)
	if seen.Hold.Amount.Cost != budget.Dollars(0.5) || seen.Used.Cost != budget.Dollars(0.2) || seen.HeldHosts.Cost != budget.Dollars(0.8) {
		t.Errorf("totals during a report = %+v", seen)
	}
	report(t, b, "1", usd(0.6), true)
	report(t, b, "1", usd(0.1), true) // the host reports more before it exits
	exit(t, a)
	if got := totals(t, b); got.Used.Cost != budget.Dollars(0.9) || got.Lost.Cost != budget.Dollars(0.3) || got.HeldHosts.Cost != 0 {
		t.Errorf("totals = %+v, want 0.90 used and 0.30 lost", got)
	}
	s, err := Read(path, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	want := &Summary{Day: "2026-11-22", Used: budget.Amount{Cost: budget.Dollars(0.9)}, Reserved: budget.Amount{Cost: budget.Dollars(0.3)},
		Runs: []Run{{ID: "r_a", Cost: budget.Dollars(0.2)}, {ID: "r_b", Cost: budget.Dollars(0.7)}}, Reservations: []Run{{ID: "r_a", Cost: budget.Dollars(0.3)}}}
	if d := cmp.Diff(want, s); d != "" {
		t.Error(d)
	}
	// The run is resumed: it adopts the exchange, and drops what it does not continue.
	resumed := openRun(t, path, "r_a", &now)
	if was, err := resumed.Adopt("1"); err != nil || was.Cost != budget.Dollars(0.2) {
		t.Errorf("Adopt = %+v, %v, want 0.20", was, err)
	}
	hold(t, a, "2", 0.4)
	if err := resumed.DropOthers(); err != nil {
		t.Fatal(err)
	}
	if got := totals(t, b); got.Lost.Cost != 0 || got.HeldHosts.Cost != budget.Dollars(0.3) {
		t.Errorf("totals = %+v, want 0.30 held", got)
	}
	now = now.Add(12 * time.Hour) // midnight
	if got := totals(t, b); !cmp.Equal(got, budget.Day{}) {
		t.Errorf("totals of the next day = %+v, want none", got)
	}
	report(t, resumed, "1", usd(0.1), false)
	if got := totals(t, b); got.Used.Cost != budget.Dollars(0.1) || got.HeldHosts.Cost != budget.Dollars(0.2) {
		t.Errorf("totals after a report on the next day = %+v", got)
	}
	now = now.Add(-13 * time.Hour) // the clock is set back
	if got := totals(t, b); got.Used.Cost != budget.Dollars(1) {
		t.Errorf("used after the clock was set back = %s, want 1.00", got.Used.Cost)
	}
}

// TestRestartedMachine checks that the reservations of processes that ran before the machine was
// restarted belong to killed runs.
func TestRestartedMachine(t *testing.T) {
	here := localowner.Here()
	for want, o := range map[bool]journal.Owner{
		true:  {By: "process 1", Machine: here.Machine, Boot: "an earlier one"},
		false: {By: "process 1", Machine: "another", Boot: "another"},
	} {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := hasExited(string(text)); got != want {
			t.Errorf("hasExited of %+v = %v", o, got)
		}
	}
	if hasExited("{") {
		t.Error("an owner that cannot be read has exited")
	}
}

// TestRefusedFiles checks that damaged and newer files are refused and not changed.
func TestRefusedFiles(t *testing.T) {
	now := noon
	path := filepath.Join(t.TempDir(), "spent.db")
	f := openRun(t, path, "r", &now)
	hold(t, f, "1", 0.5)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(good)
	newer[63]++ // user_version
	for want, text := range map[string][]byte{
		"it was written by a newer version of Concerto": newer,
		"it is another database":                        append(append(bytes.Clone(good[:68]), 0, 0, 0, 1), good[72:]...),
		"it is not a database of Concerto":              []byte("not a database, but a text that is longer than the header of such a file, which has a hundred bytes in it"),
		"damaged":                                       append(bytes.Clone(good[:4096]), bytes.Repeat([]byte{0xff}, len(good)-4096)...),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path, "r", time.Now)
		if _, refused := errors.AsType[*RefusedError](err); !refused || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "malformed") {
			t.Errorf("Open = %v, want %q", err, want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, text) {
			t.Errorf("%s: the file was changed (%v)", want, err)
		}
	}
}

// TestReadWithoutFile checks that reading creates no file.
func TestReadWithoutFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spent.db")
	s, err := Read(path, func() time.Time { return noon })
	if _, missing := os.Stat(path); err != nil || s.Day != "2026-11-22" || !errors.Is(missing, os.ErrNotExist) {
		t.Errorf("Read = %+v, %v; stat = %v", s, err, missing)
	}
}
