package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// TestJournalIsAsWritten checks that otherReader, which follows only spec/journal.md, decodes
// recorded runs and a run with many files.
func TestJournalIsAsWritten(t *testing.T) {
	for _, dir := range []string{filepath.Join("testdata", "kept", "engine1", "finished"), filepath.Join("testdata", "kept", "engine2", "parked"), manySegments(t)} {
		r := readOther(t, dir)
		if r.torn > 0 || r.damage != "" || r.none {
			t.Fatalf("%s: %d truncated bytes, damage at %q; want an intact journal", dir, r.torn, r.damage)
		}
		h, err := rundir.At(dir).Read()
		if err != nil || len(h.Records) != len(r.records) || h.N != uint64(r.last) {
			t.Fatalf("%s: this reader finds %d records, package journal %d (error %v)", dir, len(r.records), len(h.Records), err)
		}
		begun, secrets, at := map[string]bool{}, map[string]bool{}, "0"
		for i, x := range r.records {
			if len(member(x, "t")) < len(at) || len(member(x, "t")) == len(at) && member(x, "t") < at {
				t.Errorf("%s: record %d has an earlier time than its predecessor", dir, i+1)
			}
			at = member(x, "t")
			switch member(x, "k") {
			case "secret":
				secrets[member(x, "name")] = true
			case "begin":
				begun[member(x, "e")] = true
				if d := member(x, "d"); x["r"] != nil && len(d) != 32 || x["r"] == nil && d != "" {
					t.Errorf("%s: record %d: field d = %q, want 32 digits exactly if there is a field r", dir, i+1, d)
				}
			case "end":
				if !begun[member(x, "e")] || !slices.Contains([]string{"done", "none", "unknown"}, member(x, "x")) {
					t.Errorf("%s: record %d ends an effect without a begin record, or has the invalid x %q", dir, i+1, member(x, "x"))
				}
			}
			for _, part := range strings.Split(string(x["v"])+string(x["r"]), "«secret:")[1:] {
				name, _, _ := strings.Cut(part, "»")
				if name, _, _ = strings.Cut(name, ":"); !secrets[name] {
					t.Errorf("%s: record %d contains the placeholder of secret %s, which no earlier record declares", dir, i+1, name)
				}
			}
		}
	}
}

// TestReaderIsIndependent checks that the reader of the specification uses no code of the project.
func TestReaderIsIndependent(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "spec_reader_test.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range f.Imports {
		if strings.Contains(x.Path.Value, ".") {
			t.Errorf("spec_reader_test.go imports %s, which is not in the standard library", x.Path.Value)
		}
	}
}

// tableRuns are the programs of the runs that TestTablesAreAsWritten reads.
var tableRuns = map[string]string{
	"finished": `fn main() { println("a"); emit("n", std::random::int(1, 6)); println("b"); }`,
	"failed":   `fn main() { println("a"); panic("no"); }`,
	"large": `use std::fs;
fn main() {
    let mut text = "x";
    for _ in 0..19 { text = "${text}${text}"; }
    fs::write_file("large", text)?;
    emit("size", fs::read_file("large")?.len());
}`,
	"waiting": `async fn ask(n: Int) -> Int { (await emit<Int>("ask", n)).unwrap_or(0) }
fn main() {
    println(ask(0).await);
    let (a, b) = (ask(1), ask(2));
    println(a.await + b.await);
}`,
	"stopped": `fn main() { println("a"); let _ = await emit<Int>("ask"); }`,
	"handed":  `use std::fs; fn main() { println("a"); while !fs::exists("go") { std::time::sleep(10); } println("b"); }`,
}

