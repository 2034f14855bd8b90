package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/vm"
)

// TestDurableKill kills a durable run by SIGKILL at random moments and resumes it, until it ends.
// Nothing may be lost, and nothing may be done twice except requests that may be repeated, each
// with the same key. CONCERTO_DURABLE_KILLS is the number of kills; CI does 200.
func TestDurableKill(t *testing.T) {
	t.Parallel()
	kills := 25
	if randtest.Raced {
		kills = 5
	}
	if s := os.Getenv("CONCERTO_DURABLE_KILLS"); s != "" {
		kills, _ = strconv.Atoi(s)
	}
	done, amid, keepers, restored, dropped := 0, 0, 0, 0, 0
	for drops := rand.IntN(2) == 0; done < kills; drops = !drops {
		s := newStormed(t, rand.Uint64(), min(kills-done, 20), drops)
		s.run()
		done, amid, keepers, restored = done+s.kills, amid+s.amid, keepers+s.keepers, restored+s.restored
		if _, err := os.Stat(filepath.Join(s.dir, "job", "head.json")); err == nil {
			dropped++
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d kills, %d of them amid the program, and of %d keepers; %d processes resumed from a snapshot; %d storms dropped the beginning of the journal", done, amid, keepers, restored, dropped)
	if dropped == 0 && kills > 20 { // there was more than one storm
		t.Error("no storm has dropped the beginning of its journal")
	}
	// Of few kills chance decides how many come when they should: there is one then.
	wantAmid, wantRestored := 1, 0
	switch {
	case done >= 100:
		wantAmid, wantRestored = done/2, done/5
	case done >= 20:
		wantRestored = 1
	}
	if amid < wantAmid || restored < wantRestored {
		t.Errorf("of %d kills %d hit the program while it did something, and %d processes resumed from a snapshot", done, amid, restored)
	}
}

// stormed is a storm that is killed and resumed.
type stormed struct {
	*testing.T
	seed   uint64
	random *rand.Rand
	world  *stormWorld
	dir    string
	most   int // kills
	kills  int
	amid   int // of them, those that came when the program had done something and not all
	stdout []byte
	// Keepers are killed so often, too: the hosts exit with them.
	lossy    bool
	keepers  int
	drops    bool // the beginning of its journal is not kept
	restored int  // processes that resumed from a snapshot
}

func newStormed(t *testing.T, seed uint64, most int, drops bool) *stormed {
	s := &stormed{T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), world: newStormWorld(t), most: most, drops: drops}
	s.lossy = s.random.IntN(2) == 0
	history := "all"
	if drops {
		history = "snapshot"
	}
	s.dir = programs(t, stormFiles(s.world.URL, history))
	t.Cleanup(func() {
		if t.Failed() {
			_ = command(s.dir, "runs", "rm", "job").Run() // its keeper is no one's else
		}
		if err := leftovers(s.dir); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	})
	return s
}

// run runs a storm to its end.
func (s *stormed) run() {
	s.Helper()
	args := []string{"run", "--journal", "job", "--emit", "ndjson"}
	for {
		before := s.written()
		err := s.once(append(slices.Clone(args), s.snapshots()...))
		var exit *exec.ExitError
		switch {
		case err == nil:
			s.end()
			return
		case !errors.As(err, &exit) || exit.ExitCode() != -1:
			s.Fatalf("the journal:\n%s\nseed %d, after %d kills: %v", journalOf(s.dir), s.seed, s.kills, err) // a truncated log still ends with the reason
		}
		s.kills++
		if s.written() > before && begun(journalOf(s.dir)) && !bytes.Contains(journalOf(s.dir), []byte(`"k":"finish"`)) {
			s.amid++
		}
		if bytes.Contains(journalOf(s.dir), []byte("\n")) {
			args = []string{"runs", "resume", "job"}
		}
	}
}

// snapshots returns how often the next process takes snapshots, and sometimes damages or removes
// existing ones: they only save time.
func (s *stormed) snapshots() (flags []string) {
	all, _ := filepath.Glob(filepath.Join(s.dir, "job", "snapshot-*.bin")) // a valid pattern
	switch n := s.random.IntN(10); {
	case len(all) == 0:
	case n == 0 && !s.drops:
		for _, file := range all {
			if err := os.Remove(file); err != nil {
				s.Fatal(err)
			}
		}
	case n == 1 && (!s.drops || s.spares(all)):
		text, err := os.ReadFile(all[0])
		if err == nil {
			text[s.random.IntN(len(text))] ^= 1
			err = os.WriteFile(all[0], text, 0o600)
		}
		if err != nil {
			s.Fatal(err)
		}
	default:
		s.restored++
	}
	every := []string{"", "1", "3", "20"}[s.random.IntN(4)]
	if every == "" && s.drops {
		every = "20" // nothing is dropped without snapshots
	}
	if every != "" {
		return []string{"--snapshot-every", every}
	}
	return nil
}

// spares reports whether there is a second intact snapshot. Then the run survives damage to the
// first one.
func (s *stormed) spares(all []string) bool {
	whole := 0
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			s.Fatal(err)
		}
		if _, err := vm.ReadSnapshot(text); err == nil {
			whole++
		}
	}
	return whole > 1
}

