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

// snapshotsFile names the file in which a command under test records the boundaries of its run.
// Without it there are no snapshots.
const snapshotsFile = "CONCERTO_TEST_SNAPSHOTS"

// verifySnapshots makes the command's runs continue from a snapshot at every boundary.
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

// snapshots runs the program from a snapshot of itself at every boundary. The output and the exit
// code must be those of the straight run.
func (c *corpusCase) snapshots(t *testing.T, straight outcome, args []string) {
	dir := c.unpack(t)
	notes := filepath.Join(t.TempDir(), "notes")
	c.environ = append(c.environ, snapshotsFile+"="+notes)
	renewed := c.run(t, dir, args...)
	if timed(c.files) {
		renewed, straight = renewed.inAnyOrder(), straight.inAnyOrder()
	}
	if renewed != straight && !c.byChance() {
		t.Errorf("straight (-), from snapshots (+):\n%s", cmp.Diff(straight, renewed, cmp.AllowUnexported(outcome{})))
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

// inAnyOrder sorts the lines: on a busy machine a task that sleeps for a millisecond may end after
// one that sleeps for five.
func (o outcome) inAnyOrder() outcome {
	sorted := func(text string) string {
		return strings.Join(slices.Sorted(strings.Lines(text)), "")
	}
	o.stdout, o.stderr = sorted(o.stdout), sorted(o.stderr)
	return o
}

// byChance reports whether two runs of the program differ, since it asks what the time is or plays
// dice.
func (c *corpusCase) byChance() bool {
	for _, f := range c.files.Files {
		if f.Name == c.program+".conc" && (bytes.Contains(f.Data, []byte("random::")) || bytes.Contains(f.Data, []byte("time::now"))) {
			return true
		}
	}
	return false
}
