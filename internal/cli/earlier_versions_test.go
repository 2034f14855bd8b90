package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// risen is the advice that is printed when the result of an earlier version's recording has
// changed.
const risen = "what older versions have recorded means something else now: raise tape.VMVersion (what runs do) or journal.Format (how they are kept), and record a new directory of testdata/kept (record.sh)"

// TestEarlierVersions checks that runs and a tape of an earlier version are read, replayed and
// resumed with the same results.
func TestEarlierVersions(t *testing.T) {
	randtest.RacedElsewhere(t)
	all := t.TempDir()
	if err := os.CopyFS(all, os.DirFS(filepath.Join("testdata", "kept"))); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"engine1", "engine2"} {
		t.Run(engine, func(t *testing.T) { testRecordedRun(t, filepath.Join(all, engine)) })
	}
}

// testRecordedRun reads, replays and resumes the recording of one version of the engine in dir.
func testRecordedRun(t *testing.T, dir string) {
	content := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, x := range []struct {
		args string
		want string // text that the output contains; "=" and a file's name require the whole output to equal the file
	}{
		{"runs verify finished", " records, unchanged\n"},
		{"audit verify finished", "records, 0 calls, 0 unfinished, head "},
		{"replay finished", "=finished.out"},
		{"replay run.tape ../program/main.conc", "=run.out"},
		{"resume finished", ""},
		{"runs show finished", "state    finished, exit code 0\n"},
		{"audit verify parked", "records, 0 calls, 0 unfinished, head "},
		{"runs show parked", "waits    q39 last \"really?\" (Bool) since "},
		{"answer parked q39 true --by Ada", ""},
		{"resume parked", "[end] true\n"},
		{"runs verify parked", " records, unchanged\n"},
		{"audit show parked", "by human Ada"},
	} {
		c := command(dir, strings.Fields(x.args)...)
		c.Env = append(c.Environ(), "KEPT_TOKEN=a-secret-of-nobody")
		out, err := c.Output()
		if err != nil {
			if failed, ok := err.(*exec.ExitError); ok {
				out = append(out, failed.Stderr...)
			}
			t.Fatalf("concerto %s: %v\n%s\n%s", x.args, err, out, risen)
		}
		if file, all := strings.CutPrefix(x.want, "="); all && string(out) != content(file) || !all && !strings.Contains(string(out), x.want) {
			t.Errorf("concerto %s prints\n%s\nwant %s\n%s", x.args, out, x.want, risen)
		}
	}
}
