package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// misdeed is a row of TestMisbehaviour: a host that misbehaves in one way, and the expected
// outcome.
type misdeed struct {
	n    int
	name string
	host string // script for internal/testkit/testhost, or an executable script if it begins with "#!"
	keys string // further keys of the host's section in the manifest
	prep func(dir string) error
	decl string // further members of the host declaration, after connector and output_format
	body string // body of main; "" for a single call of execute
	how

	// Expected output. err is the message of the last [err] line; it is a regular expression if it
	// begins with "~". The error must lack the members whose fields here are empty.
	err, code, stderr, session string
	exit                       int // exit code of the host; 0 if the error has none, noExit for the code 0
	out                        []string
	log                        []string // regular expressions that the log must match
	made                       []string // files that must exist afterwards; "!name" must not exist
	starts                     int      // number of the host's processes
	status                     int      // exit code of concerto
	bounds
}

// how describes the conditions under which concerto runs.
type how struct {
	user   bool                     // the process belongs to an unprivileged user
	stdout func() (*os.File, error) // opens stdout; if it is nil, the test reads stdout through a pipe
	heavy  bool                     // no other row runs at the same time
}

// bounds are limits on time and memory.
type bounds struct {
	expected float64       // seconds from the misbehaviour (the time in the file "when", or else the start) to the error
	within   time.Duration // maximum delay of the error after its expected time, on an idle machine; 0 for no check
	lasts    float64       // minimum duration of the run in seconds, for hosts that must be killed
	rss      int           // maximum memory of concerto in MiB; 0 for 150
}

// noExit represents an exit code of 0, because 0 means that there is no exit code.
const noExit = -1

// strict enables the checks of times.
var strict = os.Getenv("CONCERTO_ROWS_STRICT") != ""

// came is the outcome of a run.
type came struct {
	err     *errLine
	out     []string
	log     string
	status  int
	began   time.Time // time of the program's first line of output
	at      time.Time // time at which the error was printed
	took    time.Duration
	rss     int
	dir     string
	exactly time.Duration // delay of the error after its expected time
}

// errLine is the payload of an [err] line.
type errLine struct {
	Message, Host         string
	Code, Stderr, Session *string
	ExitCode              *int `json:"exit_code"`
}

const defaultBody = `    tell(W.execute("go"));`

// program returns the source text of the row's program. It prints the errors that it catches.
func (m *misdeed) program() string {
	body := m.body
	if body == "" {
		body = defaultBody
	}
	return `host W { connector: w, output_format: "json"` + m.decl + ` }

fn tell(r: Result<Any, HostError>) {
    match r {
        Ok(v) => emit("ok", v),
        Err(e) => emit("err", { message: e.message, host: e.host, code: e.code, exit_code: e.exit_code, stderr: e.stderr, session: e.session }),
    }
}

fn listened(r: Result<Map<String, Any>, Error>) {
    match r {
        Ok(v) => emit("ok", v.text),
        Err(HostError { message, host: h, code, exit_code, stderr, session, .. }) =>
            emit("err", { message: message, host: h, code: code, exit_code: exit_code, stderr: stderr, session: session }),
        Err(e) => emit("odd", e.message),
    }
}

fn main() {
    emit("begin");
` + body + `
    emit("peak", std::fs::read_lines("/proc/self/status").unwrap_or([]).filter(|l| l.starts_with("VmHWM")));
}
`
}

// play runs the row's program in dir and returns the outcome.
func (m *misdeed) play(dir string) (*came, error) {
	o := &came{dir: dir}
	write := func(name, text string, mode os.FileMode) error {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			return err
		}
		return os.Chmod(filepath.Join(dir, name), mode)
	}
	keys, host := m.keys, strings.TrimLeft(m.host, "\n")
	if !strings.Contains(keys, "command") {
		if keys += "\ncommand = \"testhost\"\nargs = [\"w.host\"]"; strings.HasPrefix(host, "#!") {
			keys = m.keys + "\ncommand = \"./w.host\""
		}
	}
	if err := write("Concerto.toml", "[hosts.w]\n"+keys+"\n", 0o644); err != nil {
		return nil, err
	}
	if err := write("main.conc", m.program(), 0o644); err != nil {
		return nil, err
	}
	if err := write("w.host", host, 0o755); err != nil {
		return nil, err
	}
	if m.prep != nil {
		if err := m.prep(dir); err != nil {
			return nil, err
		}
	}
	return o, m.run(o)
}

