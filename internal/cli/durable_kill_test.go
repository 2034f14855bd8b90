//go:build unix

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

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// TestDurableKill runs the storm program as a durable run. It kills the run with SIGKILL at random
// moments and resumes it, until the program finishes. No effect may be lost, and none may be
// repeated except requests that are marked as repeatable; each repetition must have the same
// idempotency key. The environment variable CONCERTO_DURABLE_KILLS sets the number of kills.
func TestDurableKill(t *testing.T) {
	t.Parallel()
	kills := 21 // two storms
	if randtest.Raced {
		kills = 5
	}
	if s := os.Getenv("CONCERTO_DURABLE_KILLS"); s != "" {
		kills, _ = strconv.Atoi(s)
	}
	done, amid, keepers, reports := 0, 0, 0, 0
	steered := map[string]int{} // messages of other processes by outcome
	for done < kills {
		var s *stormed
		t.Run("storm", func(t *testing.T) {
			s = newStormed(t, rand.Uint64(), min(kills-done, 20))
			s.run()
		})
		if t.Failed() {
			return
		}
		done, amid, keepers, reports = done+s.kills, amid+s.amid, keepers+s.keepers, reports+s.reports
		for _, m := range s.steered {
			steered[m.outcome]++
		}
	}
	t.Logf("%d kills of runs, %d of them while the program was performing effects; %d kills of keepers; %d reports of killed runs; messages to a host: %v", done, amid, keepers, reports, steered)
	if reports == 0 && kills > 20 {
		t.Error("no killed run had a report")
	}
	if steered[steerSent] == 0 && kills > 20 {
		t.Error("no message of another process was sent")
	}
	// The number of kills that hit the program between its effects is random. Few kills guarantee
	// only one.
	want := 1
	if done >= 100 {
		want = done / 2
	}
	if amid < want {
		t.Errorf("of %d kills %d hit a program that was performing effects, want at least %d", done, amid, want)
	}
}

// stormed is one execution of the storm program, which is killed and resumed until it finishes.
type stormed struct {
	*testing.T
	seed   uint64
	random *rand.Rand
	world  *stormWorld
	dir    string
	most   int   // maximum number of kills
	stride int64 // maximum number of bytes in the journal between two kills
	kills  int
	amid   int // number of kills after the program's first effect and before its end
	stdout []byte
	// lossy is true if keepers are killed, too. A keeper's hosts exit with the keeper.
	lossy   bool
	keepers int
	reports int              // number of reports of killed runs
	steered []steeredMessage // messages of other processes
}

func newStormed(t *testing.T, seed uint64, most int) *stormed {
	s := &stormed{T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 1)), world: newStormWorld(t), most: most, stride: 12 << 10}
	s.lossy = s.random.IntN(2) == 0
	s.dir = programs(t, stormFiles(s.world.URL, []string{"resume", "steer"}[s.random.IntN(2)]))
	t.Cleanup(func() {
		if t.Failed() {
			_ = command(s.dir, "runs", "rm", "job").Run() // otherwise the run's keeper would never exit
		}
		if s.keepers > 0 {
			s.awaitHosts()
		}
		if err := leftovers(s.dir); err != nil {
			t.Errorf("seed %d, after %d kills of keepers: %v", seed, s.keepers, err)
		}
	})
	return s
}

// run executes the storm program until it finishes.
func (s *stormed) run() {
	s.Helper()
	args := []string{"run", "--journal", "job", "--emit", "ndjson"}
	for {
		before := s.written()
		err := s.once(args)
		var exit *exec.ExitError
		switch {
		case err == nil:
			s.end()
			return
		case !errors.As(err, &exit) || exit.ExitCode() != -1:
			// The reason is first and last, because a part of a long log may be cut off.
			log, _ := os.ReadFile(filepath.Join(s.dir, "job", "keeper.log"))
			reason := fmt.Sprintf("seed %d, after %d kills: %v", s.seed, s.kills, err)
			s.Fatalf("%s\nthe end of the journal:\n%s\nthe end of the keeper's log:\n%s\n%s", reason, lastLines(journalOf(s.dir)), lastLines(log), reason)
		}
		s.kills++
		if s.written() > before && begun(journalOf(s.dir)) && !bytes.Contains(journalOf(s.dir), []byte(`"k":"finish"`)) {
			s.amid++
		}
		if bytes.Contains(journalOf(s.dir), []byte("\n")) {
			s.checkReport()
			args = []string{"runs", "resume", "job"}
		}
	}
}

