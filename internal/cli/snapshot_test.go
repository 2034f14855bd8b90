package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/runner"
	"github.com/google/go-cmp/cmp"
)

// snapshotsFile is an environment variable with the name of a file. A tested command that has the
// variable takes snapshots and records in the file what happened at the boundaries of its run.
const snapshotsFile = "CONCERTO_TEST_SNAPSHOTS"

// verifySnapshots makes the runs of this process take a snapshot at every boundary and continue
// from the snapshot. It writes the outcomes to file, each different one once.
func verifySnapshots(file string) {
	report := map[string]bool{}
	note := func(text string) {
		if report[text] {
			return
		}
		report[text] = true
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(f, text)
		if err := f.Close(); err != nil {
			panic(err)
		}
	}
	runner.AtBoundary = func(verify func() (refused, err error)) {
		switch refused, err := verify(); {
		case err != nil:
			note("wrong: " + err.Error())
		case refused != nil:
			note("refused: " + refused.Error())
		default:
			note("taken")
		}
	}
}

// snapshots runs the program so that it continues from a snapshot of itself at every boundary. The
// outcome must equal straight, the outcome without snapshots.
func (c *corpusCase) snapshots(t *testing.T, straight outcome, args []string) {
	dir := c.unpack(t)
	notes := filepath.Join(t.TempDir(), "notes")
	c.environ = append(c.environ, snapshotsFile+"="+notes)
	renewed := c.run(t, dir, args...)
	if timed(c.files) {
		renewed, straight = renewed.inAnyOrder(), straight.inAnyOrder()
	}
	if renewed != straight && !c.byChance() {
		t.Errorf("without snapshots (-), with snapshots (+):\n%s", cmp.Diff(straight, renewed, cmp.AllowUnexported(outcome{})))
	}
	text, err := os.ReadFile(notes)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line != "taken\n" {
			t.Error(strings.TrimSpace(line))
		}
	}
}

// inAnyOrder sorts the lines of the output. On a busy machine, a task that sleeps for one
// millisecond may end after a task that sleeps for five.
func (o outcome) inAnyOrder() outcome {
	sorted := func(text string) string {
		return strings.Join(slices.Sorted(strings.Lines(text)), "")
	}
	o.stdout, o.stderr = sorted(o.stdout), sorted(o.stderr)
	return o
}

// byChance reports whether two runs of the program may differ because it reads the time or uses
// random numbers.
func (c *corpusCase) byChance() bool {
	for _, f := range c.files.Files {
		if f.Name == c.program+".conc" && (bytes.Contains(f.Data, []byte("random::")) || bytes.Contains(f.Data, []byte("time::now"))) {
			return true
		}
	}
	return false
}