// run runs concerto and reads its output, until the process exits.
func (m *misdeed) run(o *came) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	program := os.Args[0]
	if m.heavy && !randtest.Raced {
		var err error
		if program, err = built(); err != nil {
			return err
		}
	}
	c := exec.CommandContext(ctx, program, "run", "--emit", "ndjson", "main.conc")
	c.Args[0], c.Dir = "concerto", o.dir
	if m.user {
		if err := asUnprivileged(c, o.dir); err != nil {
			return err
		}
	}
	var output bytes.Buffer
	c.Stderr = &output
	stdout, err := m.output(c)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := o.addLine(asText(lines.Text())); err != nil {
			return err
		}
	}
	err = c.Wait()
	o.took, o.log, o.status = time.Since(began), output.String(), c.ProcessState.ExitCode()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the run did not exit in time; log:\n%s", o.log)
	}
	return o.measure(m.expected)
}

// output returns a reader of the run's output. It is empty if the row sets another stdout.
func (m *misdeed) output(c *exec.Cmd) (io.Reader, error) {
	if m.stdout == nil {
		return c.StdoutPipe()
	}
	file, err := m.stdout()
	c.Stdout = file
	return strings.NewReader(""), err
}

// full opens a device on which every write fails because no space is left.
func full() (*os.File, error) { return os.OpenFile("/dev/full", os.O_WRONLY, 0) }

// closed returns a pipe that no process reads.
func closed() (*os.File, error) {
	r, w, err := os.Pipe()
	if err == nil {
		err = r.Close()
	}
	return w, err
}

// built builds the command concerto and returns its path. The row's memory limit applies to this
// program, because the test binary needs more memory.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "concerto")
	if err != nil {
		return "", err
	}
	c := exec.Command("go", "build", "-o", dir, "../../cmd/concerto")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return filepath.Join(dir, "concerto"), nil
})

var (
	peakLine   = regexp.MustCompile(`^\[peak\] \["VmHWM:\\t *(\d+) kB"\]$`)
	loopLine   = regexp.MustCompile(`^\[listen:(start|complete|error)\]`)
	errPattern = regexp.MustCompile(`^\[err\] (\{.*)$`)
)

// asText returns a line of --emit ndjson in the form of --emit text. Other lines are not changed.
func asText(line string) string {
	var e struct {
		Channel string
		Payload json.RawMessage
	}
	if json.Unmarshal([]byte(line), &e) != nil || e.Channel == "" {
		return line
	}
	payload, text := string(e.Payload), ""
	if json.Unmarshal(e.Payload, &text) == nil {
		payload = text
	}
	switch {
	case e.Channel == "print":
		return payload
	case payload == "":
		return "[" + e.Channel + "]"
	}
	return "[" + e.Channel + "] " + payload
}

// addLine records a line of the program's output.
func (o *came) addLine(line string) error {
	if line == "[begin]" {
		o.began = time.Now()
		return nil
	}
	if loopLine.MatchString(line) {
		return nil
	}
	if f := peakLine.FindStringSubmatch(line); f != nil {
		kb, err := strconv.Atoi(f[1])
		o.rss = kb >> 10
		return err
	}
	if f := errPattern.FindStringSubmatch(line); f != nil {
		o.at, o.err = time.Now(), new(errLine)
		return json.Unmarshal([]byte(f[1]), o.err)
	}
	o.out = append(o.out, line)
	return nil
}

// measure computes the delay of the error after its expected time.
func (o *came) measure(expected float64) error {
	if o.err == nil {
		return nil
	}
	from := o.began
	when, err := os.ReadFile(filepath.Join(o.dir, "when"))
	if err == nil {
		ns, err := strconv.ParseInt(strings.TrimSpace(string(when)), 10, 64)
		if err != nil {
			return err
		}
		from = time.Unix(0, ns)
	}
	o.exactly = o.at.Sub(from) - time.Duration(expected*float64(time.Second))
	return nil
}

// asUnprivileged makes the command run as a user without privileges. It copies the test binary to a
// place where that user can execute it.
func asUnprivileged(c *exec.Cmd, dir string) error {
	if os.Getuid() != 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		return err
	}
	c.Path = filepath.Join(dir, "bin", "concerto")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	// Copy with another process. If this process wrote the file, a child process that is started
	// during the write could inherit the open file, and the file could not be executed.
	return exec.Command("cp", os.Args[0], c.Path).Run()
}

// check compares the outcome with the expected one.
func (m *misdeed) check(t *testing.T, o *came) {
	defer func() {
		if t.Failed() {
			t.Logf("output lines: %q\nlog:\n%.2000s", o.out, o.log)
		}
	}()
	m.checkError(t, o)
	if got, want := strings.Join(o.out, "\n"), strings.Join(m.out, "\n"); got != want {
		t.Errorf("the program printed\n%s\nwant\n%s", got, want)
	}
	for _, want := range m.log {
		if !regexp.MustCompile("(?m)" + want).MatchString(o.log) {
			t.Errorf("the log does not match %s", want)
		}
	}
	for _, name := range m.made {
		name, not := strings.CutPrefix(name, "!")
		if _, err := os.Stat(filepath.Join(o.dir, name)); (err == nil) == not {
			t.Errorf("stat file %s: %v, want the opposite", name, err)
		}
	}
	if o.status != m.status {
		t.Errorf("exit code of concerto = %d", o.status)
	}
	m.checkBounds(t, o)
	m.checkProcesses(t, o)
}