// lockedBuffer is a buffer to which several goroutines write.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestTablesAreAsWritten checks that otherReader decodes runs which workers have written to an
// engine, and that it reports each kind of damage.
func TestTablesAreAsWritten(t *testing.T) {
	url := pgtest.Make(t, pgtest.Start(t), "tables")
	dir := t.TempDir()
	output := &lockedBuffer{}
	c := func() *console.Console {
		return &console.Console{Stdin: strings.NewReader(""), Stdout: output, Stderr: output, Dir: dir, Environ: append(os.Environ(), "CONCERTO_ENGINE="+url)}
	}
	concerto := func(args ...string) {
		t.Helper()
		if code := run(args, c()); code != 0 {
			t.Fatalf("concerto %v: exit code %d\n%s", args, code, output)
		}
	}
	worker := []string{"worker", "--state", filepath.Join(dir, "state")}
	concerto("engine", "init")
	submit := func(id string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, id+".conc"), []byte(tableRuns[id]), 0o600); err != nil {
			t.Fatal(err)
		}
		concerto("submit", "--id", id, id+".conc")
	}
	// The first worker leaves the run, whose program has begun, to the second one.
	submit("handed")
	ctx, drain := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- execute(ctx, c(), worker...) }()
	for pgtest.Do(t, url, "SELECT count(*) FROM concerto.output WHERE run = 'handed'") == "0\n" {
	}
	drain()
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for id := range tableRuns {
		if id != "handed" {
			submit(id)
		}
	}
	worker = append(worker, "--until-idle")
	concerto(worker...)
	concerto("runs", "answer", "waiting", "--channel", "ask", "7")
	concerto("runs", "stop", "stopped")
	concerto(worker...)

	rows := func(id string) string { return pgtest.Do(t, url, fmt.Sprintf(selectTables, id)) }
	for id, state := range map[string]string{"finished": "finished", "failed": "failed", "large": "finished", "waiting": "waiting", "stopped": "failed", "handed": "finished"} {
		r := readTables(t, rows(id))
		if r.damage != "" || r.none {
			t.Errorf("%s: damage at %q; want an intact run\n%s", id, r.damage, rows(id))
		}
		got := pgtest.Do(t, url, "SELECT state FROM concerto.runs WHERE id = '"+id+"'")
		if strings.TrimSpace(got) != state {
			t.Errorf("%s is %s, want %s\n%s", id, got, state, output)
		}
	}
	for sql, want := range map[string]string{
		"SELECT count(*) FROM concerto.questions WHERE run = 'waiting'":                            "2",
		"SELECT count(*) > 0 FROM concerto.blobs WHERE run = 'large'":                              "t",
		"SELECT string_agg(DISTINCT epoch::text, ' ') FROM concerto.journal WHERE run = 'handed'":  "1 2",
		"SELECT string_agg(DISTINCT epoch::text, ' ') FROM concerto.journal WHERE run = 'stopped'": "1 2",
	} {
		if got := strings.TrimSpace(pgtest.Do(t, url, sql)); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}

	// Each damage is undone, because the row is read in the transaction that causes it.
	for _, x := range []struct{ id, damage, want string }{
		{"finished", "UPDATE journal SET line = replace(line, '\"k\"', '\"K\"') WHERE run = 'finished' AND s = 3", "journal 3"},
		{"finished", "UPDATE journal SET line = line || ' ' WHERE run = 'finished' AND s = 1", "journal 1"},
		{"finished", `UPDATE journal SET line = replace(line, '"}', '","by":"Bob"}') WHERE run = 'finished' AND s = 2`, "journal 2"},
		{"finished", "DELETE FROM journal WHERE run = 'finished' AND s = 2", "journal 2"},
		{"finished", "DELETE FROM journal WHERE run = 'finished' AND s = (SELECT max(s) FROM journal WHERE run = 'finished')", "runs.s"},
		{"finished", "DELETE FROM journal WHERE run = 'finished'", "runs.s"},
		{"finished", "UPDATE journal SET s = -s WHERE run = 'finished' AND s IN (2, 3); UPDATE journal SET s = 5 + s WHERE run = 'finished' AND s < 0", "journal 2"},
		{"finished", "UPDATE journal j SET line = o.line FROM journal o WHERE j.run = 'finished' AND o.run = 'finished' AND j.s IN (2, 3) AND o.s = 5 - j.s", "journal 2"},
		{"finished", "UPDATE runs SET h = repeat('0', 32) WHERE id = 'finished'", "runs.h"},
		{"finished", "UPDATE runs SET s = s + 1 WHERE id = 'finished'", "runs.s"},
		{"finished", "UPDATE runs SET epoch = 0 WHERE id = 'finished'", "runs.epoch"},
		{"finished", "UPDATE runs SET state = 'ready', exit = NULL WHERE id = 'finished'", "runs.state"},
		{"finished", "UPDATE runs SET state = 'failed', exit = 1 WHERE id = 'finished'", "runs.exit"},
		{"finished", "UPDATE runs SET output_count = output_count - 1 WHERE id = 'finished'", "runs.output_count"},
		{"finished", "DELETE FROM output WHERE run = 'finished' AND n = 2", "output 2"},
		{"finished", "DELETE FROM output WHERE run = 'finished' AND n = 3", "runs.output_count"},
		{"finished", "DELETE FROM output WHERE run = 'finished' AND n = 3; UPDATE runs SET output_count = 2 WHERE id = 'finished'", "journal 4: n"},
		{"finished", "UPDATE output SET line = replace(line, 'a', 'c') WHERE run = 'finished' AND n = 1", "output"},
		{"finished", "INSERT INTO ledger VALUES ('finished', 2, '{}')", "ledger 1"},
		{"finished", "UPDATE programs SET data = data || '\\x00' WHERE sha256 = (SELECT ir FROM runs WHERE id = 'finished')", "programs "},
		{"handed", "UPDATE journal SET epoch = 1 WHERE run = 'handed' AND epoch = 2", "epoch"},
		{"handed", "UPDATE journal SET epoch = 2 WHERE run = 'handed' AND s = 2", "journal 2: epoch"},
		{"large", "UPDATE blobs SET data = set_byte(data, 0, 0) WHERE run = 'large'", "blobs "},
		{"large", "DELETE FROM blobs WHERE run = 'large'", "blobs "},
		{"waiting", "DELETE FROM questions WHERE run = 'waiting' AND id = (SELECT max(id) FROM questions WHERE run = 'waiting')", "questions q"},
		{"waiting", "INSERT INTO questions SELECT run, 'q1', channel, payload, type, schema, since FROM questions WHERE run = 'waiting' LIMIT 1", "questions q1"},
		{"waiting", "UPDATE questions SET type = 'String' WHERE run = 'waiting'", "questions q"},
		{"waiting", "INSERT INTO answers VALUES ('waiting', 'q999', '1', NULL, 'Ada', now(), 0)", "answers q999"},
	} {
		begin, read, _ := strings.Cut(fmt.Sprintf(selectTables, x.id), ";")
		r := readTables(t, pgtest.Do(t, url, begin+"; BEGIN; "+x.damage+";"+read+"; ROLLBACK"))
		if !strings.Contains(r.damage, x.want) {
			t.Errorf("%s: the reader reports %q, want %q", x.damage, r.damage, x.want)
		}
	}
}

