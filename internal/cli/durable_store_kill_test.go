//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sharing is a durable run whose concurrent tasks change stores in one file. Each of its changes is
// made once if the last line is "40 40 40 40".
const sharing = `
queue jobs: Queue<Int> = Queue::new(retry_seconds: 0.0).with_persistence("work.db");
hashmap counts: HashMap<String, Int> = HashMap::new().with_persistence("work.db");
memory talk: Memory = Memory::new().with_persistence("work.db");
fn work() -> Int {
    let mut done = 0;
    while let Some(job) = jobs.next() {
        jobs.complete(job).unwrap();
        counts.increment("done");
        talk.append("user", "job ${job.value}");
        done += 1;
    }
    done
}
fn main() {
    jobs.add(0, id: "hold", delay: 1000.0)?;
    let all = await (
        { work() }, { work() }, { work() }, { work() },
        {
            for i in 0..40 { jobs.add(i)?; }
            jobs.remove("hold")?;
            0
        });
    println(all.0 + all.1 + all.2 + all.3, jobs.counts()["done"], counts.get("done")?, talk.len());
}
`

// TestDurableStoreKill kills a durable run at random points of its journal and resumes it, until it
// ends. None of its changes of stores may be lost or made twice, although several have begun at the
// same time.
func TestDurableStoreKill(t *testing.T) {
	t.Parallel()
	kills := 0
	for range 2 {
		seed := rand.Uint64()
		random := rand.New(rand.NewPCG(seed, 1))
		dir := programs(t, map[string]string{"work.conc": sharing})
		args := []string{"run", "--journal", "job", "work.conc"}
		for ended := false; !ended; {
			var err error
			if ended, err = runUntil(dir, random.Int64N(40<<10), args...); err != nil {
				t.Fatalf("seed %d, after %d kills: %v", seed, kills, err)
			}
			if !ended {
				kills++
			}
			if len(journalOf(dir)) > 0 {
				args = []string{"runs", "resume", "job"}
			} else if err := os.RemoveAll(filepath.Join(dir, "job")); err != nil {
				t.Fatal(err)
			}
		}
		out, err := command(dir, "runs", "output", "job").CombinedOutput()
		if want := "40 40 40 40\n"; err != nil || string(out) != want {
			t.Errorf("seed %d: after %d kills the run has the output %q (error %v), want %q", seed, kills, out, err, want)
		}
	}
	if kills < 4 {
		t.Errorf("only %d kills", kills)
	}
}

// runUntil runs concerto, and kills it when it has written n bytes into its journal. It reports
// whether the process ended before.
func runUntil(dir string, n int64, args ...string) (ended bool, err error) {
	c := command(dir, args...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	written := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "job", "journal-000001.ndjson"))
		if err != nil {
			return 0 // it does not exist yet
		}
		return info.Size()
	}
	until := written() + n
	if err := c.Start(); err != nil {
		return false, err
	}
	over := make(chan error, 1)
	go func() { over <- c.Wait() }()
	killed := false
	for {
		select {
		case err := <-over:
			if killed && c.ProcessState.ExitCode() < 0 {
				return false, nil
			}
			if err != nil {
				err = fmt.Errorf("concerto %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
			}
			return true, err
		case <-time.After(100 * time.Microsecond):
			if !killed && written() >= until {
				killed = true
				_ = c.Process.Kill() // fails if the process has exited
			}
		}
	}
}