// once runs concerto and, as long as kills are left, kills it at a random moment, or more often
// after it has written a number of bytes into its journal.
func (s *stormed) once(args []string) error {
	c := command(s.dir, args...)
	if s.drops {
		c.Env = append(c.Environ(), fmt.Sprintf("%s=%d", segmentBytes, stormSegment))
	}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	printed := s.printed()
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		if s.kills < s.most && s.waitToKill(ended) {
			s.kill(c.Process, ended)
		}
	}()
	err := c.Wait()
	close(ended)
	<-killed
	s.stdout = append(s.stdout, out.Bytes()...)
	for _, l := range storedLines(out.Bytes()) {
		if l.N <= printed {
			s.Errorf("seed %d: line %d is printed again, and the journal recorded that %d lines were printed", s.seed, l.N, printed)
		}
	}
	if bytes.Contains(errs.Bytes(), []byte("the snapshot cannot be gone on from")) {
		s.Errorf("seed %d: %s", s.seed, errs.Bytes())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() != -1 {
		err = fmt.Errorf("%w\n%s", err, errs.Bytes())
	}
	return err
}

// printed returns the number of lines that the journal has recorded as printed.
func (s *stormed) printed() (n int) {
	for line := range bytes.Lines(journalOf(s.dir)) {
		var r struct {
			K string
			N int
		}
		if json.Unmarshal(line, &r) == nil && r.K == "out" {
			n = r.N
		}
	}
	return n
}

// kill kills the run's process; in a lossy storm sometimes after its keeper; or first only its
// keeper.
func (s *stormed) kill(run *os.Process, ended <-chan struct{}) {
	var keeper struct{ PID int }
	if text, err := os.ReadFile(filepath.Join(s.dir, "job", "keeper.json")); s.lossy && s.random.IntN(3) == 0 && err == nil && json.Unmarshal(text, &keeper) == nil && s.isKeeper(keeper.PID) {
		_ = syscall.Kill(keeper.PID, syscall.SIGKILL)
		s.keepers++
		if s.random.IntN(2) == 0 { // the run continues for a while without
			s.waitToKill(ended)
		}
	}
	_ = run.Kill()
}

// isKeeper reports whether a process is a keeper.
func (s *stormed) isKeeper(pid int) bool {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && pid > 1 && bytes.Contains(args, []byte("keeper"))
}

// waitToKill waits until the process must be killed: each fourth at a random moment, the others by
// their output. It returns false if the process has exited.
func (s *stormed) waitToKill(ended <-chan struct{}) bool {
	if s.kills%4 == 3 {
		select {
		case <-ended:
			return false
		case <-time.After(time.Duration(s.random.IntN(60_000)) * time.Microsecond):
			return true
		}
	}
	for until := s.written() + 1 + s.random.Int64N(12<<10); s.written() < until; {
		select {
		case <-ended:
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	return true
}

// stormSegment is the size of the journal's files in a storm that drops some of them.
const stormSegment = 4 << 10

// written returns about how much was written into the journal.
func (s *stormed) written() int64 {
	all := journals(s.dir)
	if len(all) == 0 {
		return 0
	}
	var n int64
	last := all[len(all)-1]
	if _, err := fmt.Sscanf(filepath.Base(last), "journal-%06d.ndjson", &n); err != nil {
		s.Fatal(err)
	}
	info, err := os.Stat(last)
	if err != nil {
		return 0 // it was dropped just now
	}
	return (n-1)*stormSegment + info.Size()
}

// journals returns the files of a journal, in order.
func journals(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "job", "journal-*.ndjson")) // a valid pattern
	return all
}

// begun reports whether a journal, or the rest of one, is that of a program that has performed an
// effect.
func begun(text []byte) bool {
	return bytes.Contains(text, []byte(`"k":"begin"`)) || !bytes.HasPrefix(text, []byte(`{"s":1,`))
}

func journalOf(dir string) (text []byte) {
	for _, file := range journals(dir) {
		part, err := os.ReadFile(file)
		if err != nil {
			part = []byte(err.Error())
		}
		text = append(text, part...)
	}
	return text
}