// checkReport checks that the killed run has a report, which contains the last effect of the
// journal that is an item.
func (s *stormed) checkReport() {
	s.Helper()
	last := int64(0)
	for line := range bytes.Lines(journalOf(s.dir)) {
		var r journal.Record
		if json.Unmarshal(line, &r) != nil {
			continue // the last line may be incomplete
		}
		if row := event.OfEffect(effect.Kind(r.Kind)); row != nil && row.Item {
			last = max(last, r.Effect)
		}
	}
	source, err := timetravel.Run(rundir.At(filepath.Join(s.dir, "job")), os.Environ())
	if err != nil {
		s.Fatalf("seed %d, after %d kills: %v", s.seed, s.kills, err)
	}
	r, err := report.Of(s.Context(), source, durable.Killed)
	if err != nil {
		s.Fatalf("seed %d, after %d kills: %v", s.seed, s.kills, err)
	}
	reported := int64(0)
	for _, x := range r.Items {
		if x.Effect != nil {
			reported = max(reported, *x.Effect)
		}
	}
	if reported < last || r.Run.State != report.Killed && r.Run.Exit == nil {
		s.Errorf("seed %d, after %d kills: the report of a run in state %s ends with effect %d, the journal with effect %d", s.seed, s.kills, r.Run.State, reported, last)
	}
	s.reports++
}

// once runs concerto one time. While kills are left, it kills the process: at a random moment, or,
// three times as often, after the process has written a random number of bytes into its journal.
func (s *stormed) once(args []string) error {
	c := command(s.dir, args...)
	c.Env = append(c.Environ(), fmt.Sprintf("%s=%d", segmentBytes, stormSegment))
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
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		s.steer(ended)
	}()
	err := c.Wait()
	close(ended)
	<-killed
	<-sent
	s.stdout = append(s.stdout, out.Bytes()...)
	for _, l := range storedLines(out.Bytes()) {
		if l.N <= printed {
			s.Errorf("seed %d: line %d was printed again, although the journal had recorded %d printed lines", s.seed, l.N, printed)
		}
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

// kill kills the run's process. In a lossy storm it sometimes kills the keeper before, or kills
// only the keeper first and lets the run continue for a while.
func (s *stormed) kill(run *os.Process, ended <-chan struct{}) {
	var keeper struct{ PID int }
	if text, err := os.ReadFile(filepath.Join(s.dir, "job", "keeper.json")); s.lossy && s.random.IntN(3) == 0 && err == nil && json.Unmarshal(text, &keeper) == nil && s.isKeeper(keeper.PID) {
		_ = syscall.Kill(keeper.PID, syscall.SIGKILL)
		s.keepers++
		if s.random.IntN(2) == 0 { // the run continues for a while without its keeper
			s.waitToKill(ended)
		}
	}
	_ = run.Kill()
}

// awaitHosts waits until the hosts have exited. Nothing else waits for those of a killed keeper.
func (s *stormed) awaitHosts() {
	all, _ := filepath.Glob(filepath.Join(s.dir, "*.spawns")) // a valid pattern
	for _, file := range all {
		leaders, err := spawnedGroups(file)
		if err == nil {
			_, err = testproc.AwaitExit(time.Minute, leaders...)
		}
		if err != nil {
			s.Error(err)
		}
	}
}

// isKeeper reports whether a process is a keeper.
func (s *stormed) isKeeper(pid int) bool {
	args, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && pid > 1 && bytes.Contains(args, []byte("keeper"))
}

// waitToKill waits until the process must be killed: for every fourth kill a random time, otherwise
// until the process has written a random number of bytes. It returns false if the process has
// exited.
func (s *stormed) waitToKill(ended <-chan struct{}) bool {
	if s.kills%4 == 3 {
		select {
		case <-ended:
			return false
		case <-time.After(time.Duration(s.random.IntN(60_000)) * time.Microsecond):
			return true
		}
	}
	for until := s.written() + 1 + s.random.Int64N(s.stride); s.written() < until; {
		select {
		case <-ended:
			return false
		case <-time.After(100 * time.Microsecond):
		}
	}
	return true
}

// stormSegment is the size of the journal's files in a storm.
const stormSegment = 4 << 10

// written returns the approximate number of bytes that were written into the journal.
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
		return 0 // the run has just dropped the file
	}
	return (n-1)*stormSegment + info.Size()
}

// journals returns the paths of a journal's files, in order.
func journals(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, "job", "journal-*.ndjson")) // a valid pattern
	return all
}

// begun reports whether the program has performed an effect. text is its journal, possibly without
// the beginning, which is dropped only after effects.
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

// lastLines returns the last lines of a text.
func lastLines(text []byte) []byte {
	all := slices.Collect(bytes.Lines(text))
	return bytes.Join(all[max(0, len(all)-60):], nil)
}
