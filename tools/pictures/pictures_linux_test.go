package pictures

import (
	"bytes"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/golden"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/internal/testkit/testterm"
	"github.com/concerto-lang/concerto/tools/browser"
)

// The pictures in README.md, and the example program that they show.
const (
	terminalFile = "../../docs/terminal.svg"
	fleetFile    = "../../docs/fleet.svg"
	phoneFile    = "../../docs/phone.png"
	reportFile   = "../../docs/report.png"
	example      = "../../examples/coder"
	mostBytes    = 150_000
)

func TestMain(m *testing.M) {
	code := browser.Main(m)
	testproc.RemoveCommand()
	os.Exit(code)
}

// The question and the size of the terminal. The picture shows the run while it waits for an answer
// to its question. At that time the screen is the same in every run, except for the durations.
const (
	columns  = 80
	question = "[a]llow once"
)

// durations matches the duration at the end of a line of the live view.
var durations = regexp.MustCompile(`  \d+(\.\d)?s$|  \d+m\d\ds$`)

// TestTerminal compares the stored picture of the terminal with the current output of the command.
func TestTerminal(t *testing.T) {
	concerto, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(concerto, "run")
	c.Dir = copyExample(t)
	c.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "XDG_STATE_HOME="+t.TempDir())
	r := testterm.Start(t, c, columns, 24)
	r.AwaitText("Run a command: git push origin fix-rounding  ", question)
	rows := r.Spans()
	r.Type("a\n")
	if code, s := r.AwaitExit(); code != 0 || !strings.Contains(s.Text(), "pushed the branch") {
		t.Fatalf("exit code %d\n%s", code, s.Text())
	}
	comparePicture(t, terminalFile, "A terminal in which concerto runs a coding agent and requests an approval", "concerto run", rows)
}

// comparePicture compares a stored picture of a terminal with the rows of a screen. All durations
// are drawn as one.
func comparePicture(t *testing.T, name, title, typed string, rows [][]testterm.Span) {
	t.Helper()
	for _, row := range rows {
		for i := range row {
			row[i].Text = durations.ReplaceAllString(strings.TrimRight(row[i].Text, " "), "  2.4s")
		}
	}
	got, err := drawTerminal(title, typed, rows, columns)
	if err != nil {
		t.Fatal(err)
	}
	if golden.Updating() {
		write(t, name, []byte(got))
	}
	if diff := cmp.Diff(string(read(t, name)), got); diff != "" {
		t.Errorf("%s (-) differs from the output of the command (+); run `make pictures`:\n%s", name, diff)
	}
}

// TestFleet compares the stored picture of a fleet with the current output of the command. The
// program of the fleet waits in this state until it is interrupted.
func TestFleet(t *testing.T) {
	concerto, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/fleet")); err != nil {
		t.Fatal(err)
	}
	if err := testproc.Repository(dir); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(concerto, "run", "--emit", "none")
	c.Dir = dir
	c.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "XDG_STATE_HOME="+t.TempDir())
	r := testterm.Start(t, c, columns, 9)
	r.AwaitText("Coder ×50  3 waiting  $12.50  300k tokens", "reviews the rounding of fix 7", "12 queued · gate 8 of 8 · 7 merged · 1 failed")
	rows := r.Spans()
	r.Type("\x03")
	if code, s := r.AwaitExit(); code != 130 {
		t.Fatalf("exit code %d\n%s", code, s.Text())
	}
	comparePicture(t, fleetFile, "A terminal in which fifty hosts work, and a merge queue tests their changes", "concerto run --emit none", rows)
}

// TestPhone checks the size of the stored picture of the phone. With -update it first takes the
// picture. The picture shows the relay's page with the approval of a real run.
func TestPhone(t *testing.T) {
	if golden.Updating() {
		write(t, phoneFile, photograph(t))
	}
	picture := read(t, phoneFile)
	p, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || int64(p.Width) != int64(float64(browser.Phone.Width)*browser.Phone.Scale) || p.Height < p.Width {
		t.Errorf("%s has %d by %d pixels (%v), want the width of a phone; run `make pictures`", phoneFile, p.Width, p.Height, err)
	}
}

// TestReport checks the size of the stored picture of a report. With -update it first takes the
// picture.
func TestReport(t *testing.T) {
	if golden.Updating() {
		write(t, reportFile, photographReport(t))
	}
	picture := read(t, reportFile)
	p, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || int64(p.Width) != reportDesk().Width || int64(p.Height) != reportDesk().Height {
		t.Errorf("%s has %d by %d pixels (%v), want those of reportDesk; run `make pictures`", reportFile, p.Width, p.Height, err)
	}
}

// copyExample returns the path of a copy of the example, so that a run does not change files in the
// repository.
func copyExample(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "coder")
	if err := os.CopyFS(dir, os.DirFS(example)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > mostBytes {
		t.Errorf("%s has %d bytes, the maximum is %d", name, len(text), mostBytes)
	}
	return text
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