// manySegments creates a journal of several files.
func manySegments(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "many")
	d := rundir.At(dir)
	d.SegmentBytes = 600
	w, err := d.Create(journal.Start{Run: "r_many", Args: []string{}, Inputs: json.RawMessage("{}"), Session: json.RawMessage("{}"), Flags: json.RawMessage("{}")}, nil, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for e := range int64(30) {
		w.Append(&journal.Record{RecordKind: journal.KDid, Effect: e + 1, Kind: "clock", ResultMembers: journal.ResultMembers{Result: json.RawMessage(`{"unix_ms":1}`)}})
		if e%7 == 0 {
			if err := w.Flush(journal.Synced); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Append(&journal.Record{RecordKind: journal.KSecret, RareMembers: journal.RareMembers{Name: "TOKEN", Check: "0123"}})
	err = w.Flush(journal.Synced)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDamagedAtEachByte changes each byte of a journal, and truncates the journal at each byte.
// Both readers must ignore the incomplete end where the format permits it, and otherwise report the
// damage. They must never read different records.
func TestDamagedAtEachByte(t *testing.T) {
	randtest.RacedElsewhere(t)
	t.Parallel()
	dir := manySegments(t)
	names, err := filepath.Glob(filepath.Join(dir, "journal-*.ndjson"))
	if err != nil || len(names) < 3 {
		t.Fatalf("journal files = %v (error %v), want at least 3", names, err)
	}
	whole, err := rundir.At(dir).Read()
	if err != nil {
		t.Fatal(err)
	}
	names = []string{names[0], names[1], names[len(names)-1]}
	every := 13 // no length of a line or of a number divides it
	if randtest.Night() {
		every = 1
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := 0; at < len(text); at += every {
			for _, b := range []byte{text[at] ^ 1, '\n'} {
				changed := bytes.Clone(text)
				if changed[at] = b; b != text[at] {
					damagedAt(t, dir, name, changed, whole, at)
				}
			}
			damagedAt(t, dir, name, text[:at], whole, at)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// damagedAt compares the results of the two readers with each other, and with the original records.
func damagedAt(t *testing.T, dir, name string, text []byte, whole *journal.History, at int) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	other := readOther(t, dir)
	h, err := rundir.At(dir).Read()
	var damaged *journal.DamagedError
	switch {
	case errors.As(err, &damaged):
		if other.damage != damaged.Where {
			t.Errorf("%s, byte %d: package journal returns %v, the specification's reader finds damage at %q", filepath.Base(name), at, err, other.damage)
		}
	case errors.Is(err, journal.ErrNoRun):
		if !other.none {
			t.Errorf("%s, byte %d: package journal returns %v, the specification's reader finds %d records", filepath.Base(name), at, err, len(other.records))
		}
	case err != nil:
		t.Errorf("%s, byte %d: package journal returns %v", filepath.Base(name), at, err)
	case len(h.Records) != len(other.records) || h.Torn != other.torn || other.damage != "":
		t.Errorf("%s, byte %d: package journal finds %d records and truncates %d bytes, the specification's reader finds %d and truncates %d (damage %q)", filepath.Base(name), at, len(h.Records), h.Torn, len(other.records), other.torn, other.damage)
	default:
		for i, r := range h.Records {
			if r.Hash != whole.Records[i].Hash {
				t.Fatalf("%s, byte %d: record %d differs from the original", filepath.Base(name), at, i+1)
			}
		}
	}
}