func (m *misdeed) checkError(t *testing.T, o *came) {
	if o.err == nil {
		if m.err != "" {
			t.Errorf("the program reported no error, want %s", m.err)
		}
		return
	}
	e := o.err
	re, pattern := strings.CutPrefix(m.err, "~")
	if pattern && !regexp.MustCompile("^"+re+"$").MatchString(e.Message) || !pattern && e.Message != m.err {
		t.Errorf("error message %s\nwant          %s", e.Message, m.err)
	}
	exit := 0
	if e.ExitCode != nil {
		if exit = *e.ExitCode; exit == 0 {
			exit = noExit
		}
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if e.Host != "W" || text(e.Code) != m.code || text(e.Stderr) != m.stderr || text(e.Session) != m.session || exit != m.exit {
		t.Errorf("unexpected fields of the error: host %s, code %q, exit code %d, stderr %q, session %q", e.Host, text(e.Code), exit, text(e.Stderr), text(e.Session))
	}
}

// checkBounds compares the memory with the row's limit. If strict is set, it also compares the
// times with their limits.
func (m *misdeed) checkBounds(t *testing.T, o *came) {
	if m.within > 0 && o.exactly == 0 {
		t.Error("the time of the misbehaviour is unknown")
	}
	if strict {
		if m.within > 0 && (o.exactly > m.within || o.exactly < -time.Duration(m.expected/2*float64(time.Second))) {
			t.Errorf("the error was %v late, want at most %v", o.exactly, m.within)
		}
		if took := o.took.Seconds(); took < m.lasts || m.lasts == 0 && !m.heavy && m.within > 0 && took > m.expected+5 {
			t.Errorf("the run took %.1f s, which is outside its limits", took)
		}
	}
	most := m.rss
	if most == 0 {
		most = 150
	}
	if !randtest.Raced && o.rss > most {
		t.Errorf("peak memory = %d MiB, want at most %d", o.rss, most)
	}
	t.Logf("delay of the error %v, duration of the run %v, peak memory %d MiB", o.exactly.Round(time.Millisecond), o.took.Round(10*time.Millisecond), o.rss)
}

// checkProcesses checks the number of the host's processes, and that none of them is still running.
func (m *misdeed) checkProcesses(t *testing.T, o *came) {
	text, err := os.ReadFile(filepath.Join(o.dir, "w.host.spawns"))
	if n := bytes.Count(text, []byte("\n")); n != m.starts {
		t.Errorf("the host was started %d times (error %v)", n, err)
	}
	if err := leftovers(o.dir); err != nil {
		t.Error(err)
	}
	child, err := os.ReadFile(filepath.Join(o.dir, "child"))
	if err != nil {
		return
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(child)))
	if err != nil {
		t.Fatal(err)
	}
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && !bytes.Contains(stat, []byte(") Z ")) {
		t.Errorf("the host's child %d still runs", pid)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestMisbehaviour runs each row of misdeeds with the command concerto and checks the outcome. It
// logs the measured times. CONCERTO_ROWS_STRICT=1 compares the times with their limits, and
// CONCERTO_ROWS_FULL=1 makes the floods full size.
func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	randtest.RacedElsewhere(t)
	if testing.Short() {
		t.Skip("the test starts about sixty processes")
	}
	all := misdeeds()
	defer func() {
		if program, err := built(); err == nil {
			os.RemoveAll(filepath.Dir(program))
		}
	}()
	type result struct {
		o   *came
		err error
	}
	results := make([]result, len(all))
	play := func(i int, dir string) {
		o, err := all[i].play(dir)
		results[i] = result{o, err}
	}
	// Most rows mainly wait, so ten run at the same time.
	var light sync.WaitGroup
	room := make(chan struct{}, 10)
	for i := range all {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if all[i].heavy {
			continue
		}
		light.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			play(i, dir)
		})
	}
	light.Wait()
	for i := range all {
		if all[i].heavy {
			play(i, t.TempDir())
		}
	}
	for i := range all {
		m := &all[i]
		t.Run(fmt.Sprintf("%d_%s", m.n, strings.ReplaceAll(m.name, " ", "_")), func(t *testing.T) {
			if results[i].err != nil {
				t.Fatal(results[i].err)
			}
			m.check(t, results[i].o)
		})
	}
}
