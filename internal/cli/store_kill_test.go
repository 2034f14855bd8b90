package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// writing is a program that writes to every kind of store with every operation, in rounds. When all
// writes of a round have returned, the program prints the number of the round.
const writing = `
struct Order { item: String, amount: Float }
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("kill.db");
hashmap orders: HashMap<Int, Order> = HashMap::new().with_persistence("kill.db");
ledger notes: Ledger = Ledger::new().with_persistence("kill.db");
memory talk: Memory = Memory::new().with_persistence("kill.db");
fn main() {
    println("ready"); // the file is not open yet
    loop {
        let n = orders.len() + 1;
        orders.set(n, Order { item: "item ${n}", amount: n.to_float() });
        counts.set_many({"a ${n}": n, "b ${n}": n});
        counts.increment("total");
        notes.insert("note ${n} of many", ["k${n % 7}"], "value ${n}");
        talk.append("user", "message ${n}");
        println(n);
    }
}
`

// checking is a program that compares the stores with the acknowledged rounds. The writes of an
// acknowledged round must all be stored. Of any other round, either all or none may be stored.
const checking = `
use std::{fs, collections::Set};
struct Order { item: String, amount: Float }
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("kill.db");
hashmap orders: HashMap<Int, Order> = HashMap::new().with_persistence("kill.db");
ledger notes: Ledger = Ledger::new().with_persistence("kill.db");
memory talk: Memory = Memory::new().with_persistence("kill.db");
fn main() {
    let all = counts.to_map();
    let entries = notes.entries();
    let values = Set::from(entries.map(|e| e.value));
    let messages = Set::from(talk.messages().map(|m| m.content));
    let acknowledged = fs::read_lines("acknowledged")?;
    for line in acknowledged {
        let n = line.parse_int()?;
        assert_eq(orders.get(n), Order { item: "item ${n}", amount: n.to_float() }, "round ${n}");
        assert_eq(all.get("a ${n}"), n, "round ${n}");
        assert(values.contains("value ${n}"), "the note of round ${n}");
        assert(messages.contains("message ${n}"), "the message of round ${n}");
    }
    assert(counts.get_or("total", 0) >= acknowledged.len(), "a total of ${counts.get_or("total", 0)} after ${acknowledged.len()}");
    for n in 1..orders.len() + 1 { assert_eq(all.get("a ${n}"), all.get("b ${n}"), "half of round ${n}"); }
    assert_eq(notes.query().from_identifier("NOTE many").len(), entries.len(), "found by words");
    let found = notes.query().from_any_keys(["K0", "K1", "K2", "K3", "K4", "K5", "K6"]).len();
    assert_eq(found, entries.len(), "found by keys");
}
`

// command returns a command that runs concerto in dir. The executable is this test binary.
func command(dir string, args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], args...)
	c.Args[0] = "concerto"
	c.Dir = dir
	return c
}

// engineCommand returns a command that uses an engine.
func engineCommand(dir, url string, args ...string) *exec.Cmd {
	c := command(dir, args...)
	c.Env = append(c.Environ(), "CONCERTO_ENGINE="+url)
	return c
}

func programs(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKill repeatedly starts a program that writes to one file, and kills it with SIGKILL a little
// after one of its lines, in the middle of a round. Everything that the program acknowledged must
// then be in the file.
// CONCERTO_KILL_ROUNDS is the number of repetitions; `make kill` uses 200.
func TestKill(t *testing.T) {
	t.Parallel()
	rounds, random := killsOf(t, "CONCERTO_KILL_ROUNDS", 20), rand.New(rand.NewPCG(1, 1))
	dir := programs(t, map[string]string{"write.conc": writing, "check.conc": checking})
	acknowledged, err := os.Create(filepath.Join(dir, "acknowledged"))
	if err != nil {
		t.Fatal(err)
	}
	defer acknowledged.Close()
	all, early := 0, 0
	for round := range rounds {
		lines, err := killed(dir, round%4, time.Duration(random.IntN(10_000))*time.Microsecond)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if len(lines) == 0 {
			early++ // killed before the first acknowledgement
		}
		for _, line := range lines {
			fmt.Fprintln(acknowledged, line)
		}
		all += len(lines)
		if out, err := command(dir, "run", "check.conc").CombinedOutput(); err != nil {
			t.Fatalf("round %d, after %d acknowledged writes: %v\n%s", round, all, err, out)
		}
	}
	t.Logf("%d rounds, %d of them killed before the first acknowledgement; all %d acknowledged rounds of writes are in the file", rounds, early, all)
}

// killed runs the program writing. It waits for some acknowledgements, then kills the program after
// the time after. It returns all lines that the program printed.
func killed(dir string, some int, after time.Duration) (lines []string, err error) {
	c := command(dir, "run", "write.conc")
	var problem bytes.Buffer
	c.Stderr = &problem
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	from := bufio.NewReader(out)
	_, err = from.ReadString('\n') // the program is ready
	for err == nil {
		if len(lines) == some {
			defer time.AfterFunc(after, func() { _ = c.Process.Kill() }).Stop()
		}
		var line string
		line, err = from.ReadString('\n')
		if err == nil { // ignore an incomplete line
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if err := c.Wait(); problem.Len() > 0 || err == nil {
		return nil, fmt.Errorf("the program exited before it was killed: %v\n%s", err, problem.String())
	}
	return lines, nil
}

// TestTwoProcesses checks that no update is lost when several processes write to the same file at
// the same time.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	const each, processes = 60, 3
	dir := programs(t, map[string]string{"count.conc": fmt.Sprintf(`
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("count.db");
hashmap sums: HashMap<String, Float> = HashMap::new().with_persistence("count.db");
memory talk: Memory = Memory::new().with_persistence("count.db");
fn main() {
    for i in 0..%d { counts.increment("n"); sums.increment("x", by: 0.5); talk.append("user", "m"); }
}`, each), "read.conc": `
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("count.db");
hashmap sums: HashMap<String, Float> = HashMap::new().with_persistence("count.db");
memory talk: Memory = Memory::new().with_persistence("count.db");
fn main() { println(counts.get_or("n", 0), sums.get_or("x", 0.0), talk.len()); }`})
	var running sync.WaitGroup
	for range processes {
		running.Go(func() {
			if out, err := command(dir, "run", "count.conc").CombinedOutput(); err != nil {
				t.Errorf("concerto run count.conc: %v\n%s", err, out)
			}
		})
	}
	running.Wait()
	out, err := command(dir, "run", "read.conc").CombinedOutput()
	if want := fmt.Sprintf("%d %d.0 %d\n", each*processes, each*processes/2, each*processes); err != nil || string(out) != want {
		t.Errorf("read.conc prints %s (error %v), want %s", out, err, want)
	}
}
